from __future__ import annotations

from dataclasses import replace

import pytest

from evenkeel.console.alerts import alerts_page, alerts_table, explanation
from evenkeel.core.cells import ChangeMark, DriftReport
from evenkeel.monitor.changes import ChangeRecord, kinds
from evenkeel.monitor.changes.record import Tally
from evenkeel.monitor.changes.silent_report import silent_side
from evenkeel.monitor.incidents import verdicts_behind
from evenkeel.stores.monitor_state import AlertEvent
from tests.console.whole_scene import change_report
from tests.monitor.changes.silent_evidence import suspected

NOW = 1_786_544_400.0
SUSPECTED = silent_side(
    [
        ChangeRecord(
            "s", "shop", (ChangeMark(kinds.TRAITS, "", "", NOW, 1),), Tally(), Tally(), 0, suspected(NOW)
        )
    ]
)


def event(kind, at, *, route="shop", perturbation="general.spelling", what="excess", direction=""):
    return AlertEvent(
        f"{kind}-{at}", at, kind, route, "m-1", perturbation, 1, 40, 0.3, "", what=what, direction=direction
    )


@pytest.fixture
def alerting(make_cell):
    """One cell that alerts."""
    return make_cell("shop", "m-1", "general.spelling", moved=0.4, alert=True, at=NOW)


def test_a_firing_alert_says_what_where_since_and_how_much(alerting):
    """The newest raising of the cell is when it began."""
    events = [event("raised", NOW - 600), event("resolved", NOW - 900), event("raised", NOW - 1500)]
    (alert,) = alerts_page([alerting], events, (), NOW).firing
    assert (alert.kind, alert.route, alert.model) == ("excess", "shop", "m-1")
    assert alert.what == "Answers change under misspellings"
    assert (alert.since, alert.lasts(NOW), alert.until) == (NOW - 600, "10 min", None)
    assert alert.value.startswith("36 [")
    assert alert.evidence_href == "/trials?route=shop&model=m-1&perturbation=general.spelling&rating=shifted"
    assert alert.runbook_href == "/docs/runbooks/EvenkeelIncident"


def test_an_alert_older_than_the_history_fires_without_a_time(alerting):
    """Nothing is invented where the raising is no longer kept."""
    (alert,) = alerts_page([alerting], [], (), NOW).firing
    assert (alert.since, alert.lasts(NOW), alert.change) == (None, "", None)


def test_a_resolved_alert_is_paired_with_its_own_raising(alerting):
    """Events of another cell, or of another kind of alert of the same cell, are not taken for it."""
    events = [
        event("resolved", NOW - 100),
        event("raised", NOW - 150, what="drift", direction="risen"),
        event("raised", NOW - 200, perturbation="general.casing"),
        event("raised", NOW - 7300),
    ]
    page = alerts_page([replace(alerting, alert=False)], events, (), NOW)
    assert page.firing == []
    (past,) = page.past
    assert (past.since, past.until, past.lasts(NOW)) == (NOW - 7300, NOW - 100, "2 h")
    assert page.title == "Alerts · evenkeel"
    assert not page.alert


def test_a_drift_fires_with_its_direction(alerting):
    """Answers that shift more often than they did are told from those that shift less."""
    drift = DriftReport("fallen", 0.2, 500, True, 0.1, 0.3, 3.0)
    report = replace(alerting, alert=False, drift=drift)
    (alert,) = alerts_page([report], [], (), NOW).firing
    assert alert.kind == "drift"
    assert "less often than they did" in alert.what
    assert alert.runbook_href.endswith("EvenkeelIncident")


def test_the_newest_change_that_made_answers_worse_fires(alerting):
    """Only the last change of a route counts: an older one has been followed by another."""
    worse = change_report("shop", NOW)
    fine = replace(worse, id="c-8", at=NOW - 60, effect="none_seen")
    assert alerts_page([], [], [worse], NOW).firing[0].kind == "change"
    assert alerts_page([], [], [fine, worse], NOW).firing == []
    assert alerts_page([], [], [replace(worse, at=NOW - 90_000)], NOW).firing == []


@pytest.mark.parametrize(
    ("route", "raised_at", "found"),
    [
        ("shop", NOW - 1400, True),  # 100 s after the change
        ("shop", NOW - 1530, True),  # 30 s before it: both orders of scoring happen
        ("shop", NOW - 1700, False),
        ("shop", NOW - 1500 + 8 * 86_400, False),
        ("chat", NOW - 1400, False),
        ("shop", None, False),
    ],
)
def test_a_change_explains_the_alerts_after_it(route, raised_at, found):
    """On its own route, from a minute before it to a week after."""
    assert (explanation([change_report("shop", NOW)], route, raised_at) is not None) == found


def test_the_file_lists_firing_alerts_first(alerting):
    """State, times in seconds and the figures with plain spaces."""
    events = [event("resolved", NOW - 50, perturbation="general.casing"), event("raised", NOW - 600)]
    table = alerts_table(alerts_page([alerting], events, (), NOW))
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    assert [row["state"] for row in rows] == ["firing", "over"]
    assert rows[0]["since"] == NOW - 600
    assert rows[1]["until"] == NOW - 50
    assert "\u202f" not in rows[0]["measured"]


def changed(kind, at, *, change="aa", measure="references"):
    """A change that nobody announced, found or over."""
    return AlertEvent(
        f"{kind}{at}", at, kind, "shop", "gpt-4o", "", 1, 20, None, "What happened.", what="change",
        measure=measure, change=change, incident="aa",
    )  # fmt: skip


def test_a_silent_change_fires_until_it_is_over():
    """With its report if there is one, else by what the event says."""
    report = replace(change_report("shop", NOW), id="aa", effect="none_seen")
    raised = changed("raised", NOW - 60)
    (alert,) = alerts_page([], [raised], [report], NOW).firing
    assert (alert.kind, alert.change.id) == ("change", "aa")
    (alert,) = alerts_page([], [raised], [], NOW).firing
    assert (alert.what, alert.value, alert.since) == ("gpt-4o answers differently", "What happened", NOW - 60)
    assert alert.runbook == "EvenkeelIncident"
    page = alerts_page(
        [], [changed("resolved", NOW), raised, changed("raised", NOW - 90, measure="traits")], [], NOW
    )
    assert page.firing == []
    (past,) = page.past
    assert (past.kind, past.what, past.since, past.until) == (
        "change",
        "gpt-4o may have answered differently",
        NOW - 90,
        NOW,
    )


def test_a_suspicion_hides_no_change_that_fires():
    """It is newer, but alarms nobody."""
    worse = change_report("shop", NOW)
    newer = replace(worse, id="s", at=NOW, effect="unknown", silent=SUSPECTED)
    assert [one.change for one in alerts_page([], [], [newer, worse], NOW).firing] == [worse]


def test_an_alert_on_a_silent_change_has_no_verdicts_behind_it():
    """It rests on answers and references: no log is searched, and none is needed."""
    assert verdicts_behind(None, changed("raised", NOW)) == []
