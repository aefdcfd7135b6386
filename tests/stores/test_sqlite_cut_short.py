"""A store whose index of the write-ahead log is cut short while in use, as copying a backup over it does.

It is mapped into memory, and to touch what is not there any more ends the process: so it is tried in others.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from evenkeel.stores.sqlite.database import Database

SCRIPT = """
import sqlite3, sys, threading
from pathlib import Path
from evenkeel.stores.sqlite.database import Database
now = [0.0]
databases = [Database(Path(sys.argv[1]), clock=lambda: now[0]) for _ in range(2)]
databases[0].create("CREATE TABLE IF NOT EXISTS t (x)")
go, done = threading.Semaphore(0), threading.Semaphore(0)

def insert(database):
    try:
        with database.write() as connection:
            connection.execute("INSERT INTO t VALUES (1)")
        return "stored"
    except sqlite3.OperationalError as error:
        return str(error)

def beside():
    while go.acquire():
        print(insert(databases[0]), flush=True)
        done.release()

threading.Thread(target=beside, daemon=True).start()
for line in sys.stdin:
    now[0] = float(line)
    print(insert(databases[0]), insert(databases[1]), sep="\\n", flush=True)
    go.release()
    done.acquire()
print([database.reopened for database in databases])
print(databases[1].connection().execute("PRAGMA integrity_check").fetchone()[0])
print(databases[1].connection().execute("SELECT count(*) FROM t").fetchone()[0])
"""


class Storing:
    """A process that stores three rows whenever it is told the time: by two stores, by one in two threads."""

    def __init__(self, path):
        self._process = subprocess.Popen(
            [sys.executable, "-c", SCRIPT, str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def at(self, now):
        """What it says of each row."""
        self._process.stdin.write(f"{now}\n")
        self._process.stdin.flush()
        return [self._process.stdout.readline().strip() for _ in range(3)]

    def end(self):
        """What it says at its end, what it logged, and how it ended."""
        said, logged = self._process.communicate(timeout=240)
        return said.splitlines(), logged, self._process.returncode


@pytest.fixture
def storing(tmp_path):
    """Starts processes that store rows in one file; none is left."""
    processes = []

    def start():
        processes.append(Storing(tmp_path / "evenkeel.db"))
        return processes[-1]

    yield start
    for process in processes:
        process._process.kill()
        with process._process:  # closes the pipes
            pass


CUTS = {
    "nothing": lambda index: index.write_bytes(b""),
    "rubbish": lambda index: index.write_bytes(b"x" * 24_000),
    "a part": lambda index: os.truncate(index, 24_000),
}


@pytest.mark.parametrize("cut", CUTS.values(), ids=CUTS)
def test_a_store_that_was_cut_short_is_used_again(tmp_path, storing, cut):
    """Until a second has passed every access is an error; then all threads go on, and no row is missing."""
    path = tmp_path / "evenkeel.db"
    one, other = storing(), storing()
    for process in (one, other):
        assert process.at(0) == ["stored"] * 3
    cut(path.with_name("evenkeel.db-shm"))
    for process in (one, other):
        for now in (0, 0.9):
            assert all("cut short while in use" in line for line in process.at(now))
    for now in (1, 2, 60):
        for process in (one, other):
            assert process.at(now) == ["stored"] * 3
    for process in (one, other):
        said, logged, code = process.end()
        assert said == ["[1, 1]", "ok", "24"]
        assert logged.count("cut short while in use") == logged.count("is used again") == 2  # once a store
        assert code == 0


def test_a_store_is_left_alone_while_somebody_writes_over_it(tmp_path, storing):
    """A look that finds the files changed waits longer before the next: one second, two, four."""
    path = tmp_path / "evenkeel.db"
    index = path.with_name("evenkeel.db-shm")
    process = storing()
    assert process.at(0) == ["stored"] * 3
    CUTS["nothing"](index)
    assert "cut short" in process.at(0)[0]
    index.write_bytes(b"x" * 10_000)
    assert "cut short" in process.at(1)[0]
    index.write_bytes(b"x" * 20_000)
    assert "cut short" in process.at(2.9)[0]
    assert "cut short" in process.at(3)[0]
    assert "cut short" in process.at(6.9)[0]
    assert process.at(7) == ["stored"] * 3
    assert process.end()[0] == ["[1, 1]", "ok", "6"]


def test_another_process_that_opens_the_store_makes_it_whole(tmp_path, storing):
    """Who starts meanwhile trusts no part of an index; who had it open goes on with the new one."""
    path = tmp_path / "evenkeel.db"
    one = storing()
    assert one.at(0) == ["stored"] * 3
    CUTS["a part"](path.with_name("evenkeel.db-shm"))
    assert "cut short" in one.at(0)[0]
    other = storing()
    assert other.at(0) == ["stored"] * 3
    assert one.at(1) == ["stored"] * 3
    assert other.at(1) == ["stored"] * 3
    assert other.end()[0] == ["[0, 0]", "ok", "12"]
    assert one.end()[0] == ["[1, 1]", "ok", "12"]


@pytest.mark.parametrize("replaced", [False, True], ids=["deleted", "replaced"])
def test_an_index_that_was_cut_and_then_taken_away_is_never_touched(tmp_path, storing, replaced):
    """The one in memory cannot be made whole then: every access is an error, and the process lives on."""
    path = tmp_path / "evenkeel.db"
    index = path.with_name("evenkeel.db-shm")
    process = storing()
    assert process.at(0) == ["stored"] * 3
    CUTS["nothing"](index)
    assert "cut short" in process.at(0)[0]
    index.rename(tmp_path / "away")
    if replaced:
        index.write_bytes(bytes(32_768))
    for now in (1, 2, 62):
        assert all("was deleted or replaced while in use; restart" in line for line in process.at(now))
    # Another file has an index of its own: that one can be opened.
    for file in (path, index, path.with_name("evenkeel.db-wal")):
        file.unlink(missing_ok=True)
    assert process.at(200) == ["stored"] * 3
    said, logged, code = process.end()
    assert (said, code) == (["[1, 1]", "ok", "3"], 0)
    assert logged.count("was deleted or replaced") == 2  # once a store


def test_an_index_that_another_process_is_just_making_is_left_alone(tmp_path, monkeypatch):
    """It grows in steps: one that is too short is looked at twice before any of it is thrown away."""
    database = Database(tmp_path / "evenkeel.db")
    database.close()
    index = tmp_path / "evenkeel.db-shm"
    index.write_bytes(b"x" * 8_192)

    def finished(_seconds):
        index.write_bytes(b"x" * 32_768)

    monkeypatch.setattr("evenkeel.stores.sqlite.database.time.sleep", finished)
    database._mend()
    assert index.read_bytes() == b"x" * 32_768
