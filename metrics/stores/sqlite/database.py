"""One SQLite file in WAL mode, shared by all processes of one machine."""

from __future__ import annotations

import contextlib
import ctypes
import logging
import os
import sqlite3
import threading
from typing import TYPE_CHECKING

from metrics.stores.errors import StoreError
from metrics.stores.sealing import seal_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from metrics.stores.sealing import Seal

log = logging.getLogger("evenkeel.store")

_BUSY_TIMEOUT_S = 10.0
_INDEX_BYTES = 32_768
"""Least size of the index of a write-ahead log that is in use."""


class Database:
    """A SQLite file with one connection per thread.

    `synchronous=NORMAL` in WAL mode: a commit survives the death of any process; the last commits
    may be lost if the machine loses power.
    """

    def __init__(
        self, path: Path, *, seal: Seal | None = None, lost: Callable[[str], object] | None = None
    ) -> None:
        """Open the file, which is made if it is not there.

        Args:
            path: the file.
            seal: encrypts prompts and answers. Default: as the environment says, so that none of the many
                places that open the file can forget it and write what should be encrypted in the clear.
            lost: called with a sentence, in the thread that finds out, when the file has been deleted or cut
                short under this process; for one whose memory must agree with the file. Default: a file that
                was deleted is made again, with the same tables.

        Raises: StoreError if it cannot be written, SealError for keys that cannot be used.
        """
        self.seal = seal_of(os.environ) if seal is None else seal
        self.path = path
        self._index_path = path.with_name(f"{path.name}-shm")
        self.recreated = 0
        """How often the file was found deleted and made again."""
        self._tell_lost = lost
        self._lost = ""
        """Why the file is not used any more."""
        self._file: tuple[int, int] | None = None
        """Device and inode of the file that holds the tables."""
        self._tables: list[str] = []
        """Statements that make them."""
        self._local = threading.local()
        self._connections: list[sqlite3.Connection] = []
        self._lock = threading.Lock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self.connection().execute("PRAGMA user_version").fetchone()
            with self.write():
                pass
        except (OSError, sqlite3.Error) as error:
            raise StoreError(
                f"cannot write the store {path}: {error}; choose a writable folder with --data-dir"
            ) from error

    def connection(self) -> sqlite3.Connection:
        """This thread's connection, opened on first use."""
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is not None and not self._lost and self._local.file != _identity(self.path):
            self._leave(connection)
            connection = None
        if connection is not None and not self._lost and self._cut_short():
            self._abandon()
            raise self._gone(
                f"the files of {self.path} were cut short while in use; restore them and start again"
            )
        if self._lost:
            raise sqlite3.OperationalError(self._lost)
        return self._open() if connection is None else connection

    def _open(self) -> sqlite3.Connection:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(
            self.path, timeout=_BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False
        )
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=NORMAL")
            # What is deleted is text of users: overwritten, as far as that takes no further writes.
            connection.execute("PRAGMA secure_delete=FAST")
            file = _identity(self.path)
            if self._file != file:
                with _transaction(connection):
                    for statement in self._tables:
                        connection.execute(statement)
        except BaseException:
            connection.close()
            raise
        with self._lock:
            self._file = file
            self._connections.append(connection)
        self._local.connection, self._local.file = connection, file
        return connection

    def _leave(self, connection: sqlite3.Connection) -> None:
        """Close this thread's connection to a file that has been deleted or replaced.

        SQLite sees that too, and leaves the write-ahead log of a new file alone.
        """
        self._local.connection = None
        if self._tell_lost is not None:
            raise self._gone(f"the store {self.path} was deleted while in use")
        with self._lock:
            if self._file == self._local.file:  # The first thread that notices.
                self._file = None
                self.recreated += 1
                log.warning("the store %s was deleted while in use; starting an empty one", self.path)
            if connection in self._connections:
                self._connections.remove(connection)
        connection.close()

    def _gone(self, problem: str) -> sqlite3.OperationalError:
        if self._tell_lost is not None:
            self._tell_lost(problem)  # May not return: so long other threads must not fail in its place.
        self._lost = problem
        return sqlite3.OperationalError(problem)

    def _cut_short(self) -> bool:
        """Whether somebody truncated the index of the write-ahead log, as copying a backup over it does.

        SQLite has it mapped into memory: to touch what is no longer there would kill the process.
        """
        try:
            return self._index_path.stat().st_size < _INDEX_BYTES
        except OSError:
            return False  # Deleted: what is mapped stays readable.

    def _abandon(self) -> None:
        """Never touch the connections again, not even to close them: that would kill the process too."""
        with self._lock:
            for connection in self._connections:
                ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))
            self._connections.clear()

    @contextlib.contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """A write transaction: all of it, or nothing."""
        with _transaction(self.connection()) as connection:
            yield connection

    def create(self, *statements: str) -> None:
        """Create tables and indexes that are not there yet; again if the file is deleted."""
        with self.write() as connection:
            for statement in statements:
                connection.execute(statement)
        self._tables += statements

    def close(self) -> None:
        """Close the connections of all threads."""
        with self._lock:
            for connection in self._connections:
                connection.close()
            self._connections.clear()
        self._local = threading.local()


def _identity(path: Path) -> tuple[int, int] | None:
    """What tells a file from another one in its place; None if there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


@contextlib.contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield connection
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # a full disk ends some by itself, and leaves others open
            connection.execute("ROLLBACK")
        raise
