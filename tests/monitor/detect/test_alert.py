"""The two states of an alert: raised by evidence of any measure, held, resolved, stored exactly."""

import random

import pytest

from evenkeel.core.records import from_json, to_json
from evenkeel.monitor.detect import Alert, AlertRules, Limit, Measure, blind_measures

CONTENT, SIMILARITY, QUALITY, INVALID, _ = Measure
TENTH = Limit(0.1, "settings")
RULES = AlertRules({CONTENT: TENTH}, 1000)
ALL = {CONTENT: TENTH, SIMILARITY: Limit(0.05), QUALITY: Limit(0.1), INVALID: Limit(0.1)}


def content(alert, *differences):
    return [alert.observe({CONTENT: difference}) for difference in differences]


def test_the_run_is_explained_by_weight():
    """Twenty moves of weight ¼ for each that held at weight 1 are twenty-one trials, of which 5/6 moved."""
    alert, change = Alert(RULES), None
    while change is None:
        for weight, moved in [(0.25, 1)] * 20 + [(1.0, 0)]:
            change = change or alert.observe({CONTENT: moved}, weight=weight)
    whole, moved = divmod(change.run_trials, 21)
    weights = (whole * 5 + moved * 0.25, whole)
    assert change.run_mean == pytest.approx(weights[0] / sum(weights))
    assert from_json(to_json(alert), Alert) == alert


def test_an_alert_is_raised_held_resolved_and_raised_again():
    """Evidence of an excess raises it, evidence of none resolves it, and then all starts anew."""
    alert = Alert(RULES)
    changes = {}
    for trial in range(600):
        if change := alert.observe({CONTENT: 1 if trial < 100 or trial >= 500 else 0}):
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
    assert (changes[first].measure, changes[first].limit) == (CONTENT, TENTH)
    assert changes[second].run_mean == pytest.approx(0.0, abs=0.1)


def test_an_alert_is_not_resolved_by_a_judge_that_rates_only_what_is_the_same():
    """Every third trial is unrated: each of them may have moved, so the others do not say that it is over."""
    alert = Alert(RULES)
    content(alert, *[1] * 50)
    for _ in range(300):
        assert content(alert, 0, 0) == [None, None]
        alert.observe_unrated()
    assert alert.up
    assert "resolved" in [change.kind for change in content(alert, *[0] * 300) if change]


def test_the_evidence_is_the_weighted_mean_of_the_measures():
    """Eight bets of an eighth each are worth 1 + their mean stake × gain after one trial."""
    mean_share = sum(0.06 * (0.8 / 0.06) ** (number / 7) for number in range(8)) / 8
    alert = Alert(AlertRules({CONTENT: TENTH, SIMILARITY: Limit(0.05)}, 1000))
    alert.observe({CONTENT: 1, SIMILARITY: 0.3})
    # Weights .4 and .25 of .65; stakes share/1.1 and share/1.05; gains .9 and .25.
    one, two = 1 + mean_share / 1.1 * 0.9, 1 + mean_share / 1.05 * 0.25
    assert alert.evidence == pytest.approx((0.4 * one + 0.25 * two) / 0.65)


def test_a_measure_that_is_missing_changes_nothing_of_its_evidence():
    """A missing measure is neither a gain nor a loss, and brings no new gambler."""
    alert = Alert(AlertRules(ALL, 1000))
    alert.observe({CONTENT: 1, SIMILARITY: 0.5})
    before = alert.evidence
    alert.observe({})
    assert alert.evidence == before


def test_the_alert_names_the_measure_that_carried_it():
    """Similarity falls while content and quality stay: the limit of similarity is what was crossed."""
    alert = Alert(AlertRules(ALL, 1000))
    trial = {CONTENT: 0, SIMILARITY: 0.4, QUALITY: 0, INVALID: 0}
    change = next(change for _ in range(200) if (change := alert.observe(trial)))
    assert (change.kind, change.measure, change.limit) == ("raised", SIMILARITY, Limit(0.05))
    assert change.run_mean == pytest.approx(0.4)


def test_an_alert_is_not_resolved_while_another_measure_is_over():
    """Answers get similar again but invalid: the alert stays up until they are valid, too."""
    alert = Alert(AlertRules(ALL, 1000))
    unlike, invalid, fine = (
        {SIMILARITY: 0.4, INVALID: 0}, {SIMILARITY: 0, INVALID: 1}, {SIMILARITY: 0, INVALID: 0},
    )  # fmt: skip
    assert [change.measure for _ in range(60) if (change := alert.observe(unlike))] == [SIMILARITY]
    assert not any(alert.observe(invalid) for _ in range(2000))
    assert alert.over == [INVALID]
    (end,) = [change for _ in range(2000) if (change := alert.observe(fine))]
    assert (end.kind, end.measure) == ("resolved", INVALID)


def test_alerts_on_the_limits_are_as_rare_as_stated():
    """All four measures exactly on their limits, moved by one event: at most 15 alerts in 15,000 trials."""
    choice = random.Random("on the limits")
    alert = Alert(AlertRules({**ALL, SIMILARITY: TENTH}, 1000))
    raised = 0
    for _ in range(15_000):
        bad = int(choice.random() < 0.1)
        change = alert.observe(dict.fromkeys(Measure, bad))
        raised += change is not None and change.kind == "raised"
    assert raised <= 15


def test_another_limit_restarts_the_evidence_of_its_measure_only():
    alert = Alert(AlertRules(ALL, 1000))
    alert.observe({CONTENT: 1, SIMILARITY: 0.5})
    alert.follow(AlertRules({**ALL, CONTENT: Limit(0.2)}, 1000))
    alone = Alert(AlertRules(ALL, 1000))
    alone.observe({SIMILARITY: 0.5})
    assert alert.evidence == alone.evidence


def test_an_alert_that_is_up_stays_up_under_other_rules():
    """Neither another limit nor another level nor a measure that is gone ends it: only evidence does."""
    alert = Alert(RULES)
    while not alert.up:
        alert.observe({CONTENT: 1})
    for rules in (
        AlertRules({CONTENT: Limit(0.2)}, 1000),
        AlertRules({CONTENT: TENTH}, 1e6),
        AlertRules({QUALITY: TENTH}, 9),
    ):
        changed = from_json(to_json(alert), Alert)
        changed.follow(rules)
        assert changed.up
        assert changed.evidence_log10 >= changed.alarm_log10
        fine = dict.fromkeys(rules.limits, 0)
        assert next(change for _ in range(9000) if (change := changed.observe(fine))).kind == "resolved"


@pytest.mark.parametrize(
    ("floor", "similarity", "blind"),
    [
        (0.1, 0.9, set()),
        # A floor of .9 leaves no room above the limit of .1.
        (0.9, 0.5, {CONTENT}),
        (0.89, 0.5, {CONTENT}),
        # Identical resends as unlike as the limit.
        (0.1, 0.05, {SIMILARITY}),
        (0.95, 0.02, {CONTENT, SIMILARITY}),
        (None, None, set()),
    ],
)
def test_a_measure_is_blind_if_even_the_largest_change_would_not_be_found(floor, similarity, blind):
    """No evidence can grow where the noise leaves no room above the limit."""
    rules = AlertRules(ALL, 20_000)
    assert blind_measures(rules, floor_rate=floor, control_similarity=similarity) == blind


def test_a_measure_that_is_not_blind_finds_the_largest_change():
    """All variants moving at a floor of .8 are an excess of .2, found within 2,000 trials."""
    rules = AlertRules(ALL, 20_000)
    assert blind_measures(rules, floor_rate=0.8, control_similarity=None) == set()
    choice = random.Random("floor")
    alert = Alert(rules)
    assert any(alert.observe({CONTENT: 1 - (choice.random() < 0.8)}) for _ in range(2000))
