"""Shares of traffic that move, and those that only wobble."""

from __future__ import annotations

import random

import pytest

from evenkeel.monitor.changes.shares import Populations, ShareRules, ShareWatch

RULES = ShareRules(tolerance=0.15, reference=200, mean_run=50_000, detectors=20)


def shown(watch, rng, n, languages=(0.8, 0.2), chars=1000):
    """Show n exchanges; what moved, with its place."""
    found = []
    for place in range(n):
        moved = watch.observe(
            {
                "language": rng.choices(["en", "de"], languages)[0],
                "length": float(round(chars * 2 ** rng.gauss(0, 0.5))),
            }
        )
        found += [(place, one) for one in moved]
    return found


def test_another_mix_of_languages_is_noticed_with_its_shares():
    """80 % English to 30 %: within 150 exchanges, and the shares told are about those."""
    watch, rng = ShareWatch(RULES), random.Random(1)
    assert shown(watch, rng, 600) == []
    (place, moved), *_ = shown(watch, rng, 300, languages=(0.3, 0.7))
    assert place < 150
    assert (moved.trait, moved.value) == ("language", "en")
    assert moved.before == pytest.approx(0.8, abs=0.08)
    assert moved.after == pytest.approx(0.3, abs=0.15)
    assert 0 < moved.run <= place + 30


def test_prompts_of_twice_the_length_are_noticed():
    """One octave more moves nearly all of them above the median."""
    watch, rng = ShareWatch(RULES), random.Random(2)
    shown(watch, rng, 400)
    (place, moved), *_ = shown(watch, rng, 300, chars=2000)
    assert moved.trait == "length"
    assert place < 150


def test_a_small_difference_is_no_change_however_much_traffic_there_is():
    """80 % to 75 %, which any p-value would call significant after 20,000 exchanges."""
    watch, rng = ShareWatch(RULES), random.Random(3)
    shown(watch, rng, 200)
    assert shown(watch, rng, 20_000, languages=(0.75, 0.25)) == []


def test_false_alarms_are_as_rare_as_stated():
    """Four watches of 10,000 exchanges without a change: at most one alarm, of at least 50,000 a piece."""
    alarms = [shown(ShareWatch(RULES), random.Random(seed), 10_000) for seed in range(4)]
    assert sum(map(len, alarms)) <= 1


class One:
    """One population of several."""

    def __init__(self, populations):
        self.populations = populations

    def observe(self, traits):
        return self.populations.observe("one", traits)


def test_after_forgetting_the_new_mix_is_the_reference():
    """What is known to have changed is not reported again."""
    watch, rng = One(Populations(RULES)), random.Random(4)
    shown(watch, rng, 300)
    watch.populations.forget()
    assert shown(watch, rng, 600, languages=(0.3, 0.7)) == []


def test_numbers_that_are_mostly_equal_can_still_fall():
    """Nine of ten at 1.0, then half of them below it."""
    rules = ShareRules(tolerance=0.1, reference=100, mean_run=50_000, detectors=4)
    watch, rng = ShareWatch(rules), random.Random(5)
    for _ in range(300):
        assert not watch.observe({"kind": 1.0 if rng.random() < 0.9 else 0.5})
    moved = [one for _ in range(200) for one in watch.observe({"kind": 1.0 if rng.random() < 0.5 else 0.5})]
    assert moved[0].value == "at least 1"
    assert moved[0].after < 0.7


def test_values_that_are_all_rare_are_not_watched():
    """A trait with a hundred values says nothing, and begins anew without end."""
    watch = ShareWatch(RULES)
    assert not [one for place in range(2000) for one in watch.observe({"task": f"t{place % 100}"})]
