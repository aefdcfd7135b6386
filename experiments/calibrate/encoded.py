"""Scores by the metrics that need an encoder, in this process and in batches."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from evenkeel.experiments.calibrate.candidates import Candidate, made
from evenkeel.experiments.calibrate.cheap import score
from evenkeel.experiments.calibrate.columns import Column, encoder_columns
from evenkeel.experiments.calibrate.journal import Row
from evenkeel.metrics.semantic.kept import KeptEncoder
from evenkeel.metrics.similarity.bert_score import load_bert_score
from evenkeel.metrics.similarity.embeddings import MINILM, load_embeddings
from evenkeel.metrics.workflow import StepBertScore

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from evenkeel.experiments.calibrate.cheap import Task
    from evenkeel.experiments.calibrate.degrade import Form
    from evenkeel.metrics.languages import LanguageOf
    from evenkeel.metrics.similarity.embeddings import Embeddings, Encoder

_GOLDENS_AT_ONCE = 16
"""Some hundred candidates, whose texts are encoded together."""


@dataclass(frozen=True, slots=True)
class Encoded:
    """The metrics of an encoder, and the vectors that are kept for them."""

    columns: tuple[Column, ...]
    embeddings: Embeddings
    kept: KeptEncoder


@contextmanager
def encoder(model: str | None, vectors: Path | None, language_of: LanguageOf | None) -> Iterator[Encoded]:
    """Load an encoder; takes seconds.

    Args:
        model: name or folder of a sentence-transformers model, None = the packaged all-MiniLM-L6-v2.
        vectors: file in which vectors are kept, None = in memory.
        language_of: tells a text's language.

    Raises: EmbeddingsUnavailableError; sqlite3.Error if the file cannot be used.
    """
    # Bars of the libraries would stand between our own lines.
    os.environ.setdefault("TQDM_DISABLE", "1")
    with ExitStack() as stack:
        kept: list[KeptEncoder] = []

        def keep(bare: Encoder) -> Encoder:
            kept.append(stack.enter_context(KeptEncoder(bare, model or MINILM, vectors)))
            return kept[0]

        embeddings = load_embeddings(model, language_of=language_of, keep=keep)
        columns = encoder_columns(embeddings, kept[0], embeddings.coverage)
        yield Encoded(columns, embeddings, kept[0])


def bert_score_column(form: Form, model: str | None, language_of: LanguageOf | None) -> Column:
    """BERTScore of the texts, or of the steps of workflows.

    Raises: EmbeddingsUnavailableError.
    """
    loaded = load_bert_score(model, language_of=language_of)
    name = model or MINILM
    return Column(StepBertScore(loaded) if form == "workflow" else loaded, "semantic", name)


def scored(tasks: Iterable[Task], columns: Sequence[Column], kept: KeptEncoder | None) -> Iterator[list[Row]]:
    """The rows of each task, in order.

    Args:
        tasks: one a golden.
        columns: what is scored.
        kept: their encoder; None if each encodes for itself.
    """
    waiting = iter(tasks)
    while some := list(islice(waiting, _GOLDENS_AT_ONCE)):
        yield from _scored(some, columns, kept)


def _scored(
    tasks: Sequence[Task], columns: Sequence[Column], kept: KeptEncoder | None
) -> Iterator[list[Row]]:
    found: list[list[Row]] = []
    again: list[tuple[Row, Candidate, list[Column]]] = []
    with _noting(kept):
        for task in tasks:
            rows = []
            for candidate in made(task.source, task.form, task.seed, task.written, task.missing):
                if isinstance(candidate, Row):
                    rows.append(candidate)
                    continue
                wanted = task.missing[candidate.key.place]
                row = Row(candidate.key, candidate.expected)
                lacking = []
                for column in columns:
                    if column.key not in wanted:
                        continue
                    before = kept.refused if kept else 0
                    row.add(score(candidate, [column]))
                    if kept and kept.refused > before:
                        lacking.append(column)
                rows.append(row)
                if lacking:
                    again.append((row, candidate, lacking))
            found.append(rows)
    if kept:
        kept.fill()
    for row, candidate, lacking in again:
        row.add(score(candidate, lacking))
    yield from found


def _noting(kept: KeptEncoder | None) -> AbstractContextManager[None]:
    return kept.noting() if kept else nullcontext()
