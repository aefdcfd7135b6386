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
def index(tmp_path):
    return tmp_path / "evenkeel.db-shm"


@pytest.fixture
def storing(index):
    """Starts processes that store rows in one file, three of them at once; none is left."""
    processes = []

    def start():
        processes.append(Storing(index.with_name("evenkeel.db")))
        assert processes[-1].at(0) == STORED
        return processes[-1]

    yield start
    for process in processes:
        process._process.kill()
        with process._process:  # closes the pipes
            pass


STORED = ["stored"] * 3
CUTS = {
    "nothing": lambda index: index.write_bytes(b""),
    "rubbish": lambda index: index.write_bytes(b"x" * 24_000),
    "a part": lambda index: os.truncate(index, 24_000),
}


@pytest.mark.parametrize("cut", CUTS.values(), ids=CUTS)
def test_a_store_that_was_cut_short_is_used_again(index, storing, cut):
    """Until a second has passed every access is an error; then all threads go on, and no row is missing."""
    processes = storing(), storing()
    cut(index)
    for process in processes:
        for now in (0, 0.9):
            assert all("cut short while in use" in line for line in process.at(now))
    for now in (1, 2, 60):
        for process in processes:
            assert process.at(now) == STORED
    for process in processes:
        said, logged, code = process.end()
        assert said == ["[1, 1]", "ok", "24"]
        assert logged.count("cut short while in use") == logged.count("is used again") == 2  # once a store
        assert code == 0


def test_a_store_is_left_alone_while_somebody_writes_over_it(index, storing):
    """A look that finds the files changed waits longer before the next: one second, two, four."""
    process = storing()
    CUTS["nothing"](index)
    assert "cut short" in process.at(0)[0]
    index.write_bytes(b"x" * 10_000)
    assert "cut short" in process.at(1)[0]
    index.write_bytes(b"x" * 20_000)
    for now in (2.9, 3, 6.9):
        assert "cut short" in process.at(now)[0]
    assert process.at(7) == STORED
    assert process.end()[0] == ["[1, 1]", "ok", "6"]


def test_another_process_that_opens_the_store_makes_it_whole(index, storing):
    """Who starts meanwhile trusts no part of an index; who had it open goes on with the new one."""
    before = storing()
    CUTS["a part"](index)
    assert "cut short" in before.at(0)[0]
    after = storing()
    assert before.at(1) == after.at(1) == STORED
    assert after.end()[0] == ["[0, 0]", "ok", "12"]
    assert before.end()[0] == ["[1, 1]", "ok", "12"]


@pytest.mark.parametrize("replaced", [False, True], ids=["deleted", "replaced"])
def test_an_index_that_was_cut_and_then_taken_away_is_never_touched(tmp_path, index, storing, replaced):
    """The one in memory cannot be made whole then: every access is an error, and the process lives on."""
    process = storing()
    CUTS["nothing"](index)
    assert "cut short" in process.at(0)[0]
    index.rename(tmp_path / "away")
    if replaced:
        index.write_bytes(bytes(32_768))
    for now in (1, 2, 62):
        assert all("was deleted or replaced while in use; restart" in line for line in process.at(now))
    # Another file has an index of its own: that one can be opened.
    for name in ("evenkeel.db", index.name, "evenkeel.db-wal"):
        index.with_name(name).unlink(missing_ok=True)
    assert process.at(200) == STORED
    said, logged, code = process.end()
    assert (said, code) == (["[1, 1]", "ok", "3"], 0)
    assert logged.count("was deleted or replaced") == 2  # once a store


def test_an_index_that_another_process_is_just_making_is_left_alone(index, monkeypatch):
    """It grows in steps: one that is too short is looked at twice before any of it is thrown away."""
    database = Database(index.with_name("evenkeel.db"))
    database.close()
    index.write_bytes(b"x" * 8_192)

    def finished(_seconds):
        index.write_bytes(b"x" * 32_768)

    monkeypatch.setattr("evenkeel.stores.sqlite.database.time.sleep", finished)
    database._mend()
    assert index.read_bytes() == b"x" * 32_768
