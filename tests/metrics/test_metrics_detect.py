"""Detection: hand-worked evidence, the false-alarm guarantee, and the two states of an alert."""

from __future__ import annotations

import json
import random
from math import isfinite, log10, prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metrics.detect import Alert, AlertRules, Bets, EDetector, bets_against

RULES = AlertRules(threshold=0.1, mean_trials_between_false_alarms=1000)
some_differences = st.lists(st.sampled_from([-1, 0, 1]), max_size=60)


def test_evidence_agrees_with_a_hand_worked_example():
    """With one bet of a half against a threshold of zero, a win makes 1.5 and a loss 0.5."""
    detector = EDetector(Bets(0.0, (0.5,), ((1.0,), (1.5,), (0.5,))))
    assert detector.update(1) == 1.5  # (0 + 1) · 1.5
    assert detector.update(1) == 3.75  # (1.5 + 1) · 1.5
    assert detector.update(-1) == 2.375  # (3.75 + 1) · 0.5
    assert detector.update(0) == 3.375  # (2.375 + 1) · 1
    assert detector.evidence_log10 == pytest.approx(log10(3.375))


@given(some_differences, st.sampled_from([-0.3, -0.1, 0.0, 0.1, 0.5]))
def test_evidence_is_the_mean_wealth_of_gamblers_that_start_at_each_trial(differences, threshold):
    """The recursion equals the sum over starting trials, averaged over the bets."""
    bets = bets_against(threshold)
    detector = EDetector(bets)
    for difference in differences:
        detector.update(difference)
    wealth = sum(
        prod(1 + share * (difference - threshold) for difference in differences[start:])
        for share in bets.shares
        for start in range(len(differences))
    )
    assert detector.evidence == pytest.approx(wealth / len(bets.shares), rel=1e-9)


@given(st.floats(-0.9, 0.9), st.floats(0, 1))
def test_no_bet_gains_on_average_at_the_threshold(threshold, spread):
    """Whatever the distribution with its mean at the threshold, the expected factor is one."""
    # Any distribution on {−1, 0, 1} with mean t: p₋ = spread · (1 − |t|)/2 (+ |t| if t < 0).
    minus = spread * (1 - abs(threshold)) / 2 + max(0.0, -threshold)
    plus = minus + threshold
    bets = bets_against(threshold)
    for at_zero, at_plus, at_minus in zip(*bets.factors, strict=True):
        assert min(at_zero, at_plus, at_minus) > 0
        assert (1 - plus - minus) * at_zero + plus * at_plus + minus * at_minus == pytest.approx(1.0)


@pytest.mark.parametrize("threshold", [-1.0, 1.0, 2.0])
def test_a_threshold_without_meaning_is_refused(threshold):
    """A difference of rates lies within (-1, 1), and so must its threshold."""
    with pytest.raises(ValueError, match="must lie in"):
        bets_against(threshold)


@pytest.mark.parametrize("baseline", [0.0, 0.1, 0.4])
def test_false_alarms_are_as_seldom_as_stated(baseline):
    """With the excess exactly at the threshold, the mean run to an alarm is at least the nominal."""
    choice = random.Random(f"false alarms {baseline}")
    runs = []
    for _ in range(400):
        alert = Alert(AlertRules(0.1, 200))
        trials = 1
        while not alert.observe((choice.random() < baseline + 0.1) - (choice.random() < baseline)):
            trials += 1
        runs.append(trials)
    mean = sum(runs) / len(runs)
    # Measured 215 to 245; the standard error is about 11.
    assert mean >= 200
    assert mean < 320, "so long a run would mean that evidence is thrown away"


def test_a_large_change_is_found_in_few_trials():
    """From a noise floor of 10 %, an excess of 40 % raises the alert in well under 150 trials on average."""
    choice = random.Random("delay")
    delays = []
    for _ in range(200):
        alert = Alert(AlertRules(0.1, 10_000))
        trials = 1
        while not alert.observe((choice.random() < 0.5) - (choice.random() < 0.1)):
            trials += 1
        delays.append(trials)
    assert 40 < sum(delays) / len(delays) < 100


def test_an_alert_is_raised_held_resolved_and_raised_again():
    """Evidence of an excess raises it, evidence of none resolves it, and then all starts anew."""
    alert = Alert(RULES)
    changes = {}
    for trial in range(600):
        if change := alert.observe(1 if trial < 100 or trial >= 500 else 0):
            changes[trial] = change
            assert alert.up == (change.kind == "raised")
            assert (alert.evidence_log10 >= alert.alarm_log10) == alert.up
    first, second, third = changes
    assert [change.kind for change in changes.values()] == ["raised", "resolved", "raised"]
    # The largest bet, 0.98/1.1 = 0.891, grows by 1.80 a win; with an eighth of the weight it takes
    # log(8 · 1000) / log(1.80) = 15 wins, a little less with the gamblers that started later.
    assert 11 <= first <= 15
    assert 100 < second < 300
    assert third - 500 == pytest.approx(first, abs=4)
    assert (changes[first].run_trials, changes[first].run_mean) == (first + 1, 1.0)
    assert changes[second].run_mean == pytest.approx(0.0, abs=0.1)


def test_the_run_of_a_change_starts_about_where_the_change_did():
    """The trials named by an alert are those since the change, not all."""
    alert = Alert(RULES)
    for _ in range(500):
        assert alert.observe(0) is None
    trials = 0
    change = None
    while change is None:
        change = alert.observe(trials % 2)
        trials += 1
    assert change.run_trials == pytest.approx(trials, abs=2)
    assert change.run_mean == pytest.approx(0.5, abs=0.05)


def test_a_mean_at_half_the_threshold_raises_nothing_for_long():
    """A steady excess that is tolerated gathers no evidence."""
    alert = Alert(RULES)
    assert not any(alert.observe(1 if trial % 20 == 0 else 0) for trial in range(20_000))
    assert alert.evidence_log10 < alert.alarm_log10


def test_a_million_trials_stay_finite():
    """Long stretches of any outcome neither overflow nor vanish."""
    alert = Alert(AlertRules(0.1, 10_000))
    for difference in (1, 0, -1, 1, -1):
        for _ in range(200_000):
            alert.observe(difference)
        assert all(isfinite(wealth) and wealth >= 0 for wealth in alert.to_json()["wealth"])
        assert isfinite(alert.evidence_log10)
    assert not alert.up


@given(some_differences, some_differences)
def test_a_stored_alert_goes_on_exactly(before, after):
    """Through JSON and back, every later change and every float is the same."""
    rules = AlertRules(0.1, 20)
    alert = Alert(rules)
    for difference in before:
        alert.observe(difference)
    copy = Alert.from_json(json.loads(json.dumps(alert.to_json())), rules)
    assert copy.to_json() == alert.to_json()
    assert [copy.observe(difference) for difference in after] == [
        alert.observe(difference) for difference in after
    ]
    assert copy.to_json() == alert.to_json()


def test_other_rules_restart_the_evidence_but_not_the_alert():
    """Evidence against one threshold says nothing about another, but an alert is not dropped for it."""
    alert = Alert(RULES)
    while not alert.up:
        alert.observe(1)
    stored = alert.to_json()
    changed = Alert.from_json(stored, AlertRules(0.2, 1000))
    assert changed.up
    assert changed.evidence_log10 >= changed.alarm_log10
    assert not any(changed.to_json()["wealth"])
    quiet = Alert(RULES)
    quiet.observe(1)
    assert Alert.from_json(quiet.to_json(), AlertRules(0.2, 1000)).evidence_log10 == 0.0
