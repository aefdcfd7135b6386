"""Scales, ticks, paths and places that all pictures share."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.core.geometry import (
    BAND_FLOORS,
    BANDS,
    Scale,
    Tick,
    band,
    path,
    shortened,
    spread,
    steps,
)


def test_a_value_lies_between_the_ends_of_its_axis():
    """The ends of the values are the ends of the plot; what lies outside is drawn at the end."""
    scale = Scale(-1, 1, 100, 200)
    assert [scale.at(value) for value in (-1, 0, 1, 3, -9)] == [100, 150, 200, 200, 100]
    assert Scale(0, 1, 200, 100).at(0.25) == 175  # an axis that points up
    assert scale.ticks((-1, 0.5)) == (Tick(100, "−1"), Tick(175, "0.5"))


def test_steps_are_multiples_with_both_ends():
    assert steps(-0.1, 0.35, 0.1) == [-0.1, 0.0, 0.1, 0.2, 0.3]


def test_paths_go_through_their_points():
    """A closed path goes back to its begin; there is none without points."""
    assert path([(0, 1), (2, 3)]) == "M0.0 1.0L2.0 3.0"
    assert path([]) == ""
    assert path([(0, 1), (2, 3)], closed=True) == "M0.0 1.0L2.0 3.0Z"


def test_a_robustness_has_the_colour_of_what_is_printed():
    """89.95 is printed as 90.0 and has its colour; there is one colour more than floors."""
    assert [band(value) for value in (1.0, 0.8995, 0.8994, 0.6, 0.0)] == [0, 0, 1, 6, 7]
    assert len(BANDS) == len(BAND_FLOORS) + 1


@given(st.lists(st.floats(0, 100), max_size=6))
def test_labels_are_apart_and_inside(wanted):
    """Labels keep a gap and their order, and stay within the limits if they fit."""
    places = spread(wanted, 10, 0, 100)
    ordered = [place for _, place in sorted(zip(wanted, places, strict=True))]
    assert all(after - before >= 10 - 0.2 for before, after in itertools.pairwise(ordered))
    assert all(-0.1 <= place <= 100.1 for place in places)


@pytest.mark.parametrize(("label", "shown"), [("short", "short"), ("n" * 9, "nnnn…")])
def test_long_names_are_cut(label, shown):
    assert shortened(label, 5) == shown
