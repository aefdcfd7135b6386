"""Trials: every model answers every prompt of every issue in every run, and the answers are compared."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from dataclasses import dataclass, field, replace
from itertools import product
from typing import TYPE_CHECKING, Final

from evenkeel.core.pair import Pair
from evenkeel.core.verdict import SAME_CONTENT, Failure, Judgement, QualityScore, content_shifted
from evenkeel.lab.bench.prompts import is_trouble, make_case, prompt_of
from evenkeel.metrics.entity import SAME_TEXT, AnswerSlot, read_slots, slot_f1, slot_key
from evenkeel.metrics.similarity.sequence import rouge_l
from evenkeel.metrics.structured.tree import UnreadableError
from evenkeel.metrics.tasks import Task
from evenkeel.release.kit.asking import work_through

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from evenkeel.core.pair import Answer, Format
    from evenkeel.core.verdict import Obligation
    from evenkeel.lab.bench.items import Issue
    from evenkeel.lab.bench.models import ModelsAsked, ModelUnderTest
    from evenkeel.lab.bench.prompts import TaskPrompt, TaskVariant
    from evenkeel.lab.bench.services import Services
    from evenkeel.shadow.perturbations import Perturbation, RewriteTask
    from evenkeel.shadow.prompt import PromptView
    from evenkeel.shadow.rewriter import Rejection


NAME: Final = "entity_match"
VERSION: Final = 1
_SHIFTED: Final = SAME_CONTENT - 1
# Ways in which models say that the message does not fill a slot.
_EMPTY: Final = frozenset(("", "null", "none", "unknown", "n/a", "-"))


def entity_match(item: Issue, answer: Answer, wanted: Format | None = None) -> float | Failure:
    """F1 of the slots that an answer fills, against those that the message does.

    Values of choices and numbers must be equal, other ones reach a ROUGE-L F1 of 0.7.

    Args:
        item: Holds the schema and the expected entities.
        answer: Filled slots in any structured format; without any structure it fills none.
        wanted: The format that the answer should have, where the prompt names one.

    Returns: ratio in [0, 1]; 1 = exactly the expected ones. A `Failure` "too_large" or "too_deep".
    Source: Entity Match, section 4.2 of the enterprise perturbation paper.
    """
    read = read_slots(answer.text, wanted)
    if isinstance(read, UnreadableError):
        return Failure(NAME, VERSION, read.reason, str(read))
    exact = {slot.name for slot in item.slots if slot.type != "string"}
    expected = []
    for name, value in item.entities.items():
        expected.append(AnswerSlot(name, _text(value)))
    filled = []
    for slot in read or ():
        if slot.value.strip().lower() not in _EMPTY:
            filled.append(AnswerSlot(slot_key(slot.key), slot.value))

    def alike(left: AnswerSlot, right: AnswerSlot) -> float:
        if left.key in exact:
            return float(left.value.strip() == right.value.strip())
        return float(rouge_l(left.value, right.value) >= SAME_TEXT)

    return slot_f1(expected, filled, alike)


def entity_quality(item: Issue, pair: Pair) -> QualityScore | Failure:
    """Score how well both answers of a pair fill the slots, as a quality of the second stage.

    Args:
        item: What was asked about.
        pair: Two answers.
    """
    reference = entity_match(item, pair.reference)
    candidate = entity_match(item, pair.candidate, pair.wanted.format)
    if isinstance(reference, Failure):
        return reference
    if isinstance(candidate, Failure):
        return candidate
    return QualityScore(NAME, VERSION, reference, candidate, "ratio", 1e-9)


def rating_by_gold(quality: QualityScore, rating: int | None) -> int | None:
    """The rating of two answers of which is known how well each fills the slots.

    Two right answers are the same, however they are written, and two that are not equally right are not. Only
    where both are equally wrong does the rating stay what it was: they may be wrong alike or not.

    Args:
        quality: Of `entity_quality`.
        rating: Of the two answers beside each other; None if there is none.
    """
    if quality.changed:
        return min(rating or _SHIFTED, _SHIFTED)
    return SAME_CONTENT if quality.reference == quality.candidate == 1 else rating


def _text(value: str | float) -> str:
    return value if isinstance(value, str) else json.dumps(value)


@dataclass(frozen=True, slots=True)
class TrialTexts:
    """Prompts and answers of a trial, for people who check it."""

    prompt: str
    variant: str
    reference: str
    candidate: str


@dataclass(frozen=True, slots=True)
class BenchTrial:
    """A pair of answers."""

    model: str
    item: str
    task: str
    kind: str
    run: int
    rating: int | None = None
    """3, 2 or 1; None if there is none."""
    changed: bool | None = None
    """True if a quality changed in a shifted pair; None if that is not known, or nothing shifted."""
    failure: str = ""
    """Why there is no rating, or no quality."""
    similarity: float | None = None
    """Similarity of the answers, in [0, 1]."""
    invalid: tuple[Obligation, ...] = ()
    """Obligations of the answer's form that it ignores."""
    likeness: Mapping[str, float] = field(default_factory=dict)
    """Scores of the reference metrics by name, in [0, 1]; those that could not be measured are left out."""
    texts: TrialTexts | None = None
    """None unless they are written to a file."""

    @property
    def shifted(self) -> bool | None:
        """True if the content changed; None if that is not known."""
        return content_shifted(self.rating, self.invalid)

    @property
    def category(self) -> str:
        """First part of the kind's name."""
        return self.kind.partition(".")[0]


@dataclass(frozen=True, slots=True)
class TaskRound:
    """Outcome of one model, prompt and run."""

    trials: tuple[BenchTrial, ...]
    entities: float | None = None
    """F1 of the answer to the original against the expected entities, for slot filling."""


class Rounds:
    """Makes rounds."""

    def __init__(
        self,
        models: ModelsAsked,
        items: Mapping[str, Issue],
        services: Services,
        *,
        with_texts: bool = False,
    ) -> None:
        """Begin.

        Args:
            models: Asks them.
            items: The issues by id.
            services: Compare answers.
            with_texts: Keeps prompts and answers with each trial.
        """
        self._models = models
        self._services = services
        self._scorer = services.scorer
        self._items = items
        self._watch = services.judge_watch
        self._with_texts = with_texts

    async def make(self, model: ModelUnderTest, case: TaskPrompt, run: int) -> TaskRound:
        """Ask for the original, its control and all variants, and compare.

        The original is asked first; if it is not answered, no variant is asked.

        Raises: BudgetUsedUpError; UnusableError if no model answers any more, or the judge does not.
        """
        original = await self._models.ask(model, case.original, f"{run} original")
        if isinstance(original, Failure):
            failed = []
            for variant in case.variants:
                failed.append(BenchTrial(*_at(model, case, variant, run), failure=original.reason))
            # Without an answer to the original there is nothing to compare: variants would only cost.
            return TaskRound(tuple(failed))
        wants_free = any(variant.to_free for variant in case.variants)
        free = await self._free(model, case, original, run) if wants_free else original
        calls = []
        for variant in case.variants:
            calls.append(asyncio.create_task(self._trial(model, case, variant, run, original, free)))
        try:
            trials = await asyncio.gather(*calls)
        finally:
            # One that raised leaves the others running, and each of them costs money.
            for call in calls:
                call.cancel()
            await asyncio.gather(*calls, return_exceptions=True)
        return TaskRound(tuple(trials), self._entities(case, original))

    async def _free(
        self, model: ModelUnderTest, case: TaskPrompt, original: Answer, run: int
    ) -> Answer | Failure:
        # The same prompt again would be paid twice and say the same.
        if case.free is case.original:
            return original
        return await self._models.ask(model, case.free, f"{run} free")

    async def _trial(
        self,
        model: ModelUnderTest,
        case: TaskPrompt,
        variant: TaskVariant,
        run: int,
        original: Answer,
        free: Answer | Failure,
    ) -> BenchTrial:
        at = _at(model, case, variant, run)
        reference = free if variant.to_free else original
        if isinstance(reference, Failure):
            return BenchTrial(*at, failure=reference.reason)
        candidate: Answer | Failure = original
        if not variant.as_original:
            candidate = await self._models.ask(model, variant.view, f"{run} {variant.kind}")
        if isinstance(candidate, Failure):
            return BenchTrial(*at, failure=candidate.reason)
        # An endpoint that swaps its model in between would be measured as fragile.
        if reference.model and candidate.model and reference.model != candidate.model:
            return BenchTrial(*at, failure="model_changed")
        # What the answers rest on: the prompt that both had, which for a format is the one without it.
        context: PromptView = case.original
        pair = Pair(reference, candidate, context.text, case.task.value, variant.wanted)
        judgement = await self._scorer.score(pair)
        if self._watch is not None:
            self._watch.see([judgement])
        texts = None
        if self._with_texts:
            shown = case.free if variant.to_free else case.original
            texts = TrialTexts(shown.text, variant.view.text, reference.shown, candidate.shown)
        # Some reference metrics run a model: in a thread, so that other calls go on.
        likeness = await asyncio.to_thread(self._services.likeness, pair)
        return replace(self._judged(at, case, pair, judgement), likeness=likeness, texts=texts)

    def _judged(
        self, at: tuple[str, str, str, str, int], case: TaskPrompt, pair: Pair, judgement: Judgement
    ) -> BenchTrial:
        if self._scorer.scorer == "metrics" and case.task is not Task.SLOT_FILLING:
            # Only identical, empty and invalid answers would be known: a share of these is no content delta.
            return BenchTrial(*at, failure="no_judge", similarity=judgement.similarity)
        trial = BenchTrial(
            *at,
            judgement.rating,
            changed=True if judgement.invalid else None,
            similarity=judgement.similarity,
            invalid=judgement.invalid,
        )
        # An answer in the wrong form counts as changed already; no quality can change that.
        if judgement.invalid:
            return trial
        scores = list(judgement.quality)
        failures = list(judgement.failures)
        if case.task is Task.SLOT_FILLING:
            quality = entity_quality(self._items[case.item], pair)
            if isinstance(quality, Failure):
                failures.append(quality)
            else:
                scores.append(quality)
                # In another language right values are worded otherwise than the gold.
                if pair.wanted.language is None:
                    trial = replace(trial, rating=rating_by_gold(quality, trial.rating))
        # Neither a judge nor the expected entities decided.
        if trial.shifted is None:
            return BenchTrial(*at, failure=failures[0].reason if failures else "no_judge")
        # One changed quality decides, whatever failed beside it.
        if not trial.shifted or any(score.changed for score in scores):
            return replace(trial, changed=trial.shifted or None)
        if failures or not scores:
            return replace(trial, failure=f"quality_{failures[0].reason if failures else 'missing'}")
        return replace(trial, changed=False)

    def _entities(self, case: TaskPrompt, answer: Answer) -> float | None:
        if case.task is not Task.SLOT_FILLING:
            return None
        match_share = entity_match(self._items[case.item], answer)
        return None if isinstance(match_share, Failure) else match_share


def _at(
    model: ModelUnderTest, case: TaskPrompt, variant: TaskVariant, run: int
) -> tuple[str, str, str, str, int]:
    return model.name, case.item, case.task.value, variant.kind, run


# Prompts with all their variants in memory together.
_CASES_AT_ONCE = 4


@dataclass(frozen=True, slots=True)
class Protocol:
    """Protocol of a run, apart from the issues."""

    models: tuple[ModelUnderTest, ...]
    tasks: tuple[Task, ...]
    kinds: tuple[Perturbation, ...]
    runs: int = 5
    severity: float = 0.3
    seed: int = 0

    def rounds(self, items: int) -> int:
        """Rounds that so many issues take."""
        return items * len(self.tasks) * len(self.models) * self.runs


@dataclass(slots=True)
class BenchCourse:
    """Records of a run."""

    trials: list[BenchTrial] = field(default_factory=list)
    entities: dict[str, list[float]] = field(default_factory=dict)
    """Scores by model: F1 of each slot filling against the expected entities."""
    left_out: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """Task, kind and reason → issues for which there is no variant."""

    @property
    def troubles(self) -> int:
        """Variants that are missing because the rewriter failed."""
        troubles = 0
        for (_, _, reason), count in self.left_out.items():
            if is_trouble(reason):
                troubles += count
        return troubles


async def measure(
    protocol: Protocol,
    items: Sequence[Issue],
    rounds: Rounds,
    *,
    rewrite: Callable[[RewriteTask], Awaitable[str | Rejection]] | None,
    progress: Callable[[], None],
) -> BenchCourse:
    """Everything about some issues.

    Args:
        protocol: What is measured.
        items: The issues.
        rounds: Asks and compares.
        rewrite: Writes texts anew; None = kinds that need that are left out.
        progress: Told after each round.

    Raises: BudgetUsedUpError, with every answer until then in the journal.
    """
    collected: dict[tuple[str, str], tuple[list[tuple[ModelUnderTest, TaskRound]], dict[str, str]]] = {}

    async def work(of: tuple[Issue, Task]) -> None:
        item, task = of
        case = await make_case(
            item.id,
            task,
            prompt_of(item, task),
            protocol.kinds,
            severity=protocol.severity,
            seed=protocol.seed,
            rewrite=rewrite,
        )
        asked = list(product(protocol.models, range(protocol.runs)))
        made: dict[tuple[str, int], TaskRound] = {}

        async def one(of: tuple[ModelUnderTest, int]) -> None:
            model, run = of
            made[model.name, run] = await rounds.make(model, case, run)
            progress()

        await work_through(asked, one, concurrency=len(asked))
        # Rounds end in any order, and a report must not depend on it.
        in_order = [(model, made[model.name, run]) for model, run in asked]
        collected[item.id, task.value] = (in_order, dict(case.left_out))

    await work_through(product(items, protocol.tasks), work, concurrency=_CASES_AT_ONCE)
    return _collected(items, protocol, collected)


def _collected(
    items: Sequence[Issue],
    protocol: Protocol,
    rounds: dict[tuple[str, str], tuple[list[tuple[ModelUnderTest, TaskRound]], dict[str, str]]],
) -> BenchCourse:
    """Trials in the order of the issues, whoever was answered first."""
    course = BenchCourse(entities={model.name: [] for model in protocol.models})
    for item in items:
        for task in protocol.tasks:
            made, left_out = rounds[item.id, task.value]
            for model, outcome in made:
                course.trials += outcome.trials
                if outcome.entities is not None:
                    course.entities[model.name].append(outcome.entities)
            course.left_out.update((task.value, kind, reason) for kind, reason in left_out.items())
    return course
