"""Rows as JSON lines in a file that survives a killed run."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from evenkeel.release.kit.arguments import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from typing import TextIO


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
