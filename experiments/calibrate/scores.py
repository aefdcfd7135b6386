"""From what was scored to a score table."""

from __future__ import annotations

import statistics
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenkeel.core.verdict import Failure
from evenkeel.experiments.calibrate.score_table import MetricFacts, Scored

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from evenkeel.experiments.calibrate.journal import Row

_DIGITS = 3


@dataclass(frozen=True, slots=True)
class Field:
    """A metric as a table needs it."""

    key: str
    """Under which its scores are kept."""
    name: str
    version: int
    family: str


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
        Scored(row.key.golden, row.key.mode, row.key.severity, row.expected, _scores(row, kept))
        for row in candidates
    )
    undegradable = Counter(f"{row.key.mode}: {row.undegradable}" for row in known if row.undegradable)
    return Scores(table, tuple(facts), inapplicable, tuple(unmoved), undegradable)


def _scores(row: Row, fields: Sequence[Field]) -> dict[str, float | Failure]:
    found: dict[str, float | Failure] = {}
    for field in fields:
        score = row.scores.get(field.key)
        if score is not None:
            failed = isinstance(score, str)
            found[field.name] = Failure(field.name, field.version, str(score)) if failed else float(score)
    return found


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
