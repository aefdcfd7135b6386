"""The two states of an alert: raised by evidence, held, resolved by evidence, and stored exactly."""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.monitor.detect import Alert, AlertRules

RULES = AlertRules(threshold=0.1, mean_trials_between_false_alarms=1000)
some_differences = st.lists(st.sampled_from([-1, 0, 1]), max_size=60)


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
    # The largest bet, 0.8/1.1 = 0.727, grows by 1.65 a win; with an eighth of the weight it takes
    # log(8 · 1000) / log(1.65) = 18 wins, a little less with the gamblers that started later.
    assert 12 <= first <= 18
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
    assert not any(changed.to_json()["watch"][0])
    quiet = Alert(RULES)
    quiet.observe(1)
    assert Alert.from_json(quiet.to_json(), AlertRules(0.2, 1000)).evidence_log10 == 0.0


def test_scores_that_must_not_fall_raise_the_alert_below_their_line():
    """A side of `below` turns everything: low scores raise it, high ones resolve it."""
    rules = AlertRules(0.8, 1000, low=0, high=1, side="below")
    alert = Alert(rules)
    kinds = [
        change.kind for score in [0.9] * 200 + [0.6] * 60 + [0.95] * 200 if (change := alert.observe(score))
    ]
    assert kinds == ["raised", "resolved"]
    assert not alert.up


def test_an_alert_raised_with_others_keeps_the_evidence_it_had():
    """Raised early, it is up with less than the alarm level, once, and resolved by evidence of its own."""
    alert = Alert(RULES)
    for _ in range(9):
        assert alert.observe(1) is None
    evidence = alert.evidence
    assert 1 < evidence < 1000
    change = alert.raise_now()
    assert (change.kind, change.run_trials, change.run_mean) == ("raised", 9, 1.0)
    assert alert.up
    assert alert.evidence == evidence
    assert alert.raise_now() is None
    restored = Alert.from_json(json.loads(json.dumps(alert.to_json())), RULES)
    assert restored.evidence == evidence
    trials = next(trial for trial in range(10_000) if alert.observe(0))
    assert trials > 50
    assert not alert.up


def test_an_impossible_difference_is_refused_and_changes_nothing():
    """What cannot be observed is the caller's error, and leaves the state as it was."""
    alert = Alert(RULES)
    alert.observe(1)
    before = alert.to_json()
    with pytest.raises(ValueError, match="must lie in"):
        alert.observe(2)
    assert alert.to_json() == before
