"""A store without room: what was begun is undone, and forwarding starts all the same."""

from __future__ import annotations

import logging
import sqlite3

import pytest

from evenkeel.runtime.launcher import _start_from_zero
from evenkeel.stores.sqlite.database import Database


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


def test_counters_that_cannot_be_cleared_keep_nobody_from_forwarding(caplog):
    """On a full disk `up` says that nothing is scored, and goes on."""

    class Full:
        def clear(self):
            raise sqlite3.OperationalError("database or disk is full")

    with caplog.at_level(logging.WARNING):
        _start_from_zero(Full())
    assert "disk is full); requests are forwarded, not scored" in caplog.text
