"""Connections of single backends, for what only those do."""

from __future__ import annotations

import pytest


@pytest.fixture
def database(on_sqlite):
    return on_sqlite.place


@pytest.fixture
def store(on_redis):
    return on_redis.place
