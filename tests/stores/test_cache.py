"""The caches of both stores: one suite for rulings of a judge and texts of the rewriter."""

from __future__ import annotations

import json
from functools import partial

import pytest

from evenkeel.stores.cache import DocumentCache
from evenkeel.stores.redis.documents import RedisDocuments
from evenkeel.stores.sealing import KEY_VARIABLE, SealError, seal_of
from evenkeel.stores.sqlite.database import Database
from evenkeel.stores.sqlite.documents import SqliteDocuments
from tests.redis_server import a_store


@pytest.fixture(params=["sqlite", pytest.param("redis", marks=pytest.mark.service("redis-server"))])
def build(request, tmp_path):
    if request.param == "redis":
        store = a_store(request.getfixturevalue("redis_server"))
        yield partial(DocumentCache, RedisDocuments(store), "rulings")
        store.close()
        return
    database = Database(tmp_path / "store.db")
    yield partial(rulings, database)
    database.close()


def rulings(database, **bounds):
    return DocumentCache(SqliteDocuments(database), "rulings", **bounds)


def key(number):
    return f"{number:064x}"


def body(rating, said=""):
    return json.dumps([rating, said]).encode()


def test_what_was_put_is_found(build):
    """The text comes back, in any script; nothing under another key; the last one counts."""
    cache = build(kept=10)
    cache.put(key(1), body(2, "caf\u00e9 \u2028 \U0001f600"))
    assert cache.get(key(1)) == body(2, "caf\u00e9 \u2028 \U0001f600")
    assert cache.get(key(2)) is None
    cache.put(key(1), body(3))
    assert cache.get(key(1)) == body(3)


def test_the_cache_stays_bounded(build):
    """The newest three of ten bodies are kept, also if some are put again."""
    cache = build(kept=3)
    for number in range(10):
        cache.put(key(number), body(1))
        cache.put(key(9), body(1, "again"))
        found = [other for other in range(10) if cache.get(key(other)) is not None]
        assert len(found) <= 3
    assert cache.get(key(9)) == body(1, "again")
    assert cache.get(key(8)) == body(1)
    assert cache.get(key(0)) is None


def test_the_store_outlives_the_process(tmp_path):
    """Another connection to the file finds the newest, and nobody reads them without the key."""
    secret = seal_of({KEY_VARIABLE: "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="})
    first = Database(tmp_path / "store.db", seal=secret)
    for number in range(5):
        rulings(first, kept=2).put(key(number), body(2, "periwinkle"))
    first.close()
    second = Database(tmp_path / "store.db", seal=secret)
    cache = rulings(second, kept=2)
    assert [cache.get(key(number)) for number in range(5)] == [None] * 3 + [body(2, "periwinkle")] * 2
    second.close()
    unsealed = Database(tmp_path / "store.db")
    with pytest.raises(SealError):
        rulings(unsealed).get(key(4))
    unsealed.close()
    assert b"periwinkle" not in (tmp_path / "store.db").read_bytes()
