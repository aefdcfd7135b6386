"""Near-equal prompts count once in a hundred trials, in cells, roll-ups and records of changes."""

from __future__ import annotations

import random

from evenkeel.core.verdict import BASELINE
from evenkeel.monitor.fold import MonitorSettings, MonitorState
from evenkeel.monitor.fold.clusters import SPAN, Clusters
from evenkeel.stores.verdict_log import LoggedVerdict
from tests.kit.records import altered
from tests.monitor.planted_verdicts import VERDICT

SETTINGS = MonitorSettings(min_trials=1, max_models_per_route=2)


def folded(verdicts, settings=SETTINGS):
    """The state after some verdicts."""
    state = MonitorState(settings)
    for offset, one in enumerate(verdicts, 1):
        state.apply(LoggedVerdict(offset, one))
    return state


def exchange(number, cluster="", **changes):
    """A resend and one trial."""
    both = {"exchange_id": f"x{number}", "cluster": cluster, "scored_at": float(number)} | changes
    resend = altered(VERDICT, id=f"x{number}.r", perturbation=BASELINE, control_rating=None, **both)
    return [altered(resend, rating=3), altered(VERDICT, id=f"x{number}.t", **both)]


def test_a_cluster_is_an_observation_again_after_a_hundred_trials():
    """Observed at the first trial, at the 101st and the 201st, however often it comes."""
    clusters = Clusters()
    assert [place for place in range(1, 251) if clusters.observe("a")] == [1, 1 + SPAN, 1 + 2 * SPAN]


def test_trials_that_stand_alone_are_always_observations():
    """And they let a cluster's hundred trials pass."""
    clusters = Clusters()
    assert clusters.observe("a")
    assert all(clusters.observe("") for _ in range(SPAN - 1))
    assert clusters.observe("a")
    assert not clusters.observe("a")


def test_at_most_a_hundred_clusters_are_remembered():
    """A new cluster in every trial fills no memory."""
    clusters = Clusters()
    for number in range(1000):
        clusters.observe(f"c{number}")
    assert len(clusters.to_json()[1]) == SPAN


def test_a_burst_is_many_trials_and_one_observation():
    """Thirty equal prompts whose answers all shifted, among ten that stand alone: 1 of 11 shifted."""
    log = [one for number in range(10) for one in exchange(number)]
    log += [one for number in range(10, 40) for one in exchange(number, "burst", rating=1)]
    state = folded(log)
    trial = next(report for report in state.reports() if report.key.perturbation != BASELINE)
    assert (trial.counts.trials, trial.counts.effective) == (40, 11)
    assert (trial.estimates.content_delta.value, trial.estimates.content_delta.n) == (1 / 11, 11)
    assert trial.windows["500"].trials == 11
    assert trial.counts.pairs == {1: 1, -1: 0, 0: 10}
    for rollup in state.rollups():
        assert (rollup.trials, rollup.windows["all"].exchanges) == (40, 11)
        assert rollup.windows["all"].content_delta.value == 1 / 11


def test_records_of_changes_hold_observations():
    """After a change of model, forty exchanges of one cluster are one on that side."""
    log = [one for number in range(200) for one in exchange(number)]
    log += [one for number in range(200, 240) for one in exchange(number, "burst", model="n", rating=1)]
    (record,) = folded(log).change_records()
    assert record.since == 32, "the eighth exchange made the change"
    assert record.after.counts("general.spelling").trials == 0, "its observation came before that"
    assert record.before.counts("general.spelling").trials == 149


def test_a_burst_is_no_change_of_the_traffic():
    """A hundred equal prompts in German among five hundred English ones."""
    log = [one for number in range(500) for one in exchange(number, prompt_language="en")]
    log += [one for number in range(500, 600) for one in exchange(number, "burst", prompt_language="de")]
    assert folded(log).changes()[0].counts == {}


def missed(clustered, cells=20, rate=0.1):
    """Cells of 500 trials, a fifth in bursts of twenty, whose content delta was ever not covered."""
    rng = random.Random(1)
    found = set()
    for cell in range(cells):
        state, trials = MonitorState(SETTINGS), 0
        while trials < 500:
            length = 20 if rng.random() < 1 / 81 else 1
            cluster = f"burst {trials}" if length > 1 and clustered else ""
            one = altered(VERDICT, rating=1 if rng.random() < rate else 3, cluster=cluster)
            for _ in range(length):
                trials += 1
                state.apply(LoggedVerdict(trials, one))
            if length > 1 or trials % 100 == 0:
                delta = state.reports()[0].estimates.content_delta
                found |= set() if delta.lower <= rate <= delta.upper else {cell}
    return len(found)


def test_intervals_cover_under_bursts():
    """All but one in twenty cells are covered at all times; were each trial an observation, many were not."""
    assert missed(clustered=True) <= 1
    assert missed(clustered=False) > 4


def test_one_off_names_leave_room_for_a_model_with_traffic():
    """Two places: 200 names of one exchange each, then a model with traffic takes the place of the first."""
    log = [one for number in range(200) for one in exchange(number, model=f"once-{number}")]
    log += [one for number in range(200, 260) for one in exchange(number, model="real")]
    state = folded(log)
    trials = {report.key.model: report.counts.trials for report in state.reports() if report.counts.pairs}
    assert trials == {"once-1": 1, "other": 198 + 7, "real": 53}
    models = {rollup.key.model for rollup in state.rollups() if rollup.key.level == "model"}
    assert models == {"once-1", "other", "real"}


def test_models_with_traffic_keep_their_places():
    """A third model waits while both others are in use, and gets a place once one is idle."""
    used = [one for number in range(60) for one in exchange(number, model="ab"[number % 2])]
    third = [one for number in range(60, 120) for one in exchange(number, model="abc"[number % 3])]
    assert {report.key.model for report in folded(used + third).reports()} == {"a", "b", "other"}
    idle = [one for number in range(120, 2300) for one in exchange(number, model="ac"[number % 2])]
    assert {report.key.model for report in folded(used + third + idle).reports()} == {"a", "c", "other"}


def test_the_alert_of_a_dropped_model_is_closed():
    """Its model is idle for 2,000 exchanges, and another takes its place."""
    log = [one for number in range(40) for one in exchange(number, model="a", rating=1)]
    log += [one for number in range(40, 2200) for one in exchange(number, model="bc"[number % 2])]
    state = MonitorState(SETTINGS)
    events = [
        (event.kind, event.model)
        for offset, one in enumerate(log, 1)
        for event in state.apply(LoggedVerdict(offset, one)).events
    ]
    assert events == [("raised", "a"), ("resolved", "a")]
