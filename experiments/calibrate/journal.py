"""What a calibration has scored so far, in a file that outlives a killed run."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from evenkeel.experiments.calibrate.score_table import FailureMode

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path
    from types import TracebackType
    from typing import TextIO

SCHEMA = 1


class JournalError(ValueError):
    """A journal cannot be read or written, or is another calibration's. The message says what to do."""


class Place(NamedTuple):
    """A way of degrading a golden."""

    mode: FailureMode
    severity: float


class Key(NamedTuple):
    """One degraded golden."""

    golden: str
    mode: FailureMode
    severity: float

    @property
    def place(self) -> Place:
        """How it was degraded."""
        return Place(self.mode, self.severity)


@dataclass(frozen=True, slots=True)
class Run:
    """What decides the candidates: two runs with the same can share scores."""

    goldens: str
    """SHA-256 over ids and answers."""
    form: str
    seed: int
    severities: tuple[float, ...]
    degradations: dict[str, int]
    """Versions, by name."""
    rewriter: str | None = None
    """Model that rewords and compresses, if one does."""


@dataclass(slots=True)
class Row:
    """What is known of one candidate."""

    key: Key
    expected: float = 0.0
    undegradable: str | None = None
    """Why there is no candidate."""
    scores: dict[str, float | str] = field(default_factory=dict)
    """By the key of a column a number, or the reason why there is none."""
    ms: dict[str, float] = field(default_factory=dict)
    """How long each score took."""
    usd: dict[str, float] = field(default_factory=dict)
    """What each score cost."""
    text: str | None = None
    """The candidate's text, where a model wrote it: it would write another one next time."""
    rating: int | None = None
    """1–3, where a judge compared the two answers."""

    def add(self, other: Row) -> None:
        """Take over what another row knows of the same candidate."""
        self.expected = other.expected
        self.undegradable = other.undegradable
        self.scores |= other.scores
        self.ms |= other.ms
        self.usd |= other.usd
        self.text = self.text if other.text is None else other.text
        self.rating = self.rating if other.rating is None else other.rating


class Journal:
    """Rows, in memory and appended to a file at once, one JSON line each; the first line names the run.

    A last line that a killed process left unfinished is dropped. One process writes at a time.
    """

    def __init__(self, path: Path, run: Run) -> None:
        """Open a journal, or begin one.

        Raises: JournalError if it cannot be read or written, or belongs to another run.
        """
        self.path = path
        self.rows: dict[Key, Row] = {}
        self.remembered = 0
        """Scores that were there before this run."""
        try:
            begun = path.exists() and self._load(path, run)
            self._file: TextIO = path.open("a", encoding="utf-8")
            if not begun:
                self._write(_head(run))
        except OSError as error:
            raise JournalError(f"{path}: {error.strerror}; choose another --journal") from error
        self.remembered = sum(len(row.scores) for row in self.rows.values())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def add(self, row: Row) -> None:
        """Remember a row, now and for the next run."""
        self._write(_written(row))
        self._take(row)

    def texts(self, golden: str, places: Iterable[Place]) -> dict[Place, str]:
        """What a model wrote of a golden."""
        rows = {place: self.rows.get(Key(golden, *place)) for place in places}
        return {place: row.text for place, row in rows.items() if row is not None and row.text is not None}

    def _take(self, row: Row) -> None:
        known = self.rows.get(row.key)
        if known is None:
            self.rows[row.key] = row
        else:
            known.add(row)

    def _write(self, cells: dict[str, Any]) -> None:
        self._file.write(json.dumps(cells, allow_nan=False) + "\n")
        self._file.flush()

    def _load(self, path: Path, run: Run) -> bool:
        """Read what is there; False if that is nothing."""
        data = path.read_bytes()
        whole = data.rfind(b"\n") + 1
        lines = data[:whole].splitlines()
        if lines:
            self._check(lines[0], run)
        for number, line in enumerate(lines[1:], start=2):
            try:
                self._take(_read(json.loads(line)))
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
                raise JournalError(
                    f"{path}, line {number}: not a line of a calibration's journal; delete the file or "
                    "choose another --journal"
                ) from error
        if whole < len(data):
            with path.open("r+b") as file:
                file.truncate(whole)
        return bool(lines)

    def _check(self, line: bytes, run: Run) -> None:
        try:
            head = json.loads(line)
            schema = head["calibration_journal"]
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise JournalError(
                f"{self.path}: is not the journal of a calibration; choose another --journal"
            ) from error
        wanted = _head(run)
        for name, text in (
            ("calibration_journal", f"was written by another version of evenkeel (schema {schema})"),
            ("goldens", "belongs to other goldens"),
            ("form", f"is about the form {head.get('form')}"),
            ("seed", f"was begun with --seed {head.get('seed')}"),
            ("severities", "is about other severities"),
            ("degradations", "was begun with another version of the degradations"),
            ("rewriter", f"was begun with {head.get('rewriter') or 'no model'} as rewriter"),
        ):
            if head.get(name) != wanted[name]:
                raise JournalError(f"{self.path}: {text}; delete it or choose another --journal")


def _head(run: Run) -> dict[str, Any]:
    return {"calibration_journal": SCHEMA, **asdict(run), "severities": list(run.severities)}


def _written(row: Row) -> dict[str, Any]:
    cells: dict[str, Any] = {
        "golden": row.key.golden,
        "mode": row.key.mode.value,
        "severity": row.key.severity,
        "expected": row.expected,
    }
    for name in ("undegradable", "scores", "ms", "usd", "text", "rating"):
        value = getattr(row, name)
        if value is not None and value != {}:
            cells[name] = value
    return cells


def _read(cells: dict[str, Any]) -> Row:
    key = Key(str(cells["golden"]), FailureMode(cells["mode"]), float(cells["severity"]))
    rating = cells.get("rating")
    return Row(
        key,
        float(cells["expected"]),
        cells.get("undegradable"),
        {
            str(name): score if isinstance(score, str) else float(score)
            for name, score in cells.get("scores", {}).items()
        },
        {str(name): float(value) for name, value in cells.get("ms", {}).items()},
        {str(name): float(value) for name, value in cells.get("usd", {}).items()},
        cells.get("text"),
        None if rating is None else int(rating),
    )
