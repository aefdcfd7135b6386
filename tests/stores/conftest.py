"""The connection of one backend, for what only that does."""

import pytest


@pytest.fixture
def store(on_redis):
    return on_redis.place
