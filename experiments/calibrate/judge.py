"""A judge's scores of candidates."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from evenkeel.core.budget import Spend
from evenkeel.core.figures import number, usd
from evenkeel.core.verdict import Failure
from evenkeel.experiments.calibrate.candidates import Candidate, conditions, made
from evenkeel.experiments.calibrate.columns import SIMILARITY_SCORE, Field
from evenkeel.experiments.calibrate.journal import Key, Row
from evenkeel.experiments.kit.asking import HOPELESS, PASSING, StoppedError, UnusableError, ask_model
from evenkeel.experiments.kit.cost import JUDGE, Estimate
from evenkeel.metrics.judge import Judge, JudgeRater
from evenkeel.metrics.judge.prompts import SIMILARITY, prompt_tokens_at_most
from evenkeel.metrics.workflow.judge import CALLS, WORKFLOW, WorkflowJudge
from evenkeel.metrics.workflow.reading import read_answer
from evenkeel.metrics.workflow.workflow import WorkflowError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from evenkeel.core.pair import Pair
    from evenkeel.experiments.calibrate.candidates import CandidateSet
    from evenkeel.experiments.kit.asking import ModelAddress
    from evenkeel.experiments.kit.confirmation import Confirm
    from evenkeel.experiments.kit.cost import Costs


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


@dataclass(frozen=True, slots=True)
class Call:
    """One candidate to ask about."""

    candidate: Candidate
    key: str
    """Of the column that the score belongs to."""
    asked: Asked


def _row(call: Call, opinion: Opinion, taken_ms: float) -> Row:
    row = Row(*call.candidate.key, call.candidate.expected)
    outcome = opinion.outcome
    if not (isinstance(outcome, Failure) and outcome.reason in _NOT_ANSWERED):
        row.scores[call.key] = outcome.reason if isinstance(outcome, Failure) else outcome
        row.ms[call.key] = round(taken_ms, 1)
        row.usd[call.key] = opinion.cost_usd
    return row


def _characters(pair: Pair) -> int:
    sides = pair.reference, pair.candidate
    return sum(len(side.text) + sum(len(call.arguments) for call in side.tool_calls) for side in sides)


FAMILY = "judge"


class Asking:
    """One judge, and the goldens that it is asked about."""

    def __init__(
        self, address: ModelAddress, candidates: CandidateSet, costs: Costs, *, most_goldens: int | None
    ) -> None:
        """Choose the goldens; nothing is sent.

        Args:
            address: of the judge.
            candidates: of all goldens.
            costs: where its calls are booked, and the limit.
            most_goldens: a sample of so many; None = all.
        """
        self._address = address
        self._candidates = candidates
        self._journal = candidates.journal
        self._costs = costs
        self._sources = candidates.sources
        if most_goldens is not None and most_goldens < len(candidates.sources):
            rng = random.Random(f"{candidates.seed}\0judged")
            places = rng.sample(range(len(candidates.sources)), most_goldens)
            self._sources = [candidates.sources[place] for place in sorted(places)]

    def run(self, confirm: Confirm, err: Console) -> Field:
        """Ask, and keep every answer in the journal.

        Args:
            confirm: called once before the first call.
            err: gets progress.

        Returns: where the judge's scores are.
        Raises: NotConfirmedError; StoppedError, with what was answered until then in the journal.
        """
        judge = Judge(self._address.endpoint(), repairs=1)
        is_workflow = self._candidates.form == "workflow"
        about: Asked = AskedWorkflow(judge) if is_workflow else AskedSimilarity(JudgeRater(judge))
        field = Field(
            f"{about.name}@{about.version}:{self._address.model}", about.name, about.version, FAMILY
        )
        calls = self._calls(about, field)
        if calls:
            self._confirm(calls, confirm)
            self._ask(judge, calls, err)
        return field

    def _calls(self, about: Asked, field: Field) -> list[Call]:
        """What is still to be asked."""
        calls: list[Call] = []
        for source in self._sources:
            known = [
                one for one in conditions(self._candidates.form) if Key(source.id, *one) in self._journal.rows
            ]
            texts = self._journal.texts(source.id, known)
            calls += [
                Call(one, field.key, about)
                for one in made(source, self._candidates.form, self._candidates.seed, texts, known)
                if isinstance(one, Candidate) and field.key not in self._journal.rows[one.key].scores
            ]
        return calls

    def _confirm(self, calls: Sequence[Call], confirm: Confirm) -> None:
        name, most = self._address.model, self._costs.most_usd
        spend = Spend(0, 0.0)
        for call in calls:
            spend = spend.plus(call.asked.expense(call.candidate.pair))
        if most is not None and spend.usd > most - self._costs.usd:
            raise StoppedError(
                f"asking {name} may cost {usd(spend.usd)}, more than --max-usd {most:g}; raise it, or ask "
                "about fewer goldens with --judge-goldens"
            )
        confirm(Estimate(f"{number(len(calls))} questions to {name}", spend))

    def _ask(self, judge: Judge, calls: Sequence[Call], err: Console) -> None:
        account = self._costs.of(JUDGE)

        async def ask(call: Call) -> None:
            self._costs.check()
            start = time.perf_counter()
            opinion = await call.asked.ask(call.candidate.pair)
            taken_ms = (time.perf_counter() - start) * _MILLI
            account.book(Spend(0, opinion.cost_usd))
            outcome = opinion.outcome
            if isinstance(outcome, Failure) and outcome.reason in HOPELESS:
                raise UnusableError(f"{outcome.reason}: {outcome.detail}")
            self._journal.add(_row(call, opinion, taken_ms))

        ask_model(
            self._address.model, calls, ask, nouns=("questions", "answers"),
            concurrency=self._address.concurrency, close=[judge.close], err=err,
            details=lambda: usd(account.usd),
        )  # fmt: skip
