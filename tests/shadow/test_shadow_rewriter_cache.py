"""The caches of rewritten texts: the same suite for the one in memory and the one in the store."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from evenkeel.shadow.perturbations.protocol import RewriteTask
from evenkeel.shadow.rewriter import MemoryRewriteCache
from evenkeel.shadow.rewriter.prompts import cache_key
from evenkeel.stores.redis.cache import RedisCache
from evenkeel.stores.sqlite.cache import SqliteCache
from evenkeel.stores.sqlite.database import Database
from tests.redis_server import a_store

KEPT = 10


@pytest.fixture(params=["memory", "sqlite", pytest.param("redis", marks=pytest.mark.service("redis-server"))])
def cache(request, tmp_path):
    """A cache that keeps ten texts."""
    if request.param == "memory":
        yield MemoryRewriteCache(kept=KEPT)
        return
    if request.param == "redis":
        store = a_store(request.getfixturevalue("redis_server"))
        yield RedisCache(store, kept=KEPT)
        store.close()
        return
    database = Database(tmp_path / "store.db")
    yield SqliteCache(database, kept=KEPT)
    database.close()


def test_a_text_is_found_again(cache) -> None:
    """What was put is got byte by byte, lone surrogates included; anything else is None."""
    cache.put("a", "Grüße\n漢字 \ud800")
    assert cache.get("a") == "Grüße\n漢字 \ud800"
    assert cache.get("b") is None


def test_a_new_text_takes_the_old_ones_place(cache) -> None:
    """Putting under the same key replaces."""
    cache.put("a", "old")
    cache.put("a", "new")
    assert cache.get("a") == "new"


def test_the_oldest_go(cache) -> None:
    """After a hundred texts at most twice as many are there as are to be kept, the newest ten among them."""
    for number in range(100):
        cache.put(str(number), "text")
    there = [number for number in range(100) if cache.get(str(number)) is not None]
    assert there[-KEPT:] == list(range(90, 100))
    assert len(there) <= 2 * KEPT


def test_many_threads_may_use_it(cache) -> None:
    """Writers and readers in several threads neither fail nor lose the last text."""

    def work(name: str) -> None:
        for number in range(20):
            cache.put(name, f"{name}{number}")
            assert cache.get(name) == f"{name}{number}"

    threads = [threading.Thread(target=work, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [cache.get(name) for name in "abcd"] == ["a19", "b19", "c19", "d19"]


def test_the_store_survives_a_restart(tmp_path) -> None:
    """A second process finds what the first has paid for."""
    database = Database(tmp_path / "store.db")
    SqliteCache(database).put("a", "paid for")
    database.close()
    again = Database(tmp_path / "store.db")
    assert SqliteCache(again).get("a") == "paid for"
    again.close()


def test_the_key_depends_on_content_and_models(monkeypatch) -> None:
    """Kind, target, text, models and the version of the prompt each give another key."""
    task = RewriteTask("tone", "The text.", "formal")
    keys = {
        cache_key(task, "m"),
        cache_key(replace(task, kind="paraphrase"), "m"),
        cache_key(replace(task, target="casual"), "m"),
        cache_key(replace(task, text="The text"), "m"),
        cache_key(task, "n"),
    }
    assert cache_key(task, "m") in keys
    monkeypatch.setattr("evenkeel.shadow.rewriter.cache.VERSION", 99)
    keys.add(cache_key(task, "m"))
    assert len(keys) == 6
