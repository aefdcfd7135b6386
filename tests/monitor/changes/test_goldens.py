"""Goldens asked again and again: chance is no change, and a change is found in a few runs."""

from __future__ import annotations

import random

import pytest

from evenkeel.monitor.changes.goldens import GoldenWatch, gate_of
from evenkeel.monitor.detect.gate import GateVerdict
from evenkeel.stores.changes import GoldenResult, GoldenRun
from evenkeel.stores.goldens import key_of


def run(number, rng, rate, *, goldens=30, trigger="canary", change="", model="m", failure="", asked="m"):
    """A run whose goldens breach at rates that differ, of the given mean."""
    results = tuple(
        GoldenResult(
            key_of(f"g{place}", 1),
            {} if failure else {"content_shift": rng.random() < rate * (0.5 + place / (goldens - 1))},
            failure=failure,
        )
        for place in range(goldens)
    )
    return GoldenRun(
        id=f"r{number}",
        route="chat",
        at=float(number),
        trigger=trigger,
        change=change,
        asked=asked,
        model=model,
        deciding=("content_shift",),
        scorer="rated by metrics",
        judged=False,
        results=results,
    )


def test_a_silent_change_is_found_within_three_runs():
    """6 % of breaches in the reference, then 40 %."""
    rng, watch = random.Random(1), GoldenWatch()
    for number in range(8):
        assert watch.add(run(number, rng, 0.06)) is None
    alarms = [alarm for number in range(8, 11) if (alarm := watch.add(run(number, rng, 0.4)))]
    assert len(alarms) == 1
    assert alarms[0].before == pytest.approx(0.06, abs=0.06)
    assert alarms[0].after == pytest.approx(0.4, abs=0.2)
    assert 7 <= alarms[0].since < alarms[0].at


@pytest.mark.parametrize("rate", [0.0, 0.05, 0.3])
def test_chance_raises_no_alarm(rate):
    """Ten routes of 60 runs each: fewer than one in 200 runs, as stated."""
    alarms = 0
    for seed in range(10):
        rng, watch = random.Random(seed), GoldenWatch()
        alarms += sum(watch.add(run(number, rng, rate)) is not None for number in range(60))
    assert alarms <= 3


def test_another_model_begins_anew():
    """What is known of one model says nothing about the next, which may be worse."""
    rng, watch = random.Random(2), GoldenWatch()
    for number in range(6):
        watch.add(run(number, rng, 0.05))
    assert watch.runs == 3
    for number in range(6, 20):
        assert watch.add(run(number, rng, 0.5, model="n")) is None


def test_runs_that_measured_next_to_nothing_teach_nothing():
    """An endpoint that is down makes neither a reference nor an alarm."""
    rng, watch = random.Random(3), GoldenWatch()
    for number in range(5):
        watch.add(run(number, rng, 0.05, failure="connection"))
    assert watch.runs == 0


def test_the_run_after_a_change_is_decided_by_the_gate():
    """Regression with most goldens breached, pass with as many as before, no verdict without answers."""
    rng, watch = random.Random(4), GoldenWatch()
    for number in range(3):
        watch.add(run(number, rng, 0.05, goldens=60))

    def verdict(rate, **how):
        return gate_of(run(9, rng, rate, goldens=60, trigger="change", **how), watch).verdict

    assert verdict(0.5) is GateVerdict.REGRESSION
    assert verdict(0.04) is GateVerdict.PASS
    assert verdict(0.5, failure="timeout") is GateVerdict.COULD_NOT_MEASURE


def test_without_a_reference_the_noise_floor_is_tolerated():
    """A third of breaches is a regression where one in ten is noise, and none where four in ten are."""
    asked = run(1, random.Random(5), 0.35, goldens=60, trigger="change")
    assert gate_of(asked, None, noise=0.1).verdict is GateVerdict.REGRESSION
    assert gate_of(asked, None, noise=0.4).verdict is GateVerdict.UNDECIDED
