"""When a value has come to stay, and when it is only passing through."""

from __future__ import annotations

import random

from evenkeel.monitor.changes.values import (
    MOST,
    NEEDED,
    REMEMBERED,
    RUN,
    UNKNOWN,
    Switch,
    ValueWatch,
)


def watched(values, **how):
    """The switches with the place of the value that made them."""
    watch = ValueWatch()
    return [(place, found) for place, value in enumerate(values, 1) if (found := watch.observe(value, **how))]


def test_a_guessed_value_is_a_change_once_the_traffic_has_left_the_old_one():
    """100 × a, then b: after 24 exchanges without any a."""
    assert watched(["a"] * 100 + ["b"] * 60, guessed=True) == [(100 + MOST, Switch("a", "b"))]


def test_guesses_that_alternate_are_no_changes():
    """A constant prompt is read as two or four versions from some exchange on."""
    rng = random.Random(8)
    for versions in ("ab", "abcd"):
        for _ in range(20):
            values = ["a"] * 200 + [rng.choice(versions) for _ in range(600)]
            assert watched(values, guessed=True) == []


def test_a_swap_is_one_change_at_the_eighth_exchange():
    """100 × a, then b: the eighth b makes a fifth of the latest 40; after 50 × a it takes twelve."""
    assert watched(["a"] * 100 + ["b"] * 60) == [(100 + NEEDED, Switch("a", "b"))]
    assert watched(["a"] * 50 + ["b"] * 60) == [(50 + RUN, Switch("a", "b"))]


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


def test_one_template_of_four_that_is_edited_is_a_change():
    """A quarter of the traffic gets another version; the others stay."""
    rng = random.Random(7)
    seen = [rng.choice("abcd") for _ in range(600)]
    values = ["x" if value == "a" and place >= 300 else value for place, value in enumerate(seen)]
    ((place, switch),) = watched(values)
    assert switch == Switch("a", "x")
    assert place < 400


def test_two_values_that_take_turns_for_good_are_one_change():
    """A canary deployment with half of the traffic that stays."""
    assert [switch for _, switch in watched(["a"] * 60 + ["b", "a"] * 500)] == [Switch("a", "b")]


def test_a_value_that_comes_back_is_no_change():
    """A roll-back, quick or after 5,000 exchanges."""
    for away in (30, 5_000):
        values = ["a"] * 50 + ["b"] * away + ["a"] * 40 + ["b"] * 40
        assert [switch for _, switch in watched(values)] == [Switch("a", "b")]


def test_a_stray_among_the_first_exchanges_is_a_change_when_it_takes_over():
    """One b among the first twenty is not there from the start: 24 of the latest 40 are a change."""
    assert watched(["a"] * 10 + ["b"] + ["a"] * 200 + ["b"] * 60) == [(211 + MOST, Switch("a", "b"))]


def test_the_values_seen_last_are_remembered():
    """A value is new again once 64 others have come and stayed for a while."""
    others = [f"v{number}" for number in range(REMEMBERED)]
    values = ["a"] * 50 + [one for one in others[:-1] for _ in range(30)] + ["a"] * 30
    assert [switch.after for _, switch in watched(values)] == others[:-1]
    values = ["a"] * 50 + [one for one in others for _ in range(30)] + ["a"] * 30
    assert [switch.after for _, switch in watched(values)] == [*others, "a"]


def test_a_template_that_is_learned_late_is_no_edit():
    """Four templates take turns at random; the second half of them is only known after 60 exchanges."""
    rng = random.Random(4)
    for _ in range(20):
        seen = [rng.choice("abcd") for _ in range(400)]
        known = [UNKNOWN if value in "cd" and place < 60 else value for place, value in enumerate(seen)]
        assert watched(known) == []


def test_a_value_that_is_rare_by_nature_is_no_change_when_it_is_frequent_for_once():
    """15 % of 20,000 exchanges hold a fifth of forty now and then."""
    rng = random.Random(5)
    assert watched(["b" if rng.random() < 0.15 else "a" for _ in range(20_000)]) == []
