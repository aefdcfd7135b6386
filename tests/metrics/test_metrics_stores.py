"""The stores: what goes in comes out, once, and survives the process."""

from __future__ import annotations

import dataclasses
import sqlite3
import threading

import pytest

from evenkeel.core.pair import Answer, ToolCall
from evenkeel.core.verdict import Evidence, Failure, QualityScore, Verdict
from evenkeel.monitor.monitor import Monitor, MonitorSettings
from evenkeel.stores.counters import Tally, merge
from evenkeel.stores.errors import StoreError
from evenkeel.stores.monitor_state import AlertEvent, TrendPoint
from evenkeel.stores.redis.counters import RedisCounterStore
from evenkeel.stores.redis.monitor import RedisMonitorStore
from evenkeel.stores.redis.verdicts import RedisVerdictLog
from evenkeel.stores.sqlite.counters import SqliteCounterStore
from evenkeel.stores.sqlite.database import Database
from evenkeel.stores.sqlite.monitor import SqliteMonitorStore
from evenkeel.stores.sqlite.verdicts import SqliteVerdictLog
from tests.redis_server import a_store


def verdict(number, **changes):
    given = Verdict(
        id=f"e{number}.general.spelling.0.3",
        exchange_id=f"e{number}",
        scored_at=1000.0 + number,
        route="default",
        model="m",
        perturbation="general.spelling",
        perturbation_version=1,
        severity=0.3,
        seed=7,
        scorer="metrics",
        rating=2,
        baseline_rating=3,
        quality=(QualityScore("faithfulness_proxy", 1, 3, 2),),
        details={"rouge_l": 0.5},
    )
    return dataclasses.replace(given, **changes)


EVIDENCE = Evidence(
    "user: hi",
    "user: hii",
    Answer("a", (ToolCall("f", "{}"),), "m", "fp", "stop", 1, 2),
    Answer("<script>é", model="m"),
)


@pytest.fixture
def database(tmp_path):
    opened = Database(tmp_path / "deep" / "evenkeel.db")
    yield opened
    opened.close()


@pytest.fixture(params=["sqlite", pytest.param("redis", marks=pytest.mark.service("redis-server"))])
def place(request):
    """Where stores are: a file, or a Redis."""
    if request.param == "sqlite":
        yield request.getfixturevalue("database")
        return
    store = a_store(request.getfixturevalue("redis_server"))
    yield store
    store.close()


@pytest.fixture
def log(place):
    made = SqliteVerdictLog if isinstance(place, Database) else RedisVerdictLog
    return made(place, evidence_kept=600)


@pytest.fixture
def monitor_store(place):
    return SqliteMonitorStore(place) if isinstance(place, Database) else RedisMonitorStore(place, "one")


@pytest.fixture
def counters(place):
    return (
        SqliteCounterStore(place) if isinstance(place, Database) else RedisCounterStore(place, lambda: 1000.0)
    )


def test_a_verdict_comes_out_as_it_went_in(log):
    """Scores, failures and evidence survive storage."""
    failed = verdict(
        2,
        rating=None,
        quality=(),
        failure=Failure("judge", 1, "timeout", "no answer"),
        quality_failures=(Failure("faithfulness", 1, "empty"),),
    )
    assert log.append(verdict(1), EVIDENCE)
    assert log.append(failed, None)
    assert [one.verdict for one in log.read_after(0, 10)] == [verdict(1), failed]
    assert log.evidence(verdict(1).id) == EVIDENCE
    assert log.evidence(failed.id) is None
    assert log.find(failed.id) == failed
    assert log.find("unknown") is None


def test_an_id_is_logged_once(log):
    """Appending a verdict again changes nothing, not even its evidence."""
    assert log.append(verdict(1), EVIDENCE)
    assert not log.append(verdict(1, rating=1), None)
    assert [one.verdict.rating for one in log.read_after(0, 10)] == [2]
    assert log.evidence(verdict(1).id) == EVIDENCE


def test_reading_goes_on_after_an_offset(log):
    """Offsets grow strictly and a reader sees each verdict once."""
    for number in range(5):
        log.append(verdict(number), None)
    first = log.read_after(0, 2)
    rest = log.read_after(first[-1].offset, 10)
    assert [one.verdict.exchange_id for one in first + rest] == ["e0", "e1", "e2", "e3", "e4"]
    assert sorted({one.offset for one in first + rest}) == [one.offset for one in first + rest]


def test_verdicts_are_found_by_exchange_and_by_cell(log):
    """The worker asks by exchange, the console by route and perturbation, newest first."""
    log.append(verdict(1), None)
    log.append(verdict(1, id="other", perturbation="general.casing"), None)
    log.append(verdict(2, route="triage"), None)
    assert [one.id for one in log.of_exchange("e1")] == [verdict(1).id, "other"]
    assert [one.route for one in log.latest(10)] == ["triage", "default", "default"]
    assert [one.id for one in log.latest(10, perturbation="general.casing")] == ["other"]
    assert log.latest(10, route="triage", perturbation="general.casing") == []


def test_old_evidence_is_pruned_and_the_verdict_kept(log):
    """Evidence is bounded; verdicts stay."""
    for number in range(1000):
        log.append(verdict(number), EVIDENCE)
    assert log.evidence(verdict(0).id) is None
    assert log.evidence(verdict(999).id) == EVIDENCE
    assert log.find(verdict(0).id) is not None


def test_many_threads_append_without_losing_or_doubling(log):
    """Concurrent appends of overlapping ids leave each id once."""

    def work():
        for number in range(40):
            log.append(verdict(number), EVIDENCE)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(log.read_after(0, 1000)) == 40


def _event(number):
    return AlertEvent(f"a{number}", 1.0, "raised", "r", "m", "p", 3, 40, 0.3, "moved")


def _point(at):
    return TrendPoint(at, 10, 0.1, None, None, None, 0.9, 0.5, alert=False)


def test_a_commit_keeps_state_events_and_trend_together(monitor_store):
    """What the monitor commits is read back whole."""
    store = monitor_store
    assert store.load() == (None, 0)
    store.commit(
        b"state", 7, [_event(1), _event(2)], [("r", "m", "p", _point(1.0)), ("r", "m", "q", _point(2.0))]
    )
    assert store.load() == (b"state", 7)
    assert [event.id for event in store.events(10)] == ["a2", "a1"]
    assert store.trend("r", "m", "p", 10) == [_point(1.0)]
    store.mark_delivered("a1")
    assert [event.id for event in store.undelivered(10)] == ["a2"]


def test_parts_of_a_checkpoint_are_replaced_one_by_one(monitor_store):
    """Those that are not given stay, unless the checkpoint is said to be whole."""
    monitor_store.commit(b"a", 1, [], [], parts={"x": b"1", "y": b"2"}, whole=True)
    monitor_store.commit(b"b", 2, [], [], parts={"y": b"3"})
    assert monitor_store.parts() == {"x": b"1", "y": b"3"}
    monitor_store.commit(b"c", 3, [_event(1)], [], parts={"z": b"\xff"}, whole=True)
    monitor_store.commit(b"d", 4, [_event(1)], [])
    assert monitor_store.parts() == {"z": b"\xff"}
    assert monitor_store.load() == (b"d", 4)
    assert [event.id for event in monitor_store.events(10)] == ["a1"]


def test_a_monitor_on_any_store_resumes_where_it_stopped(log, monitor_store):
    """A second one over the same store counts what the first has not, and nothing twice."""
    for number in range(30):
        log.append(verdict(number), None)
    first = Monitor(log, monitor_store, MonitorSettings(min_trials=1), batch=20)
    assert first.step() == 20
    again = Monitor(log, monitor_store, MonitorSettings(min_trials=1), batch=20)
    assert again.step() == 10
    (cell,) = again.reports()
    assert cell.trials == 30


def test_a_commit_that_fails_changes_nothing(database):
    """State, events and trend are one transaction."""
    store = SqliteMonitorStore(database)
    store.commit(b"old", 1, [], [])
    database.connection().execute("DROP TABLE trend")
    with pytest.raises(sqlite3.OperationalError):
        store.commit(b"new", 2, [_event(1)], [("r", "m", "p", _point(1.0))])
    assert store.load() == (b"old", 1)
    assert store.events(10) == []


def test_an_unwritable_folder_is_one_clear_error(tmp_path):
    """The message names the file and the option."""
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"cannot write the store .*file.*--data-dir"):
        Database(tmp_path / "file" / "evenkeel.db")


def test_snapshots_add_up():
    """Counters and gauges are summed by labels, histograms by bucket."""
    one = {
        "counters": [["requests", {"route": "a"}, 2]],
        "gauges": [["in_flight", {}, 1]],
        "histograms": [["seconds", {"route": "a"}, [0.1, 1.0], [1, 0, 2], 3.5]],
    }
    other = {
        "counters": [["requests", {"route": "a"}, 3], ["requests", {"route": "b"}, 1]],
        "histograms": [
            ["seconds", {"route": "a"}, [0.1, 1.0], [0, 4, 1], 1.5],
            ["seconds", {"route": "b"}, [0.5], [1, 1], 1.0],
        ],
    }
    assert merge([one, other]) == {
        "counters": [["requests", {"route": "a"}, 5], ["requests", {"route": "b"}, 1]],
        "gauges": [["in_flight", {}, 1]],
        "histograms": [
            ["seconds", {"route": "a"}, [0.1, 1.0], [1, 4, 3], 5.0],
            ["seconds", {"route": "b"}, [0.5], [1, 1], 1.0],
        ],
    }


def test_an_ended_process_keeps_its_counters_and_loses_its_gauges(counters):
    """A restarted child goes on counting from where its predecessor stopped."""
    store = counters
    for source in ("proxy.1", "proxy.2"):
        store.publish(source, {"counters": [["requests", {}, 2]], "gauges": [["in_flight", {}, 4]]})
        store.retire(source)
    store.publish("proxy.3", {"counters": [["requests", {}, 1]], "gauges": [["in_flight", {}, 1]]})
    total = merge(store.read())
    assert total["counters"] == [["requests", {}, 5]]
    assert total["gauges"] == [["in_flight", {}, 1]]
    store.clear()
    assert store.read() == []


def test_a_tally_counts_by_labels():
    """Sums can be asked for by any part of the labels."""
    tally = Tally()
    tally.add("trials", route="a", outcome="rated_3")
    tally.add("trials", 2, route="a", outcome="timeout")
    assert tally.value("trials", route="a") == 3
    assert tally.value("trials", outcome="timeout") == 2
    assert tally.snapshot({"queue_waiting": 4})["gauges"] == [["queue_waiting", {}, 4]]
