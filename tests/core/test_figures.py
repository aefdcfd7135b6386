"""Figures as people read them, on pages and in reports."""

import pytest

from evenkeel.core import figures
from evenkeel.core.cells import Estimate
from tests.cases import cases

CASES = cases(__file__)


@pytest.mark.parametrize(("ratio", "digits", "shown"), CASES["percent"])
def test_percent_is_rounded_with_a_true_minus(ratio, digits, shown):
    """Ratios read as percent; nothing rounds to minus zero and what is no number says so."""
    assert figures.percent(ratio, digits) == shown


@pytest.mark.parametrize(("seconds", "shown"), CASES["durations"])
def test_durations_use_their_largest_units(seconds, shown):
    assert figures.duration(seconds) == shown


@pytest.mark.parametrize(("amount", "shown"), CASES["amounts"])
def test_small_amounts_are_not_shown_as_nothing(amount, shown):
    assert figures.usd(amount) == shown


@pytest.mark.parametrize(
    ("parts", "joined"), [([], ""), (["a"], "a"), (["a", "b"], "a and b"), (["a", "b", "c"], "a, b and c")]
)
def test_listings_end_in_and(parts, joined):
    assert figures.listing(parts) == joined


def spaced(text):
    return text.replace("\u202f", " ").replace("\u00a0", " ")


def test_points_of_100_carry_their_interval():
    """A ratio reads as points, a difference with its sign; what was not measured is a dash."""
    assert spaced(figures.estimate_text(Estimate(0.31, 0.24, 0.38, 214))) == "31 % [24, 38]"
    measure = Estimate(0.888, 0.863, 0.909, 214)
    assert spaced(figures.points_text(measure)) == "88.8 [86.3, 90.9]"
    assert figures.points_text(None) == figures.points(None) == figures.difference(None) == figures.MISSING
    moved = Estimate(0.222, -0.121, 0.33, 96)
    assert figures.difference(moved) == "+22.2"
    assert figures.difference(Estimate(0.0001, 0, 0, 1)) == "0.0"


def test_shares_and_counts_name_what_they_are_of():
    """A part of nothing is not measured; one thing is singular; reasons come by frequency."""
    assert spaced(figures.share(3, 72)) == "4.2 %"
    assert figures.share(0, 0) == figures.MISSING
    assert [figures.count(n, "route") for n in (1, 3)] == ["1 route", "3 routes"]
    assert figures.count(2, "reply", "replies") == "2 replies"
    assert figures.reasons({"rate_limited": 2, "timeout": 10, "none": 0}) == "timeout 10, rate limited 2"


def test_days_are_spelled_alike_everywhere():
    """A date has its month as a word, with the time where that matters; 14:03 means today."""
    now = 1_786_544_400.0  # 2026-08-12 14:20 UTC
    assert figures.moment(now - 17 * 60, now) == "14:03"
    assert figures.moment(now - 86_400, now) == "11 Aug 14:20"
    assert figures.date(1_793_538_000.0) == "1 Nov 2026"
    assert figures.date_and_time(1_793_538_000.0) == "1 Nov 2026 13:00 UTC"
    assert figures.date_and_time(None) == figures.MISSING
