"""Score tables: what every metric said about every degraded golden, in memory and as JSON lines."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from pydantic import TypeAdapter

from evenkeel.lab.calibrate.calibration import FailureMode

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray


MODES = tuple(FailureMode)


@dataclass(frozen=True, slots=True)
class MetricFacts:
    """Facts about a metric besides its scores."""

    name: str
    version: int
    family: str
    """Metrics of one family share their blind spots: structural, lexical, semantic, order, judge …"""
    cost_usd: float = 0.0
    """Mean price of one score."""
    time_ms: float = 0.0
    """Mean time one score takes."""


@dataclass(frozen=True, slots=True)
class CandidateScores:
    """A candidate and its scores."""

    golden: str
    mode: FailureMode
    severity: float
    """Share of the golden that was degraded, in [0, 1]."""
    expected: float
    """Score of a perfectly calibrated metric, in [0, 1]."""
    scores: dict[str, float | str]
    """Scores by metric, or the reason (a word) why there is none; an absent one was not measured."""
    cluster: str = ""
    """Goldens of one cluster are not independent; "" = the golden is one of its own."""


class DamageLevel(NamedTuple):
    """A way of degrading a golden."""

    mode: FailureMode
    severity: float


@dataclass(frozen=True, slots=True)
class ScoreTable:
    """Scores of every golden under every condition by every metric, as arrays.

    What was not measured is NaN inside and is left out of everything that is computed; why it was
    not is counted in `failures`.
    """

    metrics: tuple[MetricFacts, ...]
    goldens: tuple[str, ...]
    """Ascending, so that the order of the rows does not matter."""
    conditions: tuple[DamageLevel, ...]
    """Conditions by mode in the order of `FailureMode`, then by severity."""
    scores: NDArray[np.float64]
    """Shape (goldens, conditions, metrics)."""
    expected: NDArray[np.float64]
    """Shape (goldens, conditions)."""
    failures: tuple[tuple[DamageLevel, str, str, int], ...]
    """(condition, metric, reason, how many)."""
    clusters: tuple[str, ...] = ()
    """Clusters of the goldens, in their order; empty = each is one of its own."""

    @property
    def modes(self) -> tuple[FailureMode, ...]:
        """The degraded modes that occur."""
        return tuple(dict.fromkeys(each.mode for each in self.conditions))

    @property
    def cluster_numbers(self) -> NDArray[np.int64]:
        """The number of each golden's cluster, from 0."""
        names = self.clusters or self.goldens
        numbers = {}
        for number, name in enumerate(dict.fromkeys(names)):
            numbers[name] = number
        return np.array([numbers[name] for name in names])

    @property
    def digest(self) -> str:
        """SHA-256 over the golden ids, in hexadecimal: names the set they form."""
        return sha256("\n".join(self.goldens).encode("utf-8", "surrogatepass")).hexdigest()

    def places(self, mode: FailureMode) -> tuple[int, ...]:
        """Return the places of a mode's graded conditions (severity above 0), by ascending severity."""
        places = []
        for place, condition in enumerate(self.conditions):
            if condition.mode is mode and condition.severity > 0:
                places.append(place)
        return tuple(places)

    def place(self, mode: FailureMode, severity: float) -> int | None:
        """Return the place of a condition; None if there is none like it."""
        wanted = DamageLevel(mode, severity)
        return self.conditions.index(wanted) if wanted in self.conditions else None


def score_table(rows: Iterable[CandidateScores], metrics: Sequence[MetricFacts]) -> ScoreTable:
    """Put a table together.

    Args:
        rows: in any order, one for each golden and condition; a golden may lack conditions.
        metrics: the columns, in the order of preference where two are equally good.
    """
    kept = list(rows)
    column = {facts.name: i for i, facts in enumerate(metrics)}
    goldens = sorted({row.golden for row in kept})
    conditions = sorted(
        {DamageLevel(row.mode, row.severity) for row in kept},
        key=lambda each: (MODES.index(each.mode), each[1]),
    )
    at_golden = {golden: i for i, golden in enumerate(goldens)}
    at_condition = {condition: i for i, condition in enumerate(conditions)}
    scores = np.full((len(goldens), len(conditions), len(metrics)), np.nan)
    expected = np.full((len(goldens), len(conditions)), np.nan)
    failed: Counter[tuple[DamageLevel, str, str]] = Counter()
    for row in kept:
        condition = DamageLevel(row.mode, row.severity)
        row_and_column = (at_golden[row.golden], at_condition[condition])
        expected[row_and_column] = row.expected
        for name, score in row.scores.items():
            if isinstance(score, str):
                failed[condition, name, score] += 1
            else:
                scores[*row_and_column, column[name]] = score
    counted = []
    for key in sorted(failed, key=lambda key: (conditions.index(key[0]), *key[1:])):
        counted.append((*key, failed[key]))
    of_golden = {}
    for row in kept:
        if row.cluster:
            of_golden[row.golden] = row.cluster
    clusters = tuple(of_golden.get(golden, f"golden:{golden}") for golden in goldens) if of_golden else ()
    return ScoreTable(
        tuple(metrics), tuple(goldens), tuple(conditions), scores, expected, tuple(counted), clusters
    )


SCHEMA: Final = 1


@dataclass(frozen=True, slots=True)
class _Head:
    schema_version: int
    metrics: list[MetricFacts]


_HEAD: Final = TypeAdapter(_Head)
_ROW: Final = TypeAdapter(CandidateScores)


def table_lines(rows: Iterable[CandidateScores], metrics: Sequence[MetricFacts]) -> Iterator[str]:
    """Rows as JSON lines without line ends; the first holds `schema_version` and `metrics`."""
    yield json.dumps(_HEAD.dump_python(_Head(SCHEMA, list(metrics)), mode="json"))
    for row in rows:
        yield json.dumps(_ROW.dump_python(row, mode="json"), allow_nan=False)
