"""Drift from a baseline: strata, both directions, tolerance, recovery, and exact storage."""

import random
from itertools import cycle
from math import log

import pytest

from evenkeel.core.records import from_json, to_json
from evenkeel.monitor.detect import Baseline, DriftAlert, DriftRules
from evenkeel.monitor.detect.drift import Stratum

RULES = DriftRules(tolerance=0.05, mean_trials_between_false_alarms=20_000)
TENTH = Baseline(mean=0.1, n=1000)


def flips(rate, name):
    choice = random.Random(name)
    while True:
        yield int(choice.random() < rate)


def raised(changes):
    return [change.kind for change in changes if change]


def test_a_trial_is_bet_on_against_what_its_stratum_predicts():
    """10 hits in 100 trials predict 10.5/101; a hit pays every bet its share of the odds against it."""
    alert = DriftAlert(DriftRules(0.05, 1e6))
    for trial in range(100):
        alert.observe(int(trial < 10))
    assert alert.evidence == 0.0
    alert.observe(1)
    rate = 10.5 / 101
    mean_share = sum(0.04 * (0.6 / 0.04) ** (number / 5) for number in range(6)) / 6
    # Of the new wealth 0.3 bets on a rise and wins; 0.2, on a fall, loses its shares.
    risen, fallen = 1 + mean_share * (1 - rate) / rate, 1 - mean_share
    assert alert.evidence == pytest.approx(0.3 * risen + 0.2 * fallen)


def test_bets_on_a_rise_are_a_twentieth_within_a_burst():
    """Five hits in a row are bet on in full; the fifteen after them together win less than one of these."""
    alert = DriftAlert(DriftRules(0.05, 1e9))
    for trial in range(200):
        alert.observe(int(trial % 20 == 0))
    wealth = [sum(alert.rise.wealth)]
    for _hit in range(20):
        alert.observe(1)
        wealth.append(sum(alert.rise.wealth))
    assert wealth[5] / wealth[4] > 5
    assert wealth[20] / wealth[5] < 10


def test_a_stratum_of_few_trials_is_not_bet_on():
    """The first hundred trials only say what is usual."""
    alert = DriftAlert(RULES)
    for _ in range(99):
        alert.observe(0)
        assert (alert.state, alert.baseline) == ("unknown", None)
    alert.observe(0)
    assert alert.state == "level"
    assert alert.baseline == Baseline(0.0, 100, provisional=True)


def test_a_rise_is_found_named_and_ended_by_the_way_back():
    """The change says which way, from what, since when, and how high; the baseline is that before it."""
    alert = DriftAlert(RULES)
    quiet, loud = flips(0.1, "calm"), flips(0.5, "loud")
    assert not raised(alert.observe(next(quiet)) for _ in range(1000))
    before = alert.baseline
    trials = 1
    while not (change := alert.observe(next(loud))):
        trials += 1
    assert change.kind == "risen"
    assert change.baseline.mean == pytest.approx(before.mean, abs=0.01)
    assert change.line == pytest.approx(change.baseline.mean + 0.05)
    assert trials <= change.run_trials < trials + 60
    assert 0.2 < change.run_mean < 0.7
    assert change.baseline.n == 1000 + trials - change.run_trials
    assert (alert.state, alert.up) == ("risen", True)
    assert alert.baseline.mean == pytest.approx(change.baseline.mean, abs=0.002)
    assert alert.evidence >= RULES.mean_trials_between_false_alarms
    frozen = alert.baseline
    assert not raised(alert.observe(next(loud)) for _ in range(500))
    assert alert.baseline == frozen
    back = next(change for _ in range(5000) if (change := alert.observe(next(quiet))))
    assert (back.kind, back.baseline.n) == ("recovered", frozen.n)
    assert (alert.state, alert.up, alert.evidence) == ("level", False, 0.0)


def test_a_fall_is_found_and_ended_by_the_way_back():
    """A rate that vanishes is a change as well."""
    alert = DriftAlert(RULES, approved=Baseline(0.4, 2000))
    assert raised(map(alert.observe, [0] * 90 + [1, 0, 1, 0, 0] * 400)) == ["fallen", "recovered"]


def test_a_shift_within_the_tolerance_is_held_below_the_level_however_sure_it_is():
    """Four points, from 20 % to 24 %, are proven by 9,000 trials, and too small to matter."""
    alert = DriftAlert(RULES, approved=Baseline(0.2, 100_000))
    hits = [int(trial % 4 == 0 and trial < 24) for trial in range(25)]
    assert not raised(map(alert.observe, hits * 360))
    assert alert.evidence > 10_000
    assert not alert.up


def test_suspicion_is_the_likelihood_ratio_of_a_risen_rate():
    """Twice the odds of 20 % are a third: a hit is 5/3 times as likely, a miss 5/6 times; never below 0."""
    alert = DriftAlert(RULES, approved=Baseline(0.2, 10**9))
    for hit, suspicion in (
        (0, 0),
        (1, log(5 / 3)),
        (1, 2 * log(5 / 3)),
        (0, 2 * log(5 / 3) + log(5 / 6)),
        (1, 3 * log(5 / 3) + log(5 / 6)),
    ):
        alert.observe(hit)
        assert alert.suspicion == pytest.approx(suspicion)
    for _ in range(20):
        alert.observe(0)
    assert alert.suspicion == 0


def test_suspicion_comes_no_more_often_the_longer_all_is_well():
    """Unlike evidence: past log 16 after less than one trial in ten, of the first 5,000 and the last."""
    alert, chance = DriftAlert(RULES), flips(0.08, "well")
    passed = []
    for _ in range(15_000):
        alert.observe(next(chance))
        passed.append(alert.suspicion > log(16))
    assert sum(passed[:5000]) / 5000 < 0.1
    assert sum(passed[-5000:]) / 5000 < 0.1


def test_strata_that_take_turns_are_no_drift():
    """Easy prompts at 2 % and hard ones at 18 %, 300 of each in turn, are compared each with its own kind."""
    streams = {"easy": flips(0.02, "easy"), "hard": flips(0.18, "hard")}
    alert, blurred = DriftAlert(RULES), DriftAlert(RULES)
    changes, without = [], []
    for kind in ["easy", "hard"] * 10:
        for _ in range(300):
            hit = next(streams[kind])
            changes.append(alert.observe(hit, Stratum("", kind)))
            without.append(blurred.observe(hit))
    assert raised(changes) == []
    assert "risen" in raised(without)


def test_a_shift_that_is_common_to_the_strata_is_found_by_all_together():
    """Evidence is shared: eight strata with an eighth of the trials each take hardly longer than one."""
    delays = {}
    for kinds in (1, 8):
        alert = DriftAlert(RULES)
        names = cycle(map(str, range(kinds)))
        quiet, loud = flips(0.1, "quiet"), flips(0.3, "loud")
        assert not raised(alert.observe(next(quiet), Stratum("", next(names))) for _ in range(4000))
        delays[kinds] = next(
            trial for trial in range(1, 2000) if alert.observe(next(loud), Stratum("", next(names)))
        )
    assert delays[8] < 1.5 * delays[1]


def test_a_judge_that_fails_where_answers_differ_is_neither_a_fall_nor_then_a_rise():
    """Of 30 % that differ none is rated for 500 trials, then all are again; a fall to none is still found."""
    alert, calm = DriftAlert(RULES), flips(0.3, "calm")
    for _ in range(1000):
        alert.observe(next(calm))
    for _ in range(500):
        assert alert.observe(None if next(calm) else 0) is None
    for _ in range(500):
        assert alert.observe(next(calm)) is None
    assert alert.baseline.mean == pytest.approx(450 / 1850, abs=0.02)
    assert from_json(to_json(alert), DriftAlert) == alert
    assert raised(alert.observe(0) for _ in range(500)) == ["fallen"]


def test_a_rise_is_found_beside_a_tenth_of_unrated_trials_and_held_by_them():
    """10 % become 60 % of the rated trials; while all that differ stay unrated, it is not over."""
    alert, quiet, loud, failed = DriftAlert(RULES), flips(0.1, "calm"), flips(0.6, "loud"), flips(0.1, "x")
    for _ in range(1000):
        alert.observe(None if next(failed) else next(quiet))
    assert "risen" in raised(alert.observe(None if next(failed) else next(loud)) for _ in range(300))
    assert not raised(alert.observe(None if next(loud) else 0) for _ in range(1000))
    assert raised(alert.observe(next(quiet)) for _ in range(1000)) == ["recovered"]


def test_no_change_raises_no_more_than_stated_though_the_baseline_is_an_estimate():
    """25 cells of 1,000 trials at a level of 1,000: at most 22 alerts are expected, far fewer come."""
    choice = random.Random("estimated baselines")
    alerts = 0
    for _ in range(25):
        alert = DriftAlert(DriftRules(0.0, 1000))
        alerts += "risen" in raised(alert.observe(int(choice.random() < 0.2)) for _ in range(1000))
    assert alerts <= 15


def test_other_rules_keep_the_baseline_and_the_alert_but_no_evidence():
    """Evidence under one tolerance says nothing about another; what was approved stays approved."""
    alert = DriftAlert(RULES, approved=TENTH)
    while not alert.up:
        alert.observe(1)
    alert.observe(0)
    alert.follow(DriftRules(0.1, 1e6))
    assert (alert.state, alert.baseline) == ("risen", TENTH)
    assert alert.evidence_log10 == pytest.approx(6)
    assert not any(alert.back.wealth)


def test_a_run_that_began_by_chance_does_not_hide_a_change():
    """5 of the first 100 trials hit, then every fifth: the run that begins there is given up one day."""
    alert = DriftAlert(DriftRules(0.05, 1e12))
    for trial in range(3000):
        alert.observe(int(trial % 20 == 0 if trial < 100 else trial % 5 == 0))
    assert alert.rise.trials < 2000
