"""A SQLite file over a long time: there again when somebody has deleted it, and clear when it cannot be."""

import shutil
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from evenkeel.stores.errors import DamagedStoreError, StoreError
from evenkeel.stores.monitor_state import MonitorStore
from evenkeel.stores.sqlite.database import Database
from evenkeel.stores.sqlite.documents import SqliteDocuments
from evenkeel.stores.sqlite.verdicts import SqliteVerdictLog
from tests.stores.examples import fill, read_after, verdict


def test_an_unwritable_folder_is_one_clear_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"cannot write the store .*file.*--data-dir"):
        Database(tmp_path / "file" / "evenkeel.db")


def test_a_file_that_is_no_store_keeps_its_mode(tmp_path):
    """It was named by mistake, as a journal say."""
    path = tmp_path / "picture.png"
    path.write_bytes(b"\x89PNG" * 200)
    path.chmod(0o644)
    with pytest.raises(DamagedStoreError):
        Database(path)
    assert path.stat().st_mode & 0o777 == 0o644


def test_a_damaged_page_of_a_table_is_one_clear_error(tmp_path):
    """Also where the file's first pages are whole, so that SQLite opens it."""
    path = tmp_path / "evenkeel.db"
    database = Database(path)
    SqliteVerdictLog(database)
    (root,) = database.row("SELECT rootpage FROM sqlite_master WHERE name = 'verdicts'")
    (size,) = database.row("PRAGMA page_size")
    database.close()
    with path.open("r+b") as file:
        file.seek((root - 1) * size)
        file.write(bytes(size))
    with pytest.raises(DamagedStoreError, match="restore a backup"):
        Database(path)


def test_a_store_of_another_version_is_one_clear_error(tmp_path):
    """The tables have other columns."""
    database = Database(tmp_path / "evenkeel.db")
    database.create("CREATE TABLE verdicts (offset INTEGER PRIMARY KEY, id TEXT)")
    with pytest.raises(StoreError, match=r"another version of evenkeel .*exchange_id.*--data-dir"):
        SqliteVerdictLog(database)


class RefusedFirst(sqlite3.Connection):
    """One that SQLite does not let switch to a write-ahead log at first, as another process is at it too."""

    refusals = 2

    def execute(self, statement, *values):
        if "journal_mode" in statement and RefusedFirst.refusals:
            RefusedFirst.refusals -= 1
            refused = sqlite3.OperationalError("database is locked")
            refused.sqlite_errorcode = sqlite3.SQLITE_BUSY
            raise refused
        return super().execute(statement, *values)


def test_two_processes_that_begin_a_store_at_once_both_go_on(tmp_path, monkeypatch):
    """SQLite refuses one of them without waiting; it tries again."""
    real = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *a, **named: real(*a, factory=RefusedFirst, **named))
    database = Database(tmp_path / "evenkeel.db")
    assert RefusedFirst.refusals == 0
    assert database.connection().execute("PRAGMA journal_mode").fetchone() == ("wal",)


@pytest.mark.parametrize("how", ["the folder", "the files"])
def test_a_store_that_was_deleted_is_made_again(database, caplog, how):
    """The next use finds an empty one with all its tables; it is said and counted once, for all threads."""
    log = SqliteVerdictLog(database)
    fill(log, [1])
    seen = []
    use, used = threading.Barrier(2), threading.Barrier(2)

    def elsewhere():
        for _ in range(2):
            seen.append(len(read_after(log, 0, 9)))
            use.wait(240)
            used.wait(240)

    thread = threading.Thread(target=elsewhere)
    thread.start()
    use.wait(240)
    if how == "the folder":
        shutil.rmtree(database.path.parent)
    else:
        for path in database.path.parent.iterdir():
            path.unlink()
    fill(log, [2, 3])
    used.wait(240)
    use.wait(240)
    used.wait(240)
    thread.join()
    assert seen == [1, 2]
    assert database.recreated == 1
    assert caplog.text.count("was deleted while in use") == 1
    with sqlite3.connect(database.path) as other:
        assert other.execute("SELECT count(*) FROM verdicts").fetchone() == (2,)
        assert other.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    other.close()


def test_a_thread_that_opens_the_file_after_it_was_deleted_counts_it(database):
    """Also where another process has made the file again by then, and no thread that knew it looks first."""
    log = SqliteVerdictLog(database)
    fill(log, [1])
    shutil.rmtree(database.path.parent)
    other = Database(database.path)
    thread = threading.Thread(target=fill, args=(log, [2]))
    thread.start()
    thread.join()
    assert database.recreated == 1
    fill(log, [3])
    assert database.recreated == 1
    assert len(read_after(log, 0, 9)) == 2
    other.close()


def test_several_processes_that_lost_a_store_meet_in_the_new_one(database):
    """Each brings its own tables; closing what is left of the old file harms nothing of the new one."""
    log = SqliteVerdictLog(database)
    fill(log, [1])
    other = Database(database.path)
    monitor = MonitorStore(SqliteDocuments(other))
    monitor.commit(b"state", 1, [], [])
    shutil.rmtree(database.path.parent)
    assert monitor.load() == (None, 0, {})
    monitor.commit(b"new", 5, [], [])
    fill(log, [2])
    assert other.recreated == database.recreated == 1
    assert monitor.load() == (b"new", 5, {})
    other.close()
    assert read_after(log, 0, 9)[0].verdict == verdict(2)


def test_who_must_not_go_on_with_an_empty_store_is_told(tmp_path):
    """With `lost`, nothing is made anew: each use fails and tells the owner why."""
    told = []
    database = Database(tmp_path / "evenkeel.db", lost=told.append)
    log = SqliteVerdictLog(database)
    database.path.unlink()
    for _ in range(2):
        with pytest.raises(sqlite3.OperationalError, match="was deleted while in use"):
            log.find("v1")
    assert set(told) == {f"the store {database.path} was deleted while in use"}
    with ThreadPoolExecutor(1) as pool, pytest.raises(sqlite3.OperationalError, match="was deleted"):
        pool.submit(log.find, "v1").result()
    assert not database.path.exists()
    assert database.recreated == 0
    database.close()


def test_a_transaction_that_cannot_be_committed_is_undone(tmp_path):
    """A commit can fail and leave its transaction open, here for a broken reference: the next one works."""
    database = Database(tmp_path / "evenkeel.db")
    database.create(
        "CREATE TABLE whole (id INTEGER PRIMARY KEY)",
        "CREATE TABLE part (whole INTEGER REFERENCES whole DEFERRABLE INITIALLY DEFERRED)",
    )
    database.connection().execute("PRAGMA foreign_keys = ON")
    with pytest.raises(sqlite3.IntegrityError), database.write() as connection:
        connection.execute("INSERT INTO part VALUES (1)")
    with database.write() as connection:
        connection.execute("INSERT INTO whole VALUES (2)")
        connection.execute("INSERT INTO part VALUES (2)")
    assert database.connection().execute("SELECT whole FROM part").fetchall() == [(2,)]
    database.close()
