"""A judge's scores of candidates."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING

from evenkeel.core.budget import Spend
from evenkeel.core.figures import number, usd
from evenkeel.core.verdict import Failure
from evenkeel.lab.asking import ask_model
from evenkeel.lab.calibrate.candidates import DegradedGolden, conditions, made
from evenkeel.lab.calibrate.columns import MetricField
from evenkeel.lab.calibrate.journal import CandidateKey, CandidateRow
from evenkeel.lab.metrics.workflow_judge import CALLS, WORKFLOW, WorkflowJudge
from evenkeel.metrics.judge import Judge
from evenkeel.metrics.judge.prompts import prompt_tokens_at_most
from evenkeel.metrics.workflow.reading import read_answer
from evenkeel.release.kit.asking import HOPELESS, PASSING, StoppedError, UnusableError
from evenkeel.release.kit.cost import JUDGE, CostEstimate

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

    from evenkeel.core.pair import Pair
    from evenkeel.lab.asking import ModelAddress
    from evenkeel.lab.calibrate.candidates import CandidateSet, GoldenSource
    from evenkeel.release.kit.confirmation import Confirm
    from evenkeel.release.kit.cost import Costs


_MILLI = 1e3
# Reasons that say nothing about the candidate: the next run asks again.
_NOT_ANSWERED = HOPELESS | PASSING | {"too_few_votes"}
FAMILY = "judge"


def judge_candidates(
    address: ModelAddress, candidates: CandidateSet, costs: Costs, confirm: Confirm, err: Console,
    *, most_goldens: int | None,
) -> MetricField:  # fmt: skip
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
    metric = WorkflowJudge(judge)
    field = MetricField(
        f"{metric.name}@{metric.version}:{address.model}", metric.name, metric.version, FAMILY
    )
    todo = list(_open(candidates, _sample(candidates, most_goldens), field))
    if not todo:
        return field
    _confirm([_expense(judge, candidate.pair) for candidate in todo], address.model, costs, confirm)
    account = costs.of(JUDGE)

    async def ask(candidate: DegradedGolden) -> None:
        costs.check()
        start = time.perf_counter()
        pair = candidate.pair
        opinion = await metric.judged(read_answer(pair.reference), read_answer(pair.candidate), pair.context)
        taken_ms = (time.perf_counter() - start) * _MILLI
        account.book(Spend(0, opinion.cost_usd))
        outcome = opinion.outcome
        if isinstance(outcome, Failure) and outcome.reason in HOPELESS:
            raise UnusableError(f"{outcome.reason}: {outcome.detail}")
        row = CandidateRow(*candidate.key, candidate.expected)
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


def _expense(judge: Judge, pair: Pair) -> Spend:
    """The highest cost of all calls about a pair."""
    labels = ("TASK", "REFERENCE WORKFLOW", "CANDIDATE WORKFLOW")
    characters = len(pair.context)
    for side in (pair.reference, pair.candidate):
        characters += len(side.text) + sum(len(call.arguments) for call in side.tool_calls)
    return judge.expense(prompt_tokens_at_most(WORKFLOW, labels, characters), calls=CALLS)


def _sample(candidates: CandidateSet, most: int | None) -> Sequence[GoldenSource]:
    """Draw a sample of the goldens, in their order."""
    sources = candidates.sources
    if most is None or most >= len(sources):
        return sources
    indices = random.Random(f"{candidates.seed}\0judged").sample(range(len(sources)), most)
    return [sources[index] for index in sorted(indices)]


def _open(
    candidates: CandidateSet, sources: Sequence[GoldenSource], field: MetricField
) -> Iterator[DegradedGolden]:
    """The candidates without a score by the judge."""
    rows = candidates.journal.rows
    for source in sources:
        damaged = []
        for condition in conditions(candidates.damage):
            if CandidateKey(source.id, *condition) in rows:
                damaged.append(condition)
        for candidate in made(source, candidates.damage, candidates.seed, damaged):
            if isinstance(candidate, DegradedGolden) and field.key not in rows[candidate.key].scores:
                yield candidate


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
    confirm(CostEstimate(f"{number(len(expenses))} questions to {name}", spend))
