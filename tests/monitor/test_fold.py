"""The fold's windows, roll-ups, changes and checkpoints."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenkeel.core.cells import WindowEstimates
from evenkeel.core.verdict import BASELINE
from evenkeel.monitor.fold import CheckpointError, MonitorSettings, MonitorState
from evenkeel.stores.verdict_log import LoggedVerdict
from tests.kit.records import altered
from tests.monitor.planted_traffic import WORSE, log_of, traffic
from tests.monitor.planted_verdicts import VERDICT
from tests.monitor.stored_state import stored

SETTINGS = MonitorSettings(
    threshold=0.1,
    mean_trials_between_false_alarms=50,
    min_trials=5,
    max_models_per_route=3,
    trend_interval_s=7,
)


def folded(verdicts, state=None):
    state = state or MonitorState(SETTINGS)
    for logged in verdicts:
        state.apply(logged)
    return state


def test_too_few_trials_since_a_change_say_nothing():
    (early,) = folded(log_of(*[VERDICT] * 4)).reports()
    assert early.since_change == WindowEstimates(4, None, None, None)


def exchanges(first, last, **changed):
    """A resend and one trial for each exchange."""
    return [
        altered(
            VERDICT,
            exchange_id=f"e{number}",
            perturbation=kind,
            **(changed if kind != BASELINE else {**changed, "rating": 3, "quality": ()}),
        )
        for number in range(first, last)
        for kind in (BASELINE, VERDICT.perturbation)
    ]


def test_since_the_change_begins_where_a_new_prompt_was_noticed():
    """Eight exchanges after its first one; for cells and roll-ups of that route only."""
    state = folded(
        log_of(
            *exchanges(0, 100, prompt_version="v1"),
            *exchanges(100, 130, prompt_version="v1", route="billing"),
            *exchanges(130, 150, prompt_version="v2", **WORSE),
        )
    )
    trials = {
        report.key.route: report.since_change.trials
        for report in state.reports()
        if report.key.perturbation != BASELINE
    }
    assert trials == {"chat": 13, "billing": 30}
    _, chat = state.changes()
    assert [mark.offset for mark in chat.latest] == [2 * (100 + 30 + 7) + 1]
    rolled = {report.route: report.windows["since_change"].trials for report in state.rollups()}
    assert rolled == {"chat": 13, "billing": 30}


def test_a_roll_up_pools_the_trials_of_its_cells():
    """Ten exchanges with two rewordings, of which one shifts all: half of the trials shift."""
    verdicts = []
    for number in range(10):
        here = altered(VERDICT, exchange_id=f"e{number}", scored_at=float(number))
        verdicts += [
            altered(here, perturbation=BASELINE, control_rating=None),
            altered(here, **WORSE),
            altered(here, perturbation="positional.mixed"),
        ]
    state = folded(log_of(*verdicts))
    (whole,) = state.rollups()
    assert (whole.route, whole.model, whole.trials) == ("chat", "m", 20)
    assert (whole.last_scored_at, whole.scorer) == (9.0, "judge")
    everything = whole.windows["all"]
    assert everything.trials == 20
    assert (everything.content_delta.value, everything.content_delta.n) == (0.5, 20)
    assert everything.robustness.value == 0.5
    assert everything.noise_floor == state.reports()[0].noise_floor
    assert whole.windows["since_change"] == everything


def test_a_roll_up_allows_for_trials_of_an_exchange_that_shift_together():
    """Four rewordings that shift on the same exchanges tell hardly more than one of them."""
    choice = random.Random(1)
    widths = []
    for together in (True, False):
        log = []
        for number in range(400):
            shifts = choice.random() < 0.25
            for place in range(4):
                trial = altered(VERDICT, exchange_id=f"e{number}", perturbation=f"general.k{place}")
                shifts = shifts if together else choice.random() < 0.25
                log.append(altered(trial, **WORSE) if shifts else trial)
        (whole,) = folded(log_of(*log)).rollups()
        content = whole.windows["all"].content_delta
        assert content.lower < 0.25 < content.upper
        widths.append(content.upper - content.lower)
    assert widths[0] > 1.2 * widths[1]


@settings(max_examples=5, deadline=None)
@given(seed=st.integers(0, 3), times=st.lists(st.floats(-1e13, 1e13), min_size=1, max_size=9))
def test_clocks_change_no_estimate(seed, times):
    """Counts, intervals and alerts are the same whatever times verdicts claim."""
    verdicts = traffic(60, seed)
    wild = [
        LoggedVerdict(logged.offset, altered(logged.verdict, scored_at=times[place % len(times)]))
        for place, logged in enumerate(verdicts)
    ]

    def timeless(state):
        cells = [altered(report, last_scored_at=None, retired=False) for report in state.reports()]
        rollups = [(report.route, report.model, report.trials, report.windows) for report in state.rollups()]
        return cells, rollups, [route.counts for route in state.changes()]

    assert timeless(folded(wild)) == timeless(folded(verdicts))


def test_only_what_changed_is_stored_again():
    """The second checkpoint holds the cell and the route of the new verdict and no other."""
    state = folded(
        log_of(*[altered(VERDICT, perturbation=f"general.k{n}", exchange_id=f"e{n}") for n in range(9)])
    )
    first = state.checkpoint()
    assert first.whole
    assert sum(name.startswith('["cell"') for name in first.parts) == 9
    folded([LoggedVerdict(10, altered(VERDICT, id="w", perturbation="general.k3"))], state)
    second = state.checkpoint()
    assert not second.whole
    assert list(second.parts) == [
        '["cell","chat","m","general.k3"]',
        '["route","chat"]',
        '["rollup","chat","m"]',
    ]
    restored = MonitorState.restored(second.head, {**first.parts, **second.parts}, SETTINGS)
    assert not restored.checkpoint().parts, "what was read needs no storing"
    assert stored(restored) == stored(state)
    with pytest.raises(CheckpointError):
        MonitorState.restored(second.head, {**first.parts, "odd": b"{}"}, SETTINGS)


def test_contrasts_change_no_figure_alert_or_change():
    """A hundred answers that moved as they should leave every report as it is without them."""
    log = traffic(60, 3)
    contrasts = [
        altered(VERDICT, exchange_id=f"c{number}", perturbation="contrast.number", scored_at=0.0, **WORSE)
        for number in range(100)
    ]
    verdicts = [logged.verdict for logged in log]
    with_them, without = MonitorState(SETTINGS), MonitorState(SETTINGS)
    for logged in log_of(*verdicts[:100], *contrasts, *verdicts[100:]):
        assert not with_them.apply(logged).events or not logged.verdict.is_contrast
    for logged in log_of(*verdicts):
        without.apply(logged)
    assert {report.key for report in with_them.reports()} == {report.key for report in without.reports()}
    counts = [[report.counts.ratings for report in state.reports()] for state in (with_them, without)]
    assert counts[0] == counts[1]
    assert [row.trials for row in with_them.rollups()] == [row.trials for row in without.rollups()]
