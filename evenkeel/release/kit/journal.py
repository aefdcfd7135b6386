"""Answers by content in SQLite, which survive a killed run."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final, NamedTuple

from evenkeel.core.pair import Answer  # noqa: TC001 - msgspec reads it
from evenkeel.core.records import from_json, to_json
from evenkeel.release.kit.arguments import InputError
from evenkeel.shadow.replay import Replay
from evenkeel.stores.cache import DocumentCache
from evenkeel.stores.errors import StoreError
from evenkeel.stores.sealing import SealError
from evenkeel.stores.sqlite.database import Database
from evenkeel.stores.sqlite.documents import SqliteDocuments

if TYPE_CHECKING:
    from collections.abc import Iterator

KEPT: Final = 10_000_000
"""Answers, rulings and rewritings that a journal keeps, which is all of them."""


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
        # What follows the semicolon is advice about the folder of a store.
        why = str(error).partition("; choose")[0]
        raise InputError(f"{option} {path}: cannot be used; name another file ({why})") from error
    try:
        yield database
    finally:
        database.close()


class _StoredAnswer(NamedTuple):
    answer: Answer
    duration_s: float


class Answers:
    """Answers of models by content, in SQLite; failures are asked for again."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._cache = DocumentCache(SqliteDocuments(database), "answers", kept=KEPT)

    def get(self, key: bytes) -> Replay | None:
        """The answer, None if it has to be asked for."""
        try:
            body = self._cache.get(key.hex())
            remembered = None if body is None else from_json(body, _StoredAnswer)
        except (SealError, ValueError):  # of another version or key: asked for again
            return None
        return None if remembered is None else Replay(remembered.answer, remembered.duration_s)

    def put(self, key: bytes, replay: Replay) -> None:
        """Remember an answer."""
        self._cache.put(key.hex(), to_json(_StoredAnswer(replay.answer, replay.duration_s)).encode())

    def count(self) -> int:
        """Answers that are remembered, whoever asked for them."""
        return int(self._database.row("SELECT count(*) FROM answers")[0])
