"""When a run of `evenkeel bench` ends before its end, and what it says then."""

from __future__ import annotations

import sqlite3

import pytest

from evenkeel.core.budget import Spend
from evenkeel.experiments.bench.costs import Measured
from evenkeel.experiments.kit.asking import Service, UnusableError, advised, unwritable
from evenkeel.stores.sqlite.database import Database


def service():
    return Service("the judge j", variable="THE_KEY", option="--judge")


def test_a_service_that_never_answers_ends_the_run():
    """At the fifth failure, with the name of the variable for the key."""
    judge = service()
    for _ in range(4):
        judge.failed("unauthorized", "The endpoint rejected the key.")
    with pytest.raises(UnusableError, match=r"the judge j does not answer.*THE_KEY.*--judge-key-env"):
        judge.failed("circuit_open", "left alone")


def test_a_service_that_has_answered_once_may_fail():
    """A later fault may pass; what it left unrated is asked again by the next run."""
    judge = service()
    judge.answered()
    for _ in range(100):
        judge.failed("connection", "refused")


def test_what_lies_with_an_answer_is_no_fault_of_the_service():
    """A pair that cannot be rated says nothing about the judge."""
    judge = service()
    for _ in range(100):
        judge.failed("no_text", "the answer has no text")


def test_advice_replaces_that_for_other_commands():
    """What a replay advises after the semicolon is about `evenkeel up`."""
    said = advised(
        "unauthorized", "the upstream answered 401; set a shadow credential", variable="V", key_option="--k"
    )
    assert said == "the upstream answered 401; put its key into the variable V, or name another one with --k"
    assert advised("too_large", "the answer is too large.") == "the answer is too large"


def test_a_full_disk_is_named(tmp_path):
    """The message names the file and says how to go on."""
    told = str(unwritable(tmp_path / "j", sqlite3.OperationalError("database or disk is full")))
    assert str(tmp_path / "j") in told
    assert "make room" in told
    assert "same command again" in told


def test_spending_of_killed_runs_adds_up(tmp_path):
    """What one process booked another finds, by payee, and no other plan's."""
    for _ in range(2):
        database = Database(tmp_path / "journal")
        Measured(database).add_spent("plan", {"m": Spend(10, 0.25), "the judge": Spend(0, 0.0)})
        database.close()
    database = Database(tmp_path / "journal")
    known = Measured(database)
    assert known.spent("plan") == {"m": Spend(20, 0.5)}
    assert known.spent("other") == {}
    assert known.estimate_usd("plan") is None
    known.put("plan", {"m": 1.5}, 0.75)
    assert known.estimate_usd("plan") == 0.75
    assert known.get("plan") == {"m": 1.5}
    database.close()
