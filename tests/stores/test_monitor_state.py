"""The contract of `MonitorStore`; every backend runs it."""

from dataclasses import replace

import pytest

from evenkeel.core.cells import ChangeMark
from evenkeel.monitor.monitor import Monitor, MonitorSettings
from evenkeel.stores import monitor_state
from evenkeel.stores.monitor_state import ChannelState, IncidentRow, MonitorStore, OtherMonitorError
from evenkeel.stores.redis.documents import RedisDocuments
from evenkeel.stores.redis.verdicts import RedisVerdictLog
from tests.kit.records import altered
from tests.stores.examples import event, point, verdict


@pytest.fixture
def monitor_store(backend):
    return backend.monitor()


def test_a_commit_keeps_state_events_and_trend_together(monitor_store):
    store = monitor_store
    assert store.load() == (None, 0, {})
    store.commit(
        b"state", 7, [event(1), event(2)], [("r", "m", "p", point(1.0)), ("r", "m", "q", point(2.0))]
    )
    assert store.load() == (b"state", 7, {})
    assert [alert.id for alert in store.events(10)] == ["a2", "a1"]
    assert store.trend("r", "m", "p", 10) == [point(1.0)]


def test_parts_of_a_checkpoint_are_replaced_one_by_one(monitor_store):
    """Parts that are not given stay, unless the checkpoint is said to be whole."""
    monitor_store.commit(b"a", 1, [], [], parts={"x": b"1", "y": b"2"}, whole=True)
    monitor_store.commit(b"b", 2, [], [], parts={"y": b"3"})
    assert monitor_store.load() == (b"b", 2, {"x": b"1", "y": b"3"})
    monitor_store.commit(b"c", 3, [event(1)], [], parts={"z": b"\xff"}, whole=True)
    monitor_store.commit(b"d", 4, [event(1)], [])
    assert monitor_store.load() == (b"d", 4, {"z": b"\xff"})
    assert [alert.id for alert in monitor_store.events(10)] == ["a1"]


def test_the_record_of_an_incident_is_the_one_that_is_furthest_in_the_log(monitor_store):
    """Of two monitors one may be behind; the latest thousand incidents are kept."""
    monitor_store.commit(
        b"a", 1, [], [], incidents=[IncidentRow("i1", 5, b"five"), IncidentRow("i2", 2, b"two")]
    )
    monitor_store.commit(
        b"b", 2, [], [], incidents=[IncidentRow("i1", 4, b"four"), IncidentRow("i2", 2, b"2")]
    )
    assert sorted(monitor_store.incidents()) == [b"2", b"five"]
    later = [IncidentRow(f"j{number}", 9, b"%d" % number) for number in range(999)]
    monitor_store.commit(b"c", 3, [], [], incidents=later)
    for number in range(20):
        monitor_store.commit(b"d", 4, [], [], incidents=[IncidentRow(f"k{number}", 9, b"k")])
    assert 1_000 <= len(monitor_store.incidents()) <= 1_010
    assert b"five" not in monitor_store.incidents()


def test_what_a_channel_has_sent_is_remembered(monitor_store):
    """The latest of each incident and channel counts."""
    assert monitor_store.sent("i1", "chat") is None
    first, later = (
        ChannelState(1, "opened", "fragile", 1, "11.5"),
        ChannelState(2, "resolved", "fragile", 2, "11.5"),
    )
    monitor_store.put_sent("i1", "chat", first)
    monitor_store.put_sent("i2", "chat", first)
    monitor_store.put_sent("i1", "chat", later)
    assert monitor_store.sent("i1", "chat") == later
    assert monitor_store.sent("i2", "chat") == first
    assert monitor_store.sent("i1", "pager") is None


def test_an_event_that_is_folded_again_says_what_it_says_now(monitor_store):
    monitor_store.commit(b"a", 1, [event(1)], [])
    again = altered(event(1), incident="i1", marks=(ChangeMark("model", "a", "b", 1.0, 2),))
    monitor_store.commit(b"b", 2, [again], [])
    assert monitor_store.events(10) == [again]


def test_a_commit_that_fails_changes_nothing(monitor_store):
    monitor_store.commit(b"old", 1, [], [])
    with pytest.raises(AttributeError):
        monitor_store.commit(b"new", 2, [event(1)], [("r", "m", "p", point(1.0))], incidents=[None])
    assert monitor_store.load() == (b"old", 1, {})
    assert monitor_store.events(10) == []


def test_the_newest_alerts_are_kept(backend, monkeypatch):
    monkeypatch.setattr("evenkeel.stores.monitor_state._EVENTS", replace(monitor_state._EVENTS, kept=2))
    store = backend.monitor()
    for number in range(5):
        store.commit(b"", number, [event(number)], [])
    assert [alert.id for alert in store.events(10)] == ["a4", "a3"]
    assert store.offset() == 4


def test_two_monitors_have_a_checkpoint_each_and_events_together(backend):
    """Whoever finds an event first stores it."""
    first, second = backend.monitor("one"), backend.monitor("two")
    first.commit(b"a", 5, [event(1)], [("r", "m", "p", point(1.0))])
    second.commit(b"b", 7, [event(1), event(2)], [])
    assert first.load() == (b"a", 5, {})
    assert second.load() == (b"b", 7, {})
    assert [alert.id for alert in first.events(10)] == ["a2", "a1"]
    assert first.trend("r", "m", "p", 10) == [point(1.0)]
    assert second.trend("r", "m", "p", 10) == []


def test_two_monitors_of_one_name_do_not_spoil_the_checkpoint(backend):
    one, other = backend.monitor("same"), backend.monitor("same")
    one.commit(b"a", 5, [], [], parts={"x": b"1"})
    with pytest.raises(OtherMonitorError, match="another monitor"):
        other.commit(b"b", 3, [event(1)], [], parts={"x": b"2"})
    assert one.load() == (b"a", 5, {"x": b"1"})
    assert one.events(10) == []


def test_a_commit_that_is_sent_again_is_done_once(store):
    """The answer to the first was lost: the second says so without doubling a point."""
    documents = RedisDocuments(store)
    one, commit = MonitorStore(documents, "one"), documents._commit
    documents._commit = lambda *arguments: [commit(*arguments), commit(*arguments)][1]
    one.commit(b"a", 5, [event(1)], [("r", "m", "p", point(1.0))])
    one.commit(b"b", 6, [], [("r", "m", "p", point(2.0))])
    assert one.load() == (b"b", 6, {})
    assert one.trend("r", "m", "p", 10) == [point(1.0), point(2.0)]


def test_a_commit_of_a_monitor_that_died_is_not_mixed_into_what_is_read(backend):
    """It arrives while its successor reads, and both fold the same verdicts to the same state.

    What is read is of one commit; one that comes later has to be read before the successor commits.
    """
    before, after = backend.monitor(), backend.monitor()
    before.commit(b"a", 5, [], [], parts={"x": b"1"})
    history, late = after._documents.history, [{"x": b"2"}]

    def read(*arguments):
        parts = history(*arguments)
        while late:
            before.commit(b"b", 9, [], [], parts=late.pop())
        return parts

    after._documents.history = read
    assert after.load() == (b"b", 9, {"x": b"2"})
    before.commit(b"c", 10, [], [])
    with pytest.raises(OtherMonitorError):
        after.commit(b"c", 10, [], [], parts={"x": b"2"})


def test_monitors_of_one_name_that_take_turns_count_every_verdict_once(backend):
    """Each notices that the other wrote, reads the state anew and goes on from there."""
    log = backend.verdicts()
    monitors = [
        Monitor(log, backend.monitor("same"), MonitorSettings(min_trials=1), batch=batch) for batch in (7, 5)
    ]
    for number in range(100):
        log.append(verdict(number), None)
    refused = 0
    for turn in range(60):
        try:
            monitors[turn % 2].step()
        except OtherMonitorError:
            refused += 1
    assert refused > 0
    last = backend.monitor("same")
    assert last.offset() == 100
    fresh = Monitor(log, last, MonitorSettings(min_trials=1))
    assert fresh.step() == 0
    (cell,) = fresh.reports()
    assert cell.counts.trials == 100


def test_a_monitor_forgets_what_a_failover_has_lost(store, caplog):
    """It takes back verdicts that the new primary never had, though no other follows, and counts them once.

    The primary of before is put back to what its replica had: the keys as they were three verdicts earlier.
    """
    log = RedisVerdictLog(store)
    monitor = Monitor(log, MonitorStore(RedisDocuments(store), "one"), MonitorSettings(min_trials=1))

    def trials():
        (cell,) = monitor.reports()
        return cell.counts.trials

    for number in range(5):
        log.append(verdict(number), None)
    assert (monitor.step(), monitor.step(), trials()) == (5, 0, 5)
    replicated = {key: store.client.dump(key) for key in store.client.keys(f"{store.place.prefix}:*")}
    for number in range(5, 8):
        log.append(verdict(number), None)
    assert (monitor.step(), monitor.step(), trials()) == (3, 0, 8)
    store.client.delete(*store.client.keys(f"{store.place.prefix}:*"))
    for key, body in replicated.items():
        store.client.restore(key, 0, body)
    assert (monitor.step(), trials()) == (0, 5)
    assert caplog.text.count("reading it again") == 1
    for number in range(5, 8):
        assert log.append(verdict(number), None)
    assert (monitor.step(), monitor.step(), trials()) == (3, 0, 8)
    assert caplog.text.count("reading it again") == 1
