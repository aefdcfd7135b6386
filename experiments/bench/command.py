"""The body of `evenkeel bench`."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from contextlib import AsyncExitStack, ExitStack
from typing import TYPE_CHECKING

from evenkeel import __version__
from evenkeel.core.figures import number
from evenkeel.experiments.bench.asking import Asker
from evenkeel.experiments.bench.document import csv_lines, document, trial_lines
from evenkeel.experiments.bench.journal import open_journal
from evenkeel.experiments.bench.outcome import Outcome
from evenkeel.experiments.bench.page import page
from evenkeel.experiments.bench.rounds import Rounds
from evenkeel.experiments.bench.services import (
    judge_of,
    judge_watch,
    rewriter_of,
    scorer_of,
    without_slots,
)
from evenkeel.experiments.bench.spending import Ledger
from evenkeel.experiments.bench.stages import Stages
from evenkeel.experiments.bench.stopping import AGAIN, StoppedError, unwritable
from evenkeel.experiments.bench.tables import make_tables
from evenkeel.experiments.bench.terminal import show
from evenkeel.metrics.similarity import Cutoffs
from evenkeel.runtime import choices
from evenkeel.runtime.encoders import Encoder, make_encoder
from evenkeel.runtime.replays import prices
from evenkeel.settings import SettingsError
from evenkeel.shadow.replay import Replayer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from rich.console import Console

    from evenkeel.experiments.bench.options import BenchOptions, Outputs
    from evenkeel.experiments.bench.protocol import Course
    from evenkeel.stores.sqlite import Database

_SHOWN = 8
"""Kinds that are named in a line."""


def run_bench(
    options: BenchOptions, *, out: Console, err: Console, confirm: Callable[[str], bool]
) -> Outcome:
    """Ask, score, and write what was asked for.

    Args:
        options: What to do.
        out: Gets the tables.
        err: Gets progress.
        confirm: Asked with an estimate before the first call, and with a measured one after the first issues.

    Raises: SettingsError for files that cannot be used; NotConfirmedError; StoppedError, with every answer
        until then in the journal.
    """
    _check_files(options)
    with ExitStack() as stack:
        database = open_journal(options.journal)
        stack.callback(database.close)
        try:
            outcome = asyncio.run(_measured(options, database, err, confirm))
        except sqlite3.Error as error:
            raise unwritable(options.journal, error) from error
    show(outcome, out)
    for path in _write(outcome, options.outputs):
        err.print(f"wrote {path}", soft_wrap=True)
    return outcome


def _write(outcome: Outcome, outputs: Outputs) -> list[Path]:
    wanted: tuple[tuple[Path | None, Callable[[], bytes]], ...] = (
        (outputs.json, lambda: document(outcome).encode()),
        (outputs.csv, lambda: "".join(csv_lines(outcome)).encode()),
        (outputs.trials, lambda: "".join(trial_lines(outcome)).encode()),
        (outputs.html, lambda: page(outcome)),
    )
    done = []
    for target, made in wanted:
        if target is not None:
            try:
                target.write_bytes(made())
            except OSError as error:
                raise StoppedError(f"{target}: cannot be written ({error.strerror}); {AGAIN}") from error
            done.append(target)
    return done


def _check_files(options: BenchOptions) -> None:
    outputs = options.outputs
    for target in (outputs.json, outputs.csv, outputs.html, outputs.trials, options.journal):
        if target is not None and not target.absolute().parent.is_dir():
            raise SettingsError(f"{target}: there is no folder {target.parent}")
        if target is not None and target.is_dir():
            raise SettingsError(f"{target}: is a folder; name a file")


async def _measured(
    options: BenchOptions, database: Database, err: Console, confirm: Callable[[str], bool]
) -> Outcome:
    started = time.monotonic()
    settings = options.settings
    known, ledger = prices(settings), Ledger(options.most_usd)
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
    options: BenchOptions, course: Course, stages: Stages, ledger: Ledger, asker: Asker, took_s: float
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
