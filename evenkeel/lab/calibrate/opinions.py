"""A judge's scores of candidates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from evenkeel.core.verdict import Failure
from evenkeel.lab.calibrate.columns import SIMILARITY_SCORE
from evenkeel.metrics.judge.prompts import SIMILARITY, prompt_tokens_at_most
from evenkeel.metrics.workflow.judge import CALLS, WORKFLOW, WorkflowJudge
from evenkeel.metrics.workflow.reading import read_answer
from evenkeel.metrics.workflow.workflow import WorkflowError
from evenkeel.release.kit.asking import HOPELESS, PASSING

if TYPE_CHECKING:
    from evenkeel.core.budget import Spend
    from evenkeel.core.pair import Pair
    from evenkeel.metrics.judge import Judge, JudgeRater


_MILLI = 1e3
_NOT_ANSWERED = HOPELESS | PASSING | {"too_few_votes"}
"""Reasons that say nothing about the candidate: the next run asks again."""


@dataclass(frozen=True, slots=True)
class Opinion:
    """A judge's score of a candidate, and its cost."""

    outcome: float | Failure
    """Score in [0, 1], or why there is none."""
    cost_usd: float = 0.0


class Asked(Protocol):
    """A way of asking a judge about a pair."""

    @property
    def name(self) -> str:
        """Name of the metric."""
        ...

    @property
    def version(self) -> int:
        """Version of the wording."""
        ...

    def expense(self, pair: Pair) -> Spend:
        """Return the highest cost of asking."""
        ...

    async def ask(self, pair: Pair) -> Opinion:
        """Ask. Never raises for what a model or a network can do."""
        ...


class AskedSimilarity:
    """The similarity rating 1–3 as a score: 3 is 1, 2 is ½, 1 is 0."""

    name = SIMILARITY_SCORE
    version = SIMILARITY.version

    def __init__(self, rater: JudgeRater) -> None:
        self._rater = rater

    def expense(self, pair: Pair) -> Spend:
        """Return the highest cost of one rating."""
        return self._rater.estimate(_characters(pair))

    async def ask(self, pair: Pair) -> Opinion:
        """The rating, and the score that it is."""
        rating = await self._rater.rate(pair)
        if isinstance(rating.outcome, Failure):
            return Opinion(rating.outcome, rating.cost_usd)
        assert rating.outcome is not None  # a judge is never unsure
        return Opinion((rating.outcome - 1) / 2, rating.cost_usd)


class AskedWorkflow:
    """The workflow judge, 0–5 over 5, as the mean of several calls."""

    name = WorkflowJudge.name
    version = WorkflowJudge.version

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self._metric = WorkflowJudge(judge)

    def expense(self, pair: Pair) -> Spend:
        """Return the highest cost of all calls."""
        labels = ("TASK", "REFERENCE WORKFLOW", "CANDIDATE WORKFLOW")
        characters = _characters(pair) + len(pair.context)
        return self._judge.expense(prompt_tokens_at_most(WORKFLOW, labels, characters), calls=CALLS)

    async def ask(self, pair: Pair) -> Opinion:
        """The mean of the calls."""
        try:
            both = read_answer(pair.reference), read_answer(pair.candidate)
        except WorkflowError as error:
            return Opinion(Failure(self.name, self.version, error.reason, str(error)))
        judged = await self._metric.judged(*both, pair.context)
        return Opinion(judged.outcome, judged.cost_usd)


def _characters(pair: Pair) -> int:
    sides = pair.reference, pair.candidate
    return sum(len(side.text) + sum(len(call.arguments) for call in side.tool_calls) for side in sides)
