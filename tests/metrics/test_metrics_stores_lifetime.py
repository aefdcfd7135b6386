"""The embedded store over a long time: bounded, and there again when somebody has deleted it."""

from __future__ import annotations

import dataclasses
import shutil
import sqlite3
import threading

import pytest

from evenkeel.core.pair import Answer
from evenkeel.core.verdict import Evidence, Verdict
from evenkeel.stores.monitor_state import AlertEvent
from evenkeel.stores.sqlite.database import Database
from evenkeel.stores.sqlite.monitor import SqliteMonitorStore
from evenkeel.stores.sqlite.verdicts import SqliteVerdictLog

EVIDENCE = Evidence("user: hi", "user: hii", Answer("a", model="m"), Answer("b", model="m"))
FIRST = Verdict(
    id="v0",
    exchange_id="e0",
    scored_at=0.0,
    route="default",
    model="m",
    perturbation="general.spelling",
    perturbation_version=1,
    severity=0.3,
    seed=7,
    scorer="metrics",
    rating=2,
    baseline_rating=3,
)


def verdict(number):
    return dataclasses.replace(FIRST, id=f"v{number}", exchange_id=f"e{number}", scored_at=float(number))


def fill(log, numbers, evidence=None):
    for number in numbers:
        assert log.append(verdict(number), evidence)


@pytest.fixture
def database(tmp_path):
    opened = Database(tmp_path / "data" / "evenkeel.db")
    # What is tested here does not depend on what a power failure would leave.
    opened.connection().execute("PRAGMA synchronous=OFF")
    yield opened
    opened.close()


def test_the_oldest_verdicts_go_first_and_are_counted(database):
    """After 1,500 verdicts of which 600 are kept, with a look every 500, the newest 600 are there."""
    log = SqliteVerdictLog(database, kept=600)
    fill(log, range(1500), EVIDENCE)
    assert log.trimmed() == 900
    assert [one.verdict.id for one in log.read_after(0, 2)] == ["v900", "v901"]
    assert log.find("v899") is None
    assert log.evidence("v899") is None
    assert log.evidence("v900") == EVIDENCE
    assert log.read_after(1499, 9)[0].verdict.id == "v1499"  # offsets are not given again
    assert SqliteVerdictLog(database).trimmed() == 900


def test_a_verdict_that_is_there_already_takes_no_place(database):
    """Offsets have no gaps, so that the limit is one of verdicts."""
    log = SqliteVerdictLog(database)
    fill(log, range(3))
    assert not any(log.append(verdict(number), None) for number in (0, 1, 2, 0))
    fill(log, [3])
    assert [one.offset for one in log.read_after(0, 9)] == [1, 2, 3, 4]


def test_what_is_not_folded_yet_stays_until_it_is_twice_too_much(database):
    """A monitor that is behind loses nothing, and one that never folds does not fill the disk."""
    folded = [100]
    log = SqliteVerdictLog(database, kept=500, folded=lambda: folded[0])
    fill(log, range(1000))
    assert log.trimmed() == 100
    fill(log, range(1000, 1500))
    assert log.trimmed() == 500
    folded[0] = 1400
    assert log.trim() == 500
    assert [one.offset for one in log.read_after(0, 1)] == [1001]


def test_a_limit_that_was_lowered_is_reached_in_steps(database):
    """However much there is, it is removed in transactions of 2,000 verdicts, all of it by one call."""
    fill(SqliteVerdictLog(database), range(4600))
    log = SqliteVerdictLog(database, kept=50)
    assert log.trim() == 4550
    assert log.trim() == 0
    assert log.trimmed() == 4550


def test_the_file_does_not_grow_once_the_log_is_full(database):
    """Five times as many verdicts as are kept take no more room than twice as many."""
    log = SqliteVerdictLog(database, kept=500, evidence_kept=100)
    fill(log, range(1000), EVIDENCE)

    def size():
        database.connection().execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        return database.path.stat().st_size

    full = size()
    fill(log, range(1000, 2500), EVIDENCE)
    assert size() <= full * 1.05


def test_evidence_has_an_age(database):
    """Prompts and answers older than the limit go, their verdicts stay."""
    now = 0.0
    log = SqliteVerdictLog(database, evidence_s=100.0, clock=lambda: now)
    fill(log, range(300), EVIDENCE)
    now = 300.0
    log.trim()
    assert log.evidence("v199") is None
    assert log.find("v199") is not None
    assert log.evidence("v200") == EVIDENCE


def test_alerts_are_bounded_but_for_those_nobody_was_told_of(database, monkeypatch):
    """The newest are kept, and every one that still waits to be delivered."""
    monkeypatch.setattr("evenkeel.stores.sqlite.monitor._ALERTS_KEPT", 2)
    store = SqliteMonitorStore(database)
    for number in range(5):
        event = AlertEvent(f"a{number}", 0.0, "raised", "r", "m", "p", number, 1, None, "")
        store.commit(b"", number, [event], [])
        if number != 1:
            store.mark_delivered(event.id)
    assert [event.id for event in store.events(10)] == ["a4", "a3", "a1"]
    assert store.offset() == 4


@pytest.mark.parametrize("how", ["the folder", "the files"])
def test_a_store_that_was_deleted_is_made_again(database, caplog, how):
    """The next use finds an empty one with all its tables; it is said and counted once, for all threads."""
    log = SqliteVerdictLog(database)
    fill(log, [1])
    seen = []
    use, used = threading.Barrier(2), threading.Barrier(2)

    def elsewhere():
        for _ in range(2):
            seen.append(len(log.read_after(0, 9)))
            use.wait(10)
            used.wait(10)

    thread = threading.Thread(target=elsewhere)
    thread.start()
    use.wait(10)
    if how == "the folder":
        shutil.rmtree(database.path.parent)
    else:
        for path in database.path.parent.iterdir():
            path.unlink()
    fill(log, [2, 3])
    used.wait(10)
    use.wait(10)
    used.wait(10)
    thread.join()
    assert seen == [1, 2]
    assert database.recreated == 1
    assert caplog.text.count("was deleted while in use") == 1
    with sqlite3.connect(database.path) as other:
        assert other.execute("SELECT count(*) FROM verdicts").fetchone() == (2,)
        assert other.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    other.close()


def test_several_processes_that_lost_a_store_meet_in_the_new_one(database):
    """Each brings its own tables; closing what is left of the old file harms nothing of the new one."""
    log = SqliteVerdictLog(database)
    fill(log, [1])
    other = Database(database.path)
    monitor = SqliteMonitorStore(other)
    monitor.commit(b"state", 1, [], [])
    shutil.rmtree(database.path.parent)
    assert monitor.load() == (None, 0)
    monitor.commit(b"new", 5, [], [])
    fill(log, [2])
    assert other.recreated == database.recreated == 1
    assert monitor.load() == (b"new", 5)
    other.close()
    assert log.read_after(0, 9)[0].verdict.id == "v2"


def test_who_must_not_go_on_with_an_empty_store_is_told(tmp_path):
    """With `lost`, nothing is made anew: each use fails and the owner learns why, once."""
    told = []
    database = Database(tmp_path / "evenkeel.db", lost=told.append)
    log = SqliteVerdictLog(database)
    database.path.unlink()
    for _ in range(2):
        with pytest.raises(sqlite3.OperationalError, match="was deleted while in use"):
            log.find("v1")
    assert told == [f"the store {database.path} was deleted while in use"]
    assert not database.path.exists()
    assert database.recreated == 0
    database.close()
