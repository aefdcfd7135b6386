"""Scores of a calibration so far, in a file that survives a killed run."""

from __future__ import annotations

import statistics
from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

from pydantic import TypeAdapter

from evenkeel.lab.calibrate.calibration import FailureMode  # noqa: TC001 - read by pydantic
from evenkeel.lab.calibrate.score_table import CandidateScores, DamageLevel, MetricFacts
from evenkeel.lab.line_file import LineFile
from evenkeel.release.kit.arguments import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from evenkeel.lab.calibrate.columns import MetricField

SCHEMA = 1


class CandidateKey(NamedTuple):
    """A degraded golden."""

    golden: str
    mode: FailureMode
    severity: float

    @property
    def condition(self) -> DamageLevel:
        """Mode and severity of the damage."""
        return DamageLevel(self.mode, self.severity)


@dataclass(frozen=True, slots=True)
class CalibrationRun:
    """Facts that decide the candidates: two runs with the same can share scores."""

    goldens: str
    """SHA-256 over ids and answers."""
    seed: int
    severities: tuple[float, ...]
    degradations: dict[str, int]
    """Versions, by name."""


@dataclass(slots=True)
class CandidateRow:
    """Knowledge of a candidate."""

    golden: str
    mode: FailureMode
    severity: float
    expected: float
    undegradable: str | None = None
    """Why there is no candidate."""
    scores: dict[str, float | str] = field(default_factory=dict)
    """Scores by the key of a column: a number, or the reason why there is none."""
    ms: dict[str, float] = field(default_factory=dict)
    """Time that each score took."""
    usd: dict[str, float] = field(default_factory=dict)
    """Cost of each score."""

    @property
    def key(self) -> CandidateKey:
        """Which candidate it is."""
        return CandidateKey(self.golden, self.mode, self.severity)

    def add(self, other: CandidateRow) -> None:
        """Take over what another row knows of the same candidate."""
        self.expected = other.expected
        self.undegradable = other.undegradable
        self.scores |= other.scores
        self.ms |= other.ms
        self.usd |= other.usd


_ROW: Final = TypeAdapter(CandidateRow)


class Journal:
    """Rows, in memory and in a file that is begun by the name of the run."""

    def __init__(self, path: Path, run: CalibrationRun) -> None:
        """Open a journal, or begin one.

        Raises: InputError if it cannot be read or written, or belongs to another run.
        """
        self.path = path
        self.rows: dict[CandidateKey, CandidateRow] = {}
        self._run = run
        self._begun = False
        self._file = LineFile(path, self._read, is_what="the journal of a calibration", option="--journal")
        if not self._begun:
            self._file.add(_head(run))
        self.remembered = sum(len(row.scores) for row in self.rows.values())
        """Scores that were there before this run."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def add(self, row: CandidateRow) -> None:
        """Remember a row, now and for the next run."""
        self._file.add(_ROW.dump_python(row, mode="json", exclude_defaults=True))
        self._take(row)

    def _read(self, cells: dict[str, Any]) -> None:
        if self._begun:
            self._take(_ROW.validate_python(cells))
        else:
            self._check(cells)
            self._begun = True

    def _take(self, row: CandidateRow) -> None:
        earlier = self.rows.get(row.key)
        if earlier is None:
            self.rows[row.key] = row
        else:
            earlier.add(row)

    def _check(self, head: dict[str, Any]) -> None:
        schema = head["calibration_journal"]
        wanted = _head(self._run)
        for name, text in (
            ("calibration_journal", f"was written by another version of evenkeel (schema {schema})"),
            ("goldens", "belongs to other goldens"),
            ("seed", f"was begun with --seed {head.get('seed')}"),
            ("severities", "is about other severities"),
            (
                "degradations",
                "was begun with or without --published, or with another version of the degradations",
            ),
        ):
            if head.get(name) != wanted[name]:
                raise InputError(f"{self.path}: {text}; delete it or choose another --journal")


def _head(run: CalibrationRun) -> dict[str, Any]:
    return {"calibration_journal": SCHEMA, **asdict(run), "severities": list(run.severities)}


_DIGITS = 3


@dataclass(frozen=True, slots=True)
class JournalScores:
    """Rows and columns of a score table, and what is not in it."""

    rows: tuple[CandidateScores, ...]
    metrics: tuple[MetricFacts, ...]
    inapplicable: Mapping[str, str]
    """Metrics without a single score, and the commonest reason why."""
    unmoved: tuple[str, ...]
    """Metrics that gave every candidate the same score: they can watch nothing."""
    undegradable: Mapping[str, int]
    """Candidates that could not be made, by mode and reason as in "compressed: too_few_units"."""


def gather(rows: Iterable[CandidateRow], fields: Sequence[MetricField]) -> JournalScores:
    """Put scores together.

    Args:
        rows: of this run's goldens.
        fields: metrics in order of preference where two are equally good.
    """
    rows_kept = list(rows)
    candidates = [row for row in rows_kept if row.undegradable is None]
    kept: list[MetricField] = []
    facts: list[MetricFacts] = []
    inapplicable: dict[str, str] = {}
    unmoved: list[str] = []
    for column in fields:
        scores = [row.scores[column.key] for row in candidates if column.key in row.scores]
        numbers = [score for score in scores if not isinstance(score, str)]
        if not numbers:
            reasons = Counter(score for score in scores if isinstance(score, str))
            inapplicable[column.name] = reasons.most_common(1)[0][0] if reasons else "not_measured"
        elif min(numbers) == max(numbers):
            unmoved.append(column.name)
        else:
            kept.append(column)
            facts.append(_facts(column, candidates))
    scoreses = []
    for row in candidates:
        scoreses.append(
            CandidateScores(
                *row.key,
                row.expected,
                {column.name: row.scores[column.key] for column in kept if column.key in row.scores},
            )
        )
    table = tuple(scoreses)
    undegradable = Counter(f"{row.mode}: {row.undegradable}" for row in rows_kept if row.undegradable)
    return JournalScores(table, tuple(facts), inapplicable, tuple(unmoved), undegradable)


def _facts(column: MetricField, rows: Sequence[CandidateRow]) -> MetricFacts:
    """Time is the median: the first score of a process pays for what all need. Cost is the mean."""
    ms = [row.ms[column.key] for row in rows if column.key in row.ms]
    usd = [row.usd[column.key] for row in rows if column.key in row.usd]
    return MetricFacts(
        column.name,
        column.version,
        column.family,
        round(statistics.fmean(usd), 6) if usd else 0.0,
        round(statistics.median(ms), _DIGITS) if ms else 0.0,
    )
