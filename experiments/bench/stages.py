"""All issues in stages: the first ones show what the others will cost, and the user is asked in between."""

from __future__ import annotations

import contextlib
import math
import sqlite3
from typing import TYPE_CHECKING

from evenkeel.core.figures import number, percent, usd
from evenkeel.experiments.bench import prompts
from evenkeel.experiments.bench.batches import batches_of, margin, settled
from evenkeel.experiments.bench.estimate import Judging, factors_of, planned
from evenkeel.experiments.bench.journal import Measured, plan_key
from evenkeel.experiments.bench.protocol import Course, joined, measure
from evenkeel.experiments.bench.spending import BudgetUsedUpError
from evenkeel.experiments.bench.stopping import (
    AGAIN,
    NotConfirmedError,
    StoppedError,
    UnusableError,
    unwritable,
)
from evenkeel.experiments.calibrate.progress import stage
from evenkeel.llm.price import NO_EXPENSE, Expense
from evenkeel.stores.sqlite import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from rich.console import Console

    from evenkeel.experiments.bench.estimate import Planned
    from evenkeel.experiments.bench.items import Item
    from evenkeel.experiments.bench.options import BenchOptions
    from evenkeel.experiments.bench.rewriting import OnceRewritten
    from evenkeel.experiments.bench.rounds import Rounds
    from evenkeel.experiments.bench.spending import Ledger
    from evenkeel.experiments.calibrate.progress import Stage
    from evenkeel.llm.budget import Prices
    from evenkeel.metrics.quality.bundles import Bundle
    from evenkeel.metrics.tasks import Task
    from evenkeel.stores.sqlite import Database


class Stages:
    """Goes through the issues of a run, with the user's consent."""

    def __init__(
        self,
        options: BenchOptions,
        database: Database,
        ledger: Ledger,
        *,
        prices: Prices,
        bundles: Mapping[Task, Bundle],
        err: Console,
        confirm: Callable[[str], bool],
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
            spent = {payee: _less(one, before.get(payee, NO_EXPENSE)) for payee, one in now.items()}
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
        if not self._confirm(said):
            raise NotConfirmedError

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


def _less(one: Expense, other: Expense) -> Expense:
    return Expense(one.tokens - other.tokens, one.usd - other.usd)


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
