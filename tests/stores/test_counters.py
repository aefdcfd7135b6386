"""The contract of `CounterStore`; every backend runs it. Counters of one process, and their sums."""

from evenkeel.stores.counters import merge


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


def counted(number):
    """A snapshot with a counter and a gauge."""
    return {"counters": [["requests", {}, number]], "gauges": [["in_flight", {}, number]]}


def test_supervisors_are_told_apart_and_add_up(backend):
    """The latest of each counts; a name that nobody has published under has none."""
    store = backend.counters()
    for source, number in (("h:1", 1), ("h:1", 2), ("h:2", 5)):
        store.publish(source, counted(number))
    assert store.read("h:1") == [counted(2)]
    assert store.read("h:3") == []
    assert merge(store.read())["counters"] == [["requests", {}, 7]]


def test_a_silent_supervisor_keeps_its_counters_and_loses_its_gauges(backend):
    """After a day the next one that starts forgets it, and what it has counted stays."""
    counters, now = backend.counters(), backend.clock.now
    for source, number in (("h:1", 2), ("h:2", 5)):
        counters.publish(source, counted(number))
    backend.clock.now = now + 20
    assert merge(counters.read()) == {"counters": [["requests", {}, 7]], "gauges": [], "histograms": []}
    backend.clock.now = now + 100_000
    backend.counters().publish("h:3", counted(1))
    assert [counters.read(source) for source in ("h:1", "h:2")] == [[], []]
    assert merge(counters.read())["counters"] == [["requests", {}, 8]]
