"""Values that have come to stay, and those that are only passing through."""

import random

import pytest

from evenkeel.monitor.changes.values import MOST, NEEDED, REMEMBERED, RUN, UNKNOWN, Switch, ValueWatch


def watched(values, **how):
    """The switches with the place of the value that made them."""
    watch = ValueWatch()
    return [(place, found) for place, value in enumerate(values, 1) if (found := watch.observe(value, **how))]


OTHERS = [f"v{number}" for number in range(REMEMBERED)]


@pytest.mark.parametrize(
    ("stretches", "changes"),
    [
        # The eighth b makes a fifth of the latest 40; after 50 × a it takes twelve.
        (["a"] * 100 + ["b"] * 60, [(100 + NEEDED, "b")]),
        (["a"] * 50 + ["b"] * 60, [(50 + RUN, "b")]),
        # A stray value never holds a fifth, and what is there from the start is no change.
        ((["a"] * 19 + ["stray"]) * 50, []),
        (["a", "b", "c"] * 200, []),
        # A canary with half of the traffic that stays, and a rollback, quick or after 5,000 exchanges.
        (["a"] * 60 + ["b", "a"] * 500, [(81, "b")]),
        (["a"] * 50 + ["b"] * 30 + ["a"] * 40 + ["b"] * 40, [(62, "b")]),
        (["a"] * 50 + ["b"] * 5_000 + ["a"] * 40 + ["b"] * 40, [(62, "b")]),
        # One b among the first twenty is not there from the start.
        (["a"] * 10 + ["b"] + ["a"] * 200 + ["b"] * 60, [(211 + MOST, "b")]),
    ],
)
def test_a_value_that_comes_to_stay_is_one_change(stretches, changes):
    """Other values, and values that were there before, are none."""
    assert [(place, switch.after) for place, switch in watched(stretches)] == changes


def test_a_guessed_value_is_a_change_once_the_traffic_has_left_the_old_one():
    """100 × a, then b: after 24 exchanges without any a."""
    switch = Switch("a", "b", age=MOST - 1)
    assert watched(["a"] * 100 + ["b"] * 60, guessed=True) == [(100 + MOST, switch)]


@pytest.mark.parametrize(("others", "changes"), [(OTHERS[:-1], OTHERS[:-1]), (OTHERS, [*OTHERS, "a"])])
def test_a_value_is_new_again_after_many_others(others, changes):
    """The values seen last are remembered: here 64."""
    values = ["a"] * 50 + [value for value in others for _ in range(30)] + ["a"] * 30
    assert [switch.after for _, switch in watched(values)] == changes


def test_guesses_that_alternate_are_no_changes():
    """A constant prompt is read as two or four versions from some exchange on."""
    rng = random.Random(8)
    for versions in ("ab", "abcd"):
        for _ in range(20):
            values = ["a"] * 200 + [rng.choice(versions) for _ in range(600)]
            assert watched(values, guessed=True) == []


def test_a_rolling_deployment_is_one_change():
    """The new share grows from 10 % to all within 400 exchanges, back and forth between both values."""
    rng = random.Random(3)
    values = ["a"] * 100 + ["b" if rng.random() < 0.1 + place / 400 else "a" for place in range(400)]
    assert [switch[:2] for _, switch in watched(values)] == [("a", "b")]


def test_one_template_of_four_that_is_edited_is_a_change():
    """A quarter of the traffic gets another version; the others stay."""
    rng = random.Random(7)
    seen = [rng.choice("abcd") for _ in range(600)]
    values = ["x" if value == "a" and place >= 300 else value for place, value in enumerate(seen)]
    ((place, switch),) = watched(values)
    assert switch[:2] == ("a", "x")
    assert place < 400


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
