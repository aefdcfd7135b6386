"""One run: all issues in stages, with the user's consent, and what was found.

The first issues show what the others will cost, and the user is asked in between.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import sqlite3
import time
from collections.abc import Callable
from contextlib import AsyncExitStack, ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from evenkeel.core.budget import NOTHING, Spend
from evenkeel.core.figures import number, percent, usd
from evenkeel.core.version import VERSION
from evenkeel.lab.bench import prompts
from evenkeel.lab.bench.costs import (
    Judging,
    Measured,
    batches_of,
    factors_of,
    margin,
    plan_key,
    planned,
    settled,
)
from evenkeel.lab.bench.models import ModelsAsked
from evenkeel.lab.bench.scores import make_tables
from evenkeel.lab.bench.trials import Course, Rounds, joined, measure
from evenkeel.release.kit.asking import AGAIN, StoppedError, UnusableError, unwritable
from evenkeel.release.kit.cost import BudgetUsedUpError, Costs
from evenkeel.release.kit.journal import Answers, open_database
from evenkeel.release.kit.progress import Progress, progress
from evenkeel.shadow.replay import Replayer
from evenkeel.stores.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from rich.console import Console

    from evenkeel.lab.bench.costs import Planned
    from evenkeel.lab.bench.items import Item
    from evenkeel.lab.bench.scores import Tables
    from evenkeel.lab.bench.services import OnceRewritten, Services
    from evenkeel.lab.bench.trials import Protocol, Trial
    from evenkeel.llm.price import Prices
    from evenkeel.metrics.quality.bundles import Bundle
    from evenkeel.metrics.tasks import Task
    from evenkeel.release.kit.confirmation import Confirm
    from evenkeel.stores.sqlite.database import Database


class JudgeChosen(NamedTuple):
    """Who rates the answers."""

    url: str
    model: str
    votes: int


class RewriterChosen(NamedTuple):
    """Who rewrites texts."""

    url: str
    model: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchOptions:
    """Everything that decides a run."""

    protocol: Protocol
    items: tuple[Item, ...]
    """In the order in which they are put."""
    source: str
    """Where the issues come from."""
    not_measured: Mapping[str, int] = field(default_factory=dict)
    """What is missing ("judge", "rewriter") → perturbations that were asked for and need it."""
    judge: JudgeChosen | None
    """None = heuristics rate."""
    rewriter: RewriterChosen | None
    bundles: Mapping[Task, Bundle]
    """The qualities of each task."""
    prices: Prices
    own_prices: tuple[str, ...] = ()
    """Models whose price is not that of the public list."""
    journal: Path
    concurrency: int = 8
    timeout_s: float = 120.0
    most_usd: float | None = None


Connect = Callable[["Database", Costs, AsyncExitStack], "Services"]
"""Connects scorer and rewriter: given the journal that keeps their rulings and texts, the costs they are
booked to, and what closes them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """All of it."""

    options: BenchOptions
    tables: Tables
    trials: tuple[Trial, ...]
    costs: Costs
    thumb_usd: float | None
    """Estimate by rule of thumb, before the first call; None where costs were measured by an earlier run."""
    measured_usd: float | None
    """Estimate of the whole run, made when its first issues were through; None if there was none."""
    spent_usd: float
    """Spent by this run and those before it that had the same plan and journal."""
    notes: tuple[str, ...]
    unusable: Mapping[str, str]
    """Models that stopped answering → what they said last."""
    duration_s: float

    @property
    def scored_by(self) -> str:
        """Who rated the answers."""
        judge = self.options.judge
        return f"the judge {judge.model}" if judge else "metrics, without a judge"

    @property
    def rewritten_by(self) -> str:
        """Model of the rewriter, "" without one."""
        return self.options.rewriter.model if self.options.rewriter else ""

    @property
    def estimate_ratio(self) -> float | None:
        """The estimate over what was spent; by rule of thumb where none was measured, None without both."""
        estimate = self.thumb_usd if self.measured_usd is None else self.measured_usd
        return estimate / self.spent_usd if estimate is not None and self.spent_usd else None


class Stages:
    """Goes through the issues of a run, with the user's consent."""

    def __init__(
        self, options: BenchOptions, database: Database, costs: Costs, *, err: Console, confirm: Confirm
    ) -> None:
        """Begin.

        Args:
            options: What to do.
            database: The journal.
            costs: What is spent.
            err: Gets progress.
            confirm: Asked with an estimate whether that may be spent.
        """
        self._options = options
        self._costs = costs
        self._err = err
        self._confirm = confirm
        self._answers = Answers(database)
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
            there = min(self._answers.count(), ahead.calls)
            self._agree(ahead, f"in all {ahead}; {number(there)} answers are in the journal")
            with self._progress("issues", len(items)) as made:
                return await self._measure(items, rounds, rewrite, made)
        every, batches = self._planned(items), batches_of(items)
        self.thumb_usd = every.usd
        thumb = f"by rule of thumb {every}"
        if len(batches) > 1:
            thumb += "; the first issues show what it really is, and you are asked again before half of them"
        self._agree(self._planned(batches[0]) if len(batches) > 1 else every, thumb)
        course, ratios = await self._first(batches, rounds, rewrite)
        done = sum(len(batch) for batch in batches[: len(ratios)])
        factors = factors_of(self._planned(items[:done]), self._costs, self._known.spent(self._plan))
        first, rest = items[:done], items[done:]
        ahead = self._planned(rest).scaled(factors)
        estimate = self._planned(first).scaled(factors).usd + ahead.usd
        self._known.put(self._plan, factors, estimate if rest else None)
        if not rest:
            return course
        right = percent(margin(ratios, done / len(items)))
        self._agree(
            ahead,
            f"as measured, the other {number(len(rest))} issues take {ahead}; "
            f"in all that is right to {right}",
        )
        with self._progress("other issues", len(rest)) as made:
            return joined(course, await self._measure(rest, rounds, rewrite, made))

    async def _first(
        self, batches: Sequence[Sequence[Item]], rounds: Rounds, rewrite: OnceRewritten | None
    ) -> tuple[Course, list[float]]:
        """As many batches as it takes to know the costs, and the ratio of each to the rule of thumb."""
        course, done, ratios = Course(), 0, list[float]()
        every = len(self._options.items)
        half = math.ceil(math.ceil(every / 2) / len(batches[0])) * len(batches[0])
        with self._progress("first issues", min(half, every)) as made:
            for batch in batches:
                before = self._worth()
                course = joined(course, await self._measure(batch, rounds, rewrite, made))
                done += len(batch)
                expected = self._planned(batch)
                ratios.append((self._worth() - before) / (expected.usd or float(expected.tokens) or 1.0))
                if 2 * done >= every or settled(ratios, done / every):
                    break
        return course, ratios

    def _worth(self) -> float:
        """Spent so far, in US dollars or, if no price is known, in tokens; remembered answers count."""
        accounts = self._costs.accounts.values()
        dollars = sum(one.usd + one.remembered_usd for one in accounts)
        return dollars or float(sum(one.tokens + one.remembered_tokens for one in accounts))

    def _progress(self, title: str, items: int) -> AbstractContextManager[Progress]:
        before = self._costs.usd
        rounds = self._options.protocol.rounds(items)
        spent = lambda: usd(self._costs.usd - before)  # noqa: E731 - said while the block runs
        return progress(title, "rounds", rounds, self._err, details=spent)

    async def _measure(
        self, items: Sequence[Item], rounds: Rounds, rewrite: OnceRewritten | None, made: Progress
    ) -> Course:
        before = self._costs.expenses()

        def book() -> None:
            nonlocal before
            now = self._costs.expenses()
            spent = {payee: _less(one, before.get(payee, NOTHING)) for payee, one in now.items()}
            before = now
            self._known.add_spent(self._plan, spent)

        def count() -> None:
            book()
            made.add()

        try:
            return await measure(self._options.protocol, items, rounds, rewrite=rewrite, progress=count)
        except BudgetUsedUpError as error:
            raise StoppedError(
                f"stopped at --max-usd after {usd(self._costs.usd)} and {number(made.done)} of "
                f"{number(made.total)} rounds; give the same command with a higher limit to go on from there"
            ) from error
        except UnusableError as error:
            raise StoppedError(f"{error}; then {AGAIN}") from error
        except (sqlite3.Error, StoreError) as error:
            raise unwritable(self._options.journal, error) from error
        finally:
            with contextlib.suppress(sqlite3.Error):
                book()

    def _agree(self, ahead: Planned, said: str) -> None:
        """Ask whether that may be spent."""
        most = self._options.most_usd
        if most is not None and self._costs.usd + ahead.usd > most:
            said += f" (above --max-usd {usd(most)}: it will stop there, and can go on later)"
        if most is not None and not ahead.usd:
            said += " (--max-usd cannot stop it without prices: add --price)"
        self._confirm(said)

    def _planned(self, items: Sequence[Item]) -> Planned:
        options = self._options
        judge, rewriter = options.judge, options.rewriter
        judging = Judging(judge.model, judge.votes, options.bundles) if judge else None
        return planned(options.protocol, items, options.prices, judging, rewriter.model if rewriter else None)


def _less(one: Spend, other: Spend) -> Spend:
    return Spend(one.tokens - other.tokens, one.usd - other.usd)


def _plan(options: BenchOptions) -> dict[str, object]:
    """What decides the costs of an issue."""
    protocol, judge, rewriter = options.protocol, options.judge, options.rewriter
    return {
        "models": [[one.name, one.model, one.target.url, dict(one.parameters)] for one in protocol.models],
        "tasks": list(protocol.tasks),
        "kinds": [[kind.name, kind.version] for kind in protocol.kinds],
        "runs": protocol.runs,
        "severity": protocol.severity,
        "seed": protocol.seed,
        "items": [item.id for item in options.items],
        "judge": list(judge) if judge else None,
        "rewriter": list(rewriter) if rewriter else None,
        "prompts": prompts.VERSION,
        "prices": sorted(options.own_prices),
    }


_SHOWN = 8
"""Kinds that are named in a line."""


def run_bench(options: BenchOptions, connect: Connect, *, err: Console, confirm: Confirm) -> Outcome:
    """Ask and score.

    Args:
        options: What to do.
        connect: Connects judge and rewriter.
        err: Gets progress.
        confirm: Asked with an estimate before the first call, and with a measured one after the first issues.

    Raises: InputError for a journal that cannot be used; NotConfirmedError; StoppedError, with every
        answer until then in the journal.
    """
    with ExitStack() as stack:
        database = open_database(options.journal, "--journal")
        stack.callback(database.close)
        try:
            return asyncio.run(_measured(options, connect, database, err, confirm))
        except sqlite3.Error as error:
            raise unwritable(options.journal, error) from error


async def _measured(
    options: BenchOptions, connect: Connect, database: Database, err: Console, confirm: Confirm
) -> Outcome:
    started = time.monotonic()
    costs = Costs(options.most_usd)
    stages = Stages(options, database, costs, err=err, confirm=confirm)
    async with AsyncExitStack() as stack:
        services = connect(database, costs, stack)
        replayer = Replayer(
            concurrency=options.concurrency,
            timeout_s=options.timeout_s,
            user_agent=f"evenkeel/{VERSION}",
        )
        stack.push_async_callback(replayer.close)
        models = ModelsAsked(options.protocol.models, replayer, Answers(database), options.prices, costs)
        items = {item.id: item for item in options.items}
        rounds = Rounds(models, services.scorer, items, costs, services.judge_watch)
        course = await stages.course(rounds, services.rewrite)
    return Outcome(
        options=options,
        tables=make_tables([one.name for one in options.protocol.models], course.trials, course.entities),
        trials=tuple(course.trials),
        costs=costs,
        thumb_usd=stages.thumb_usd,
        measured_usd=stages.measured_usd,
        spent_usd=stages.spent_usd,
        notes=tuple(_notes(options.not_measured, course)),
        unusable=models.unusable,
        duration_s=time.monotonic() - started,
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
