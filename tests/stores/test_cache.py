"""The caches of both stores: one suite for rulings of a judge and texts of the rewriter."""

import json
from functools import partial

import pytest

from evenkeel.stores.cache import DocumentCache


@pytest.fixture
def build(backend):
    return partial(DocumentCache, backend.documents(), "rulings")


def key(number):
    return f"{number:064x}"


def body(rating, said=""):
    return json.dumps([rating, said]).encode()


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
