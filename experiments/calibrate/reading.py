"""Score tables as files: JSON lines, the metrics first."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar, Final, TypeVar

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from evenkeel.core.verdict import Failure
from evenkeel.experiments.calibrate.score_table import (
    FailureMode,
    MetricFacts,
    Scored,
    ScoreTable,
    TableError,
    score_table,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

SCHEMA: Final = 1


@dataclass(frozen=True, slots=True)
class _Head:
    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    schema_version: int
    metrics: list[MetricFacts]


@dataclass(frozen=True, slots=True)
class _Row:
    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    golden: Annotated[str, Field(min_length=1)]
    mode: FailureMode
    severity: float
    expected: float
    scores: dict[str, float | str]
    """A number, or the reason why there is none."""


_Line = TypeVar("_Line")

_HEAD: Final = TypeAdapter(_Head)
_ROW: Final = TypeAdapter(_Row)


def read_table(lines: Iterable[str]) -> ScoreTable:
    """Read a score table.

    The first line holds `schema_version` and `metrics`; every other one a candidate: `golden`, `mode`,
    `severity`, `expected` and `scores`, by metric a number or the reason (a word) why there is none.
    Blank lines are passed over.

    Raises:
        TableError: naming line and field.
    """
    numbered = ((number, line) for number, line in enumerate(lines, 1) if line.strip())
    first = next(numbered, None)
    if first is None:
        raise TableError("the score table is empty: its first line must hold schema_version and metrics")
    head = _read(_HEAD, *first)
    if head.schema_version != SCHEMA:
        raise TableError(f"line {first[0]}: schema_version must be {SCHEMA}, not {head.schema_version}")
    versions = {facts.name: facts.version for facts in head.metrics}
    return score_table((_scored(_read(_ROW, *line), versions) for line in numbered), head.metrics)


def table_lines(rows: Iterable[Scored], metrics: Sequence[MetricFacts]) -> Iterator[str]:
    """Rows as lines that `read_table` reads, without line ends; of a failure only the reason is kept."""
    yield json.dumps(_HEAD.dump_python(_Head(SCHEMA, list(metrics)), mode="json"))
    for row in rows:
        scores = {
            name: score.reason if isinstance(score, Failure) else score for name, score in row.scores.items()
        }
        written = {
            "golden": row.golden,
            "mode": row.mode.value,
            "severity": row.severity,
            "expected": row.expected,
            "scores": scores,
        }
        yield json.dumps(written, allow_nan=False)


def _scored(row: _Row, versions: dict[str, int]) -> Scored:
    return Scored(
        row.golden,
        row.mode,
        row.severity,
        row.expected,
        {
            name: Failure(name, versions.get(name, 0), score) if isinstance(score, str) else score
            for name, score in row.scores.items()
        },
    )


def _read(adapter: TypeAdapter[_Line], number: int, line: str) -> _Line:
    try:
        return adapter.validate_json(line)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(map(str, first["loc"])) or "the line"
        raise TableError(f"line {number}: {field}: {first['msg']}") from error
