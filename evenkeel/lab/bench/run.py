"""A run: what it will cost, all issues, and what was found."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from evenkeel.core.figures import number, usd
from evenkeel.core.rewordings import why_untried
from evenkeel.lab.asking import unwritable
from evenkeel.lab.bench.costs import Judging, planned
from evenkeel.lab.bench.models import ModelsAsked
from evenkeel.lab.bench.scores import make_tables
from evenkeel.lab.bench.trials import Rounds, measure
from evenkeel.release.kit.asking import AGAIN, StoppedError, UnusableError
from evenkeel.release.kit.cost import BudgetUsedUpError, Costs
from evenkeel.release.kit.journal import Answers, opened_journal
from evenkeel.release.kit.terminal import progress
from evenkeel.shadow.replay import Replayer
from evenkeel.stores.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from rich.console import Console

    from evenkeel.lab.bench.costs import ExpectedCosts
    from evenkeel.lab.bench.items import Issue
    from evenkeel.lab.bench.scores import BenchTables
    from evenkeel.lab.bench.services import Services, WatchedRewriter
    from evenkeel.lab.bench.trials import BenchCourse, BenchTrial, Protocol
    from evenkeel.llm.price import Prices
    from evenkeel.metrics.quality.bundles import Bundle
    from evenkeel.metrics.tasks import Task
    from evenkeel.release.kit.terminal import Confirm
    from evenkeel.stores.sqlite.database import Database


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchOptions:
    """Everything that decides a run."""

    protocol: Protocol
    items: tuple[Issue, ...]
    """Issues in the order in which they are put."""
    source: str
    """Source of the issues."""
    not_measured: Mapping[str, int] = field(default_factory=dict)
    """Missing service ("judge", "rewriter") → perturbations that were asked for and need it."""
    judge: str | None
    """Model that rates answers; None = similarity only."""
    rewriter: str | None
    """Model that rewrites texts; None = what needs it is left out."""
    bundles: Mapping[Task, Bundle]
    """The qualities of each task."""
    prices: Prices
    journal: Path
    concurrency: int = 8
    timeout_s: float = 120.0
    most_usd: float | None = None
    with_texts: bool = False
    """Keeps prompts and answers with each trial."""


Connect = Callable[["Database", Costs, AsyncExitStack], "Services"]
"""Connects scorer and rewriter: given the journal that keeps their rulings and texts, the costs they are
booked to, and what closes them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchOutcome:
    """All of it."""

    options: BenchOptions
    tables: BenchTables
    trials: tuple[BenchTrial, ...]
    costs: Costs
    estimate_usd: float
    """Estimate by rule of thumb, before the first call; remembered answers count as if asked for."""
    notes: tuple[str, ...]
    unusable: Mapping[str, str]
    """Models that stopped answering → what they said last."""
    duration_s: float

    @property
    def scored_by(self) -> str:
        """Name who rated the answers."""
        judge = self.options.judge
        return f"the judge {judge}" if judge else "metrics, without a judge"

    @property
    def rewritten_by(self) -> str:
        """Model of the rewriter, "" without one."""
        return self.options.rewriter or ""


async def _course(
    options: BenchOptions, rounds: Rounds, rewrite: WatchedRewriter | None, costs: Costs, *, err: Console
) -> BenchCourse:
    """Go through the issues.

    Raises: StoppedError at the limit, with every answer until then in the journal.
    """
    many = options.protocol.rounds(len(options.items))
    with progress("issues", "rounds", many, err, details=lambda: usd(costs.usd)) as made:
        try:
            return await measure(options.protocol, options.items, rounds, rewrite=rewrite, progress=made.add)
        except BudgetUsedUpError as error:
            raise StoppedError(
                f"stopped at --max-usd after {usd(costs.usd)} and {number(made.done)} of "
                f"{number(made.total)} rounds; give the same command with a higher limit to go on from there"
            ) from error
        except UnusableError as error:
            raise StoppedError(f"{error}; then {AGAIN}") from error
        except (sqlite3.Error, StoreError) as error:
            raise unwritable(options.journal, error) from error


def _question(options: BenchOptions, ahead: ExpectedCosts, remembered: int) -> str:
    question = f"by rule of thumb {ahead}"
    if remembered:
        question += f"; {number(remembered)} answers are in the journal"
    most = options.most_usd
    if most is not None and ahead.usd > most:
        question += f" (above --max-usd {usd(most)}: it will stop there, and can go on later)"
    return question


def _planned(options: BenchOptions) -> ExpectedCosts:
    judging = Judging(options.judge, options.bundles) if options.judge else None
    return planned(options.protocol, options.items, options.prices, judging, options.rewriter)


# Kinds that are named in a line.
_SHOWN = 8


def run_bench(options: BenchOptions, connect: Connect, *, err: Console, confirm: Confirm) -> BenchOutcome:
    """Ask and score.

    Args:
        options: What to do.
        connect: Connects judge and rewriter.
        err: Gets progress.
        confirm: Asked with an estimate before the first call.

    Raises: InputError for a journal that cannot be used; NotConfirmedError; StoppedError, with every
        answer until then in the journal.
    """
    with opened_journal(options.journal, "--journal") as database:
        try:
            return asyncio.run(_measured(options, connect, database, err, confirm))
        except sqlite3.Error as error:
            raise unwritable(options.journal, error) from error


async def _measured(
    options: BenchOptions, connect: Connect, database: Database, err: Console, confirm: Confirm
) -> BenchOutcome:
    started = time.monotonic()
    costs = Costs(options.most_usd)
    ahead, answers = _planned(options), Answers(database)
    confirm(_question(options, ahead, min(answers.count(), ahead.calls)))
    async with AsyncExitStack() as stack:
        services = connect(database, costs, stack)
        replayer = Replayer(concurrency=options.concurrency, timeout_s=options.timeout_s)
        stack.push_async_callback(replayer.close)
        models = ModelsAsked(options.protocol.models, replayer, answers, options.prices, costs)
        items = {item.id: item for item in options.items}
        rounds = Rounds(models, items, services, with_texts=options.with_texts)
        course = await _course(options, rounds, services.rewrite, costs, err=err)
    return BenchOutcome(
        options=options,
        tables=make_tables([model.name for model in options.protocol.models], course.trials, course.entities),
        trials=tuple(course.trials),
        costs=costs,
        estimate_usd=ahead.usd,
        notes=tuple(_notes(options.not_measured, course)),
        unusable=models.unusable,
        duration_s=time.monotonic() - started,
    )


def _notes(not_measured: Mapping[str, int], course: BenchCourse) -> list[str]:
    notes = []
    for name, count in not_measured.items():
        kinds = f"{number(count)} kind{' was' if count == 1 else 's were'}"
        notes.append(f"{kinds} not measured for want of a {name} (--{name}-model).")
    if course.troubles:
        notes.append(
            f"{number(course.troubles)} variants are missing because the rewriter failed or wrote nothing "
            "usable."
        )
    idle: dict[str, int] = {}
    for (task, kind, reason), count in sorted(course.left_out.items()):
        if not reason.startswith("rewriter_"):
            idle[f"{kind} on {task.replace('_', ' ')} ({why_untried(reason)})"] = count
    if idle:
        shown = ", ".join(list(idle)[:_SHOWN])
        more = f" and {number(len(idle) - _SHOWN)} more" if len(idle) > _SHOWN else ""
        notes.append(f"Not applicable: {shown}{more}.")
    return notes
