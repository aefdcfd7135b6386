"""SQLite file in WAL mode, shared by all processes of one machine."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import logging
import os
import sqlite3
import threading
import time
from typing import TYPE_CHECKING, Any, Final

from evenkeel.core.backoff import Backoff
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
# KiB of pages cached by each connection.
#
# The kernel keeps pages for all connections. With SQLite's own 2 MB the memory of a worker, which has some
# twenty connections, would rise for hours while the file grows.
_CACHED_KIB = 256
# Least bytes of the index of a write-ahead log in use.
_INDEX_BYTES = 32_768
# Bytes of an index that SQLite has only just made.
_BEGUN_BYTES = 3
# Pauses between checks of files that another process may be writing.
_LOOKS: Final = Backoff(1.0, 60.0)
_RETRY_S = 0.01
# Seconds before a second look: SQLite makes an index in steps, which take microseconds.
_SECOND_LOOK_S = 0.02


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
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Open the file, which is made if it is not there.

        Args:
            path: the file.
            seal: encrypts prompts and answers. Default: as the environment says, so that none of the many
                places that open the file can forget it and write what should be encrypted in the clear.
            lost: called with a sentence, in the thread that finds out, when the file has been deleted or cut
                short under this process; for one whose memory must agree with the file. Default: a file that
                was deleted is made again, with the same tables, and one that was cut short is opened again
                once it is left alone.
            clock: monotonic time in seconds, for the pauses between attempts to open it again.

        Raises:
            DamagedStoreError: if it is no SQLite file, or not a whole one.
            StoreError: if it cannot be written, or others can read it and that cannot be repaired.
            SealError: for keys that cannot be used.
        """
        self.seal = seal_of(os.environ) if seal is None else seal
        self.path = path
        self._index_path = path.with_name(f"{path.name}-shm")
        self.recreated = 0
        """Number of times the file was found deleted and was made again."""
        self.reopened = 0
        """Number of times the file was found cut short and was opened again."""
        # Bytes of the index when it was last checked; it only grows.
        self._index_bytes = _INDEX_BYTES
        self._clock = clock
        self._again_at = 0.0
        self._looks = 0
        # State of the files at the last attempt to open them again.
        self._left_as: object = None
        self._tell_lost = lost
        # Reason why the file is no longer used.
        self._lost = ""
        # Device and inode of the file that holds the tables.
        self._file: tuple[int, int] | None = None
        # Device and inode of the index at the time when the file was first opened.
        self._index: tuple[int, int] | None = None
        # Statements that create the tables.
        self._tables: list[str] = []
        self._local = threading.local()
        self._connections: list[sqlite3.Connection] = []
        self._lock = threading.Lock()
        try:
            make_private(path)
            keep_private(path)
            self.connection().execute("PRAGMA user_version").fetchone()
            with self.write():
                pass
        except (OSError, sqlite3.Error) as error:
            if getattr(error, "sqlite_errorcode", None) in _DAMAGED:
                raise DamagedStoreError(
                    f"the store {path} is damaged ({error}); restore a backup of it"
                ) from error
            raise StoreError(
                f"cannot write the store {path}: {error}; choose a writable folder with --data-dir"
            ) from error

    def connection(self) -> sqlite3.Connection:
        """Return this thread's connection, opened on first use."""
        if self._lost:
            self._try_again()
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is not None and self._local.opened != self.reopened:
            connection = None  # It was abandoned.
        if connection is not None and self._local.file != _identity(self.path):
            self._leave(connection)
            connection = None
        if (connection is not None or self._connections) and self._cut_short():
            self._abandon()
            raise self._gone(f"the files of {self.path} were cut short while in use")
        return self._open() if connection is None else connection

    def _open(self) -> sqlite3.Connection:
        self._notice_deletion()
        make_private(self.path)
        self._mend()
        opened = self.reopened
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
            if self._file != file:
                self._file, self._index_bytes = file, _INDEX_BYTES
                self._index = _identity(self._index_path)
            self._connections.append(connection)
        self._local.connection, self._local.file, self._local.opened = connection, file, opened
        return connection

    def _leave(self, connection: sqlite3.Connection) -> None:
        """Close this thread's connection to a file that has been deleted or replaced.

        SQLite sees that too, and leaves the write-ahead log of a new file alone.
        """
        self._local.connection = None
        self._notice_deletion()
        with self._lock:
            if connection in self._connections:
                self._connections.remove(connection)
        connection.close()

    def _notice_deletion(self) -> None:
        """Count a deletion of the file: whichever thread sees it first, also one that had no connection yet.

        Raises: sqlite3.OperationalError if the owner's memory must agree with the file.
        """
        with self._lock:
            if self._file is None or self._file == _identity(self.path):
                return
            if self._tell_lost is None:
                self._file = None
                self.recreated += 1
                log.warning("the store %s was deleted while in use; starting an empty one", self.path)
                return
        raise self._gone(f"the store {self.path} was deleted while in use")

    def _gone(self, problem: str) -> sqlite3.OperationalError:
        if self._tell_lost is not None:
            self._tell_lost(problem)  # May not return: so long other threads must not fail in its place.
        with self._lock:
            if not self._lost:
                self._lost = problem
                self._left_as = self._files()
                self._looks = 1
                self._again_at = self._clock() + _LOOKS.pause_s(1)
                if self._tell_lost is None:
                    log.error("%s; trying again when nobody writes to them", problem)
        return sqlite3.OperationalError(problem)

    def _try_again(self) -> None:
        """Resume use of files that were cut short, if no process is writing over them any more.

        Raises: sqlite3.OperationalError if somebody may be, or it is too early to look again.
        """
        with self._lock:
            now = self._clock()
            if self._lost and (self._tell_lost is not None or now < self._again_at):
                raise sqlite3.OperationalError(self._lost)
            files = self._files()
            if self._lost and files != self._left_as and self._cut_short():
                self._left_as = files
                self._looks += 1
                self._again_at = now + _LOOKS.pause_s(self._looks)
                raise sqlite3.OperationalError(self._lost)
            if self._lost and self._index_replaced():
                problem = f"{self._index_path} was deleted or replaced while in use; restart evenkeel"
                if self._lost != problem:
                    log.error("%s", problem)
                self._lost, self._again_at = problem, now + _LOOKS.longest_s
                raise sqlite3.OperationalError(problem)
            if self._lost:
                self._mend()
                self._lost = ""
                self._file = None  # Tables may be missing from what somebody copied here.
                self.reopened += 1
                log.warning("the store %s is used again", self.path)

    def _index_replaced(self) -> bool:
        """Return whether the abandoned connections map another index than the one now on disk.

        SQLite would keep using the index in memory and touch pages that no longer exist.
        """
        return self._file == _identity(self.path) and self._index != _identity(self._index_path)

    def _files(self) -> list[tuple[int, int] | None]:
        """Return the size and modification time of each file; None for a missing one."""
        files: list[tuple[int, int] | None] = []
        for suffix in ("", "-shm", "-wal"):
            try:
                status = self.path.with_name(f"{self.path.name}{suffix}").stat()
            except OSError:
                files.append(None)
            else:
                files.append((status.st_size, status.st_mtime_ns))
        return files

    def _mend(self) -> None:
        """Make an index that was cut short whole, for SQLite to fill it anew from the write-ahead log.

        It must not be opened for that: closing it would give up the locks that SQLite has on it. Only those
        who hold a lock on the folder do it, so that nobody empties what another has begun to use.
        """
        if not self._cut_short():
            return
        folder = os.open(self.path.parent, os.O_RDONLY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            seen = self._index_path.stat().st_size
            if _BEGUN_BYTES < seen < _INDEX_BYTES:
                time.sleep(_SECOND_LOOK_S)  # Another process may be making it just now.
                if self._index_path.stat().st_size == seen:
                    os.truncate(self._index_path, 0)  # A part of it could be taken for all of it.
            if self._cut_short():
                os.truncate(self._index_path, self._index_bytes)
        except FileNotFoundError:
            pass  # Deleted meanwhile: SQLite makes another one.
        finally:
            os.close(folder)

    def _cut_short(self) -> bool:
        """Return whether the index of the write-ahead log was truncated, as when a backup is copied over it.

        SQLite maps the index into memory: touching a page that is gone would kill the process.
        """
        try:
            size = self._index_path.stat().st_size
        except OSError:
            return False  # Deleted: what is mapped stays readable.
        if size < self._index_bytes:
            return True
        self._index_bytes = size
        return False

    def _abandon(self) -> None:
        """Abandon the connections without closing them: touching them would kill the process."""
        with self._lock:
            for connection in self._connections:
                ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))
            self._connections.clear()

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
        """Create tables and indexes that do not exist; repeated if the file is deleted."""
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
            self._index_bytes = _INDEX_BYTES
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

    Of two processes that do so at once SQLite refuses one without waiting, since both hold the file by then.
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
        if connection.in_transaction:  # a full disk ends some by itself, and leaves others open
            connection.execute("ROLLBACK")
        raise
