"""The caches of both stores: one suite for rulings of a judge and texts of the rewriter."""

from __future__ import annotations

import json
from functools import partial

import pytest

from evenkeel.stores.redis.cache import RedisCache
from evenkeel.stores.sealing import KEY_VARIABLE, SealError, seal_of
from evenkeel.stores.sqlite.cache import SqliteCache, SqliteRulings
from evenkeel.stores.sqlite.database import Database
from tests.redis_server import a_store


@pytest.fixture(params=["texts", "rulings", pytest.param("redis", marks=pytest.mark.service("redis-server"))])
def build(request, tmp_path):
    """Builds a cache that keeps so many bodies."""
    if request.param == "redis":
        store = a_store(request.getfixturevalue("redis_server"))
        yield partial(RedisCache, store, "tag")
        store.close()
        return
    database = Database(tmp_path / "store.db")
    if request.param == "texts":
        yield partial(SqliteCache, database, "texts", "text")
    else:
        yield partial(SqliteRulings, database)
    database.close()


def key(number):
    return f"{number:064x}"


def body(rating, said=""):
    return json.dumps([rating, said]).encode()


def test_what_was_put_is_found(build):
    """As it was, in any script; nothing under another key; the last one counts."""
    cache = build(kept=10)
    cache.put(key(1), body(2, "caf\u00e9 \u2028 \U0001f600"))
    assert cache.get(key(1)) == body(2, "caf\u00e9 \u2028 \U0001f600")
    assert cache.get(key(2)) is None
    cache.put(key(1), body(3))
    assert cache.get(key(1)) == body(3)


def test_the_cache_stays_bounded(build):
    """Of ten bodies the newest three are kept, also if some are put again."""
    cache = build(kept=3)
    for number in range(10):
        cache.put(key(number), body(1))
        cache.put(key(9), body(1, "again"))
        assert len(cache) <= 3
    assert cache.get(key(9)) == body(1, "again")
    assert cache.get(key(8)) == body(1)
    assert cache.get(key(0)) is None


@pytest.mark.parametrize(
    "open_cache", [lambda db: SqliteCache(db, "texts", "text", kept=2), lambda db: SqliteRulings(db, kept=2)]
)
def test_the_store_outlives_the_process(tmp_path, open_cache):
    """Another connection to the file finds the newest, and nobody reads them without the key."""
    secret = seal_of({KEY_VARIABLE: "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="})
    first = Database(tmp_path / "store.db", seal=secret)
    for number in range(5):
        open_cache(first).put(key(number), body(2, "periwinkle"))
    first.close()
    second = Database(tmp_path / "store.db", seal=secret)
    cache = open_cache(second)
    assert [cache.get(key(number)) for number in range(5)] == [None] * 3 + [body(2, "periwinkle")] * 2
    second.close()
    unsealed = Database(tmp_path / "store.db")
    with pytest.raises(SealError):
        open_cache(unsealed).get(key(4))
    unsealed.close()
    assert b"periwinkle" not in (tmp_path / "store.db").read_bytes()


def test_a_table_written_before_is_read(tmp_path):
    """Texts and rulings lie in the columns that earlier versions made."""
    database = Database(tmp_path / "store.db")
    with database.write() as connection:
        connection.execute(
            "CREATE TABLE rewrites"
            " (seq INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL UNIQUE, body BLOB NOT NULL)"
        )
        connection.execute("INSERT INTO rewrites (key, body) VALUES ('ab', x'01')")
        connection.execute(
            "CREATE TABLE judge_rulings (seq INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE,"
            " rating INTEGER NOT NULL, explanation TEXT NOT NULL)"
        )
        connection.execute("INSERT INTO judge_rulings (key, rating, explanation) VALUES (x'ab', 2, 'why')")
    texts = SqliteCache(database, "rewrites", "rewrite", kept=2)
    assert texts.get("ab") == b"\x01"
    for name in ("cd", "ef"):
        texts.put(name, b"new")
    assert [texts.get(name) for name in ("ab", "cd", "ef")] == [None, b"new", b"new"]
    rulings = SqliteRulings(database)
    assert rulings.get("ab") == b'[2, "why"]'
    rulings.put("cd", b'[3, "checked", 2]')
    rulings.put("ef", b'[3, "at once", null]')
    assert [rulings.get(key) for key in ("cd", "ef")] == [b'[3, "checked", 2]', b'[3, "at once"]']
    database.close()
