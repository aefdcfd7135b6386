"""The stores on Redis where several processes meet: monitors with one name, leases, limits, counters."""

from __future__ import annotations

import pytest

from evenkeel.monitor.monitor import Monitor, MonitorSettings
from evenkeel.stores.counters import merge
from evenkeel.stores.redis.counters import RedisCounterStore
from evenkeel.stores.redis.lease import RedisLease
from evenkeel.stores.redis.monitor import OtherMonitorError, RedisMonitorStore
from evenkeel.stores.redis.verdicts import RedisVerdictLog
from tests.metrics.test_metrics_stores import EVIDENCE, _event, _point, verdict
from tests.redis_server import a_store

pytestmark = pytest.mark.service("redis-server")


@pytest.fixture
def store(redis_server):
    made = a_store(redis_server)
    yield made
    made.close()


def test_two_monitors_have_a_checkpoint_each_and_events_together(store):
    """Whoever finds an event first stores it; who delivers it does so for both."""
    one, two = RedisMonitorStore(store, "one"), RedisMonitorStore(store, "two")
    one.commit(b"a", 5, [_event(1)], [("r", "m", "p", _point(1.0))])
    two.commit(b"b", 7, [_event(1), _event(2)], [])
    assert one.load() == (b"a", 5)
    assert two.load() == (b"b", 7)
    assert [event.id for event in one.undelivered(10)] == ["a1", "a2"]
    two.mark_delivered("a1")
    assert [event.id for event in one.undelivered(10)] == ["a2"]
    assert one.trend("r", "m", "p", 10) == [_point(1.0)]
    assert two.trend("r", "m", "p", 10) == []


def test_two_monitors_of_one_name_do_not_spoil_the_checkpoint(store):
    """A commit that does not build on what is stored is refused, whole."""
    one, other = RedisMonitorStore(store, "same"), RedisMonitorStore(store, "same")
    one.commit(b"a", 5, [], [], parts={"x": b"1"})
    with pytest.raises(OtherMonitorError, match="another monitor"):
        other.commit(b"b", 3, [_event(1)], [], parts={"x": b"2"})
    assert one.load() == (b"a", 5)
    assert one.parts() == {"x": b"1"}
    assert one.events(10) == []


def test_a_commit_that_is_sent_again_is_done_once(store):
    """The answer to the first was lost: the second says so without doubling a point."""
    one = RedisMonitorStore(store, "one")
    commit = one._commit
    one._commit = lambda *arguments: [commit(*arguments), commit(*arguments)][1]
    one.commit(b"a", 5, [_event(1)], [("r", "m", "p", _point(1.0))])
    one.commit(b"b", 6, [], [("r", "m", "p", _point(2.0))])
    assert one.load() == (b"b", 6)
    assert one.trend("r", "m", "p", 10) == [_point(1.0), _point(2.0)]


def test_a_commit_of_a_monitor_that_died_is_not_mixed_into_what_is_read(store):
    """It arrives while its successor reads, and both fold the same verdicts to the same state.

    What was read is of one commit; the successor has to read again rather than take those parts for its own.
    """
    before = RedisMonitorStore(store, "one")
    before.commit(b"a", 5, [], [], parts={"x": b"1"})
    after = RedisMonitorStore(store, "one")
    assert after.load() == (b"a", 5)
    before.commit(b"b", 9, [], [], parts={"x": b"2"})
    assert after.parts() == {"x": b"1"}
    with pytest.raises(OtherMonitorError):
        after.commit(b"b", 9, [], [], parts={"x": b"2"})
    assert after.load() == (b"b", 9)
    assert after.parts() == after.parts() == {"x": b"2"}


def test_monitors_of_one_name_that_take_turns_count_every_verdict_once(store):
    """Each notices that the other wrote, reads the state anew and goes on from there."""
    log = RedisVerdictLog(store)
    monitors = [
        Monitor(log, RedisMonitorStore(store, "same"), MonitorSettings(min_trials=1), batch=batch)
        for batch in (7, 5)
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
    last = RedisMonitorStore(store, "same")
    assert last.load()[1] == 100
    fresh = Monitor(log, last, MonitorSettings(min_trials=1))
    assert fresh.step() == 0
    (cell,) = fresh.reports()
    assert cell.trials == 100


def test_a_monitor_forgets_what_a_failover_has_lost(store, caplog):
    """It takes back verdicts that the new primary never had, though no other follows, and counts them once.

    The primary of before is put back to what its replica had: the keys as they were three verdicts earlier.
    """
    log = RedisVerdictLog(store)
    monitor = Monitor(log, RedisMonitorStore(store, "one"), MonitorSettings(min_trials=1))

    def trials() -> int:
        (cell,) = monitor.reports()
        return cell.trials

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


def test_a_log_keeps_the_newest_and_counts_the_others(store):
    """A monitor that comes late sees from the offsets that some are missing."""
    log = RedisVerdictLog(store, kept=10)
    for number in range(25):
        assert log.append(verdict(number), EVIDENCE)
    read = log.read_after(0, 100)
    assert [one.offset for one in read] == list(range(16, 26))
    assert log.trimmed() == 15
    assert log.find(verdict(3).id) is None
    assert log.of_exchange("e3") == []
    assert [one.exchange_id for one in log.latest(3, route="default")] == ["e24", "e23", "e22"]


def test_evidence_has_a_time_to_live(store):
    """The server forgets it by itself; the verdict stays."""
    log = RedisVerdictLog(store, evidence_s=100)
    log.append(verdict(1), EVIDENCE)
    assert 0 < store.client.pttl(store.key("main", f"evidence:{verdict(1).id}")) <= 100_000


def test_a_lease_is_held_by_one(store):
    """It can be renewed, given back, and taken over once it has run out."""
    one, other = (RedisLease(store, "notify", holder, length_s=50) for holder in ("one", "other"))
    assert one.hold()
    assert one.hold()
    assert not other.hold()
    other.leave()
    assert not other.hold()
    one.leave()
    assert other.hold()
    store.client.pexpire(store.key("main", "lease:notify"), 0)
    assert one.hold()


def test_counters_of_a_host_are_told_apart_and_add_up(store):
    """A supervisor reads its own; the console reads all, without the gauges of who has fallen silent."""
    now = [1000.0]
    here, there = (RedisCounterStore(store, lambda: now[0], group=group) for group in ("h:1", "h:2"))
    everybody = RedisCounterStore(store, lambda: now[0])
    for counters, number in ((here, 2), (there, 5)):
        snapshot = {"counters": [["requests", {}, number]], "gauges": [["in_flight", {}, number]]}
        counters.publish("proxy.1", snapshot)
    assert merge(here.read())["counters"] == [["requests", {}, 2]]
    assert merge(everybody.read())["counters"] == [["requests", {}, 7]]
    here.retire("proxy.1")
    now[0] += 20
    assert merge(everybody.read()) == {"counters": [["requests", {}, 7]], "gauges": [], "histograms": []}
    now[0] += 100_000
    everybody.read()
    assert store.client.hkeys(store.key("counters", "times")) == []
    assert merge(everybody.read())["counters"] == [["requests", {}, 7]]
    here.clear()
    assert merge(everybody.read())["counters"] == [["requests", {}, 5]]
