"""Scores what the journal lacks, stage by stage."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkeel.core.languages import language_of
from evenkeel.experiments.calibrate import cheap, encoded
from evenkeel.experiments.calibrate.candidates import keys
from evenkeel.experiments.calibrate.chosen_goldens import UnfitGoldensError
from evenkeel.experiments.calibrate.columns import SIMILARITY_SCORE, TELLING, cheap_columns, chosen_columns
from evenkeel.experiments.calibrate.progress import stage
from evenkeel.experiments.calibrate.rewriting import is_rewritten
from evenkeel.metrics.registry import metric
from evenkeel.metrics.similarity import EmbeddingsUnavailableError
from evenkeel.metrics.similarity.embeddings import available
from evenkeel.metrics.workflow.judge import WorkflowJudge

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from contextlib import ExitStack

    from rich.console import Console

    from evenkeel.experiments.calibrate.candidates import Source
    from evenkeel.experiments.calibrate.columns import Column
    from evenkeel.experiments.calibrate.degrade import Form
    from evenkeel.experiments.calibrate.journal import Journal, Row
    from evenkeel.experiments.calibrate.options import CalibrateOptions
    from evenkeel.metrics.similarity import Embeddings

VECTORS = "calibration-vectors.sqlite"
_ELSEWHERE = "--metrics: {name} cannot be measured on goldens; leave it out"
_WHY_NOT = {
    "encoder": (
        '--metrics: {name} needs an encoder; install "evenkeel[semantic]" and leave out --no-embeddings'
    ),
    "token_matcher": (
        "--metrics: {name} is not for this form; take bert_score, or workflow_bert_score for workflows"
    ),
}


class Scoring:
    """Everything but a judge: the cheap metrics in processes, those of an encoder here."""

    def __init__(
        self,
        options: CalibrateOptions,
        form: Form,
        sources: Sequence[Source],
        journal: Journal,
        err: Console,
    ) -> None:
        self._options = options
        self._names = options.metrics or TELLING[form]
        self._form = form
        self._sources = sources
        self._journal = journal
        self._err = err
        self.embeddings: Embeddings | None = None
        """Of the encoder, once it is loaded."""

    def run(self, stack: ExitStack) -> tuple[Column, ...]:
        """Score, and keep every row in the journal.

        Args:
            stack: closes the encoder's file in the end.

        Returns: the columns, each with a score or the reason why there is none for every candidate.
        Raises: EmbeddingsUnavailableError.
        """
        from_encoder: tuple[Column, ...] = ()
        kept = None
        if self._wants_encoder():
            with self._err.status("loading the encoder"):
                vectors = self._options.vectors or self._options.out / VECTORS
                loaded = stack.enter_context(encoded.encoder(self._options.encoder, vectors, language_of))
            self.embeddings, kept = loaded.embeddings, loaded.kept
            from_encoder = chosen_columns(loaded.columns, self._names)
        replaced = {column.metric.name for column in from_encoder}
        free = chosen_columns(cheap_columns(), [name for name in self._names if name not in replaced])
        matched: tuple[Column, ...] = ()
        if self._options.bert_score:
            with self._err.status("loading BERTScore"):
                column = encoded.bert_score_column(self._form, self._options.encoder, language_of)
            matched = chosen_columns([column], self._names)
        found = chosen_columns((*free, *from_encoder, *matched), self._names)
        self._check(found)
        self._score("scoring", free, lambda tasks: cheap.scored(tasks, self._options.processes))
        self._score("encoding", from_encoder, lambda tasks: encoded.scored(tasks, from_encoder, kept))
        self._score("BERTScore", matched, lambda tasks: encoded.scored(tasks, matched, None))
        return found

    def _check(self, found: Sequence[Column]) -> None:
        """Whoever names a metric wants to see it."""
        there = {column.metric.name for column in found} | {SIMILARITY_SCORE, WorkflowJudge.name}
        for name in self._options.metrics:
            if name not in there:
                raise UnfitGoldensError(_WHY_NOT.get(metric(name).needs, _ELSEWHERE).format(name=name))

    def _wants_encoder(self) -> bool:
        if self._options.embeddings is False:
            return False
        if available(self._options.encoder):
            return True
        if self._options.embeddings or self._options.encoder:
            raise EmbeddingsUnavailableError(
                'embeddings need: pip install "evenkeel[semantic]"; or leave them out with --no-embeddings'
            )
        return False

    def _score(
        self,
        title: str,
        columns: Sequence[Column],
        work: Callable[[Iterable[cheap.Task]], Iterator[list[Row]]],
    ) -> None:
        tasks = [task for source in self._sources if (task := self._task(source, columns)) is not None]
        with stage(title, "goldens", len(tasks), self._err) as told:
            for rows in work(tasks):
                for row in rows:
                    self._journal.add(row)
                told.add()

    def _task(self, source: Source, columns: Sequence[Column]) -> cheap.Task | None:
        """What these columns still lack of a golden; None if that is nothing."""
        missing = {}
        for key in keys(source.id, self._form):
            row = self._journal.rows.get(key)
            if row is None and self._options.rewriter is not None and is_rewritten(source, key.mode):
                continue  # its text could not be had this time
            if row is not None and row.undegradable is not None:
                continue
            lacking = frozenset(one.key for one in columns if row is None or one.key not in row.scores)
            if lacking:
                missing[key.place] = lacking
        if not missing:
            return None
        written = self._journal.texts(source.id, missing)
        return cheap.Task(source, self._form, self._options.seed, missing, written)
