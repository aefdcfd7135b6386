"""A run of the gate: goldens in a drawn order, a few at a time, until the evidence settles it."""

from __future__ import annotations

import asyncio
import time
from collections import Counter, deque
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from itertools import product
from random import Random
from typing import TYPE_CHECKING, Final

from evenkeel.core.budget import Spend
from evenkeel.core.endpoint import with_model
from evenkeel.core.figures import count, number, usd
from evenkeel.core.pair import Pair
from evenkeel.core.verdict import Failure
from evenkeel.core.version import VERSION
from evenkeel.llm.price import Prices, estimate_tokens
from evenkeel.metrics.tasks import Task
from evenkeel.monitor.detect.gate import Gate, GateRules, Shares, least_clusters, least_for_regression
from evenkeel.release.gate.clusters import clusters, sentence
from evenkeel.release.gate.scoring import DIFFERS, GateScoring
from evenkeel.release.gate.sides import (
    check_different,
    described,
    drawn,
    prepare,
    task_of,
)
from evenkeel.release.gate.steps import step_change
from evenkeel.release.kit.arguments import InputError
from evenkeel.release.kit.asking import AskedCall, Asker, UnusableError, advised
from evenkeel.release.kit.cost import JUDGE, BudgetUsedUpError, CostEstimate, Costs
from evenkeel.release.kit.journal import Answers, opened_journal
from evenkeel.release.kit.progress import progress
from evenkeel.release.kit.service_watch import ServiceWatch, service_advice
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
    from evenkeel.release.gate.sides import PreparedGoldens, Side, SideName, SideTask
    from evenkeel.release.kit.confirmation import Confirm
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
class Spent:
    """Calls of a run, and their cost."""

    calls: int = 0
    remembered: int = 0
    failed: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float = 0.0
    """0 for a model without a price. Of answers and of the judge."""
    judge_tokens: int = 0

    @classmethod
    def of(cls, costs: Costs) -> Spent:
        """Costs of a run."""
        return cls(
            costs.calls,
            costs.remembered,
            costs.failed,
            costs.total("prompt_tokens"),
            costs.total("completion_tokens"),
            costs.usd,
            costs.of(JUDGE).tokens,
        )


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
    ledger: Spent
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
        return max(0, self.planned_calls - self.ledger.calls - self.ledger.remembered)


@dataclass(frozen=True, slots=True)
class GoldenLook:
    """Findings about a golden."""

    measured: Measured | Failure
    fallen: FallenGolden | None = None


@dataclass(slots=True)
class Course:
    """Records of a run besides the gate's counts."""

    fallen: list[FallenGolden] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)
    """The first detail of each reason."""
    cut_short: str = ""
    """Why it stopped before it was settled, "" if it did not."""

    def note(self, failure: Failure) -> None:
        """Remember what was said about a reason, the first time it occurs."""
        self.failures.setdefault(failure.reason, failure.detail)


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

    gate: Gate
    """Takes what is found."""
    asker: Asker
    scoring: GateScoring
    """Scores each answer beside the approved one."""
    repeats: int = 1
    """Calls to each side for each golden."""
    concurrency: int = 8
    """Approximate number of calls under way at once: goldens are begun until their calls reach it."""
    task: Callable[[Golden], str | None] = lambda golden: golden.task
    """Name of a golden's task."""
    clusters: Mapping[str, str] = field(default_factory=dict)
    """Names of the goldens' clusters, by their ids; a golden that is not listed is one of its own."""
    explain: Callable[[AskedCall, Failure], str] = lambda _call, failure: failure.detail
    """Says why a call has no answer, and what to do."""
    progress: Callable[[], None] = lambda: None
    """Called after each golden."""

    async def run(self, tasks: Sequence[SideTask], left_out: Sequence[Failure] = ()) -> Course:
        """Take the tasks in order until the gate is settled or there are no more.

        Answers come in any order; they are taken in that of the tasks, so that a quick answer does not
        count before a slow one, and a run can be repeated.
        """
        course = Course()
        # Those that cannot be asked come first of all: if they are too many, nothing is spent.
        for failure in left_out:
            self.gate.leave_out(failure)
            course.note(failure)
        waiting = iter(tasks)
        # More goldens at the same time would be asked in vain once the gate is settled.
        ahead = max(1, round(self.concurrency / len(draws(tasks[0], self.repeats)))) if tasks else 0
        begun: deque[tuple[SideTask, asyncio.Task[GoldenLook]]] = deque()
        try:
            while not self.gate.settled:
                while len(begun) < ahead and (task := next(waiting, None)) is not None:
                    begun.append((task, asyncio.create_task(self._look(task))))
                if not begun:
                    break
                task, looking = begun.popleft()
                self._take(await looking, course, self.clusters.get(task.golden.id))
        except UnusableError as error:
            course.cut_short = str(error)
        except BudgetUsedUpError:
            course.cut_short = "the budget was used up before the evidence settled anything"
        finally:
            # Settled, or failed: what is still under way would be paid for and say nothing.
            for _, looking in begun:
                looking.cancel()
            await asyncio.gather(*(looking for _, looking in begun), return_exceptions=True)
        return course

    def _take(self, looked: GoldenLook, course: Course, cluster: str | None) -> None:
        self.gate.take(looked.measured, cluster)
        if looked.fallen is not None:
            course.fallen.append(looked.fallen)
        measured = looked.measured
        for outcome in [measured] if isinstance(measured, Failure) else measured.values():
            if isinstance(outcome, Failure):
                course.note(outcome)
        self.progress()

    async def _look(self, task: SideTask) -> GoldenLook:
        planned_calls = draws(task, self.repeats)
        calls = []
        for side, repeat in planned_calls:
            calls.append(asyncio.create_task(self.asker.ask(drawn(task.requests[side], repeat))))
        try:
            answers = await asyncio.gather(*calls)
        finally:
            # One that failed leaves the others running, and each of them costs money.
            for call in calls:
                call.cancel()
            await asyncio.gather(*calls, return_exceptions=True)
        # One missing answer makes the golden unmeasured: a difference needs both sides.
        failures: dict[SideName, Failure] = {}
        for (side, _), answer in zip(planned_calls, answers, strict=True):
            if isinstance(answer, Failure):
                failures[side] = replace(answer, detail=self.explain(task.requests[side], answer))
        if "reference" in failures:
            return GoldenLook(failures["reference"])
        if failures:
            # A candidate may fail at goldens that it would get wrong, so a pass has to allow for each.
            return GoldenLook({measure.name: failures["candidate"] for measure in self.gate.measures})
        scored: dict[SideName, list[ScoredAnswer]] = {}
        for (side, _), answer in zip(planned_calls, answers, strict=True):
            assert not isinstance(answer, Failure)
            scored.setdefault(side, []).append(await self._score(task, answer))
        look = _looked(task.golden, scored)
        if look.fallen is not None and self.task(task.golden) == Task.WORKFLOW:
            pair = Pair(task.golden.answer, look.fallen.answer, task.context, Task.WORKFLOW)
            look = replace(look, fallen=replace(look.fallen, steps=step_change(pair)))
        return look

    async def _score(self, task: SideTask, answer: Answer) -> ScoredAnswer:
        pair = Pair(task.golden.answer, answer, task.context, self.task(task.golden))
        return await self.scoring.score(pair)


def draws(task: SideTask, repeats: int) -> list[tuple[SideName, int]]:
    """Return each call for a golden: the side and the number of the call."""
    return list(product(task.requests, range(repeats)))


def _looked(golden: Golden, scored: Mapping[SideName, Sequence[ScoredAnswer]]) -> GoldenLook:
    measured: Measured = {}
    differences: dict[str, float] = {}
    for name in scored["candidate"][0].breaches:
        # Nearly every answer is unlike the approved one, so only the comparison with the other side tells.
        if name == DIFFERS and "reference" in scored:
            shares = _less_similar(scored["candidate"], scored["reference"])
        else:
            shares = _shares(scored, name)
        measured[name] = shares
        if isinstance(shares, Shares) and shares.difference > 0:
            differences[name] = shares.difference
    if not differences:
        return GoldenLook(measured)
    return GoldenLook(measured, _fallen(golden, differences, scored["candidate"]))


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
    return Shares(shares["candidate"], shares.get("reference"))


def _fallen(
    golden: Golden, differences: Mapping[str, float], answers: Sequence[ScoredAnswer]
) -> FallenGolden:
    """Return what fell, with the candidate's first answer that breaches one of the measures."""
    for scored in answers:
        for name in differences:
            if scored.breaches[name] is True:
                judgement = scored.judgement
                return FallenGolden(
                    golden, differences, scored.answer, judgement.rating, judgement.explanation
                )
    raise AssertionError("a share above 0 comes from an answer that breaches")


def _less_similar(candidate: Sequence[ScoredAnswer], reference: Sequence[ScoredAnswer]) -> Shares | Failure:
    """Return how often the answers of each side are less similar to the approved one than the other side's.

    Without a judge this is all that can be compared. If nothing has changed, both sides do so equally often.
    """
    worse = better = 0
    for ours, theirs in product(candidate, reference):
        for scored in (ours, theirs):
            breach = scored.breaches[DIFFERS]
            if isinstance(breach, Failure):
                return breach
        worse += _similarity(ours) < _similarity(theirs)
        better += _similarity(theirs) < _similarity(ours)
    pairs = len(candidate) * len(reference)
    return Shares(worse / pairs, better / pairs)


def _similarity(scored: ScoredAnswer) -> float:
    # An answer without one breaches by a failure, which ends the comparison before.
    assert scored.judgement.similarity is not None
    return scored.judgement.similarity


def explaining(sides: Sequence[Side]) -> Callable[[AskedCall, Failure], str]:
    """Return a function that says which side gave no answer to a call, why, and what to do."""
    by_name = {side.name: side for side in sides}

    def explain(call: AskedCall, failure: Failure) -> str:
        side = by_name["candidate" if call.payee == "candidate" else "reference"]
        advice = advised(
            failure.reason,
            failure.detail,
            variable=side.key_variable,
            key_option="--api-key-env" if side.name == "candidate" else "--reference-key-env",
            url_option="--base-url" if side.name == "candidate" else "--reference-url",
            members="the goldens' requests",
        )
        if failure.reason == "rejected" and not (call.model or with_model(call.target.url, "any")):
            option = "--model" if side.name == "candidate" else "--reference-model"
            advice += f"; the golden names no model: name one with {option}"
        return f"the {side.name} at {call.target.url} does not answer: {advice}"

    return explain


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
    cluster = clusters(options.goldens)
    prepared = prepare(options.goldens, options.sides)
    check_different(prepared.tasks, options.sides)
    with opened_journal(options.journal, "--journal") as database:
        return asyncio.run(_decided(options, prepared, cluster, database, err, confirm))


async def _decided(
    options: GateOptions,
    prepared: PreparedGoldens,
    cluster: Mapping[str, str],
    database: Database,
    err: Console,
    confirm: Confirm,
) -> GateOutcome:
    answers, costs, sides = Answers(database), Costs(options.most_usd), options.sides
    asked = shuffled(prepared.tasks, cluster, options.seed)
    planned_calls = options.repeats * len(sides) * len(asked)
    async with AsyncExitStack() as services:
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
        replayer = Replayer(
            concurrency=options.concurrency, timeout_s=options.timeout_s, user_agent=f"evenkeel/{VERSION}"
        )
        services.push_async_callback(replayer.close)
        explain = explaining(sides)

        def give_up(call: AskedCall, failure: Failure) -> None:
            # Asking on would only collect failures.
            raise UnusableError(explain(call, failure))

        asker = Asker(replayer, answers, options.prices, costs, patience=_PATIENCE, give_up=give_up)
        with progress("asking", "goldens", len(asked), err, details=lambda: _spent_so_far(costs)) as made:
            course = await Run(
                gate,
                asker,
                scoring,
                repeats=options.repeats,
                concurrency=options.concurrency,
                task=lambda golden: task_of(golden, options.route_tasks, options.task),
                clusters=cluster,
                explain=explain,
                progress=made.add,
            ).run(asked, prepared.left_out)
        took_s = time.monotonic() - started
    return GateOutcome(
        report=gate.report(course.cut_short),
        source=options.source,
        candidate=described(sides[0]),
        reference=described(sides[1]) if len(sides) > 1 else "",
        scored_by=scoring.title,
        planned_calls=planned_calls,
        ledger=Spent.of(costs),
        fallen=tuple(sorted(course.fallen, key=lambda fallen: fallen.weight, reverse=True)),
        failures=course.failures,
        notes=tuple(_notes(options, Counter(cluster.values()), gate)),
        seed=options.seed,
        repeats=options.repeats,
        duration_s=took_s,
    )


def _spent_so_far(costs: Costs) -> str:
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
