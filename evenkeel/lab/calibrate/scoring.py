"""Scores what the journal lacks: heuristics in several processes, metrics of an encoder here in batches."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final

from evenkeel.core.languages import language_of
from evenkeel.core.verdict import Failure
from evenkeel.lab.calibrate.candidates import DegradedGolden, GoldenSource, UnfitGoldensError, keys, made
from evenkeel.lab.calibrate.columns import (
    MetricColumn,
    bert_score_column,
    chosen_columns,
    heuristic_columns,
    load_encoder_columns,
)
from evenkeel.lab.calibrate.encoder import BatchEncoder
from evenkeel.lab.calibrate.journal import CandidateRow
from evenkeel.lab.calibrate.published import METRICS
from evenkeel.lab.metrics.embeddings import MINILM, EmbeddingsUnavailableError, available
from evenkeel.lab.metrics.wording import StepBertScore
from evenkeel.lab.metrics.workflow_judge import WorkflowJudge
from evenkeel.release.kit.progress import progress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from rich.console import Console

    from evenkeel.lab.calibrate.calibration import BertModel
    from evenkeel.lab.calibrate.candidates import CandidateSet
    from evenkeel.lab.calibrate.degrade import Damage
    from evenkeel.lab.calibrate.score_table import DamageLevel
    from evenkeel.lab.metrics.embeddings import Encoder


# Tasks handed to each process in advance, so that none waits.
_AHEAD = 3
_MILLI = 1e3


@dataclass(frozen=True, slots=True)
class ScoringTask:
    """Scores that a golden still lacks."""

    source: GoldenSource
    damage: Damage
    seed: int
    missing: Mapping[DamageLevel, frozenset[str]]
    """Columns by candidate: the keys of columns without a score."""


def scored(tasks: Iterable[ScoringTask], processes: int) -> Iterator[list[CandidateRow]]:
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
        running: set[Future[list[CandidateRow]]] = set()
        for task in islice(waiting, processes * _AHEAD):
            running.add(pool.submit(score_task, task))
        try:
            while running:
                done, running = wait(running, return_when=FIRST_COMPLETED)
                running |= {pool.submit(score_task, task) for task in islice(waiting, len(done))}
                for future in done:
                    yield future.result()
        finally:
            pool.shutdown(cancel_futures=True)


def score_task(task: ScoringTask) -> list[CandidateRow]:
    """Degrade one golden and score what comes out by heuristics."""
    columns = heuristic_columns()
    return [_row(task, candidate, columns) for candidate in _candidates(task)]


def _candidates(task: ScoringTask) -> Iterator[DegradedGolden | CandidateRow]:
    return made(task.source, task.damage, task.seed, task.missing)


def _row(
    task: ScoringTask, candidate: DegradedGolden | CandidateRow, columns: Sequence[MetricColumn]
) -> CandidateRow:
    """The row of a candidate: the scores that it lacks, and how long each took."""
    if isinstance(candidate, CandidateRow):
        return candidate
    row = CandidateRow(*candidate.key, candidate.expected)
    for column in columns:
        if column.key in task.missing[candidate.key.condition]:
            start = time.perf_counter()
            score = column.metric.score(candidate.pair)
            row.ms[column.key] = round((time.perf_counter() - start) * _MILLI, 4)
            row.scores[column.key] = score.reason if isinstance(score, Failure) else score
    return row


def _follow_parent() -> None:
    """A killed parent closes nothing: without this its processes would wait for tasks forever.

    Ctrl-C goes to them too; the parent sees to it.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, name="parent-watch", daemon=True).start()


# Some hundred candidates, whose texts are encoded together.
_GOLDENS_AT_ONCE = 16


def scored_with_encoder(
    tasks: Iterable[ScoringTask], columns: Sequence[MetricColumn], kept: BatchEncoder | None
) -> Iterator[list[CandidateRow]]:
    """The rows of each task, in order.

    Args:
        tasks: one a golden.
        columns: what is scored.
        kept: their encoder; None if each encodes for itself.
    """
    waiting = iter(tasks)
    while some := list(islice(waiting, _GOLDENS_AT_ONCE)):
        batch = [(task, list(_candidates(task))) for task in some]
        if kept:
            # Without the scores: notes which texts have no vector, to encode them in one go.
            with kept.collecting():
                for task, candidates in batch:
                    for candidate in candidates:
                        _row(task, candidate, columns)
            kept.encode_collected()
        for task, candidates in batch:
            yield [_row(task, candidate, columns) for candidate in candidates]


DEFAULT_METRICS: Final = (*METRICS, StepBertScore.name)
"""Metrics of the paper; BERTScore only where a model for it is named."""
_ELSEWHERE = "--metrics: {name} cannot be measured on workflows here; leave it out"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoringOptions:
    """Which metrics score, and how."""

    metrics: tuple[str, ...] = ()
    """Metrics to compute; empty = all that apply."""
    embeddings: bool | None = None
    """None uses them if they are installed."""
    encoder: str | None = None
    """A sentence-transformers model; None = the packaged one."""
    bert: BertModel | None = None
    """Behind BERTScore; None = it is not measured."""
    processes: int = 1


@dataclass(frozen=True, slots=True)
class CandidateScoring:
    """Everything but a judge: heuristics in processes, metrics of an encoder here."""

    options: ScoringOptions
    candidates: CandidateSet
    err: Console
    """Gets progress."""

    def run(self) -> tuple[MetricColumn, ...]:
        """Score, and keep every row in the journal.

        Returns: the columns, each with a score or the reason why there is none for every candidate.
        Raises: EmbeddingsUnavailableError.
        """
        names = self.options.metrics or DEFAULT_METRICS
        from_encoder: tuple[MetricColumn, ...] = ()
        kept = None
        if self._wants_encoder():
            with self.err.status("loading the encoder"):
                kept, loaded = self._encoder()
            from_encoder = chosen_columns(loaded, names)
        replaced = {column.name for column in from_encoder}
        free = chosen_columns(heuristic_columns(), [name for name in names if name not in replaced])
        matched: tuple[MetricColumn, ...] = ()
        if self.options.bert is not None:
            with self.err.status("loading BERTScore"):
                column = bert_score_column(self.options.bert, language_of, encoder=self.options.encoder)
            matched = chosen_columns([column], names)
        columns = chosen_columns((*free, *from_encoder, *matched), names)
        self._check(columns)
        self._score("scoring", free, lambda tasks: scored(tasks, self.options.processes))
        self._score("encoding", from_encoder, lambda tasks: scored_with_encoder(tasks, from_encoder, kept))
        self._score("BERTScore", matched, lambda tasks: scored_with_encoder(tasks, matched, None))
        return columns

    def _encoder(self) -> tuple[BatchEncoder, tuple[MetricColumn, ...]]:
        encoders: list[BatchEncoder] = []

        def keep(bare: Encoder) -> Encoder:
            encoders.append(BatchEncoder(bare, self.options.encoder or MINILM))
            return encoders[0]

        columns = load_encoder_columns(self.options.encoder, language_of, keep)
        return encoders[0], columns

    def _check(self, columns: Sequence[MetricColumn]) -> None:
        """Refuse a named metric that cannot be measured."""
        there = {column.name for column in columns} | {WorkflowJudge.name}
        for name in self.options.metrics:
            if name not in there:
                raise UnfitGoldensError(_ELSEWHERE.format(name=name))

    def _wants_encoder(self) -> bool:
        if self.options.embeddings is False:
            return False
        if available(self.options.encoder):
            return True
        if self.options.embeddings or self.options.encoder:
            raise EmbeddingsUnavailableError(
                'embeddings need: pip install "evenkeel-proxy[semantic]"; or leave them out with '
                "--no-embeddings"
            )
        return False

    def _score(
        self,
        title: str,
        columns: Sequence[MetricColumn],
        work: Callable[[Iterable[ScoringTask]], Iterator[list[CandidateRow]]],
    ) -> None:
        tasks = []
        for source in self.candidates.sources:
            if (task := self._task(source, columns)) is not None:
                tasks.append(task)
        with progress(title, "goldens", len(tasks), self.err) as made:
            for rows in work(tasks):
                for row in rows:
                    self.candidates.journal.add(row)
                made.add()

    def _task(self, source: GoldenSource, columns: Sequence[MetricColumn]) -> ScoringTask | None:
        """Return what these columns still lack of a golden; None if that is nothing."""
        missing = {}
        for key in keys(source.id, self.candidates.damage):
            row = self.candidates.journal.rows.get(key)
            if row is not None and row.undegradable is not None:
                continue
            lacking = frozenset(
                column.key for column in columns if row is None or column.key not in row.scores
            )
            if lacking:
                missing[key.condition] = lacking
        if not missing:
            return None
        of = self.candidates
        return ScoringTask(source, of.damage, of.seed, missing)
