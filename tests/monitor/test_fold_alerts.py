"""Alerts of the fold: drift from provisional and approved baselines, and of several cells at once."""

import pytest

from evenkeel.core.approval import Approval, ApprovalError, ApprovedCell, approvable
from evenkeel.core.cells import OTHER_MODEL, CellKey
from evenkeel.core.records import from_json, to_json
from evenkeel.core.verdict import BASELINE, REPLAY, Failure
from evenkeel.monitor.fold import MonitorSettings, MonitorState
from evenkeel.monitor.incidents import verdicts_behind
from evenkeel.monitor.monitor import Monitor
from evenkeel.monitor.notify import summary
from evenkeel.stores.verdict_log import LoggedNote, LoggedVerdict
from tests.kit.records import altered
from tests.monitor.planted_verdicts import VERDICT
from tests.stores.examples import read_after

SETTINGS = MonitorSettings(
    threshold=0.1, mean_trials_between_false_alarms=500, min_trials=5, provisional_after=200
)


def trials(count, every, **changed):
    """Trials, so many, of which every n-th shifts, as its resend does: the excess is zero throughout."""
    return [
        altered(VERDICT, rating=rating, control_rating=rating, **changed)
        for rating in (2 if number % every == every - 1 else 3 for number in range(count))
    ]


def log_of(*entries):
    """Verdicts and approvals with places, ids and exchanges of their own."""
    return [
        LoggedNote(place, entry)
        if isinstance(entry, Approval)
        else LoggedVerdict(place, altered(entry, id=f"v{place}", exchange_id=f"e{place}"))
        for place, entry in enumerate(entries, 1)
    ]


def fold(log, state=None):
    state = state or MonitorState(SETTINGS)
    return state, [event for logged in log for event in state.apply(logged).events]


def test_a_cell_that_leaves_its_baseline_is_reported_and_its_return_too():
    """5 % of 200 trials, then every second one, then 5 % again; the excess never moves, the rate does."""
    log = log_of(*trials(200, 20), *trials(300, 2), *trials(900, 20))
    state, events = fold(log)
    assert [(event.kind, event.what, event.direction) for event in events] == [
        ("raised", "drift", "risen"),
        ("resolved", "drift", ""),
    ]
    assert "51% over the last 37 trials" in summary(events[0])
    assert "5% in its first 201 trials" in summary(events[0])
    (report,) = state.reports()
    assert report.detection.drift.state == "level"
    assert report.detection.drift.baseline == pytest.approx(0.05, abs=0.01)
    assert report.detection.drift.provisional
    assert report.detection.alert is False


def test_answers_are_not_steadier_because_the_judge_fails_where_they_differ():
    """Every second of 400 trials moves, then the judge misses all of these: the rate is level."""
    failed = altered(VERDICT, rating=None, failure=Failure("judge", 1, "judge_timeout"))
    same = altered(VERDICT, rating=3, control_rating=3)
    state, events = fold(log_of(*trials(400, 2), *[failed, same] * 200))
    assert events == []
    assert state.reports()[0].detection.drift.state == "level"


def test_a_rise_is_found_beside_replays_that_fail():
    """A tenth of the replays times out, which is no matter of how answers are rated: the rise counts."""
    timeout = altered(VERDICT, rating=None, failure=Failure(REPLAY, 1, "timeout"))
    calm, risen = trials(1_000, 20), trials(600, 7)
    verdicts = []
    for number, verdict in enumerate([*calm, *risen]):
        verdicts += [verdict, timeout] if number % 10 == 0 else [verdict]
    state, events = fold(log_of(*verdicts))
    assert "drift" in {event.what for event in events}
    assert state.reports()[0].detection.drift.state == "risen"


def test_a_change_of_the_model_closes_the_drift_of_its_route_and_of_no_other():
    """Another model has cells of its own, and the drift of one that answers no more is closed."""
    other = trials(200, 20, route="billing")
    resends = [altered(VERDICT, perturbation=BASELINE, control_rating=None, model=name) for name in "mn"]
    swap = [*[resends[0]] * 20, *[resends[1]] * 200]
    state, events = fold(log_of(*other, *trials(200, 20), *trials(80, 2), *swap))
    assert [(event.kind, event.route) for event in events] == [("raised", "chat"), ("resolved", "chat")]
    assert "m has not answered any of the last 200 sampled exchanges" in summary(events[1])
    drift = {report.key: report.detection.drift for report in state.reports()}
    assert drift[CellKey("chat", "m", "general.spelling")].state == "level"
    assert drift[CellKey("chat", "m", "general.spelling")].baseline == pytest.approx(0.05, abs=0.001)


def test_another_prompt_version_has_a_baseline_of_its_own():
    """The second one shifts ten times as often and is no drift; the first one finds its baseline again."""
    first = [altered(trial, prompt_version="v1") for trial in trials(300, 20)]
    second = [altered(trial, prompt_version="v2") for trial in trials(300, 2)]
    state, events = fold(log_of(*first, *second, *first))
    assert events == []
    assert state.reports()[0].detection.drift.baseline == 0.05


def test_a_drift_is_closed_when_its_prompts_come_no_more():
    """Raised under one prompt version; a hundred trials under another end it, without evidence."""
    before = [altered(trial, prompt_version="v1") for trial in (*trials(200, 20), *trials(80, 2))]
    after = [altered(trial, prompt_version="v2") for trial in trials(100, 2)]
    _, events = fold(log_of(*before, *after))
    assert [event.kind for event in events] == ["raised", "resolved"]
    assert events[1].offset == 380


def test_a_drift_is_noted_among_the_changes_of_its_route_and_goes_on():
    """Drift opens a record, but the baseline that it is held against stays."""
    state, events = fold(log_of(*trials(200, 20), *trials(80, 2)))
    assert [event.kind for event in events] == ["raised"]
    (record,) = state.change_records()
    assert (record.route, record.kinds) == ("chat", {"ratings"})
    assert record.marks[0].before == "general.spelling: shifted in 5%"
    (report,) = state.reports()
    assert report.detection.drift.state == "risen"


CELL = ApprovedCell(VERDICT.model, VERDICT.perturbation, 0.5, 0.4, 0.6, 300)


def approval(*cells, at=77.0, route=VERDICT.route, by="ann"):
    return Approval.of(route, cells or (CELL,), by=by, at=at)


def drift_of(state):
    (report,) = state.reports()
    assert report.detection.drift is not None
    return report.detection.drift


def test_an_approved_baseline_takes_the_place_of_the_provisional_one():
    """5 % at first; after an approval of 50 % every second trial is as it should be, and none is a fall."""
    state, events = fold(log_of(*trials(200, 20), approval(), *trials(300, 2)))
    assert events == []
    drift = drift_of(state)
    assert (drift.baseline, drift.trials, drift.provisional, drift.state) == (0.5, 300, False, "level")
    assert (drift.lower, drift.upper) == (0.45, 0.55)
    _, events = fold(
        [altered(entry, offset=1000 + entry.offset) for entry in log_of(*trials(300, 1000))], state
    )
    assert [(event.what, event.direction) for event in events] == [("drift", "fallen")]
    assert "50% in its approved 300 trials" in summary(events[0])


def test_an_approval_ends_a_drift_alert_once():
    """The event says who approved what; the cell is level and can drift again."""
    log = log_of(*trials(200, 20), *trials(300, 2), approval())
    state, events = fold(log)
    assert [(event.kind, event.what) for event in events] == [("raised", "drift"), ("resolved", "drift")]
    assert events[1].at == 77.0
    assert events[1].offset == 501
    assert "ann approved 50% in 300 trials" in summary(events[1])
    assert drift_of(state).state == "level"
    assert fold(log, state)[1] == []


def test_an_approval_holds_for_a_cell_whose_verdicts_are_gone():
    """A log that was trimmed still has the approval, which comes first then."""
    state, _ = fold(log_of(approval(), *trials(10, 20)))
    assert (drift_of(state).baseline, state.reports()[0].counts.trials) == (0.5, 10)


def test_an_approval_takes_no_place_of_a_model_beyond_the_limit():
    """An approval of another model is passed over where a route has all the models it may have."""
    one_model = altered(SETTINGS, max_models_per_route=1)
    state, _ = fold(log_of(*trials(3, 20), approval(altered(CELL, model="z"))), MonitorState(one_model))
    assert [report.key.model for report in state.reports()] == [VERDICT.model]


def test_a_monitor_comes_to_the_same_state_in_any_store_and_any_batches(backend):
    """Folded in batches of three with a restart after each, or cleanly: the same reports and events."""
    log = backend.verdicts()
    for number, trial in enumerate(trials(20, 4)):
        log.append(altered(trial, id=f"v{number}", exchange_id=f"e{number}"), None)
        if number in {5, 12}:
            log.note(approval(at=float(number)))

    def stored(name):
        return backend.monitor(name)

    while Monitor(log, stored("halting"), SETTINGS, batch=3).step():
        pass
    halting = Monitor(log, stored("halting"), SETTINGS)
    halting.step()
    clean, _ = fold(log.entries_after(0, 100))
    assert halting.reports() == clean.reports()
    assert drift_of(clean).baseline == 0.5


def test_what_can_be_approved_is_what_the_cell_was_since_the_last_change():
    """20 trials of which 5 shifted; below the least number of trials nothing."""
    state, _ = fold(log_of(*trials(20, 4)))
    ready, short = approvable(state.reports(), VERDICT.route)
    ((cell,), ()) = ready, short
    assert (cell.mean, cell.n) == (0.25, 20)
    assert cell.lower < 0.25 < cell.upper
    state, _ = fold(log_of(*trials(4, 4)))
    ready, (report,) = approvable(state.reports(), VERDICT.route)
    assert (ready, report.key.perturbation) == ([], VERDICT.perturbation)
    assert approvable(state.reports(), "elsewhere") == ([], [])
    assert approvable(state.reports(), VERDICT.route, model="z") == ([], [])
    assert approvable(state.reports(), VERDICT.route, perturbation="z") == ([], [])


def test_an_approval_survives_as_text_and_is_named_after_what_it_says():
    """The same approval has the same id, another time another one; order of cells does not matter."""
    other = altered(CELL, perturbation="general.aaa", mean=1 / 3, lower=0.1, upper=0.7)
    one = approval(CELL, other)
    assert from_json(to_json(one), Approval) == one
    assert one == approval(other, CELL)
    assert one.cells == (other, CELL)
    assert one.id != approval(CELL, other, at=78.0).id


@pytest.mark.parametrize(
    ("making", "said"),
    [
        (lambda: approval(by=" "), "name of who approves"),
        (lambda: Approval.of("desk", (), by="ann", at=1.0), "no cell"),
        (lambda: altered(CELL, lower=0.55), "lower ≤ mean"),
        (lambda: altered(CELL, n=0), "a trial"),
    ],
)
def test_what_is_no_approval_is_refused(making, said):
    with pytest.raises(ApprovalError, match=said):
        making()


def test_an_alert_leads_to_the_verdicts_of_its_run(on_sqlite):
    """30 trials as the resend, then all shift: the run is those, newest first.

    The deciding verdict, which comes first, is named in the event with its trace.
    """
    log = on_sqlite.verdicts()
    for number in range(60):
        own = {"exchange_id": f"e{number}", "trace_id": f"{number:032x}"}
        shifted = {"rating": 1 if number >= 30 else 3, "control_rating": 3}
        log.append(altered(VERDICT, id=f"v{number}", **shifted, **own), None)
        log.append(altered(VERDICT, id=f"resend{number}", perturbation=BASELINE, rating=3, **own), None)
        log.append(altered(VERDICT, id=f"other{number}", model="z", rating=3, control_rating=3, **own), None)
    _, (event,) = fold(read_after(log, 0, 10_000))
    behind = verdicts_behind(log, event)
    last = event.run_trials + 29
    assert [entry.verdict.id for entry in behind] == [f"v{number}" for number in range(last, 29, -1)]
    assert (event.verdict, event.trace_id) == (f"v{last}", f"{last:032x}")
    models = {entry.verdict.model for entry in verdicts_behind(log, altered(event, model=OTHER_MODEL))}
    assert models == {VERDICT.model, "z"}
    assert verdicts_behind(log, altered(event, offset=0)) == []
