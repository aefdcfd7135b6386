"""The worker survives everything that passes the proxy: each exchange gets a verdict or a counted reason."""

import asyncio
import itertools
import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.shadow.wild_exchanges import WildExchanges
from tests.shadow.wild_plane import WildPlane
from tests.stores.examples import read_after

SEEDED = 120


@pytest.fixture
def plane(tmp_path):
    made = WildPlane(tmp_path)
    yield made
    made.close()


@pytest.fixture
def numbers():
    """Ids never repeat: the queue takes each exchange once."""
    return itertools.count()


def ended(plane):
    """Return the number of exchanges that came to a counted end."""
    return sum(plane.tally.value(f"exchanges_{end}") for end in ("scored", "skipped", "dead"))


def check(plane, exchanges):
    """Work on the exchanges and check that each came to an end, and none by an exception.

    Counted from what was there before, so that one failure is not that of all examples behind it.
    """
    already, errors, lag = ended(plane), plane.tally.value("worker_errors"), plane.queue.lag()
    asyncio.run(plane.work(exchanges))
    assert plane.tally.value("worker_errors") == errors
    now = plane.queue.lag()
    assert (now.waiting, now.leased) == (lag.waiting, lag.leased)
    assert ended(plane) == already + len(exchanges)


@settings(
    suppress_health_check=[
        HealthCheck.function_scoped_fixture,
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
    ],
)
@given(rng=st.randoms(use_true_random=False))
def test_no_exchange_breaks_the_worker(plane, numbers, rng):
    """Any one exchange is scored, skipped or buried; the worker never meets an exception."""
    check(plane, [WildExchanges(rng).exchange(next(numbers))])


def test_many_exchanges_at_once_break_no_worker(plane):
    """The same for many at once; some reach every end, and those scored have their verdicts in the log."""
    rng = random.Random(7)
    exchanges = [WildExchanges(rng).exchange(number) for number in range(SEEDED)]
    check(plane, exchanges)
    scored = plane.tally.value("exchanges_scored")
    assert min(scored, plane.tally.value("exchanges_skipped"), plane.tally.value("exchanges_dead")) > 8
    logged = read_after(plane.log, 0, 10_000)
    assert len({entry.verdict.exchange_id for entry in logged}) == scored
    verdicts = [entry.verdict for entry in logged]
    for verdict in verdicts:
        assert (verdict.rating is None and not verdict.unsure) == (verdict.failure is not None)
    for entry in logged:
        assert plane.log.evidence(entry.verdict.id) is not None
