"""Files that survive a killed run: answers by content in SQLite, and rows as JSON lines."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from evenkeel.core.pair import Answer, ToolCall
from evenkeel.release.kit.arguments import InputError
from evenkeel.shadow.replay import Replay
from evenkeel.stores.errors import StoreError
from evenkeel.stores.sealing import SealError
from evenkeel.stores.sqlite.database import Database

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from typing import TextIO


def open_database(path: Path, option: str) -> Database:
    """Open a journal of answers, or begin one.

    Args:
        path: Where.
        option: Which names it, for messages.

    Raises: InputError.
    """
    if path.is_dir():
        raise InputError(f"{option} {path}: is a folder; name a file")
    try:
        return Database(path)
    except StoreError as error:
        raise InputError(f"{option} {path}: cannot be used; name another file ({error})") from error


class Answers:
    """Answers of models by content, in SQLite; failures are asked for again."""

    def __init__(self, database: Database) -> None:
        self._database = database
        database.create(
            "CREATE TABLE IF NOT EXISTS gate_answers (key BLOB PRIMARY KEY, answer TEXT NOT NULL,"
            " duration_s REAL NOT NULL) WITHOUT ROWID"
        )

    def get(self, key: bytes) -> Replay | None:
        """The answer, None if it has to be asked for."""
        row = self._database.row("SELECT answer, duration_s FROM gate_answers WHERE key = ?", (key,))
        if row is None:
            return None
        try:
            fields = json.loads(self._database.seal.open_text(row[0], "gate"))
            calls = tuple(ToolCall(**call) for call in fields.pop("tool_calls"))
            return Replay(Answer(tool_calls=calls, **fields), row[1])
        except (SealError, ValueError, TypeError, KeyError):  # of another version or key: asked for again
            return None

    def put(self, key: bytes, replay: Replay) -> None:
        """Remember an answer."""
        text = self._database.seal.close_text(json.dumps(asdict(replay.answer)), "gate")
        with self._database.write() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO gate_answers (key, answer, duration_s) VALUES (?, ?, ?)",
                (key, text, replay.duration_s),
            )

    def count(self) -> int:
        """Answers that are remembered, whoever asked for them."""
        row = self._database.row("SELECT count(*) FROM gate_answers")
        return int(row[0])


class LineFile:
    """Rows appended to a file at once, one JSON object a line.

    A last line that a killed process left unfinished is dropped. One process writes at a time.
    """

    def __init__(
        self, path: Path, read: Callable[[dict[str, Any]], None], *, is_what: str, option: str
    ) -> None:
        """Read the rows that are there and open the file for more; begin one if there is none.

        Args:
            path: Where. Its folder is made.
            read: Takes each row, in order. ValueError, KeyError and TypeError of it mean that the row is
                not of such a file; an InputError is passed on.
            is_what: What such a file is, as in "the journal of a calibration".
            option: Which names it, for messages.

        Raises: InputError if it cannot be read or written, or is another file.
        """
        self.path = path
        self.rows = 0
        """Rows that were there before."""
        try:
            if path.exists():
                self._load(read, is_what, option)
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file: TextIO = path.open("a", encoding="utf-8")
        except OSError as error:
            raise InputError(f"{path}: {error.strerror}; choose another {option}") from error

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def add(self, row: Mapping[str, Any]) -> None:
        """Append a row; it is in the file when this returns."""
        self._file.write(json.dumps(row, allow_nan=False) + "\n")
        self._file.flush()

    def _load(self, read: Callable[[dict[str, Any]], None], is_what: str, option: str) -> None:
        data = self.path.read_bytes()
        whole = data.rfind(b"\n") + 1
        for number, line in enumerate(data[:whole].splitlines(), start=1):
            try:
                read(json.loads(line))
            except InputError:
                raise
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
                raise InputError(
                    f"{self.path}, line {number}: is not {is_what}; choose another {option}"
                ) from error
            self.rows += 1
        if whole < len(data):
            with self.path.open("r+b") as file:
                file.truncate(whole)
