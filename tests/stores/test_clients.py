"""Knowledge of clients in stores: their turns in the embedded queue, and the salt of their names."""

import pytest

from evenkeel.core.exchange import QueueBounds
from evenkeel.stores.salt import client_salt
from tests.stores.examples import exchange, ids


@pytest.fixture
def build(on_sqlite):
    return on_sqlite.queue


def of(client, *numbers):
    return [exchange(number, client=client) for number in numbers]


def numbers(leases):
    return [int(name, 16) for name in ids(leases)]


def test_clients_take_turns(build):
    """A flood waits for itself: whoever comes after it has the first turn too, the oldest of each first."""
    queue = build()
    queue.put([*of("flood", *range(1, 101)), *of("a", 101, 102), *of("b", 103)])
    assert numbers(queue.reserve(3, 60)) == [1, 101, 103]
    assert numbers(queue.reserve(3, 60)) == [2, 3, 102]
    unknown = build()
    queue.acknowledge(ids(queue.reserve(100, 60)))
    unknown.put(of("", 206, 204, 205))
    assert numbers(unknown.reserve(3, 60)) == [206, 204, 205]


def test_in_a_full_queue_the_flood_makes_room(build):
    """Its newest exchanges go, until everybody has as many; nobody makes room for itself."""
    queue = build(bounds=QueueBounds(10))
    assert queue.put(of("flood", *range(1, 12))) == 10
    assert queue.put(of("flood", 20)) == 0
    assert queue.put(of("a", 21)) == 0  # one more, one fewer
    assert queue.lag().waiting == 10
    for number in range(22, 40):
        queue.put(of("a", number))
    assert sorted(numbers(queue.reserve(20, 60))) == [*range(1, 6), *range(21, 26)]
    assert queue.put(of("b", 50)) == 0  # what is worked on makes no room
    assert queue.lag().leased == 10


def test_the_salt_is_drawn_once(backend):
    """All processes of an installation name clients alike."""
    documents = backend.documents()
    salt = client_salt(documents)
    assert len(salt) == 64
    assert client_salt(backend.documents()) == salt
