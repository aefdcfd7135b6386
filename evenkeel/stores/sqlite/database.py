"""SQLite file in WAL mode, shared by all processes of one machine."""

from __future__ import annotations

import contextlib
import logging
import os
import sqlite3
import threading
import time
from typing import TYPE_CHECKING, Any, Final

from evenkeel.stores.errors import DamagedStoreError, StoreError
from evenkeel.stores.sealing import seal_of
from evenkeel.stores.sqlite.privacy import keep_private, make_private

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from evenkeel.stores.sealing import Seal

log = logging.getLogger("evenkeel.store")

DATABASE_FILE = "evenkeel.db"
"""Name of the file in the data folder."""

_DAMAGED: Final = frozenset((sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT))
_BUSY_TIMEOUT_S = 10.0
# KiB of pages cached by each connection. It is small because the kernel caches the file anyway: with SQLite's
# own 2 MB, a worker with some twenty connections would grow for hours.
_CACHED_KIB = 256
_RETRY_S = 0.01


class Database:
    """SQLite file with one connection per thread.

    `synchronous=NORMAL` in WAL mode: a commit survives the death of any process; the last commits
    may be lost if the machine loses power.
    """

    def __init__(
        self,
        path: Path,
        *,
        seal: Seal | None = None,
        lost: Callable[[str], object] | None = None,
    ) -> None:
        """Open the file, creating it if needed.

        Args:
            path: the file.
            seal: encrypts prompts and answers. Default: from the environment, so that no caller can forget it
                and write plain text.
            lost: called with a sentence if the file was deleted while in use, in the thread that notices it.
                Pass it if the memory of this process must match the file. Default: the file is created again
                with the same tables.

        Raises:
            DamagedStoreError: if the file is not SQLite, or is corrupt.
            StoreError: if it cannot be used, or others can read it and that cannot be repaired.
            SealError: for keys that cannot be used.
        """
        self.seal = seal_of(os.environ) if seal is None else seal
        self.path = path
        self.recreated = 0
        """Number of times that the file was found deleted and was created again."""
        self._tell_lost = lost
        # Device and inode of the file that holds the tables.
        self._file: tuple[int, int] | None = None
        # Statements that create the tables.
        self._tables: list[str] = []
        self._local = threading.local()
        self._connections: list[sqlite3.Connection] = []
        self._lock = threading.Lock()
        try:
            make_private(path)
            # A damaged page shows only when it is read. A full check would take seconds for a large file.
            for (table,) in self.rows("SELECT name FROM sqlite_master WHERE type = 'table'"):
                self.row(f'SELECT * FROM "{table}" LIMIT 1')  # noqa: S608 - a table of this file
            # Not before: a file that was named by mistake keeps its mode.
            # A journal lies in whatever folder somebody works in.
            keep_private(path, folder_too=path.name == DATABASE_FILE)
            with self.write():
                pass
        except (OSError, sqlite3.Error) as error:
            self.close()
            if getattr(error, "sqlite_errorcode", None) in _DAMAGED:
                raise DamagedStoreError(
                    f"the store {path} is damaged ({error}); restore a backup of it"
                ) from error
            raise StoreError(
                f"cannot write the store {path}: {error}; choose a writable folder with --data-dir"
            ) from error

    def connection(self) -> sqlite3.Connection:
        """Return this thread's connection, opened on first use."""
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is not None and self._local.file != _identity(self.path):
            self._leave(connection)
            connection = None
        return self._open() if connection is None else connection

    def _open(self) -> sqlite3.Connection:
        self._notice_deletion()
        make_private(self.path)
        connection = sqlite3.connect(
            self.path, timeout=_BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False
        )
        try:
            _log_ahead(connection)
            connection.execute("PRAGMA synchronous=NORMAL")
            connection.execute(f"PRAGMA cache_size={-_CACHED_KIB}")
            # What is deleted is text of users, so free pages are overwritten too.
            connection.execute("PRAGMA secure_delete=ON")
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

        SQLite notices the deletion too, and does not touch the write-ahead log of a new file.
        """
        self._local.connection = None
        self._notice_deletion()
        with self._lock:
            if connection in self._connections:
                self._connections.remove(connection)
        connection.close()

    def _notice_deletion(self) -> None:
        """Count a deletion of the file once, in whichever thread notices it first.

        Raises: sqlite3.OperationalError if `lost` was given.
        """
        with self._lock:
            if self._file is None or self._file == _identity(self.path):
                return
            if self._tell_lost is None:
                self._file = None
                self.recreated += 1
                log.warning("the store %s was deleted while in use; starting an empty one", self.path)
                return
        problem = f"the store {self.path} was deleted while in use"
        self._tell_lost(problem)  # may end the process
        raise sqlite3.OperationalError(problem)

    def row(self, statement: str, values: Sequence[Any] = ()) -> Any:
        """Return the first row that a query finds; None if it finds none."""
        return self.connection().execute(statement, values).fetchone()

    def rows(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        """Return all rows that a query finds."""
        return self.connection().execute(statement, values).fetchall()

    @contextlib.contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """Run a write transaction: all of it, or nothing."""
        with _transaction(self.connection()) as connection:
            yield connection

    def create(self, *statements: str) -> None:
        """Create tables and indexes that do not exist; repeated if the file is deleted.

        Raises: StoreError if a table exists with other columns.
        """
        try:
            with self.write() as connection:
                for statement in statements:
                    connection.execute(statement)
        except sqlite3.OperationalError as error:
            # Any other failure to write says nothing about the tables.
            if error.sqlite_errorcode != sqlite3.SQLITE_ERROR:
                raise
            raise StoreError(
                f"the store {self.path} was written by another version of evenkeel ({error}); choose another "
                "folder with --data-dir"
            ) from error
        self._tables += statements

    def close(self) -> None:
        """Close the connections of all threads."""
        with self._lock:
            for connection in self._connections:
                connection.close()
            self._connections.clear()
        self._local = threading.local()


def _identity(path: Path) -> tuple[int, int] | None:
    """Return the device and inode of a file, which change if it is replaced; None if there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _log_ahead(connection: sqlite3.Connection) -> None:
    """Switch to a write-ahead log, if the file has none yet.

    If two processes do this at once, SQLite refuses one immediately, so it is tried again here.
    """
    until = time.monotonic() + _BUSY_TIMEOUT_S
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() >= until:
                raise
            time.sleep(_RETRY_S)
        else:
            return


@contextlib.contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield connection
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # on a full disk SQLite may have rolled back itself
            connection.execute("ROLLBACK")
        raise
