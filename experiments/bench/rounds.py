"""One round: all answers of one model to one prompt and its variants, compared."""

from __future__ import annotations

import asyncio
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Final

from evenkeel.core.pair import Pair
from evenkeel.core.verdict import Failure, Judgement
from evenkeel.experiments.bench.entities import entity_match, entity_quality
from evenkeel.experiments.bench.spending import JUDGE
from evenkeel.metrics.tasks import Task

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkeel.core.pair import Answer
    from evenkeel.experiments.bench.asking import Asker
    from evenkeel.experiments.bench.items import Item
    from evenkeel.experiments.bench.models import ModelUnderTest
    from evenkeel.experiments.bench.spending import Ledger
    from evenkeel.experiments.bench.stopping import Service
    from evenkeel.experiments.bench.variants import Case, Variant
    from evenkeel.metrics.scoring import TwoStageScorer
    from evenkeel.shadow.prompt import PromptView

_SAME: Final = 3


@dataclass(frozen=True, slots=True)
class Trial:
    """One pair of answers."""

    model: str
    item: str
    task: str
    kind: str
    run: int
    rating: int | None = None
    """3, 2 or 1; None if there is none."""
    changed: bool | None = None
    """Of a shifted pair: whether a quality changed; None if that is not known, or nothing shifted."""
    failure: str = ""
    """Why there is no rating, or no quality."""

    @property
    def shifted(self) -> bool:
        """Whether the content moved."""
        return self.rating is not None and self.rating < _SAME

    @property
    def category(self) -> str:
        """First part of the kind's name."""
        return self.kind.partition(".")[0]

    def row(self) -> dict[str, str | int | bool | None]:
        """For a file."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Round:
    """What came of one model, prompt and run."""

    trials: tuple[Trial, ...]
    entities: float | None = None
    """Of slot filling: F1 of the answer to the original against the expected entities."""


class Rounds:
    """Makes rounds."""

    def __init__(
        self,
        asker: Asker,
        scorer: TwoStageScorer,
        items: Mapping[str, Item],
        ledger: Ledger,
        watch: Service | None = None,
    ) -> None:
        """Begin.

        Args:
            asker: Asks the models.
            scorer: Compares answers.
            items: The issues by id.
            ledger: Books what the judge costs.
            watch: Ends the run if the judge never answers; None without a judge.
        """
        self._asker = asker
        self._scorer = scorer
        self._items = items
        self._ledger = ledger
        self._watch = watch

    async def make(self, model: ModelUnderTest, case: Case, run: int) -> Round:
        """Ask for the original, its identical resend and all variants, and compare.

        The original is asked first; if it is not answered, no variant is asked.

        Raises: BudgetUsedUpError; UnusableError if no model answers any more, or the judge never does.
        """
        original = await self._asker.ask(model, case.original, f"{run} original")
        if isinstance(original, Failure):
            return Round(tuple(_failed(model, case, one, run, original) for one in case.variants))
        wants_free = any(one.to_free for one in case.variants)
        free = await self._free(model, case, original, run) if wants_free else original
        calls = [
            asyncio.create_task(self._trial(model, case, one, run, original, free)) for one in case.variants
        ]
        try:
            trials = await asyncio.gather(*calls)
        finally:
            for call in calls:
                call.cancel()
            await asyncio.gather(*calls, return_exceptions=True)
        return Round(tuple(trials), self._entities(case, original))

    async def _free(self, model: ModelUnderTest, case: Case, original: Answer, run: int) -> Answer | Failure:
        if case.free is case.original:
            return original
        return await self._asker.ask(model, case.free, f"{run} free")

    async def _trial(
        self,
        model: ModelUnderTest,
        case: Case,
        variant: Variant,
        run: int,
        original: Answer,
        free: Answer | Failure,
    ) -> Trial:
        reference = free if variant.to_free else original
        if isinstance(reference, Failure):
            return _failed(model, case, variant, run, reference)
        candidate: Answer | Failure = original
        if not variant.as_original:
            candidate = await self._asker.ask(model, variant.view, f"{run} {variant.kind}")
        if isinstance(candidate, Failure):
            return _failed(model, case, variant, run, candidate)
        if reference.model and candidate.model and reference.model != candidate.model:
            changed = Failure("bench", 1, "model_changed", f"{reference.model}, then {candidate.model}")
            return _failed(model, case, variant, run, changed)
        # What the answers rest on: the prompt that both had, which for a format is the one without it.
        context: PromptView = case.original
        pair = Pair(reference, candidate, context.text, case.task.value, variant.wanted)
        judgement = await self._scorer.score(pair)
        account = self._ledger.of(JUDGE)
        account.tokens += judgement.tokens
        account.usd += judgement.cost_usd
        self._see(judgement)
        return self._judged(model, case, variant, run, pair, judgement)

    def _see(self, judgement: Judgement) -> None:
        if self._watch is None:
            return
        if judgement.rated_by:
            self._watch.answered()
        elif judgement.rating is None:
            self._watch.failed(judgement.failures[0].reason, judgement.failures[0].detail)

    def _judged(
        self,
        model: ModelUnderTest,
        case: Case,
        variant: Variant,
        run: int,
        pair: Pair,
        judgement: Judgement,
    ) -> Trial:
        if judgement.rating is None:
            return _failed(model, case, variant, run, judgement.failures[0])
        known = (model.name, case.item, case.task.value, variant.kind, run, judgement.rating)
        if judgement.rating == _SAME:
            return Trial(*known)
        scores = list(judgement.quality)
        failures = list(judgement.failures)
        if case.task is Task.SLOT_FILLING:
            found = entity_quality(self._items[case.item], pair)
            if isinstance(found, Failure):
                failures.append(found)
            else:
                scores.append(found)
        if any(score.changed for score in scores):
            return Trial(*known, changed=True)
        if failures or not scores:
            return Trial(*known, failure=f"quality_{failures[0].reason if failures else 'missing'}")
        return Trial(*known, changed=False)

    def _entities(self, case: Case, answer: Answer) -> float | None:
        if case.task is not Task.SLOT_FILLING:
            return None
        found = entity_match(self._items[case.item], answer)
        return None if isinstance(found, Failure) else found


def _failed(model: ModelUnderTest, case: Case, variant: Variant, run: int, failure: Failure) -> Trial:
    return Trial(model.name, case.item, case.task.value, variant.kind, run, failure=failure.reason)
