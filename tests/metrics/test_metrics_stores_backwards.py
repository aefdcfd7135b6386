"""Reading the verdict log backwards, narrowed, over every implementation."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenkeel.core.verdict import BASELINE, Failure, Verdict
from evenkeel.stores.redis.verdicts import RedisVerdictLog
from evenkeel.stores.sqlite.database import Database
from evenkeel.stores.sqlite.verdicts import SqliteVerdictLog
from evenkeel.stores.verdict_log import ANYTHING, Narrow, RoutesLog
from tests.redis_server import a_store

KINDS = (BASELINE, "general.spelling", "general.tone", "format.json", "formatting.x")
ROUTES = ("desk", "shop")
RATINGS = (3, 2, 1, None)


def verdict(number):
    rating = RATINGS[number // 2 % 4]
    return Verdict(
        id=f"v{number}",
        exchange_id=f"x{number // 4}",
        scored_at=1000.0 + number,
        route=ROUTES[number % 2],
        model="m",
        perturbation=KINDS[number % 5],
        perturbation_version=1,
        severity=0.3,
        seed=7,
        scorer="judge",
        rating=rating,
        baseline_rating=3,
        failure=None if rating else Failure("replay", 1, "timeout"),
    )


VERDICTS = [verdict(number) for number in range(60)]


@pytest.fixture(
    scope="module", params=["sqlite", pytest.param("redis", marks=pytest.mark.service("redis-server"))]
)
def log(request, tmp_path_factory):
    """Sixty verdicts."""
    if request.param == "sqlite":
        made = SqliteVerdictLog(Database(tmp_path_factory.mktemp("log") / "evenkeel.db"))
    else:
        made = RedisVerdictLog(a_store(request.getfixturevalue("redis_server")))
    for one in VERDICTS:
        made.append(one, None)
    return made


def read(log, narrow, limit):
    """All that is found when reading on until the start."""
    found, at = [], None
    while at != 0:
        stretch = log.read_before(at, limit, narrow)
        assert len(stretch.verdicts) <= stretch.looked_at <= limit
        assert at is None or stretch.reached < at
        assert all(stretch.reached <= one.offset < (at or 61) for one in stretch.verdicts)
        at = stretch.reached
        found += stretch.verdicts
    return found


narrows = st.builds(
    Narrow,
    route=st.none() | st.sampled_from((*ROUTES, "none")),
    perturbation=st.none() | st.sampled_from(KINDS),
    category=st.none() | st.sampled_from(("baseline", "general", "format")),
    ratings=st.none() | st.lists(st.sampled_from(RATINGS), unique=True).map(tuple),
)


@settings(max_examples=40, deadline=None)
@given(narrow=narrows, limit=st.integers(1, 70))
def test_reading_on_finds_what_is_looked_for_once_and_in_order(log, narrow, limit):
    """As going through all verdicts would, whatever the size of the steps."""
    expected = [(60 - place, one) for place, one in enumerate(reversed(VERDICTS)) if narrow.admits(one)]
    assert [(one.offset, one.verdict) for one in read(log, narrow, limit)] == expected


def test_the_newest_come_first(log):
    """Without a narrowing, exactly as many as asked for."""
    stretch = log.read_before(None, 3)
    assert [one.verdict.id for one in stretch.verdicts] == ["v59", "v58", "v57"]
    assert (stretch.reached, stretch.looked_at) == (58, 3)
    assert [one.verdict.id for one in log.read_before(3, 5, ANYTHING).verdicts] == ["v1", "v0"]
    assert log.read_before(1, 5).verdicts == []


def test_a_monitor_of_some_routes_sees_only_those(log):
    """Other routes are passed over, and the offsets stay those of the whole log."""
    found = read(RoutesLog(log, ["shop"]), Narrow(category="general"), 7)
    assert {one.verdict.route for one in found} == {"shop"}
    assert [one.offset for one in found] == [
        60 - place
        for place, one in enumerate(reversed(VERDICTS))
        if one.route == "shop" and one.perturbation.startswith("general.")
    ]
