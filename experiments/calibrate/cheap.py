"""Scores by the metrics that need nothing, in as many processes as there are."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from evenkeel.core.verdict import Failure
from evenkeel.experiments.calibrate.candidates import Candidate, Source, made
from evenkeel.experiments.calibrate.columns import Column, cheap_columns
from evenkeel.experiments.calibrate.journal import Row

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from evenkeel.experiments.calibrate.degrade import Form
    from evenkeel.experiments.calibrate.journal import Place

_AHEAD = 3
"""Tasks handed to each process beforehand, so that none waits."""
_MILLI = 1e3


@dataclass(frozen=True, slots=True)
class Task:
    """What is still to be scored of one golden."""

    source: Source
    form: Form
    seed: int
    missing: Mapping[Place, frozenset[str]]
    """By candidate the keys of columns without a score."""
    written: Mapping[Place, str]
    """Texts of candidates that a model wrote."""


def scored(tasks: Iterable[Task], processes: int) -> Iterator[list[Row]]:
    """The rows of each task, in the order in which they are ready.

    Args:
        tasks: one a golden.
        processes: with one, everything is done in this process.
    """
    if processes == 1:
        yield from map(score_task, tasks)
        return
    # Not forked: the progress bar's thread may hold a lock at that moment.
    context = multiprocessing.get_context("spawn")
    waiting = iter(tasks)
    with ProcessPoolExecutor(processes, mp_context=context, initializer=_follow_parent) as pool:
        running: set[Future[list[Row]]] = {
            pool.submit(score_task, task) for task in islice(waiting, processes * _AHEAD)
        }
        try:
            while running:
                done, running = wait(running, return_when=FIRST_COMPLETED)
                running |= {pool.submit(score_task, task) for task in islice(waiting, len(done))}
                for future in done:
                    yield future.result()
        finally:
            pool.shutdown(cancel_futures=True)


def score_task(task: Task) -> list[Row]:
    """Degrade one golden and score what comes out."""
    columns = cheap_columns()
    found = []
    for candidate in made(task.source, task.form, task.seed, task.written, task.missing):
        if isinstance(candidate, Row):
            found.append(candidate)
            continue
        wanted = task.missing[candidate.key.place]
        found.append(score(candidate, [column for column in columns if column.key in wanted]))
    return found


def score(candidate: Candidate, columns: Sequence[Column]) -> Row:
    """The row of a candidate: its scores, and how long each took."""
    row = Row(candidate.key, candidate.expected)
    for column in columns:
        start = time.perf_counter()
        found = column.metric.score(candidate.pair)
        row.ms[column.key] = round((time.perf_counter() - start) * _MILLI, 4)
        row.scores[column.key] = found.reason if isinstance(found, Failure) else found
    return row


def _follow_parent() -> None:
    """A killed parent closes nothing: without this its processes would wait for tasks for ever.

    Ctrl-C goes to them too; the parent sees to it.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, name="parent-watch", daemon=True).start()
