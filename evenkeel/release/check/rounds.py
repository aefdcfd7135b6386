"""Rounds of a check: the prompt twice as it is, and one variant of each category, all rated together."""

from __future__ import annotations

import asyncio
import random
import re
from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from evenkeel.core.pair import AS_BEFORE, Pair
from evenkeel.core.verdict import CONTRAST, Failure
from evenkeel.metrics.identity import IDENTITY
from evenkeel.release.check.figures import FIRST, CheckTrial
from evenkeel.shadow.perturbations import Draft, NotApplicable, attempt, seed_for
from evenkeel.shadow.perturbations.contrast import question_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from evenkeel.core.pair import Answer, AnswerForm
    from evenkeel.core.verdict import Judgement
    from evenkeel.shadow.perturbations import Outcome, Perturbation, RewriteTask
    from evenkeel.shadow.prompt import PromptView
    from evenkeel.shadow.rewriter import Rejection

    Rewrite = Callable[[RewriteTask], Awaitable[str | Rejection]]
    Ask = Callable[[str, PromptView, str], Awaitable[Answer | Failure]]
    Score = Callable[[Sequence[Pair]], Awaitable[list[Judgement]]]

_WORD: Final = re.compile(r"\w+(?:['’]\w+)*", re.UNICODE)


@dataclass(frozen=True, slots=True)
class Variant:
    """A reworded prompt."""

    category: str
    kind: str
    view: PromptView
    wanted: AnswerForm = AS_BEFORE


OTHER_QUESTIONS: Final = (
    "How many legs does a spider have?",
    "Which planet is closest to the sun?",
    "What do bees make from nectar?",
)
"""Questions asked in place of the prompt's own where nothing else can be changed."""


@dataclass(slots=True)
class VariantMaker:
    """Draws one variant of each category for a round."""

    kinds: Mapping[str, Sequence[Perturbation]]
    """Perturbations by category."""
    severity: float
    seed: int
    rewrite: Rewrite | None
    others: Sequence[str] = ()
    """Inputs of the rows of a template: each stands for another question."""

    async def make(
        self, view: PromptView, round_number: int, open_categories: Sequence[str]
    ) -> tuple[list[Variant], dict[str, str]]:
        """Return the variants of a round, and the reason for each category without one."""
        variants: list[Variant] = []
        reasons: dict[str, str] = {}
        for category in open_categories:
            chance = random.Random(f"{self.seed}/{category}/{round_number}")
            make = self._contrast if category == CONTRAST else self._rewording
            made = await make(category, view, round_number, chance)
            if isinstance(made, Variant):
                variants.append(made)
            else:
                reasons[category] = made
        return variants, reasons

    async def _rewording(
        self, category: str, view: PromptView, round_number: int, chance: random.Random
    ) -> Variant | str:
        """Return a variant of the first kind that applies, else the reason why none does."""
        kinds = list(self.kinds[category])
        # Another kind comes first in each round, so that a category is more than one lucky kind.
        chance.shuffle(kinds)
        reason = "nothing_to_change"
        for kind in kinds:
            strength = self.severity if kind.graded else 1.0
            # A seed of its own for each round and kind: what another kind draws changes nothing here.
            seed = seed_for(f"{self.seed}/{round_number}", kind.name, strength, kind.version)
            # In a thread: a long prompt takes time, in which other answers arrive.
            outcome = await asyncio.to_thread(attempt, kind, view, strength, random.Random(seed))
            made = await finished(outcome, self.rewrite)
            if not isinstance(made, NotApplicable):
                return Variant(category, kind.name, made, kind.wanted)
            reason = made.reason
        return reason

    async def _contrast(
        self, category: str, view: PromptView, round_number: int, chance: random.Random
    ) -> Variant | str:
        """Return another question: the closest to the prompt's own that can be had."""
        question = question_of(view)
        if question is None:
            return "no_input"
        # The closest first: a cache that serves the nearest prompt tells far questions apart.
        made = await self._rewording(category, view, round_number, chance)
        if isinstance(made, Variant):
            return made
        others = []
        for text in self.others:
            if text.strip() != question.text.strip():
                others.append(text)
        kind, texts = ("input", others) if others else ("question", OTHER_QUESTIONS)
        return Variant(
            category, f"{CONTRAST}.{kind}", view.with_texts({question.index: chance.choice(texts)})
        )


async def finished(outcome: Outcome, rewrite: Rewrite | None) -> PromptView | NotApplicable:
    """Return the reworded prompt of an outcome, with the texts that it needs written by a rewriter.

    Args:
        outcome: What a perturbation made of a prompt.
        rewrite: Writes texts; None = what needs that is not applicable.
    """
    while isinstance(outcome, Draft):
        if rewrite is None:
            return NotApplicable("no_rewriter", "no rewriter is named")
        texts: list[str] = []
        for task, text in zip(outcome.tasks, await asyncio.gather(*map(rewrite, outcome.tasks)), strict=True):
            if isinstance(text, str):
                texts.append(text)
            elif task.kind == "blocks":
                # Without a list of blocks the rules decide what may move.
                texts.append("")
            else:
                return NotApplicable(f"rewriter_{text.reason}", text.detail)
        outcome = await asyncio.to_thread(outcome.finish, texts)
    return outcome


@dataclass(frozen=True, slots=True)
class RoundResult:
    """Everything that one round found."""

    trials: tuple[CheckTrial, ...]
    reasons: Mapping[str, str]
    """Categories without a variant, with the reason."""
    difference: float | None = None
    """Contrast of two arms: 1 if they differ in content, less the mean of how both differ from their own
    resend; in [−1, 1]. Its mean is 0 if both answer alike, however noisy they are."""
    unrated: bool = False
    """True if the first arm answered, and it is not known how the second differs."""


@dataclass(frozen=True, slots=True)
class _ArmResult:
    trials: list[CheckTrial]
    reasons: Mapping[str, str]
    reference: Answer | None = None
    control_moved: bool | None = None


@dataclass(slots=True)
class RoundMaker:
    """Makes the rounds of a check."""

    ask: Ask
    """Puts a prompt to the model of an arm; the last argument tells equal requests apart."""
    score: Score
    """Rates pairs of answers to one prompt together, in order."""
    variants: VariantMaker
    prompts: Mapping[str, Sequence[PromptView]]
    """Prompts of each arm; arms have the same number, and prompts of one place belong together."""
    task: str | None

    async def make(self, round_number: int, open_categories: Sequence[str]) -> RoundResult:
        """Return the outcome of a round: its trials for each arm, and how the two arms differ."""
        number = round_number % len(self.prompts[FIRST])
        views = {}
        for arm, prompts in self.prompts.items():
            views[arm] = prompts[number]
        arms = await asyncio.gather(
            *(self._arm(arm, view, round_number, open_categories) for arm, view in views.items())
        )
        trials: list[CheckTrial] = []
        reasons: dict[str, str] = {}
        for made in arms:
            trials += made.trials
            reasons |= made.reasons
        difference, unrated = None, False
        first, second = arms[0], arms[-1]
        if len(arms) > 1 and first.reference is not None and second.reference is not None:
            pair = Pair(first.reference, second.reference, views[FIRST].text, self.task)
            between = (await self.score([pair]))[0]
            moved = content_moved(between)
            if moved is not None and first.control_moved is not None and second.control_moved is not None:
                difference = moved - (first.control_moved + second.control_moved) / 2
        # A second model that fails where the first one answers may not take its place unseen.
        if len(arms) > 1 and first.reference is not None:
            unrated = difference is None
        return RoundResult(tuple(trials), reasons, difference, unrated)

    async def _arm(
        self, arm: str, view: PromptView, round_number: int, open_categories: Sequence[str]
    ) -> _ArmResult:
        variants, reasons = await self.variants.make(view, round_number, open_categories)
        # The name of a draw is part of an answer's key: equal requests are two answers, not one remembered.
        reference, control, *answers = await asyncio.gather(
            self.ask(arm, view, f"{round_number} first"),
            self.ask(arm, view, f"{round_number} again"),
            *(self.ask(arm, variant.view, f"{round_number} {variant.kind}") for variant in variants),
        )
        trial = partial(CheckTrial, round=round_number, arm=arm)
        # Without an original or its resend there is nothing to compare with, so nothing counts as moved.
        for answer in (reference, control):
            if isinstance(answer, Failure):
                lost = [
                    trial(category=made.category, kind=made.kind, failure=answer.reason) for made in variants
                ]
                return _ArmResult(lost, reasons)
        assert not isinstance(reference, Failure)
        assert not isinstance(control, Failure)
        trials: list[CheckTrial] = []
        pairs = [Pair(reference, control, view.text, self.task)]
        answered: list[tuple[Variant, Answer]] = []
        for variant, answer in zip(variants, answers, strict=True):
            if isinstance(answer, Failure):
                # It may be the rewording that the model fails at.
                reason = answer.reason
                trials.append(
                    trial(category=variant.category, kind=variant.kind, unrated=True, failure=reason)
                )
            else:
                answered.append((variant, answer))
                pairs.append(Pair(reference, answer, view.text, self.task, variant.wanted))
        control_judgement, *judgements = await self.score(pairs)
        for (variant, answer), judgement in zip(answered, judgements, strict=True):
            words = changed_words(view, variant.view)
            trials.append(
                trial(
                    category=variant.category,
                    kind=variant.kind,
                    cut=reference.cut or answer.cut,
                    words=words,
                    touched=len(words) / max(1, len(view.input_text.split())),
                    prompt=view.text,
                    variant=variant.view.text,
                    reference=reference.shown,
                    candidate=answer.shown,
                    **_ratings(judgement, control_judgement),
                )
            )
        # Two empty answers cannot be rated, and are the same.
        is_empty = any(failure.metric == IDENTITY for failure in control_judgement.failures)
        control_moved = False if is_empty else content_moved(control_judgement)
        return _ArmResult(trials, reasons, reference, control_moved)


def _ratings(judgement: Judgement, control: Judgement) -> dict[str, Any]:
    """Return the fields of a trial that judgements of its answer and of the resend decide."""
    moved, control_moved = content_moved(judgement), content_moved(control)
    # Without a judge there is no rating, and a similarity is an outcome all the same.
    failure = ""
    if moved is None and judgement.similarity is None and judgement.failures:
        failed = judgement.failures[0]
        failure = failed.reason if failed.metric == IDENTITY else f"judge_{failed.reason}"
    return {
        "moved": moved,
        "control_moved": control_moved,
        "quality_changed": _quality_changed(judgement),
        "control_quality_changed": _quality_changed(control),
        "rating": judgement.rating,
        "similarity": judgement.similarity,
        "control_similarity": control.similarity,
        "invalid": bool(judgement.invalid),
        "unrated": moved is None or control_moved is None,
        "failure": failure,
        "explanation": judgement.explanation,
    }


_SAME: Final = 3


def content_moved(judgement: Judgement) -> bool | None:
    """Return whether the content moved, by a rating or an ignored form only; None if unrated."""
    # Without a judge only identical answers are rated, so counting them would show no change.
    if judgement.scorer == "metrics":
        return None
    if judgement.invalid:
        return True
    return None if judgement.rating is None else judgement.rating < _SAME


def _quality_changed(judgement: Judgement) -> bool | None:
    """Return whether the content moved and a quality changed; None if that is not known."""
    moved = content_moved(judgement)
    if not moved or judgement.invalid:
        return moved
    for score in judgement.quality:
        if score.changed:
            return True
    if judgement.failures:
        return None
    # Without a quality metric for its task a moved answer counts as changed: nobody can say it did no harm.
    return not judgement.quality


def changed_words(view: PromptView, variant: PromptView) -> tuple[str, ...]:
    """Return the words of the prompt's input that a variant changes, each once, in order.

    Words count as changed if their letters, their case or the marks around them do. () for a variant that
    changes nothing but the arrangement.
    """
    left = Counter(variant.input_text.split())
    words: dict[str, None] = {}
    for token in view.input_text.split():
        if left[token]:
            left[token] -= 1
        elif word := _WORD.search(token):
            words[word[0]] = None
    return tuple(words)
