"""Answers by content in SQLite, which survive a killed run."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from evenkeel.core.pair import Answer, ToolCall
from evenkeel.release.kit.arguments import InputError
from evenkeel.shadow.replay import Replay
from evenkeel.stores.errors import StoreError
from evenkeel.stores.sealing import SealError
from evenkeel.stores.sqlite.database import Database

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def opened_journal(path: Path | None, option: str) -> Iterator[Database]:
    """Open a journal of answers, or begin one, and close it at the end.

    Args:
        path: File of the journal; None = one that is deleted at the end.
        option: Option that names it, for messages.

    Raises: InputError.
    """
    # The judge and the rewriter need a database for what they remember, even if nobody keeps it.
    if path is None:
        with (
            TemporaryDirectory(prefix="evenkeel-") as folder,
            opened_journal(Path(folder) / "journal", option) as database,
        ):
            yield database
        return
    if path.is_dir():
        raise InputError(f"{option} {path}: is a folder; name a file")
    try:
        database = Database(path)
    except StoreError as error:
        raise InputError(f"{option} {path}: cannot be used; name another file ({error})") from error
    try:
        yield database
    finally:
        database.close()


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
            fields = json.loads(self._database.seal.open(row[0], "gate"))
            calls = tuple(ToolCall(**call) for call in fields.pop("tool_calls"))
            return Replay(Answer(tool_calls=calls, **fields), row[1])
        except (SealError, ValueError, TypeError, KeyError):  # of another version or key: asked for again
            return None

    def put(self, key: bytes, replay: Replay) -> None:
        """Remember an answer."""
        text = self._database.seal.close(json.dumps(asdict(replay.answer)).encode(), "gate")
        with self._database.write() as connection:
            connection.execute(
                # Two equal requests may be under way at once: the later answer stays.
                "INSERT OR REPLACE INTO gate_answers (key, answer, duration_s) VALUES (?, ?, ?)",
                (key, text, replay.duration_s),
            )

    def count(self) -> int:
        """Answers that are remembered, whoever asked for them."""
        row = self._database.row("SELECT count(*) FROM gate_answers")
        return int(row[0])
