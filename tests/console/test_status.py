from __future__ import annotations

from dataclasses import replace

from evenkeel.console import PipelineView
from evenkeel.console.status import status
from evenkeel.core.cells import CellKey, DriftReport, Estimate
from evenkeel.stores.monitor_state import AlertEvent
from tests.console.whole_scene import change_report

NOW = 1_786_544_400.0
VIEW = PipelineView(base_url="http://127.0.0.1:8080/v1")


def _event(kind, at, perturbation="general.spelling"):
    return AlertEvent(f"{kind}{at}", at, kind, "summaries", "swift", perturbation, 1, 40, 0.3, "")


def _alerting(make_cell, perturbation="general.spelling", **changes):
    report = make_cell("summaries", "swift", perturbation, alert=True, **changes)
    return replace(report, excess=Estimate(0.31, 0.24, 0.38, 214))


def test_no_cells_means_waiting_for_traffic():
    """An empty store is not "steady"."""
    assert status([], [], VIEW, NOW).state == "empty"


def test_too_few_trials_mean_collecting(make_cell):
    """Without a single number nothing is called steady; the furthest cell's progress is told."""
    found = status([make_cell("r", "m", "general.casing", trials=12)], [], VIEW, NOW)
    assert found.state == "collecting"
    assert "12 of the 30 trials" in found.summary


def test_a_cell_that_only_fails_is_not_an_empty_page(make_cell):
    """Trials without a rating are evidence of traffic."""
    report = replace(make_cell("r", "m", "general.casing", trials=0), failures={"timeout": 9})
    assert status([report], [], VIEW, NOW).state == "collecting"


def test_while_no_trial_is_rated_the_reasons_stand_there(make_cell):
    """Nobody is told to wait for numbers that cannot come; refused replays name the variable of their key."""
    cell = make_cell("r", "m", "general.casing", trials=0)
    reports = [
        replace(cell, failures={"unauthorized": 2, "timeout": 9}),
        replace(cell, failures={"unauthorized": 1}),
    ]
    found = status(reports, [], VIEW, NOW).summary
    assert found.startswith("No trial could be rated yet: 9 timeout, 3 unauthorized.")
    assert "EVENKEEL_SHADOW_API_KEY" in found
    assert "EVENKEEL_SHADOW" not in status([replace(cell, failures={"timeout": 9})], [], VIEW, NOW).summary
    judge = replace(VIEW, notices=("The judge has no key.",))
    assert "EVENKEEL_SHADOW" not in status(reports, [], judge, NOW).summary


def test_steady_names_the_cell_nearest_to_an_alert(make_cell):
    """The largest excess is told with the limit it has to be seen against."""
    reports = [
        make_cell("a", "m", "general.casing", moved=0.05),
        make_cell("b", "m", "general.spelling", moved=0.10),
    ]
    found = status(reports, [], VIEW, NOW)
    assert found.state == "steady"
    assert found.summary.replace("\u202f", " ").replace("\u00a0", " ") == (
        "2 cells watched on 2 routes. Largest: 6 [3, 9] points above noise in 214 trials "
        "for misspellings on b (allowed 10). Last trial 14:19 UTC."
    )


def test_alert_says_what_where_since_when_and_how_much(make_cell):
    """One line holds all a tired operator needs."""
    found = status([_alerting(make_cell)], [_event("raised", NOW - 1020)], VIEW, NOW)
    (headline,) = found.headlines
    assert (headline.model, headline.route, headline.changes) == ("swift", "summaries", "misspellings")
    (line,) = found.alerts
    assert (line.since, line.report.excess.value) == (NOW - 1020, 0.31)
    assert found.title.startswith("▲ 1 alert")
    assert "shortly before 14:03 UTC" in " ".join(found.steps)


def test_the_change_before_an_alert_is_linked(make_cell):
    """On its route and before it was raised; nothing is blamed for what came later or happened elsewhere."""
    event = _event("raised", NOW - 1020)
    change = change_report("summaries", NOW)
    behind = status([_alerting(make_cell)], [event], VIEW, NOW, [change]).behind
    assert behind is change
    for other in (change_report("chat", NOW), replace(change, at=NOW - 60)):
        assert status([_alerting(make_cell)], [event], VIEW, NOW, [other]).behind is None


def test_cells_of_one_model_share_a_headline(make_cell):
    """Two alerting perturbations are one sentence and two lines."""
    reports = [_alerting(make_cell), _alerting(make_cell, "general.casing")]
    found = status(reports, [], VIEW, NOW)
    assert [line.changes for line in found.headlines] == ["misspellings and different capitalisation"]
    assert len(found.alerts) == 2
    assert found.alerts[0].since is None


def test_an_alert_raised_anew_counts_from_its_latest_raising(make_cell):
    """Events come newest first; an older raising before a resolution does not count."""
    events = [_event("raised", NOW - 60), _event("resolved", NOW - 600), _event("raised", NOW - 6000)]
    assert status([_alerting(make_cell)], events, VIEW, NOW).alerts[0].since == NOW - 60


def test_a_model_swap_is_named_in_the_next_steps(make_cell):
    """If another model answered on the route before, that is the first suspicion."""
    before = make_cell("summaries", "steady", "general.spelling", at=NOW - 1500, moved=0.06)
    found = status([_alerting(make_cell), before], [], VIEW, NOW)
    assert "steady answered on summaries until 13:55 UTC, 2 points above noise" in " ".join(found.steps)


def test_one_alert_that_can_be_explained_explains_those_of_its_route(make_cell):
    """A change or a swap shows in any of them; an alert of another route says nothing about the first."""
    unknown = replace(_alerting(make_cell, "general.tone"), excess=Estimate(0.5, 0.4, 0.6, 90))
    before = make_cell("summaries", "steady", "general.spelling", at=NOW - 1500, moved=0.06)
    event, change = _event("raised", NOW - 1020), change_report("summaries", NOW)
    found = status([unknown, _alerting(make_cell), before], [event], VIEW, NOW, [change])
    assert found.alerts[0].report is unknown
    assert found.behind is change
    assert "steady answered on summaries" in " ".join(found.steps)
    elsewhere = replace(unknown, key=CellKey("chat", "swift", "general.tone"))
    found = status([elsewhere, _alerting(make_cell), before], [event], VIEW, NOW, [change])
    assert found.behind is None
    assert "Find what changed on chat" in " ".join(found.steps)


def test_an_alert_of_a_model_that_fell_silent_stays_an_alert(make_cell):
    """A rarely called model may only look retired; its alert comes last but is not hidden."""
    gone = replace(_alerting(make_cell), last_scored_at=NOW - 1500)
    other = replace(
        make_cell("summaries", "new", "general.casing", alert=True), excess=Estimate(0.2, 0.1, 0.3, 40)
    )
    found = status([gone, other], [], VIEW, NOW)
    assert found.state == "alert"
    assert [(line.report.key.model, line.retired) for line in found.alerts] == [
        ("new", False),
        ("swift", True),
    ]


def test_a_stuck_queue_is_said_aloud(make_cell):
    """Silence must not look like health."""
    view = replace(VIEW, oldest_s=600.0, notices=("x",))
    notices = status([make_cell("r", "m", "general.casing")], [], view, NOW).notices
    assert notices[0] == "x"
    assert "oldest exchange has waited 10 min" in notices[1]


def test_what_is_read_aloud_holds_no_time(make_cell):
    """A screen reader hears of an alert once, not again each minute."""
    early = status([_alerting(make_cell)], [_event("raised", NOW - 60)], VIEW, NOW)
    later = status([_alerting(make_cell)], [_event("raised", NOW - 60)], VIEW, NOW + 600)
    assert early.announcement == later.announcement
    assert "swift" in early.announcement


def test_cells_that_left_their_baseline_are_a_notice_for_each_route_and_model(make_cell):
    """Risen ones first; what is level is not mentioned, and nothing of it is an alert."""

    def drifting(route, perturbation, state):
        drift = DriftReport(state, 0.05, 500, provisional=True, lower=0.0, upper=0.12, evidence_log10=4.0)
        return replace(make_cell(route, "swift", perturbation), drift=drift)

    found = status(
        [
            drifting("orders", "general.casing", "fallen"),
            drifting("summaries", "general.spelling", "risen"),
            drifting("summaries", "general.casing", "risen"),
            drifting("quiet", "general.casing", "level"),
        ],
        [],
        VIEW,
        NOW,
    )
    assert found.state == "steady"
    risen, fallen = (notice.replace("\u202f", " ") for notice in found.notices)
    assert risen == (
        "Answers of swift on summaries shift more often than they did, under misspellings and "
        "different capitalisation: 5 % in the first 500 trials of misspellings, now beyond 12 %. "
        "Check what changed there."
    )
    assert fallen.startswith("Answers of swift on orders shift less often")
    assert "now below 0 %" in fallen


def test_the_since_of_an_alert_is_not_that_of_a_drift(make_cell):
    """A cell may have both; the line of the alert tells its own time."""
    drift = replace(_event("raised", NOW - 60), what="drift", direction="risen")
    found = status([_alerting(make_cell)], [drift, _event("raised", NOW - 1020)], VIEW, NOW)
    assert found.alerts[0].since == NOW - 1020


def _changed(kind="raised", measure="references", change="aa", route="chat"):
    return AlertEvent(
        f"{kind}{measure}{change}", NOW, kind, route, "gpt-4o", "", 9, 20, None,
        f"gpt-4o on {route} answers differently.", what="change", measure=measure, change=change,
        incident="aa",
    )  # fmt: skip


def test_an_open_change_of_the_provider_is_not_steady(make_cell):
    """It says whose and where, and that the provider may have done it; over, the page is steady again."""
    steady = make_cell("chat", "gpt-4o", "general.casing")
    found = status([steady], [_changed(change="bb", route="billing"), _changed()], VIEW, NOW)
    assert (found.state, found.title) == ("changed", "Changed: provider? · evenkeel")
    assert [event.route for event in found.changed] == ["billing", "chat"]
    assert found.announcement == "Changed: gpt-4o on route billing; gpt-4o on route chat"
    assert found.steps[0].startswith("Read the report")
    assert status([steady], [_changed("resolved"), _changed()], VIEW, NOW).state == "steady"
    assert status([], [_changed()], VIEW, NOW).state == "changed"


def test_a_suspicion_without_references_says_what_would_settle_it(make_cell):
    """Nothing convicts the provider then."""
    found = status([make_cell("chat", "m", "general.casing")], [_changed(measure="traits")], VIEW, NOW)
    assert "references.calls_per_day" in found.steps[0]


def test_beside_an_alert_a_change_is_a_notice(make_cell):
    """The alert stays the headline."""
    found = status([_alerting(make_cell)], [_changed()], VIEW, NOW)
    assert found.state == "alert"
    assert "gpt-4o on chat answers differently." in found.notices
