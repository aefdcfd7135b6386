"""Parked exchanges and batches: what is kept, found and forgotten, on every backend."""

from __future__ import annotations

import base64
from dataclasses import replace

import pytest

from evenkeel.core.exchange import Exchange
from evenkeel.stores.batches import Batch, BatchStore, ParkedExchange, ParkedState, ParkedTrial
from evenkeel.stores.sealing import KEY_VARIABLE, SealError, seal_of

WORD = "supercalifragilistic"
EXCHANGE = Exchange(
    *("00ab", "shop", 10.5, 0.25, "POST", "/v1/chat/completions", 200),
    *((("content-type", "application/json"),), WORD.encode() + b"\xff\0", (), b'{"id": "a"}'),
)
TRIAL = ParkedTrial(
    *("r1", "general.casing", 2, 0.3, 77, 0.5, 0.25, "", None, "de"),
    *('{"messages":[{"content":"\\ud83d ' + WORD + '"}]}', 1200, 0.25),
)
PARKED = ParkedExchange(EXCHANGE, "lane", 1000.75, "m-1", "v1", "chat", "c1", "ab12", (TRIAL,))
BATCH = Batch(
    *("b1", "lane", "shop", "openai", "https://api.openai.com/v1", "/v1/chat/completions"),
    *("/shop/v1/chat/completions", ("00ab",), 1, 1001.5),
)


@pytest.fixture
def reopen(backend):
    """Opens the store, as often as asked for."""
    return lambda **options: BatchStore(backend.documents(backend.opened(**options)), total_bytes=2_000)


@pytest.fixture
def store(reopen):
    return reopen()


def other(number):
    return replace(PARKED, exchange=replace(EXCHANGE, id=f"{number:04x}"), parked_at=1000.0 + number)


def test_a_parked_exchange_is_there_until_it_is_dropped(store, reopen):
    """With its bytes and requests, in another process too; what is planned by comes without the texts."""
    assert store.park(PARKED)
    assert not store.park(PARKED)
    again = reopen()
    assert again.find("00ab") == PARKED
    assert again.holds("00ab")
    assert again.states() == [ParkedState("00ab", "lane", "shop", 1000, 1, PARKED.size_bytes)]
    assert again.left(BATCH)
    assert again.drop("00ab")
    assert not again.drop("00ab")
    assert not again.left(BATCH)
    assert store.find("00ab") is None
    assert store.states() == []
    assert not store.holds("00ab")


def test_the_longest_parked_come_first(store):
    """Whatever the order in which they came."""
    for number in (3, 1, 2):
        store.park(other(number))
    assert [state.id for state in store.states()] == ["0001", "0002", "0003"]


def test_the_room_is_bounded_in_bytes(store):
    """So that a provider that never answers cannot fill the disk."""
    assert store.room() == 2_000
    store.park(PARKED)
    assert store.room() == 2_000 - PARKED.size_bytes


def test_a_batch_is_known_as_it_was_written_down_last(store, reopen):
    """By every process, the oldest first."""
    store.put(BATCH)
    store.put(replace(BATCH, id="b0", made_at=5000.0))
    running = replace(BATCH, state="running", name="batch_1", outputs=("f1", "f2"))
    store.put(running)
    assert reopen().batches() == [running, replace(BATCH, id="b0", made_at=5000.0)]
    store.remove("b1")
    store.remove("b1")
    assert [one.id for one in reopen().batches()] == ["b0"]


def test_prompts_are_sealed(backend):
    """With a key nothing can be read of a parked exchange, and without it the exchange says so."""
    key = base64.b64encode(bytes(range(32))).decode()
    sealed = backend.opened(seal=seal_of({KEY_VARIABLE: key}))
    BatchStore(backend.documents(sealed), total_bytes=2_000).park(PARKED)
    assert WORD not in backend.contents()
    with pytest.raises(SealError):
        BatchStore(backend.documents(backend.opened()), total_bytes=2_000).find("00ab")
