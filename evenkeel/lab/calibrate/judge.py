"""Scores that a judge gives to the candidates of a calibration."""

from __future__ import annotations

import random
import statistics
import time
from typing import TYPE_CHECKING, Final

from evenkeel.core.budget import Spend, total
from evenkeel.core.figures import number, usd
from evenkeel.core.verdict import Failure
from evenkeel.lab.asking import ask_questions
from evenkeel.lab.calibrate.score_table import MetricFacts
from evenkeel.lab.calibrate.scoring import MetricScores
from evenkeel.lab.metrics.workflow_judge import CALLS, WORKFLOW, WorkflowJudge
from evenkeel.metrics.judge.prompts import prompt_tokens_at_most
from evenkeel.metrics.workflow.reading import read_answer
from evenkeel.release.kit.asking import HOPELESS, StoppedError, UnusableError
from evenkeel.release.kit.cost import JUDGE, CostEstimate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from evenkeel.core.pair import Pair
    from evenkeel.lab.asking import ModelAddress
    from evenkeel.lab.calibrate.candidates import DegradedGolden
    from evenkeel.metrics.judge import Judge
    from evenkeel.release.kit.cost import Costs
    from evenkeel.release.kit.terminal import Confirm
    from evenkeel.stores.sqlite.database import Database


FAMILY: Final = "judge"
_MILLI: Final = 1e3


def judge_candidates(
    address: ModelAddress, candidates: Sequence[DegradedGolden], costs: Costs, confirm: Confirm, err: Console,
    *, journal: Database, sample: int | None, seed: int,
) -> MetricScores:  # fmt: skip
    """Ask a judge to score candidates. The journal keeps every ruling, so a stopped run repeats no call.

    Args:
        address: Endpoint and model of the judge.
        candidates: Degraded answers of all goldens.
        costs: Books the calls and has the limit.
        confirm: Called once with the estimated cost, before the first call.
        err: Console for progress.
        journal: Database that keeps the rulings.
        sample: Number of goldens whose candidates are scored, drawn at random; None = all.
        seed: Seed of the sample.

    Raises: NotConfirmedError; StoppedError, with the rulings received so far in the journal.
    """
    judge = address.judge(journal, repairs=1)
    metric = WorkflowJudge(judge)
    goldens = _sample(sorted({candidate.golden for candidate in candidates}), sample, seed)
    todo = []
    for index, candidate in enumerate(candidates):
        if candidate.golden in goldens:
            todo.append(index)
    _confirm([_expense(judge, candidates[index].pair) for index in todo], address, costs, confirm)
    account = costs.of(JUDGE)
    scores: list[float | str | None] = [None] * len(candidates)
    taken_ms: list[float] = []
    prices: list[float] = []

    async def ask(index: int) -> None:
        costs.check()
        pair = candidates[index].pair
        start = time.perf_counter()
        opinion = await metric.judged(read_answer(pair.reference), read_answer(pair.candidate), pair.context)
        taken_ms.append((time.perf_counter() - start) * _MILLI)
        prices.append(opinion.spent.usd)
        account.book(opinion.spent)
        outcome = opinion.outcome
        if isinstance(outcome, Failure) and outcome.reason in HOPELESS:
            raise UnusableError(f"{outcome.reason}: {outcome.detail}")
        scores[index] = outcome.reason if isinstance(outcome, Failure) else outcome

    ask_questions(
        judge, todo, ask, concurrency=address.concurrency, err=err, details=lambda: usd(account.usd)
    )
    facts = MetricFacts(
        metric.name,
        metric.version,
        FAMILY,
        round(statistics.fmean(prices), 6) if prices else 0.0,
        round(statistics.median(taken_ms), 1) if taken_ms else 0.0,
    )
    return MetricScores(facts, scores)


def _expense(judge: Judge, pair: Pair) -> Spend:
    labels = ("TASK", "REFERENCE WORKFLOW", "CANDIDATE WORKFLOW")
    characters = len(pair.context)
    for side in (pair.reference, pair.candidate):
        characters += len(side.text) + sum(len(call.arguments) for call in side.tool_calls)
    return judge.expense(prompt_tokens_at_most(WORKFLOW, labels, characters), calls=CALLS)


def _sample(goldens: Sequence[str], most: int | None, seed: int) -> frozenset[str]:
    if most is None or most >= len(goldens):
        return frozenset(goldens)
    return frozenset(random.Random(f"{seed}\0judged").sample(goldens, most))


def _confirm(expenses: Sequence[Spend], address: ModelAddress, costs: Costs, confirm: Confirm) -> None:
    spend, most = total(expenses), costs.most_usd
    if most is not None and spend.usd > most - costs.usd:
        raise StoppedError(
            f"asking {address.model} may cost {usd(spend.usd)}, more than --max-usd {most:g}; raise it, or "
            "ask about fewer goldens with --judge-goldens"
        )
    asked = f"{number(len(expenses))} questions to {address.model}"
    confirm(CostEstimate(asked, spend, unpriced=address.prices.unknown(address.model)))
