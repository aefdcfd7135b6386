"""The metrics of a calibration, as the columns of its score table."""

from __future__ import annotations

import os
from dataclasses import dataclass
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
    from collections.abc import Sequence

    from evenkeel.core.languages import LanguageOf
    from evenkeel.lab.metrics.embeddings import Encoder
    from evenkeel.metrics.protocol import Metric


# Kept in memory; of 384 numbers each they take 30 MB.
_VECTORS = 10_000


@dataclass(frozen=True, slots=True)
class MetricColumn:
    """A metric whose scores are a column of the table."""

    metric: Metric
    family: str
    """Metrics of one family share their blind spots."""
    encoder: str | None = None
    """Name of the encoder behind it; its scores under another one are other scores."""

    @property
    def name(self) -> str:
        """Name of the metric."""
        return self.metric.name


def heuristic_columns() -> tuple[MetricColumn, ...]:
    """Every metric that needs nothing; the steps of workflows are aligned by their texts."""
    columns = []
    for heuristic in heuristics():
        columns.append(MetricColumn(heuristic, metric(heuristic.name).blind_as))
    return tuple(columns)


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

    def encode(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """Return a vector for each text; those that are not kept are encoded in one call."""
        kept = {text: self._vectors.get(self._model, text) for text in texts}
        remembered = {text: vector for text, vector in kept.items() if vector is not None}
        if lacking := [text for text in kept if text not in remembered]:
            for text, vector in zip(lacking, self._encoder.encode(lacking), strict=True):
                remembered[text] = vector
                self._vectors.put(self._model, text, vector)
        return [remembered[text] for text in texts]


def load_encoder_columns(
    model: str | None, language_of: LanguageOf | None
) -> tuple[CachedEncoder, tuple[MetricColumn, ...]]:
    """Load an encoder, and the metrics of workflows with steps aligned by it; takes seconds.

    They take the place of the heuristics of the same name, see `chosen_columns`.

    Args:
        model: name or folder of a sentence-transformers model, None = the packaged all-MiniLM-L6-v2.
        language_of: tells a text's language.

    Raises: EmbeddingsUnavailableError.
    """
    # Bars of the libraries would stand between our own lines.
    os.environ.setdefault("TQDM_DISABLE", "1")
    encoders: list[CachedEncoder] = []

    def keep(bare: Encoder) -> Encoder:
        encoders.append(CachedEncoder(bare, model or MINILM))
        return encoders[0]

    embeddings = load_embeddings(model, language_of=language_of, keep=keep)
    aligned = WorkflowComparison(EncoderAligner(encoders[0], coverage=embeddings.coverage))
    columns = []
    for listed in metrics():
        if listed.about.aligns:
            columns.append(MetricColumn(built(listed, aligned), listed.blind_as, embeddings.encoder))
    return encoders[0], tuple(columns)


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
    behind = (name or MINILM) if bert == BertModel() else None
    return MetricColumn(StepBertScore(loaded), "semantic", behind)
