"""From an alert to the verdicts behind it."""

from __future__ import annotations

from dataclasses import replace

from evenkeel.console.alerts import verdicts_behind
from evenkeel.core.verdict import BASELINE
from evenkeel.monitor.fold import OTHER_MODEL, MonitorSettings, MonitorState
from evenkeel.stores.sqlite.database import Database
from evenkeel.stores.sqlite.verdicts import SqliteVerdictLog
from tests.monitor.planted_verdicts import VERDICT

SETTINGS = MonitorSettings(threshold=0.1, mean_trials_between_false_alarms=1000, min_trials=5)


def raised(log):
    """The event that a fold of the log raises."""
    state = MonitorState(SETTINGS)
    (event,) = [event for logged in log.read_after(0, 10_000) for event in state.apply(logged).events]
    return event


def test_an_alert_leads_to_the_verdicts_of_its_run(tmp_path):
    """30 trials as the resend, then all shift: the run is those, newest first, without what is no pair of it.

    The deciding verdict, which comes first, is named in the event with its trace.
    """
    database = Database(tmp_path / "evenkeel.db")
    log = SqliteVerdictLog(database)
    for number in range(60):
        own = {"exchange_id": f"e{number}", "trace_id": f"{number:032x}"}
        shifted = {"rating": 1 if number >= 30 else 3, "baseline_rating": 3}
        log.append(replace(VERDICT, id=f"v{number}", **shifted, **own), None)
        log.append(replace(VERDICT, id=f"resend{number}", perturbation=BASELINE, rating=3, **own), None)
        log.append(replace(VERDICT, id=f"other{number}", model="z", rating=3, baseline_rating=3, **own), None)
        log.append(replace(VERDICT, id=f"lone{number}", rating=1, baseline_rating=None, **own), None)
    event = raised(log)
    behind = verdicts_behind(log, event)
    last = event.run_trials + 29
    assert [one.verdict.id for one in behind] == [f"v{number}" for number in range(last, 29, -1)]
    assert (event.verdict, event.trace_id) == (f"v{last}", f"{last:032x}")
    assert [one.verdict.id for one in verdicts_behind(log, event, most=2)] == [f"v{last}", f"v{last - 1}"]
    models = {one.verdict.model for one in verdicts_behind(log, replace(event, model=OTHER_MODEL))}
    assert models == {VERDICT.model, "z"}
    assert verdicts_behind(log, replace(event, offset=0)) == []
    database.close()
