"""Scores by a judge: asked about a few candidates at a time, resumably."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from evenkeel.core.verdict import Failure
from evenkeel.experiments.calibrate.columns import SIMILARITY_SCORE
from evenkeel.experiments.calibrate.journal import Row
from evenkeel.metrics.judge.prompts import SIMILARITY, prompt_tokens_at_most
from evenkeel.metrics.workflow.judge import CALLS, WORKFLOW, WorkflowJudge
from evenkeel.metrics.workflow.reading import read_answer
from evenkeel.metrics.workflow.workflow import WorkflowError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from evenkeel.core.budget import Spend
    from evenkeel.core.pair import Pair
    from evenkeel.experiments.calibrate.candidates import Candidate
    from evenkeel.metrics.judge import Judge, JudgeRater

_MILLI = 1e3
_HOPELESS = frozenset({"unauthorized", "circuit_open", "bad_request"})
_PASSING = _HOPELESS | {"timeout", "rate_limited", "server_error", "connection", "too_few_votes"}
"""Reasons that say nothing about the candidate: the next run asks again."""


class NotConfirmedError(Exception):
    """The user did not want to spend what a model would have cost."""


class ModelFailedError(Exception):
    """A judge or a rewriter could not be used. The message says why, and how to go on."""


@dataclass(frozen=True, slots=True)
class Opinion:
    """What the judge said of a candidate, and what it cost."""

    outcome: float | Failure
    """In [0, 1], or why there is none."""
    cost_usd: float = 0.0
    rating: int | None = None
    """1–3, if that was asked."""


class Asked(Protocol):
    """A way of asking a judge about a pair."""

    @property
    def name(self) -> str:
        """Of the metric."""
        ...

    @property
    def version(self) -> int:
        """Of the wording."""
        ...

    def expense(self, pair: Pair) -> Spend:
        """What it costs at most."""
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
        """Of one rating."""
        return self._rater.estimate(_characters(pair))

    async def ask(self, pair: Pair) -> Opinion:
        """The rating, and the score that it is."""
        rating = await self._rater.rate(pair)
        if isinstance(rating.outcome, Failure):
            return Opinion(rating.outcome, rating.cost_usd)
        return Opinion((rating.outcome - 1) / 2, rating.cost_usd, rating.outcome)


class AskedWorkflow:
    """The workflow judge, 0–5 over 5, as the mean of several calls."""

    name = WorkflowJudge.name
    version = WorkflowJudge.version

    def __init__(self, judge: Judge, calls: int = CALLS) -> None:
        self._judge = judge
        self._metric = WorkflowJudge(judge, calls=calls)
        self._calls = calls

    def expense(self, pair: Pair) -> Spend:
        """Of all calls."""
        labels = ("TASK", "REFERENCE WORKFLOW", "CANDIDATE WORKFLOW")
        characters = _characters(pair) + len(pair.context)
        return self._judge.expense(prompt_tokens_at_most(WORKFLOW, labels, characters), calls=self._calls)

    async def ask(self, pair: Pair) -> Opinion:
        """The mean of the calls."""
        try:
            both = read_answer(pair.reference), read_answer(pair.candidate)
        except WorkflowError as error:
            return Opinion(Failure(self.name, self.version, error.reason, str(error)))
        judged = await self._metric.judged(*both, pair.context)
        return Opinion(judged.outcome, judged.cost_usd)


@dataclass(frozen=True, slots=True)
class Call:
    """One candidate to ask about."""

    candidate: Candidate
    key: str | None
    """Of the column that the score belongs to; None if only the rating is wanted."""
    asked: Asked


async def ask_all(
    calls: Sequence[Call],
    *,
    concurrency: int,
    most_usd: float | None,
    keep: Callable[[Row, float], None],
) -> None:
    """Ask about all candidates.

    Args:
        calls: each candidate at most once for each way of asking.
        concurrency: candidates under way at the same time.
        most_usd: stop before the next candidate once so much is spent.
        keep: told each row and what it cost as soon as it is there; of what failed for a while, one without
                scores.

    Raises: ModelFailedError if the key is rejected, the endpoint keeps failing or the money is spent.
    """
    spent = 0.0
    waiting = iter(calls)

    async def work() -> None:
        nonlocal spent
        for call in waiting:
            if most_usd is not None and spent >= most_usd:
                raise ModelFailedError(f"stopped: ${spent:.2f} are spent, as much as --max-usd allows")
            start = time.perf_counter()
            opinion = await call.asked.ask(call.candidate.pair)
            spent += opinion.cost_usd
            taken_ms = (time.perf_counter() - start) * _MILLI
            outcome = opinion.outcome
            if isinstance(outcome, Failure) and outcome.reason in _HOPELESS:
                raise ModelFailedError(f"{outcome.reason}: {outcome.detail}")
            keep(_row(call, opinion, taken_ms), opinion.cost_usd)

    failed: ModelFailedError | None = None
    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(min(concurrency, len(calls))):
                group.create_task(work())
    except* ModelFailedError as errors:
        failed = next(error for error in errors.exceptions if isinstance(error, ModelFailedError))
    if failed is not None:
        raise failed


def _row(call: Call, opinion: Opinion, taken_ms: float) -> Row:
    row = Row(call.candidate.key, call.candidate.expected, rating=opinion.rating)
    outcome = opinion.outcome
    if call.key is not None and not (isinstance(outcome, Failure) and outcome.reason in _PASSING):
        row.scores[call.key] = outcome.reason if isinstance(outcome, Failure) else outcome
        row.ms[call.key] = round(taken_ms, 1)
        row.usd[call.key] = opinion.cost_usd
    return row


def expense(calls: Iterable[Call]) -> tuple[int, float]:
    """Tokens and US dollars that all calls cost at most."""
    each = [call.asked.expense(call.candidate.pair) for call in calls]
    return sum(one.tokens for one in each), sum(one.usd for one in each)


def _characters(pair: Pair) -> int:
    sides = pair.reference, pair.candidate
    return sum(len(side.text) + sum(len(call.arguments) for call in side.tool_calls) for side in sides)
