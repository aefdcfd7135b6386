"""One run: all issues in stages, with the user's consent, and what was found.

The first issues show what the others will cost, and the user is asked in between.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import sqlite3
import time
from contextlib import AsyncExitStack, ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from evenkeel import __version__
from evenkeel.core.budget import NOTHING, Spend
from evenkeel.core.figures import number, percent, usd
from evenkeel.experiments.bench import prompts
from evenkeel.experiments.bench.costs import (
    Judging,
    Measured,
    batches_of,
    factors_of,
    margin,
    open_journal,
    plan_key,
    planned,
    settled,
)
from evenkeel.experiments.bench.models import Asker
from evenkeel.experiments.bench.scores import make_tables
from evenkeel.experiments.bench.services import judge_of, judge_watch, rewriter_of, scorer_of, without_slots
from evenkeel.experiments.bench.trials import Course, Rounds, joined, measure
from evenkeel.experiments.calibrate.progress import stage
from evenkeel.experiments.kit.asking import AGAIN, StoppedError, UnusableError, unwritable
from evenkeel.experiments.kit.cost import BudgetUsedUpError, Costs
from evenkeel.metrics.heuristic import Cutoffs
from evenkeel.runtime import choices
from evenkeel.runtime.instruments import Encoder, make_encoder
from evenkeel.runtime.replays import prices
from evenkeel.shadow.replay import Replayer
from evenkeel.stores.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from rich.console import Console

    from evenkeel.experiments.bench.costs import Planned
    from evenkeel.experiments.bench.items import Item
    from evenkeel.experiments.bench.scores import Tables
    from evenkeel.experiments.bench.services import OnceRewritten
    from evenkeel.experiments.bench.trials import Protocol, Trial
    from evenkeel.experiments.calibrate.progress import Stage
    from evenkeel.experiments.kit.confirmation import Confirm
    from evenkeel.llm.price import Prices
    from evenkeel.metrics.quality.bundles import Bundle
    from evenkeel.metrics.tasks import Task
    from evenkeel.settings import Settings
    from evenkeel.stores.sqlite.database import Database


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchOptions:
    """Everything that a run needs to be told."""

    settings: Settings
    """Judge, rewriter, prices, embeddings."""
    protocol: Protocol
    items: tuple[Item, ...]
    """In the order in which they are put."""
    source: str
    """Where the issues come from."""
    not_measured: dict[str, int] = field(default_factory=dict)
    """What is missing ("judge", "rewriter") → kinds that were asked for and need it."""
    journal: Path
    concurrency: int = 8
    timeout_s: float = 120.0
    most_usd: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """All of it."""

    tables: Tables
    trials: tuple[Trial, ...]
    items: int
    source: str
    """Where the issues come from."""
    tasks: tuple[str, ...]
    runs: int
    severity: float
    seed: int
    scored_by: str
    """"the judge NAME", or "metrics, without a judge"."""
    rewritten_by: str
    """Name of the rewriter, "" without one."""
    ledger: Costs
    thumb_usd: float | None = None
    """Estimate by rule of thumb, before the first call; None where costs were measured by an earlier run."""
    measured_usd: float | None = None
    """Estimate of the whole run, made when its first issues were through; None if there was none."""
    spent_usd: float = 0.0
    """Spent by this run and those before it that had the same plan and journal."""
    notes: tuple[str, ...] = ()
    unusable: Mapping[str, str] = field(default_factory=dict)
    """Models that stopped answering → what they said last."""
    duration_s: float = 0.0

    @property
    def estimate_ratio(self) -> float | None:
        """The estimate over what was spent; by rule of thumb where none was measured, None without both."""
        estimate = self.thumb_usd if self.measured_usd is None else self.measured_usd
        return estimate / self.spent_usd if estimate is not None and self.spent_usd else None


class Stages:
    """Goes through the issues of a run, with the user's consent."""

    def __init__(
        self,
        options: BenchOptions,
        database: Database,
        ledger: Costs,
        *,
        prices: Prices,
        bundles: Mapping[Task, Bundle],
        err: Console,
        confirm: Confirm,
    ) -> None:
        """Begin.

        Args:
            options: What to do.
            database: The journal.
            ledger: What is spent.
            prices: Of models.
            bundles: The qualities that a judge is asked about, by task.
            err: Gets progress.
            confirm: Asked with an estimate whether that may be spent.
        """
        self._options = options
        self._ledger = ledger
        self._prices = prices
        self._bundles = bundles
        self._err = err
        self._confirm = confirm
        self._known = Measured(database)
        self._plan = plan_key(_plan(options))
        self.thumb_usd: float | None = None
        """Estimate by rule of thumb; None where an earlier run has measured already."""

    @property
    def measured_usd(self) -> float | None:
        """Estimate of the whole run, made by this run or an earlier one on the first issues."""
        return self._known.estimate_usd(self._plan)

    @property
    def spent_usd(self) -> float:
        """Spent on this plan by this run and the ones before it."""
        return sum(one.usd for one in self._known.spent(self._plan).values())

    async def course(self, rounds: Rounds, rewrite: OnceRewritten | None) -> Course:
        """Measure everything.

        Raises: NotConfirmedError; StoppedError at the limit, with every answer until then in the journal.
        """
        items = self._options.items
        factors = self._known.get(self._plan)
        if factors is not None:
            ahead = self._planned(items).scaled(factors)
            there = min(self._known.answers(), ahead.calls)
            self._agree(ahead, f"in all {ahead.said()}; {number(there)} answers are in the journal")
            with self._progress("issues", len(items)) as told:
                return await self._measure(items, rounds, rewrite, told)
        every, batches = self._planned(items), batches_of(items)
        self.thumb_usd = every.usd
        thumb = f"by rule of thumb {every.said()}"
        if len(batches) > 1:
            thumb += "; the first issues show what it really is, and you are asked again before half of them"
        self._agree(self._planned(batches[0]) if len(batches) > 1 else every, thumb)
        course, ratios = await self._first(batches, rounds, rewrite)
        done = sum(len(batch) for batch in batches[: len(ratios)])
        factors = factors_of(self._planned(items[:done]), self._ledger, self._known.spent(self._plan))
        first, rest = items[:done], items[done:]
        ahead = self._planned(rest).scaled(factors)
        estimate = self._planned(first).scaled(factors).usd + ahead.usd
        self._known.put(self._plan, factors, estimate if rest else None)
        if not rest:
            return course
        right = percent(margin(ratios, done / len(items)))
        self._agree(
            ahead,
            f"as measured, the other {number(len(rest))} issues take {ahead.said()}; "
            f"in all that is right to {right}",
        )
        with self._progress("other issues", len(rest)) as told:
            return joined(course, await self._measure(rest, rounds, rewrite, told))

    async def _first(
        self, batches: Sequence[Sequence[Item]], rounds: Rounds, rewrite: OnceRewritten | None
    ) -> tuple[Course, list[float]]:
        """As many batches as it takes to know the costs, and the ratio of each to the rule of thumb."""
        course, done, ratios = Course(), 0, list[float]()
        every = len(self._options.items)
        half = math.ceil(math.ceil(every / 2) / len(batches[0])) * len(batches[0])
        with self._progress("first issues", min(half, every)) as told:
            for batch in batches:
                before = self._worth()
                course = joined(course, await self._measure(batch, rounds, rewrite, told))
                done += len(batch)
                expected = self._planned(batch)
                ratios.append((self._worth() - before) / (expected.usd or float(expected.tokens) or 1.0))
                if 2 * done >= every or settled(ratios, done / every):
                    break
        return course, ratios

    def _worth(self) -> float:
        """Spent so far, in US dollars or, if no price is known, in tokens; remembered answers count."""
        accounts = self._ledger.accounts.values()
        dollars = sum(one.usd + one.remembered_usd for one in accounts)
        return dollars or float(sum(one.tokens + one.remembered_tokens for one in accounts))

    def _progress(self, title: str, items: int) -> AbstractContextManager[Stage]:
        return stage(title, "rounds", self._options.protocol.rounds(items), self._err)

    async def _measure(
        self, items: Sequence[Item], rounds: Rounds, rewrite: OnceRewritten | None, told: Stage
    ) -> Course:
        before = self._ledger.expenses()

        def booked() -> float:
            nonlocal before
            now = self._ledger.expenses()
            spent = {payee: _less(one, before.get(payee, NOTHING)) for payee, one in now.items()}
            before = now
            self._known.add_spent(self._plan, spent)
            return sum(one.usd for one in spent.values())

        try:
            return await measure(
                self._options.protocol, items, rounds, rewrite=rewrite, progress=lambda: told.add(booked())
            )
        except ExceptionGroup as group:
            stopped = self._stopped(group, told)
            if stopped is None:
                raise
            raise stopped from group
        finally:
            with contextlib.suppress(sqlite3.Error):
                booked()

    def _stopped(self, group: ExceptionGroup, told: Stage) -> StoppedError | None:
        """What to tell of faults that came together, by the first one that is known; None if none is."""
        for fault in _leaves(group):
            if isinstance(fault, BudgetUsedUpError):
                return StoppedError(
                    f"stopped at --max-usd after {usd(self._ledger.usd)} and {number(told.done)} of "
                    f"{number(told.total)} rounds; give the same command with a higher limit to go on from "
                    "there"
                )
            if isinstance(fault, UnusableError):
                return StoppedError(f"{fault}; then {AGAIN}")
            if isinstance(fault, (sqlite3.Error, StoreError)):
                return unwritable(self._options.journal, fault)
        return None

    def _agree(self, ahead: Planned, said: str) -> None:
        """Ask whether that may be spent."""
        most = self._options.most_usd
        if most is not None and self._ledger.usd + ahead.usd > most:
            said += f" (above --max-usd {usd(most)}: it will stop there, and can go on later)"
        if most is not None and not ahead.usd:
            said += " (--max-usd cannot stop it without prices: add --price)"
        self._confirm(said)

    def _planned(self, items: Sequence[Item]) -> Planned:
        settings = self._options.settings
        judge, rewriter = settings.judge, settings.rewriter
        judging = Judging(judge.model, judge.votes, self._bundles) if judge else None
        return planned(
            self._options.protocol, items, self._prices, judging, rewriter.model if rewriter else None
        )


def _leaves(group: BaseExceptionGroup) -> Iterator[BaseException]:
    for one in group.exceptions:
        if isinstance(one, BaseExceptionGroup):
            yield from _leaves(one)
        else:
            yield one


def _less(one: Spend, other: Spend) -> Spend:
    return Spend(one.tokens - other.tokens, one.usd - other.usd)


def _plan(options: BenchOptions) -> dict[str, object]:
    """What decides the costs of an issue."""
    protocol, judge, rewriter = options.protocol, options.settings.judge, options.settings.rewriter
    return {
        "models": [[one.name, one.model, one.target.url, dict(one.parameters)] for one in protocol.models],
        "tasks": list(protocol.tasks),
        "kinds": [[kind.name, kind.version] for kind in protocol.kinds],
        "runs": protocol.runs,
        "severity": protocol.severity,
        "seed": protocol.seed,
        "items": [item.id for item in options.items],
        "judge": [judge.base_url, judge.model, judge.votes] if judge else None,
        "rewriter": [rewriter.base_url, rewriter.model] if rewriter else None,
        "prompts": prompts.VERSION,
        "prices": sorted(options.settings.prices),
    }


_SHOWN = 8
"""Kinds that are named in a line."""


def run_bench(options: BenchOptions, *, err: Console, confirm: Confirm) -> Outcome:
    """Ask and score.

    Args:
        options: What to do.
        err: Gets progress.
        confirm: Asked with an estimate before the first call, and with a measured one after the first issues.

    Raises: SettingsError for a journal that cannot be used; NotConfirmedError; StoppedError, with every
        answer until then in the journal.
    """
    with ExitStack() as stack:
        database = open_journal(options.journal)
        stack.callback(database.close)
        try:
            return asyncio.run(_measured(options, database, err, confirm))
        except sqlite3.Error as error:
            raise unwritable(options.journal, error) from error


async def _measured(options: BenchOptions, database: Database, err: Console, confirm: Confirm) -> Outcome:
    started = time.monotonic()
    settings = options.settings
    known, ledger = prices(settings), Costs(options.most_usd)
    bundles = without_slots(choices.bundles(settings))
    stages = Stages(options, database, ledger, prices=known, bundles=bundles, err=err, confirm=confirm)
    async with AsyncExitStack() as stack:
        judge = judge_of(settings, database, known)
        meaning = Encoder(None, Cutoffs())
        if judge is not None:
            stack.push_async_callback(judge.close)
        else:
            with err.status("loading metrics"):
                meaning = make_encoder(settings, known)
            stack.push_async_callback(meaning.close)
        replayer = Replayer(
            concurrency=options.concurrency,
            timeout_s=options.timeout_s,
            user_agent=f"evenkeel/{__version__}",
        )
        stack.push_async_callback(replayer.close)
        rewrite = rewriter_of(settings, judge, database, known, ledger, stack)
        asker = Asker(replayer, database, known, ledger, models=len(options.protocol.models))
        items = {item.id: item for item in options.items}
        scorer = scorer_of(settings, judge, meaning, bundles)
        rounds = Rounds(asker, scorer, items, ledger, judge_watch(settings))
        course = await stages.course(rounds, rewrite)
    return _outcome(options, course, stages, ledger, asker, time.monotonic() - started)


def _outcome(
    options: BenchOptions, course: Course, stages: Stages, ledger: Costs, asker: Asker, took_s: float
) -> Outcome:
    protocol, judge, rewriter = options.protocol, options.settings.judge, options.settings.rewriter
    names = [one.name for one in protocol.models]
    return Outcome(
        tables=make_tables(names, course.trials, course.entities),
        trials=tuple(course.trials),
        items=len(options.items),
        source=options.source,
        tasks=tuple(task.value for task in protocol.tasks),
        runs=protocol.runs,
        severity=protocol.severity,
        seed=protocol.seed,
        scored_by=f"the judge {judge.model}" if judge else "metrics, without a judge",
        rewritten_by=rewriter.model if rewriter else "",
        ledger=ledger,
        thumb_usd=stages.thumb_usd,
        measured_usd=stages.measured_usd,
        spent_usd=stages.spent_usd,
        notes=tuple(_notes(options.not_measured, course)),
        unusable=asker.unusable_as_told,
        duration_s=took_s,
    )


def _notes(not_measured: Mapping[str, int], course: Course) -> list[str]:
    notes = [
        f"{number(count)} kind{' was' if count == 1 else 's were'} not measured for want of a {name} "
        f"(--{name}-model)."
        for name, count in not_measured.items()
    ]
    if course.troubles:
        notes.append(
            f"{number(course.troubles)} variants are missing because the rewriter failed or wrote nothing "
            "usable."
        )
    idle: dict[str, int] = {}
    for (task, kind, reason), count in sorted(course.left_out.items()):
        if not reason.startswith("rewriter_"):
            idle[f"{kind} on {task} ({reason})"] = count
    if idle:
        shown = ", ".join(list(idle)[:_SHOWN])
        more = f" and {number(len(idle) - _SHOWN)} more" if len(idle) > _SHOWN else ""
        notes.append(f"Not applicable: {shown}{more}.")
    return notes
