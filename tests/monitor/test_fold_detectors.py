"""The fold's detectors: drift from a cell's own baseline, and alerts that several cells raise together."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evenkeel.core.cells import CellKey
from evenkeel.core.verdict import BASELINE, Verdict
from evenkeel.monitor.export import CellText, MonitorReading
from evenkeel.monitor.fold import MonitorSettings, MonitorState
from evenkeel.stores.verdict_log import LoggedVerdict
from tests.monitor.planted_verdicts import VERDICT

SETTINGS = MonitorSettings(
    threshold=0.1, mean_trials_between_false_alarms=1000, min_trials=5, provisional_after=200
)


def trials(count: int, every: int, **changed: object) -> list[Verdict]:
    """So many trials of which every n-th shifts, as its resend does: the excess is zero throughout."""
    return [
        replace(VERDICT, rating=rating, baseline_rating=rating, **changed)
        for rating in (2 if number % every == every - 1 else 3 for number in range(count))
    ]


def log_of(*verdicts: Verdict) -> list[LoggedVerdict]:
    return [
        LoggedVerdict(place, replace(verdict, id=f"v{place}", exchange_id=f"e{place}"))
        for place, verdict in enumerate(verdicts, 1)
    ]


def fold(log: list[LoggedVerdict], state: MonitorState | None = None):
    state = state or MonitorState(SETTINGS)
    return state, [event for logged in log for event in state.apply(logged).events]


def test_a_cell_that_leaves_its_baseline_is_reported_and_its_return_too():
    """5 % of 200 trials, then every second one, then 5 % again; the excess never moves, the rate does."""
    log = log_of(*trials(200, 20), *trials(300, 2), *trials(300, 20))
    state, events = fold(log)
    assert [(event.kind, event.what, event.direction) for event in events] == [
        ("raised", "drift", "risen"),
        ("resolved", "drift", ""),
    ]
    assert "53% over the last 15 trials" in events[0].summary
    assert "5% in its first 200 trials" in events[0].summary
    (report,) = state.reports()
    assert (report.drift.state, report.drift.baseline, report.drift.trials) == ("level", 0.05, 200)
    assert report.drift.provisional
    assert report.alert is False


def test_a_fall_is_a_drift_as_well():
    """From every second trial to none."""
    _, events = fold(log_of(*trials(200, 2), *trials(200, 1000)))
    assert [(event.kind, event.direction) for event in events] == [("raised", "fallen")]


def test_there_is_no_baseline_before_its_trials_are_there():
    """With one trial less than it takes, nothing is said; with all of them the lines are known."""
    state, _ = fold(log_of(*trials(199, 20)))
    assert state.reports()[0].drift is None
    state.apply(LoggedVerdict(1000, replace(VERDICT, id="last")))
    drift = state.reports()[0].drift
    assert drift.lower == 0.0
    assert drift.upper > drift.baseline + SETTINGS.drift_tolerance


def test_a_change_of_the_model_closes_the_drift_of_its_route_and_of_no_other():
    """What was measured before a change is no baseline for what comes after it."""
    other = trials(200, 20, route="billing")
    resends = [replace(VERDICT, perturbation=BASELINE, baseline_rating=None, model=name) for name in "mn"]
    swap = [*[resends[0]] * 20, *[resends[1]] * 12]
    state, events = fold(log_of(*other, *trials(200, 20), *trials(60, 2), *swap))
    assert [(event.kind, event.route) for event in events] == [("raised", "chat"), ("resolved", "chat")]
    assert "the route changed" in events[1].summary
    drift = {report.key: report.drift for report in state.reports()}
    assert drift[CellKey("chat", "m", "general.spelling")] is None
    assert drift[CellKey("billing", "m", "general.spelling")] is not None


def test_a_drift_is_noted_among_the_changes_of_its_route_and_goes_on():
    """It opens a record, but the baseline that it is held against stays."""
    state, events = fold(log_of(*trials(200, 20), *trials(60, 2)))
    assert [event.kind for event in events] == ["raised"]
    (record,) = state.change_records()
    assert (record.route, record.kinds) == ("chat", {"ratings"})
    assert record.marks[0].before == "general.spelling: shifted in 5%"
    (report,) = state.reports()
    assert report.drift.state == "risen"


def excess_log() -> list[LoggedVerdict]:
    """Eight cells, trial by trial: from the 20th round on each variant shifts and its resend does not."""
    cells = [replace(VERDICT, perturbation=f"general.kind{number}") for number in range(8)]
    rounds = [cells] * 20 + [[replace(cell, rating=1) for cell in cells]] * 8
    return log_of(*(cell for one in rounds for cell in one))


def test_cells_that_move_together_are_found_before_each_alone_would_be():
    """Eight times an eighth of the evidence is enough, and one verdict may raise several alerts."""
    _, events = fold(excess_log())
    _, alone = fold(log_of(*[VERDICT] * 20, *[replace(VERDICT, rating=1)] * 20))
    raised = [event for event in events if event.what == "excess"]
    assert len(raised) == 8
    assert len({event.id for event in raised}) == 8
    assert len({event.offset for event in raised}) < 8
    assert min(event.trials for event in raised) < alone[0].trials


@pytest.mark.parametrize("cut", range(150, 224, 9))
def test_a_restart_anywhere_changes_nothing(cut):
    """The family is not stored: it follows from the cells."""
    log = excess_log()
    _, whole = fold(log)
    state, first = fold(log[:cut])
    state, second = fold(log[cut:], MonitorState.from_bytes(state.to_bytes(), SETTINGS))
    assert [event.id for event in first + second] == [event.id for event in whole]
    assert state.to_bytes() == fold(log)[0].to_bytes()


def test_the_text_shows_an_alert_that_another_cells_verdict_raised():
    """Lines are kept until a cell changes, and being raised by others is a change."""
    state = MonitorState(SETTINGS)
    text = CellText(MonitorReading(state.reports), version="1")
    for logged in excess_log():
        state.apply(logged)
        fresh = CellText(MonitorReading(state.reports), version="1")
        assert text.render() == fresh.render()
    assert text.render().count(b"\nevenkeel_alert{") == 8
    assert b'evenkeel_alert{model="m",perturbation="general.kind7",route="chat"} 1.0' in text.render()


def test_drift_is_exported():
    """Direction, baseline and lines; nothing before there is a baseline."""
    state, _ = fold(log_of(*trials(200, 20), *trials(100, 2)))
    text = CellText(MonitorReading(state.reports), version="1").render().decode()
    cell = 'model="m",perturbation="general.spelling",route="chat"'
    for line in (
        f'evenkeel_drift_alert{{direction="risen",{cell}}} 1.0',
        f'evenkeel_drift_alert{{direction="fallen",{cell}}} 0.0',
        f'evenkeel_drift_baseline{{approved="no",{cell}}} 0.05',
        f"evenkeel_drift_baseline_trials{{{cell}}} 200.0",
    ):
        assert f"\n{line}\n" in text
    before, _ = fold(log_of(*trials(10, 20)))
    nothing = CellText(MonitorReading(before.reports), version="1").render()
    assert b"\nevenkeel_drift_alert{" not in nothing
