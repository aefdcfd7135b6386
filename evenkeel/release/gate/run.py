"""A run of the gate: goldens in a drawn order, a few at a time, until the evidence settles it."""

from __future__ import annotations

import asyncio
import time
from collections import Counter, deque
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from itertools import product
from random import Random
from typing import TYPE_CHECKING, Final, NamedTuple

from evenkeel.core.budget import Spend
from evenkeel.core.endpoint import with_model
from evenkeel.core.figures import count, number, usd
from evenkeel.core.pair import Pair
from evenkeel.core.verdict import Failure
from evenkeel.llm.price import Prices, estimate_tokens
from evenkeel.metrics.tasks import Task
from evenkeel.monitor.detect.gate import Gate, GateRules, Shares, least_clusters, least_for_regression
from evenkeel.release.gate.clusters import clusters, sentence
from evenkeel.release.gate.scoring import DIFFERS, GateScoring, step_change
from evenkeel.release.gate.sides import (
    check_different,
    described,
    drawn,
    prepare,
    task_of,
)
from evenkeel.release.kit.arguments import InputError
from evenkeel.release.kit.asking import AskedCall, Asker, UnusableError, advised
from evenkeel.release.kit.cost import BudgetUsedUpError, CostEstimate, Costs
from evenkeel.release.kit.journal import Answers, opened_journal
from evenkeel.release.kit.service_watch import ServiceWatch, service_advice
from evenkeel.release.kit.terminal import progress
from evenkeel.shadow.replay import Replayer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from rich.console import Console

    from evenkeel.core.pair import Answer
    from evenkeel.metrics.scoring import TwoStageScorer
    from evenkeel.monitor.detect.gate import GateReport, Measured
    from evenkeel.release.gate.scoring import ScoredAnswer
    from evenkeel.release.gate.sides import Side, SideName, SideTask
    from evenkeel.release.kit.cost import Account
    from evenkeel.release.kit.terminal import Confirm
    from evenkeel.stores.goldens import Golden
    from evenkeel.stores.sqlite.database import Database

# Failures in a row of a side that has answered before, after which the run ends.
_PATIENCE: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class GateOptions:
    """Everything that a run needs."""

    goldens: Sequence[Golden]
    source: str
    """Source of the goldens."""
    sides: Sequence[Side]
    """The candidate, and the reference if one is asked; without one, only the tolerance is subtracted."""
    task: str | None = None
    """Task of goldens that name none and whose route has none."""
    route_tasks: Mapping[str, str | None] = field(default_factory=dict)
    rating: Callable[[Database], AbstractAsyncContextManager[TwoStageScorer]]
    """Opens what rates answers; the database remembers what a judge said."""
    judge: str = "the judge"
    """Judge and its endpoint, for messages."""
    judge_model: str = ""
    """Model of the judge that is paid for; "" without one."""
    judge_key_env: str = ""
    """Variable with its key, for messages."""
    prices: Prices = field(default_factory=Prices)
    deciding: tuple[str, ...] = ()
    """Measures that can fail the gate; none = all."""
    rules: GateRules = field(default_factory=GateRules)
    repeats: int = 1
    seed: int = 0
    concurrency: int = 8
    timeout_s: float = 60.0
    journal: Path | None = None
    most_usd: float | None = None


@dataclass(frozen=True, slots=True)
class FallenGolden:
    """A golden that the candidate answers worse than the reference."""

    golden: Golden
    differences: Mapping[str, float]
    """Differences by measure, where above 0."""
    answer: Answer
    """The candidate's, the first that breaches one of them."""
    rating: int | None
    """1, 2 or 3; None if it was not rated."""
    explanation: str
    steps: str = ""
    """Name of what became of a workflow's steps, as in "missing"; "" if it is none, or they are the same."""

    @property
    def weight(self) -> tuple[float, int]:
        """Sort key: the worst is the highest."""
        return sum(self.differences.values()), -(self.rating or 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class GateOutcome:
    """Everything that is shown."""

    report: GateReport
    source: str
    """Source of the goldens."""
    candidate: str
    """The candidate, in a line."""
    reference: str
    """The same; "" if none was asked."""
    scored_by: str
    planned_calls: int
    """Calls to both sides that asking all goldens takes."""
    costs: Costs
    fallen: tuple[FallenGolden, ...]
    """Worst first."""
    failures: Mapping[str, str]
    """A sentence about each reason why goldens could not be measured, once."""
    notes: tuple[str, ...] = ()
    seed: int = 0
    repeats: int = 1
    duration_s: float = 0.0

    @property
    def saved_calls(self) -> int:
        """Calls that were not needed because the answer was settled before."""
        return max(0, self.planned_calls - self.costs.total.calls - self.costs.total.remembered)


class GoldenLook(NamedTuple):
    """Findings about a golden."""

    measured: Measured | Failure
    fallen: FallenGolden | None = None


def shuffled(tasks: Sequence[SideTask], cluster: Mapping[str, str], seed: int) -> list[SideTask]:
    """Return the tasks in a random order, cluster by cluster.

    The order follows from the seed and the goldens, not from the order in which they were given.
    """
    # Cluster by cluster, because a cluster counts once.
    names = sorted(set(cluster.values()))
    Random(f"{seed}:gate").shuffle(names)
    place = {name: number for number, name in enumerate(names)}
    return sorted(tasks, key=lambda task: (place[cluster[task.golden.id]], task.golden.id))


@dataclass(slots=True)
class Run:
    """Asks and scores goldens for a gate."""

    options: GateOptions
    gate: Gate
    """Takes what is found."""
    asker: Asker
    scoring: GateScoring
    """Scores each answer beside the approved one."""
    clusters: Mapping[str, str] = field(default_factory=dict)
    """Names of the goldens' clusters, by their ids; a golden that is not listed is one of its own."""
    progress: Callable[[], None] = lambda: None
    """Called after each golden."""
    fallen: list[FallenGolden] = field(default_factory=list, init=False)
    failures: dict[str, str] = field(default_factory=dict, init=False)
    """The first detail of each reason."""
    cut_short: str = field(default="", init=False)
    """Why it stopped before it was settled, "" if it did not."""

    async def run(self, tasks: Sequence[SideTask], left_out: Sequence[Failure] = ()) -> None:
        """Take the tasks in order until the gate is settled or there are no more.

        Answers come in any order; they are taken in that of the tasks, so that a quick answer does not
        count before a slow one, and a run can be repeated.
        """
        # Those that cannot be asked come first of all: if they are too many, nothing is spent.
        for failure in left_out:
            self.gate.leave_out(failure)
            self.failures.setdefault(failure.reason, failure.detail)
        waiting = iter(tasks)
        # More goldens at the same time would be asked in vain once the gate is settled.
        calls = len(draws(tasks[0], self.options.repeats)) if tasks else 1
        ahead = max(1, round(self.options.concurrency / calls))
        begun: deque[tuple[SideTask, asyncio.Task[GoldenLook]]] = deque()
        try:
            while not self.gate.settled:
                while len(begun) < ahead and (task := next(waiting, None)) is not None:
                    begun.append((task, asyncio.create_task(self._look(task))))
                if not begun:
                    break
                task, looking = begun.popleft()
                self._take(await looking, self.clusters.get(task.golden.id))
        except UnusableError as error:
            self.cut_short = str(error)
        except BudgetUsedUpError:
            self.cut_short = "the budget was used up before the evidence settled anything"
        finally:
            # Settled, or failed: what is still under way would be paid for and say nothing.
            for _, looking in begun:
                looking.cancel()
            await asyncio.gather(*(looking for _, looking in begun), return_exceptions=True)

    def _take(self, look: GoldenLook, cluster: str | None) -> None:
        self.gate.take(look.measured, cluster)
        if look.fallen is not None:
            self.fallen.append(look.fallen)
        for outcome in [look.measured] if isinstance(look.measured, Failure) else look.measured.values():
            if isinstance(outcome, Failure):
                self.failures.setdefault(outcome.reason, outcome.detail)
        self.progress()

    async def _look(self, task: SideTask) -> GoldenLook:
        planned_calls = draws(task, self.options.repeats)
        calls = []
        for side, repeat in planned_calls:
            calls.append(asyncio.create_task(self.asker.ask(drawn(task.requests[side], repeat))))
        try:
            outcomes = await asyncio.gather(*calls)
        finally:
            # One that failed leaves the others running, and each of them costs money.
            for call in calls:
                call.cancel()
            await asyncio.gather(*calls, return_exceptions=True)
        answers: dict[SideName, list[Answer]] = {}
        failures: dict[SideName, Failure] = {}
        for (side, _), outcome in zip(planned_calls, outcomes, strict=True):
            if isinstance(outcome, Failure):
                said = explained(self.options.sides, task.requests[side], outcome)
                failures[side] = replace(outcome, detail=said)
            else:
                answers.setdefault(side, []).append(outcome)
        # One missing answer makes the golden unmeasured: a difference needs both sides.
        if "reference" in failures:
            return GoldenLook(failures["reference"])
        if failures:
            # A candidate may fail at goldens that it would get wrong, so a pass has to allow for each.
            return GoldenLook({measure.name: failures["candidate"] for measure in self.gate.measures})
        return await self._compared(task, answers)

    async def _compared(self, task: SideTask, answers: Mapping[SideName, Sequence[Answer]]) -> GoldenLook:
        golden = task.golden
        name = task_of(golden, self.options.route_tasks, self.options.task)
        scored: dict[SideName, list[ScoredAnswer]] = {}
        for side, given in answers.items():
            scored[side] = []
            for answer in given:
                scored[side].append(await self.scoring.score(Pair(golden.answer, answer, task.context, name)))
        measured: Measured = {}
        differences: dict[str, float] = {}
        for measure in scored["candidate"][0].breaches:
            measured[measure] = shares = _shares(scored, measure)
            if isinstance(shares, Shares) and shares.difference > 0:
                differences[measure] = shares.difference
        if not differences:
            return GoldenLook(measured)
        # The first answer of the candidate that breaches one of them.
        worst = next(
            each for each in scored["candidate"] if any(each.breaches[name] is True for name in differences)
        )
        steps = ""
        if name == Task.WORKFLOW:
            steps = step_change(Pair(golden.answer, worst.answer, task.context, name))
        rating, explanation = worst.judgement.rating, worst.judgement.explanation
        return GoldenLook(
            measured, FallenGolden(golden, differences, worst.answer, rating, explanation, steps)
        )


def draws(task: SideTask, repeats: int) -> list[tuple[SideName, int]]:
    """Return each call for a golden: the side and the number of the call."""
    return list(product(task.requests, range(repeats)))


def _shares(scored: Mapping[SideName, Sequence[ScoredAnswer]], name: str) -> Shares | Failure:
    """Return the shares of each side's answers that breach a measure; the failure if one is not known."""
    shares: dict[SideName, float] = {}
    for side, answers in scored.items():
        breaches = 0
        for answer in answers:
            breach = answer.breaches[name]
            if isinstance(breach, Failure):
                return breach
            breaches += breach
        shares[side] = breaches / len(answers)
    # Nearly every answer is unlike the approved one, so only the comparison with the other side tells.
    if name == DIFFERS and "reference" in scored:
        return _less_similar(scored["candidate"], scored["reference"])
    return Shares(shares["candidate"], shares.get("reference"))


def _less_similar(candidate: Sequence[ScoredAnswer], reference: Sequence[ScoredAnswer]) -> Shares:
    """Return how often the answers of each side are less similar to the approved one than the other side's.

    Without a judge this is all that can be compared. If nothing has changed, both sides do so equally often.
    """
    worse = better = 0
    for ours, theirs in product(candidate, reference):
        # An answer without a similarity breaches by a failure, which ends the comparison before.
        assert ours.judgement.similarity is not None
        assert theirs.judgement.similarity is not None
        worse += ours.judgement.similarity < theirs.judgement.similarity
        better += theirs.judgement.similarity < ours.judgement.similarity
    pairs = len(candidate) * len(reference)
    return Shares(worse / pairs, better / pairs)


def explained(sides: Sequence[Side], call: AskedCall, failure: Failure) -> str:
    """Say which side gave no answer to a call, why, and what to do."""
    is_candidate = call.payee == "candidate"
    advice = advised(
        failure.reason,
        failure.detail,
        variable=next((side.key_variable for side in sides if side.name == call.payee), ""),
        key_option="--api-key-env" if is_candidate else "--reference-key-env",
        url_option="--base-url" if is_candidate else "--reference-url",
        members="the goldens' requests",
    )
    if failure.reason == "rejected" and not (call.model or with_model(call.target.url, "any")):
        option = "--model" if is_candidate else "--reference-model"
        advice += f"; the golden names no model: name one with {option}"
    return f"the {call.payee} at {call.target.url} does not answer: {advice}"


def estimate(
    asked: Sequence[SideTask],
    answers: Answers,
    options: GateOptions,
    rating: TwoStageScorer | None,
) -> CostEstimate | None:
    """Estimate the cost of all calls if no result settles early and answers are as long as the approved ones.

    Returns: None if nobody is asked at all.
    """
    calls = remembered = 0
    spend = Spend(0, 0.0)
    models = [options.judge_model] if rating and options.judge_model else []
    for task in asked:
        answer = task.golden.answer
        tokens = answer.completion_tokens or estimate_tokens(answer.text)
        planned_calls = draws(task, options.repeats)
        for side, repeat in planned_calls:
            request = task.requests[side]
            if answers.get(drawn(request, repeat).key) is not None:
                remembered += 1
                continue
            calls += 1
            models.append(request.model)
            cost = options.prices.usd(request.model, request.prompt_tokens, tokens)
            spend = spend.plus(Spend(request.prompt_tokens + tokens, cost))
        name = task_of(task.golden, options.route_tasks, options.task)
        if rating is not None:
            ruling = rating.estimate(2 * len(answer.text), len(task.context), name)
            spend = spend.plus(Spend(len(planned_calls) * ruling.tokens, len(planned_calls) * ruling.usd))
    # A journal that holds every answer makes the run free: there is nothing to confirm.
    if not calls and rating is None:
        return None
    asked_of = f"up to {number(calls)} calls{f' and those of {options.judge}' if rating else ''}"
    unpriced = options.prices.unknown(*models)
    return CostEstimate(asked_of, spend, remembered, ceiling=False, unpriced=unpriced)


def run_gate(options: GateOptions, *, err: Console, confirm: Confirm) -> GateOutcome:
    """Ask, score and decide, once the estimate of the cost is confirmed.

    Raises: InputError for what cannot be used; NotConfirmedError.
    """
    return asyncio.run(_decided(options, err, confirm))


async def _decided(options: GateOptions, err: Console, confirm: Confirm) -> GateOutcome:
    costs, sides = Costs(options.most_usd), options.sides
    cluster = clusters(options.goldens)
    prepared = prepare(options.goldens, sides)
    check_different(prepared.tasks, sides)
    asked = shuffled(prepared.tasks, cluster, options.seed)
    async with AsyncExitStack() as services:
        database = services.enter_context(opened_journal(options.journal, "--journal"))
        answers = Answers(database)
        # This may take seconds in which nothing else can be shown.
        with err.status("loading metrics"):
            rating = await services.enter_async_context(options.rating(database))
            advice = service_advice("--judge", options.judge_key_env)
            advice["url_option"] = "--judge-url (without it and --config, api.openai.com is asked)"
            scoring = GateScoring(rating, ServiceWatch(options.judge, "--judge-model", advice, costs))
        try:
            gate = Gate(
                options.rules,
                scoring.measures(options.deciding),
                goldens=len(options.goldens),
                with_reference=len(sides) > 1,
            )
        except ValueError as error:
            raise InputError(f"--gate-on: {error}") from error
        ahead = estimate(asked, answers, options, rating if rating.scorer == "judge" else None)
        if ahead is not None:
            confirm(ahead)
        started = time.monotonic()
        replayer = Replayer(concurrency=options.concurrency, timeout_s=options.timeout_s)
        services.push_async_callback(replayer.close)

        def give_up(call: AskedCall, failure: Failure) -> None:
            # Asking on would only collect failures.
            raise UnusableError(explained(sides, call, failure))

        asker = Asker(replayer, answers, options.prices, costs, patience=_PATIENCE, give_up=give_up)
        with progress(
            "asking", "goldens", len(asked), err, details=lambda: _spent_so_far(costs.total)
        ) as made:
            run = Run(options, gate, asker, scoring, cluster, made.add)
            await run.run(asked, prepared.left_out)
        took_s = time.monotonic() - started
    return GateOutcome(
        report=gate.report(run.cut_short),
        source=options.source,
        candidate=described(sides[0]),
        reference=described(sides[1]) if len(sides) > 1 else "",
        scored_by=scoring.title,
        planned_calls=options.repeats * len(sides) * len(asked),
        costs=costs,
        fallen=tuple(sorted(run.fallen, key=lambda fallen: fallen.weight, reverse=True)),
        failures=run.failures,
        notes=tuple(_notes(options, Counter(cluster.values()), gate)),
        seed=options.seed,
        repeats=options.repeats,
        duration_s=took_s,
    )


def _spent_so_far(costs: Account) -> str:
    return (
        f"{number(costs.calls)} calls, {number(costs.remembered)} remembered, {number(costs.failed)} failed, "
        f"{usd(costs.usd)}"
    )


def _notes(options: GateOptions, sizes: Counter[str], gate: Gate) -> Iterator[str]:
    if note := sentence(sizes):
        yield note
    deciding = sum(measure.decides for measure in gate.measures)
    least, for_regression = least_clusters(options.rules), least_for_regression(options.rules, deciding)
    what = count(len(sizes), "golden" if len(sizes) == sizes.total() else "cluster")
    if len(sizes) < for_regression:
        yield (
            f"{what} cannot settle a regression: it takes {number(for_regression)} even if every answer got "
            "worse."
        )
    if len(sizes) < least:
        yield f"If no answer differs, a pass takes {number(least)}; there are {what}."
    if len(options.sides) == 1:
        yield (
            "No reference was asked, so the noise floor could not be taken off: what an unchanged model "
            "answers differently by chance counts against the candidate."
        )
