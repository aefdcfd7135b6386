"""The metrics of a calibration, and the scores that each gave."""

from __future__ import annotations

import statistics
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from evenkeel.metrics.judge.prompts import SIMILARITY
from evenkeel.metrics.registry import built, heuristics, metric, metrics
from evenkeel.metrics.structured.json_similarity import JsonSimilarity
from evenkeel.metrics.workflow.alignment import Embedded
from evenkeel.metrics.workflow.compare import Comparison
from evenkeel.release.calibrate.score_table import MetricFacts, Scored

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from evenkeel.core.pair import Pair
    from evenkeel.core.verdict import Failure
    from evenkeel.metrics.languages import Coverage
    from evenkeel.metrics.protocol import Metric
    from evenkeel.metrics.similarity.embeddings import Embeddings, Encoder
    from evenkeel.release.calibrate.journal import Row


SIMILARITY_SCORE: Final = "judge_similarity"
"""Name of a judge's similarity rating as a score: 3 is 1, 2 is ½, 1 is 0."""


@dataclass(frozen=True, slots=True)
class Field:
    """A metric as a table needs it."""

    key: str
    """Under which its scores are kept: metric, version, and the encoder or judge behind them."""
    name: str
    version: int
    family: str
    """Metrics of one family share their blind spots."""


@dataclass(frozen=True, slots=True)
class Column(Field):
    """One that is measured here."""

    metric: Metric
    encoder: str | None


def column(metric: Metric, family: str, encoder: str | None = None) -> Column:
    """A metric as a column; under another encoder its scores are other scores, so that is in their key."""
    key = f"{metric.name}@{metric.version}{'' if encoder is None else f':{encoder}'}"
    return Column(key, metric.name, metric.version, family, metric, encoder)


def heuristic_columns() -> tuple[Column, ...]:
    """Every metric that needs nothing; the steps of workflows are aligned by their texts."""
    return tuple(column(one, metric(one.name).blind_as) for one in heuristics())


def encoder_columns(embeddings: Embeddings, encoder: Encoder, coverage: Coverage) -> tuple[Column, ...]:
    """The metrics that need an encoder.

    Among them those of workflows, with steps aligned by meaning: they take the place of the heuristics of the
    same name, see `chosen_columns`.

    Args:
        embeddings: Compares texts; its `encoder` names the encoder.
        encoder: The same encoder, for the steps of workflows.
        coverage: The languages it knows.
    """
    aligned = Comparison(Embedded(encoder, coverage=coverage))
    chosen: list[Metric] = [embeddings, JsonSimilarity(embeddings)]
    chosen += [built(one, aligned) for one in metrics() if one.about.aligns]
    return tuple(column(one, metric(one.name).blind_as, embeddings.encoder) for one in chosen)


def versions() -> dict[str, int]:
    """Versions by name of all metrics that may have a role: what `Calibration.check` asks for."""
    return {listed.name: listed.version for listed in metrics()} | {SIMILARITY_SCORE: SIMILARITY.version}


def chosen_columns(columns: Sequence[Column], names: Sequence[str]) -> tuple[Column, ...]:
    """The columns of these names, in their order; of two with the same name the last one given."""
    found = {column.name: column for column in columns}
    return tuple(found[name] for name in dict.fromkeys(names) if name in found)


class PairScorer:
    """Scores pairs by columns: what `Calibration.breaches` and `Calibration.unwatched` ask for."""

    def __init__(self, columns: Sequence[Column]) -> None:
        self._columns = {column.name: column for column in columns}

    @property
    def versions(self) -> Mapping[str, int]:
        """Of the metrics, by name: what `Calibration.check` asks for."""
        return {name: column.version for name, column in self._columns.items()}

    def score(self, pair: Pair, names: Collection[str] | None = None) -> dict[str, float | Failure]:
        """The scores of a pair by metric.

        Args:
            pair: The golden's answer as the reference, the candidate.
            names: Only of these metrics; those that are not there are passed over. None = all.
        """
        return {
            name: column.metric.score(pair)
            for name, column in self._columns.items()
            if names is None or name in names
        }


_DIGITS = 3


@dataclass(frozen=True, slots=True)
class Scores:
    """Rows and columns of a score table, and what is not in it."""

    rows: tuple[Scored, ...]
    metrics: tuple[MetricFacts, ...]
    inapplicable: Mapping[str, str]
    """Metrics without a single score, and the commonest reason why."""
    unmoved: tuple[str, ...]
    """Metrics that gave every candidate the same score: they can watch nothing."""
    undegradable: Mapping[str, int]
    """Candidates that could not be made, by mode and reason as in "compressed: too_few_units"."""


def gather(rows: Iterable[Row], fields: Sequence[Field]) -> Scores:
    """Put scores together.

    Args:
        rows: of this run's goldens.
        fields: metrics in order of preference where two are equally good.
    """
    known = list(rows)
    candidates = [row for row in known if row.undegradable is None]
    kept: list[Field] = []
    facts: list[MetricFacts] = []
    inapplicable: dict[str, str] = {}
    unmoved: list[str] = []
    for field in fields:
        given = [row.scores[field.key] for row in candidates if field.key in row.scores]
        numbers = [score for score in given if not isinstance(score, str)]
        if not numbers:
            reasons = Counter(score for score in given if isinstance(score, str))
            inapplicable[field.name] = reasons.most_common(1)[0][0] if reasons else "not_measured"
        elif min(numbers) == max(numbers):
            unmoved.append(field.name)
        else:
            kept.append(field)
            facts.append(_facts(field, candidates))
    table = tuple(
        Scored(
            *row.key,
            row.expected,
            {field.name: row.scores[field.key] for field in kept if field.key in row.scores},
        )
        for row in candidates
    )
    undegradable = Counter(f"{row.mode}: {row.undegradable}" for row in known if row.undegradable)
    return Scores(table, tuple(facts), inapplicable, tuple(unmoved), undegradable)


def _facts(field: Field, rows: Sequence[Row]) -> MetricFacts:
    """Time is the median: the first score of a process pays for what all need. Cost is the mean."""
    ms = [row.ms[field.key] for row in rows if field.key in row.ms]
    usd = [row.usd[field.key] for row in rows if field.key in row.usd]
    return MetricFacts(
        field.name,
        field.version,
        field.family,
        round(statistics.fmean(usd), 6) if usd else 0.0,
        round(statistics.median(ms), _DIGITS) if ms else 0.0,
    )
