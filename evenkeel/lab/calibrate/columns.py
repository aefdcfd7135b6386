"""Columns of a calibration's score table, one for each metric."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenkeel.lab.calibrate.calibration import BertModel
from evenkeel.lab.metrics.alignment import EncoderAligner
from evenkeel.lab.metrics.bert_score import load_bert_score
from evenkeel.lab.metrics.compare import WorkflowComparison
from evenkeel.lab.metrics.embeddings import MINILM, load_embeddings
from evenkeel.lab.metrics.wording import StepBertScore
from evenkeel.metrics.registry import built, heuristics, metric, metrics

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.core.languages import LanguageOf
    from evenkeel.lab.metrics.embeddings import CachedEncoder
    from evenkeel.metrics.protocol import Metric


@dataclass(frozen=True, slots=True)
class MetricColumn:
    """A metric whose scores are a column of the table."""

    metric: Metric
    family: str
    """Family of the metric; metrics of one family have the same blind spots."""
    encoder: str | None = None
    """Name of the encoder that the metric uses; scores of different encoders are not comparable."""

    @property
    def name(self) -> str:
        """Name of the metric."""
        return self.metric.name


def heuristic_columns() -> tuple[MetricColumn, ...]:
    """Return all metrics that need neither encoder nor judge. They align workflow steps by their texts."""
    columns = []
    for heuristic in heuristics():
        columns.append(MetricColumn(heuristic, metric(heuristic.name).blind_as))
    return tuple(columns)


def chosen_columns(columns: Sequence[MetricColumn], names: Sequence[str]) -> tuple[MetricColumn, ...]:
    """Return the columns with these names, in the order of the names; the last of two with the same name."""
    by_name = {column.name: column for column in columns}
    return tuple(by_name[name] for name in dict.fromkeys(names) if name in by_name)


def load_encoder_columns(
    model: str | None, language_of: LanguageOf | None
) -> tuple[CachedEncoder, tuple[MetricColumn, ...]]:
    """Load an encoder, and the workflow metrics that align steps by its vectors. Takes seconds.

    The columns replace the heuristics of the same names; see `chosen_columns`.

    Args:
        model: Name or folder of a sentence-transformers model; None = the packaged all-MiniLM-L6-v2.
        language_of: Identifies the language of a text.

    Raises: EmbeddingsUnavailableError.
    """
    # Progress bars of the libraries would break up the lines that we print.
    os.environ.setdefault("TQDM_DISABLE", "1")
    embeddings = load_embeddings(model, language_of=language_of)
    aligned = WorkflowComparison(EncoderAligner(embeddings.cached, coverage=embeddings.coverage))
    columns = []
    for listed in metrics():
        if listed.about.aligns:
            columns.append(MetricColumn(built(listed, aligned), listed.blind_as, embeddings.encoder))
    return embeddings.cached, tuple(columns)


def bert_score_column(
    bert: BertModel, language_of: LanguageOf | None, *, encoder: str | None
) -> MetricColumn:
    """Return the column for BERTScore over workflow steps.

    Args:
        bert: Model, layer and rescaling. With anything but the defaults the column names no encoder.
        language_of: Identifies the language of a text.
        encoder: Name or folder of the encoder, used if `bert` names no model; None = the packaged one.

    Raises: EmbeddingsUnavailableError.
    """
    name = bert.model or encoder
    loaded = load_bert_score(name, bert.layer, rescale=bert.rescale, language_of=language_of)
    encoder_name = (name or MINILM) if bert == BertModel() else None
    return MetricColumn(StepBertScore(loaded), "semantic", encoder_name)
