"""Idle connections are kept as long as set, or less than the upstream was seen to wait."""

import pytest

from evenkeel.proxy.limits import Limits
from evenkeel.proxy.pool import Pool
from evenkeel.proxy.routing import Upstream
from evenkeel.proxy.upstream import UpstreamConnection


class Transport:
    """Enough of a transport to be closed."""

    def __init__(self):
        self.closed = False

    def close(self):
        self.closed = True


@pytest.fixture
def pool():
    return Pool(Upstream.parse("http://h"), Limits(upstream_idle_s=60), None)


def idle_connection(pool):
    """A connection that has answered and waits."""
    connection = UpstreamConnection(pool, tls=False)
    connection.connection_made(Transport())
    pool.put(connection)
    return connection


def seconds_kept(pool):
    """Return for how long the pool keeps a connection that nobody uses."""
    connection = idle_connection(pool)
    for passed in range(1, 200):
        pool.tick(1)
        if connection.transport.closed:
            return passed
    raise AssertionError("never closed")


def upstream_closes_after(pool, seconds):
    """Let the upstream end an idle connection."""
    connection = idle_connection(pool)
    for _ in range(seconds):
        pool.tick(1)
    connection.eof_received()
    connection.connection_lost(None)


@pytest.mark.parametrize(
    ("closes_after_s", "kept_s"),
    [
        ((), 60),
        ((5,), 4),  # 0.75 x 5 s, at the next sweep
        ((8, 4, 20), 3),  # several servers may stand behind one name
        ((0,), 60),  # a restart closes connections that were in use a moment ago
    ],
)
def test_an_upstream_that_closes_idle_connections_is_forestalled(pool, closes_after_s, kept_s):
    """Ours are closed first, so that no request meets a close; the shortest patience counts."""
    for seconds in closes_after_s:
        upstream_closes_after(pool, seconds)
    assert seconds_kept(pool) == kept_s


def test_what_was_learned_is_forgotten_after_ten_minutes(pool):
    """A close by chance does not shorten connections for good."""
    upstream_closes_after(pool, 5)
    for _ in range(599):
        pool.tick(1)
    assert seconds_kept(pool) == 60
