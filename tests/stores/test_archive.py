"""The contract of `ExchangeArchive`; every backend runs it."""

import pytest

from evenkeel.stores.archive import LARGEST_CHARS
from tests.kit.records import altered
from tests.stores.examples import ARCHIVED


@pytest.fixture
def build(backend):
    return backend.archive


def archived(number, route="shop", request="{}"):
    return altered(ARCHIVED, id=f"{number:016x}", route=route, request=request)


def test_the_newest_come_first(build):
    """One route's or all are listed, as many as asked for."""
    archive = build()
    for number in range(6):
        archive.put(archived(number, "even" if number % 2 == 0 else "odd"))

    def numbers(*args, **narrowed):
        return [int(exchange.id, 16) for exchange in archive.latest(*args, **narrowed)]

    assert numbers() == [5, 4, 3, 2, 1, 0]
    assert numbers(2) == [5, 4]
    assert numbers(route="odd") == [5, 3, 1]
    assert numbers(1, route="even") == [4]


def test_a_busy_route_does_not_push_out_a_quiet_one(build):
    """Each keeps its newest; between two prunings there may be fifty more."""
    now = [0.0]
    archive = build(per_route=10, clock=lambda: now[0])
    archive.put(archived(0, "quiet"))
    for number in range(1, 200):
        now[0] += 1.0
        archive.put(archived(number, "busy"))
        assert len(archive.latest()) <= 11 + 50
    archive.prune()
    assert [int(exchange.id, 16) for exchange in archive.latest()] == [*range(199, 189, -1), 0]


def test_it_takes_no_more_room_than_allowed(build):
    """The newest that fit together are kept, whatever their route."""
    now = [0.0]
    archive = build(total_chars=100_000, clock=lambda: now[0])
    for number in range(100):
        now[0] += 1.0
        archive.put(archived(number, f"r{number % 3}", "x" * 9_999))  # and an answer of one letter
    archive.prune()
    assert [int(exchange.id, 16) for exchange in archive.latest()] == list(range(99, 89, -1))


def test_one_that_is_too_large_is_not_kept(build):
    """Pictures would fill the archive by themselves; with a retention of 0 it is emptied and stays empty."""
    archive = build()
    archive.put(ARCHIVED)
    none = build(per_route=0)
    assert none.prune() == 1
    assert not none.put(ARCHIVED)
    assert not archive.put(archived(1, request="x" * LARGEST_CHARS))
    assert archive.put(archived(2, request="x" * (LARGEST_CHARS - 1)))
    assert len(archive.latest()) == 1


def test_exchanges_are_kept_for_so_long(build):
    """The old go when new ones come, and at a pruning; whoever is younger stays."""
    now = [1000.0]
    archive = build(kept_s=3600.0, clock=lambda: now[0])
    archive.put(archived(1))
    now[0] += 3000.0
    archive.put(archived(2))
    now[0] += 599.0
    assert archive.prune() == 0
    now[0] += 1.0
    assert archive.prune() == 1
    assert [exchange.id for exchange in archive.latest()] == [archived(2).id]
    now[0] += 3601.0
    archive.put(archived(3))
    assert [exchange.id for exchange in archive.latest()] == [archived(3).id]
    assert archive.find(archived(2).id) is None
    assert archive.put(archived(2))
