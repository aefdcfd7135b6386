"""Answers by what was asked, in a file that outlives a stopped run."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from typing import TYPE_CHECKING

from evenkeel.core.pair import Answer, ToolCall
from evenkeel.shadow.replay import Replay
from evenkeel.stores.sealing import SealError

if TYPE_CHECKING:
    from evenkeel.experiments.gate.sides import Request, SideName
    from evenkeel.stores.sqlite.database import Database


def request_key(side: SideName, request: Request, repeat: int) -> bytes:
    """SHA-256 of everything that decides an answer.

    The side is part of it: where both are asked the very same, the two answers must be two draws.
    """
    where = [side, request.target.url, request.target.unix_path, repeat]
    return hashlib.sha256(json.dumps(where).encode() + b"\0" + request.body).digest()


class AnswerCache:
    """Remembers answers; failures are asked for again."""

    def __init__(self, database: Database) -> None:
        self._database = database
        database.create(
            "CREATE TABLE IF NOT EXISTS gate_answers (key BLOB PRIMARY KEY, answer TEXT NOT NULL,"
            " duration_s REAL NOT NULL) WITHOUT ROWID"
        )

    def get(self, key: bytes) -> Replay | None:
        """The answer, None if it has to be asked for."""
        row = (
            self._database.connection()
            .execute("SELECT answer, duration_s FROM gate_answers WHERE key = ?", (key,))
            .fetchone()
        )
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
