"""When a value has come to stay, and when it is only passing through."""

from __future__ import annotations

import json
import random

from hypothesis import given, settings
from hypothesis import strategies as st

from metrics.changes.values import FORGOTTEN_AFTER, LATEST, NEEDED, SETTLING, Switch, ValueWatch


def watched(values, watch=None):
    """The switches with the place of the value that made them."""
    watch = watch or ValueWatch()
    return [(place, found) for place, value in enumerate(values, 1) if (found := watch.observe(value))]


def test_a_swap_is_one_change_at_the_eighth_exchange():
    """50 × a, then b: the eighth b makes a fifth of the latest 40."""
    assert watched(["a"] * 50 + ["b"] * 60) == [(50 + NEEDED, Switch("a", "b"))]


def test_a_stray_value_is_no_change():
    """One in twenty never holds a fifth of the latest exchanges."""
    assert watched((["a"] * 19 + ["stray"]) * 50) == []


def test_what_is_there_from_the_start_is_given():
    """Three values that take turns from the first exchange on are no changes of each other."""
    assert watched(["a", "b", "c"] * 200) == []


def test_a_rolling_deployment_is_one_change():
    """From 10 % of the exchanges to all of them, back and forth between both values, in 400 exchanges."""
    rng = random.Random(3)
    values = ["a"] * 100 + ["b" if rng.random() < 0.1 + place / 400 else "a" for place in range(400)]
    assert [switch for _, switch in watched(values)] == [Switch("a", "b")]


def test_two_values_that_take_turns_for_good_are_one_change():
    """A canary deployment with half of the traffic that stays."""
    assert [switch for _, switch in watched(["a"] * 60 + ["b", "a"] * 500)] == [Switch("a", "b")]


def test_a_value_that_comes_back_is_a_change_again_once_it_was_forgotten():
    """A roll-back after more than a hundred exchanges is one, a quick one is not."""
    slow = ["a"] * 50 + ["b"] * (FORGOTTEN_AFTER + 5) + ["a"] * 20
    quick = ["a"] * 50 + ["b"] * 30 + ["a"] * 20
    assert [switch for _, switch in watched(slow)] == [Switch("a", "b"), Switch("b", "a")]
    assert [switch for _, switch in watched(quick)] == [Switch("a", "b")]


@settings(max_examples=50, deadline=None)
@given(values=st.lists(st.sampled_from("abcd"), max_size=400), cut=st.integers(0, 400))
def test_a_watch_read_again_goes_on_equally(values, cut):
    """State through JSON at any place, the same switches behind it, and never two within eight exchanges."""
    whole = ValueWatch()
    found = watched(values, whole)
    first = ValueWatch()
    head = watched(values[:cut], first)
    again = ValueWatch.from_json(json.loads(json.dumps(first.to_json())))
    tail = [(place + len(values[:cut]), switch) for place, switch in watched(values[cut:], again)]
    assert head + tail == found
    assert again.to_json() == whole.to_json()
    assert all(place > SETTLING for place, _ in found)
    assert len(whole.to_json()[0]) <= LATEST
