"""Drift from a baseline: where the lines are, both directions, recovery, and exact storage."""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenkeel.core.cells import Estimate
from evenkeel.monitor.detect import (
    Baseline,
    DriftAlert,
    DriftRules,
    DriftState,
    Observable,
    estimate_of,
)
from evenkeel.monitor.estimate import paired_excess, proportion

RULES = DriftRules(tolerance=0.05, mean_trials_between_false_alarms=1000)
TENTH = Baseline(mean=0.1, lower=0.08, upper=0.13, n=1000)


def observations(observable: Observable):
    if observable is Observable.SCORE:
        return st.floats(0, 1)
    return st.sampled_from([0, 1] if observable is Observable.RATE else [-1, 0, 1])


def flips(rate: float, name: str):
    choice = random.Random(name)
    while True:
        yield int(choice.random() < rate)


def test_the_tolerance_sets_the_lines_where_it_is_wider_than_the_interval():
    """0.1 ± 0.05 goes beyond the interval 0.08 to 0.13 on both sides."""
    assert DriftAlert(RULES, TENTH).lines == pytest.approx((0.05, 0.15))


def test_the_interval_sets_the_lines_where_it_is_wider_than_the_tolerance():
    """A baseline of few trials must not cause alarms by its own error."""
    uncertain = Baseline(mean=0.1, lower=0.02, upper=0.3, n=60)
    assert DriftAlert(RULES, uncertain).lines == (0.02, 0.3)


def test_a_line_at_the_end_of_the_range_is_not_watched():
    """A rate of 0.03 can't fall by more than 0.05; the rise is then looked for with all the evidence."""
    alert = DriftAlert(RULES, Baseline(0.03, 0.01, 0.06, 800))
    assert alert.lines == pytest.approx((0.0, 0.08))
    assert not any(alert.observe(0) for _ in range(3000))
    assert len(alert.to_json()["watches"]) == 1


def test_a_baseline_that_says_nothing_raises_nothing():
    """An interval over the whole range leaves no line to cross."""
    alert = DriftAlert(RULES, Baseline(0.5, 0.0, 1.0, 2))
    assert not any(alert.observe(outcome) for outcome in [1] * 2000 + [0] * 2000)
    assert alert.evidence == 0.0
    assert alert.raise_now() is None


def test_a_rise_is_found_named_and_ended_by_the_way_back():
    """The change says which way, against which baseline and line, since when, and how high."""
    alert = DriftAlert(RULES, TENTH)
    quiet, loud = flips(0.1, "calm"), flips(0.4, "loud")
    assert not any(alert.observe(next(quiet)) for _ in range(1000))
    assert alert.state is DriftState.LEVEL
    trials = 1
    while not (change := alert.observe(next(loud))):
        trials += 1
    assert change.kind == "risen"
    assert change.baseline == TENTH
    assert change.line == pytest.approx(0.15)
    assert change.run_trials == pytest.approx(trials, abs=15)
    assert change.run_mean == pytest.approx(0.4, abs=0.12)
    assert (alert.state, alert.up) == (DriftState.RISEN, True)
    assert alert.evidence_log10 >= alert.alarm_log10
    back = next(change for _ in range(5000) if (change := alert.observe(next(quiet))))
    assert back.kind == "recovered"
    assert (alert.state, alert.up, alert.evidence) == (DriftState.LEVEL, False, 0.0)


def test_a_fall_is_found_and_ended_by_the_way_back():
    """A rate that vanishes is a change as well."""
    baseline = Baseline(0.4, 0.37, 0.43, 2000)
    alert = DriftAlert(RULES, baseline)
    kinds = [
        change.kind for outcome in [0] * 60 + [1, 0, 1, 0, 0] * 200 if (change := alert.observe(outcome))
    ]
    assert kinds == ["fallen", "recovered"]


def test_scores_that_fall_are_found_at_their_own_scale():
    """Similarities of about 0.9 ± 0.03 that drop to 0.8 are found within few trials, and only then."""
    choice = random.Random("scores")
    rules = DriftRules(0.05, 1000, Observable.SCORE)
    alert = DriftAlert(rules, Baseline(0.9, 0.89, 0.91, 400))
    assert not any(alert.observe(min(1.0, choice.gauss(0.9, 0.03))) for _ in range(2000))
    trials = next(trial for trial in range(1, 1000) if alert.observe(min(1.0, choice.gauss(0.75, 0.03))))
    assert alert.state is DriftState.FALLEN
    assert trials < 40


def test_the_first_trials_make_a_provisional_baseline_that_says_so():
    """It is the estimate of those trials with its interval, fixed from then on."""
    rules = DriftRules(0.05, 1000, provisional_after=100)
    alert = DriftAlert(rules)
    for trial in range(99):
        alert.observe(int(trial % 5 == 0))
        assert alert.state is DriftState.UNKNOWN
        assert alert.baseline is None
    alert.observe(0)
    estimate = proportion(20, 100, alpha=0.1)
    assert alert.baseline == Baseline(0.2, estimate.lower, estimate.upper, 100, provisional=True)
    kept = alert.baseline
    for trial in range(2000):
        alert.observe(int(trial % 4 == 0))
    assert alert.baseline == kept


def test_an_approved_baseline_takes_the_place_of_the_provisional_one():
    """Approval is explicit; an alert against the former baseline is over with it."""
    alert = DriftAlert(RULES, TENTH)
    while not alert.up:
        alert.observe(1)
    approved = Baseline.of(Estimate(0.5, 0.45, 0.55, 900))
    alert.approve(approved)
    assert (alert.state, alert.baseline, alert.evidence) == (DriftState.LEVEL, approved, 0.0)


def test_forgetting_starts_over_with_the_next_trials():
    """After an announced change the former figures say nothing."""
    alert = DriftAlert(DriftRules(0.05, 1000, provisional_after=10), TENTH)
    alert.forget()
    assert alert.state is DriftState.UNKNOWN
    with pytest.raises(ValueError, match="no baseline"):
        _ = alert.lines
    for _ in range(10):
        alert.observe(1)
    assert alert.baseline.mean == 1.0


def test_no_change_raises_no_more_than_stated_though_the_baseline_is_an_estimate():
    """Over cells with baselines of 200 trials each and a level of 300, alerts in 300 trials are rare."""
    choice = random.Random("estimated baselines")
    alerts = 0
    for _ in range(100):
        alert = DriftAlert(DriftRules(0.0, 300, provisional_after=200))
        for _ in range(500):
            change = alert.observe(int(choice.random() < 0.2))
            alerts += change is not None and change.kind != "recovered"
    # On average at most one a cell, were the line the true mean; a line at the estimate's own value
    # gives about 60 here.
    assert alerts <= 10


def test_a_mean_on_the_line_does_not_flap():
    """20,000 trials exactly on the upper line change the alert twenty times at most, at a level of 1000."""
    alert = DriftAlert(RULES, TENTH)
    stream = flips(0.15, "on the line")
    changes = sum(alert.observe(next(stream)) is not None for _ in range(20_000))
    # 20 on average is the bound for detectors that always watch the line.
    assert changes <= 20


@settings(max_examples=40)
@given(st.data(), st.sampled_from(list(Observable)))
def test_a_stored_drift_alert_goes_on_exactly(data, observable):
    """At any point, through JSON and back, every later change and every float is the same."""
    rules = DriftRules(0.05, 10, observable, provisional_after=10)
    stream = data.draw(st.lists(observations(observable), max_size=60))
    cut = data.draw(st.integers(0, len(stream)))
    alert = DriftAlert(rules)
    for observation in stream[:cut]:
        alert.observe(observation)
    copy = DriftAlert.from_json(json.loads(json.dumps(alert.to_json())), rules)
    assert copy.to_json() == alert.to_json()
    assert [copy.observe(one) for one in stream[cut:]] == [alert.observe(one) for one in stream[cut:]]
    assert copy.to_json() == alert.to_json()


def test_other_rules_keep_the_baseline_and_the_alert_but_no_evidence():
    """Evidence against one line says nothing about another; what was approved stays approved."""
    alert = DriftAlert(RULES, TENTH)
    while not alert.up:
        alert.observe(1)
    other = DriftRules(0.1, 5000)
    changed = DriftAlert.from_json(alert.to_json(), other)
    assert (changed.state, changed.baseline) == (DriftState.RISEN, TENTH)
    assert changed.evidence_log10 == pytest.approx(changed.alarm_log10)
    assert not any(changed.to_json()["watches"][0][0])
    nothing = DriftAlert.from_json(alert.to_json(), DriftRules(0.1, 5000, Observable.SCORE))
    assert (nothing.state, nothing.baseline) == (DriftState.UNKNOWN, None)


@pytest.mark.parametrize("observation", [0.5, -1, 2, float("nan")])
def test_what_is_no_rate_is_refused_while_a_baseline_is_made(observation):
    """Half an event can't be counted."""
    alert = DriftAlert(RULES)
    with pytest.raises(ValueError, match="must"):
        alert.observe(observation)
    assert alert.to_json()["counts"] == []


def test_estimates_of_counts_are_those_of_the_estimators():
    """Rates and differences have the intervals that the gauges have."""
    assert estimate_of(Observable.RATE, {0: 80, 1: 20}, alpha=0.05) == proportion(20, 100, alpha=0.05)
    assert estimate_of(Observable.DIFFERENCE, {0: 70, 1: 20, -1: 10}, alpha=0.05) == paired_excess(
        20, 10, 70, alpha=0.05
    )
    assert estimate_of(Observable.SCORE, {}, alpha=0.05) is None


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40))
def test_a_score_is_moved_by_half_a_step_at_most(scores):
    """The grid moves no score, and therefore no mean, by more than the interval is widened."""
    moved = [Observable.SCORE.place(score) for score in scores]
    assert all(abs(place - score) <= 0.0025 + 1e-12 for place, score in zip(moved, scores, strict=True))
    counts = {place: moved.count(place) for place in moved}
    estimate = estimate_of(Observable.SCORE, counts, alpha=0.05)
    assert estimate.lower <= estimate.value <= estimate.upper
    assert estimate.lower <= sum(scores) / len(scores) <= estimate.upper
