"""The metrics of a calibration, and the scores that each gave."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from evenkeel.lab.calibrate.calibration import BertModel
from evenkeel.lab.metrics.alignment import EncoderAligner
from evenkeel.lab.metrics.bert_score import load_bert_score
from evenkeel.lab.metrics.compare import WorkflowComparison
from evenkeel.lab.metrics.embeddings import MINILM, load_embeddings
from evenkeel.lab.metrics.vectors import VectorCache
from evenkeel.lab.metrics.wording import StepBertScore
from evenkeel.metrics.registry import built, heuristics, metric, metrics

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from evenkeel.core.languages import LanguageOf
    from evenkeel.lab.metrics.embeddings import Encoder
    from evenkeel.lab.metrics.languages import Coverage
    from evenkeel.metrics.protocol import Metric


# Kept in memory; of 384 numbers each they take 30 MB.
_VECTORS = 10_000


@dataclass(frozen=True, slots=True)
class MetricField:
    """A metric as a table needs it."""

    key: str
    """Key of its scores in a journal: metric, version, and the encoder or judge behind them."""
    name: str
    version: int
    family: str
    """Metrics of one family share their blind spots."""


@dataclass(frozen=True, slots=True)
class MetricColumn(MetricField):
    """A field whose metric is computed here."""

    metric: Metric
    encoder: str | None


def column(metric: Metric, family: str, encoder: str | None = None) -> MetricColumn:
    """A metric as a column; under another encoder its scores are other scores, so that is in their key."""
    key = f"{metric.name}@{metric.version}{'' if encoder is None else f':{encoder}'}"
    return MetricColumn(key, metric.name, metric.version, family, metric, encoder)


def heuristic_columns() -> tuple[MetricColumn, ...]:
    """Every metric that needs nothing; the steps of workflows are aligned by their texts."""
    return tuple(column(heuristic, metric(heuristic.name).blind_as) for heuristic in heuristics())


def encoder_columns(name: str | None, encoder: Encoder, coverage: Coverage) -> tuple[MetricColumn, ...]:
    """The metrics of workflows with steps aligned by meaning.

    They take the place of the heuristics of the same name, see `chosen_columns`.

    Args:
        name: Name of the encoder.
        encoder: Encodes the steps.
        coverage: The languages it knows.
    """
    aligned = WorkflowComparison(EncoderAligner(encoder, coverage=coverage))
    chosen: list[Metric] = [built(listed, aligned) for listed in metrics() if listed.about.aligns]
    return tuple(column(metric_class, metric(metric_class.name).blind_as, name) for metric_class in chosen)


def chosen_columns(columns: Sequence[MetricColumn], names: Sequence[str]) -> tuple[MetricColumn, ...]:
    """The columns of these names, in their order; of two with the same name the last one given."""
    by_name = {column.name: column for column in columns}
    return tuple(by_name[name] for name in dict.fromkeys(names) if name in by_name)


class CachedEncoder:
    """Keeps the last vectors of an encoder: a golden is compared with many candidates."""

    def __init__(self, encoder: Encoder, model: str) -> None:
        self._encoder = encoder
        self._model = model
        self._vectors = VectorCache(_VECTORS)

    def lacking(self, texts: Sequence[str]) -> list[str]:
        """The texts without a vector, each once."""
        return [text for text in dict.fromkeys(texts) if self._vectors.get(self._model, text) is None]

    def encode(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """Return a vector for each text."""
        kept = {text: self._vectors.get(self._model, text) for text in texts}
        remembered = {text: vector for text, vector in kept.items() if vector is not None}
        if lacking := [text for text in kept if text not in remembered]:
            for text, vector in zip(lacking, self._encoder.encode(lacking), strict=True):
                remembered[text] = vector
                self._vectors.put(self._model, text, vector)
        return [remembered[text] for text in texts]


def load_encoder_columns(
    model: str | None, language_of: LanguageOf | None, keep: Callable[[Encoder], Encoder] | None = None
) -> tuple[MetricColumn, ...]:
    """Load an encoder and the metrics that need it; takes seconds.

    Args:
        model: name or folder of a sentence-transformers model, None = the packaged all-MiniLM-L6-v2.
        language_of: tells a text's language.
        keep: puts a store of vectors around the encoder; None keeps some in memory.

    Raises: EmbeddingsUnavailableError.
    """
    # Bars of the libraries would stand between our own lines.
    os.environ.setdefault("TQDM_DISABLE", "1")
    kept: list[Encoder] = []

    def keep_encoder(bare: Encoder) -> Encoder:
        kept.append(keep(bare) if keep else CachedEncoder(bare, model or MINILM))
        return kept[0]

    embeddings = load_embeddings(model, language_of=language_of, keep=keep_encoder)
    return encoder_columns(embeddings.encoder, kept[0], embeddings.coverage)


def bert_score_column(
    bert: BertModel, language_of: LanguageOf | None, *, encoder: str | None
) -> MetricColumn:
    """BERTScore of the steps of workflows.

    Args:
        bert: the model. If it is any other than the encoder as it is, no encoder is behind the column.
        language_of: tells a text's language.
        encoder: name or folder of the encoder, None = the packaged one.

    Raises: EmbeddingsUnavailableError.
    """
    name = bert.model or encoder
    loaded = load_bert_score(name, bert.layer, rescale=bert.rescale, language_of=language_of)
    details = f" at layer {bert.layer or 'as recommended'}{', rescaled' if bert.rescale else ''}"
    own = bert != BertModel()
    bert_column = column(
        StepBertScore(loaded),
        "semantic",
        f"{name or MINILM}{details if own else ''}",
    )
    return replace(bert_column, encoder=None) if own else bert_column
