"""A judge's scores of candidates."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from evenkeel.core.budget import Spend
from evenkeel.core.figures import number, usd
from evenkeel.core.verdict import Failure
from evenkeel.metrics.judge import Judge, JudgeRater
from evenkeel.metrics.judge.prompts import SIMILARITY, prompt_tokens_at_most
from evenkeel.metrics.workflow.judge import CALLS, WORKFLOW, WorkflowJudge
from evenkeel.metrics.workflow.reading import read_answer
from evenkeel.metrics.workflow.workflow import WorkflowError
from evenkeel.release.calibrate.candidates import Candidate, conditions, made
from evenkeel.release.calibrate.columns import SIMILARITY_SCORE, Field
from evenkeel.release.calibrate.journal import Key, Row
from evenkeel.release.kit.asking import HOPELESS, PASSING, StoppedError, UnusableError, ask_model
from evenkeel.release.kit.cost import JUDGE, Estimate

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

    from evenkeel.core.pair import Pair
    from evenkeel.release.calibrate.candidates import CandidateSet, Source
    from evenkeel.release.kit.asking import ModelAddress
    from evenkeel.release.kit.confirmation import Confirm
    from evenkeel.release.kit.cost import Costs


_MILLI = 1e3
_NOT_ANSWERED = HOPELESS | PASSING | {"too_few_votes"}
"""Reasons that say nothing about the candidate: the next run asks again."""


@dataclass(frozen=True, slots=True)
class Opinion:
    """What the judge said of a candidate, and what it cost."""

    outcome: float | Failure
    """In [0, 1], or why there is none."""
    cost_usd: float = 0.0


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
        """Of all calls."""
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


FAMILY = "judge"


def judge_candidates(
    address: ModelAddress, candidates: CandidateSet, costs: Costs, confirm: Confirm, err: Console,
    *, most_goldens: int | None,
) -> Field:  # fmt: skip
    """Ask a judge about the candidates that it has not scored, and keep every score in the journal.

    Args:
        address: of the judge.
        candidates: of all goldens.
        costs: where its calls are booked, and the limit.
        confirm: called once before the first call.
        err: gets progress.
        most_goldens: asks about a sample of so many; None = all.

    Returns: where the judge's scores are.
    Raises: NotConfirmedError; StoppedError, with what was answered until then in the journal.
    """
    judge = Judge(address.endpoint(), repairs=1)
    about: Asked = (
        AskedWorkflow(judge) if candidates.form == "workflow" else AskedSimilarity(JudgeRater(judge))
    )
    field = Field(f"{about.name}@{about.version}:{address.model}", about.name, about.version, FAMILY)
    todo = list(_open(candidates, _sample(candidates, most_goldens), field))
    if not todo:
        return field
    _confirm([about.expense(one.pair) for one in todo], address.model, costs, confirm)
    account = costs.of(JUDGE)

    async def ask(candidate: Candidate) -> None:
        costs.check()
        start = time.perf_counter()
        opinion = await about.ask(candidate.pair)
        taken_ms = (time.perf_counter() - start) * _MILLI
        account.book(Spend(0, opinion.cost_usd))
        outcome = opinion.outcome
        if isinstance(outcome, Failure) and outcome.reason in HOPELESS:
            raise UnusableError(f"{outcome.reason}: {outcome.detail}")
        row = Row(*candidate.key, candidate.expected)
        if not (isinstance(outcome, Failure) and outcome.reason in _NOT_ANSWERED):
            row.scores[field.key] = outcome.reason if isinstance(outcome, Failure) else outcome
            row.ms[field.key] = round(taken_ms, 1)
            row.usd[field.key] = opinion.cost_usd
        candidates.journal.add(row)

    ask_model(
        address.model, todo, ask, nouns=("questions", "answers"), concurrency=address.concurrency,
        close=[judge.close], err=err, details=lambda: usd(account.usd),
    )  # fmt: skip
    return field


def _sample(candidates: CandidateSet, most: int | None) -> Sequence[Source]:
    """So many of the goldens, in their order."""
    sources = candidates.sources
    if most is None or most >= len(sources):
        return sources
    places = random.Random(f"{candidates.seed}\0judged").sample(range(len(sources)), most)
    return [sources[place] for place in sorted(places)]


def _open(candidates: CandidateSet, sources: Sequence[Source], field: Field) -> Iterator[Candidate]:
    """The candidates without a score by the judge."""
    rows = candidates.journal.rows
    for source in sources:
        known = [one for one in conditions(candidates.damage) if Key(source.id, *one) in rows]
        texts = candidates.journal.texts(source.id, known)
        for one in made(source, candidates.damage, candidates.seed, texts, known):
            if isinstance(one, Candidate) and field.key not in rows[one.key].scores:
                yield one


def _confirm(expenses: Sequence[Spend], name: str, costs: Costs, confirm: Confirm) -> None:
    spend = Spend(0, 0.0)
    for expense in expenses:
        spend = spend.plus(expense)
    most = costs.most_usd
    if most is not None and spend.usd > most - costs.usd:
        raise StoppedError(
            f"asking {name} may cost {usd(spend.usd)}, more than --max-usd {most:g}; raise it, or ask "
            "about fewer goldens with --judge-goldens"
        )
    confirm(Estimate(f"{number(len(expenses))} questions to {name}", spend))
