"""The contract of `CounterStore`; every backend runs it. Counters of one process, and their sums."""

from __future__ import annotations

from evenkeel.stores.counters import merge
from evenkeel.stores.redis.counters import RedisCounterStore


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


def test_an_ended_process_keeps_its_counters_and_loses_its_gauges(backend):
    """A restarted child goes on counting from where its predecessor stopped."""
    store = backend.counters()
    for source in ("proxy.1", "proxy.2"):
        store.publish(source, {"counters": [["requests", {}, 2]], "gauges": [["in_flight", {}, 4]]})
        store.retire(source)
    store.publish("proxy.3", {"counters": [["requests", {}, 1]], "gauges": [["in_flight", {}, 1]]})
    total = merge(store.read())
    assert total["counters"] == [["requests", {}, 5]]
    assert total["gauges"] == [["in_flight", {}, 1]]
    store.clear()
    assert store.read() == []


def test_counters_of_a_host_are_told_apart_and_add_up(on_redis):
    """A supervisor reads its own; the console reads all, without the gauges of who has fallen silent."""
    store, now = on_redis.place, [1000.0]
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
