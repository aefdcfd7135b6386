"""Incidents: which alerts belong to one, and when it is over."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evenkeel.core.incidents import Decision
from evenkeel.core.verdict import BASELINE, Verdict
from evenkeel.monitor.fold import MonitorSettings, MonitorState
from evenkeel.monitor.incidents import incidents_of
from evenkeel.monitor.notify.notices import over_line
from evenkeel.stores.verdict_log import logged
from tests.monitor.planted_verdicts import VERDICT

SETTINGS = MonitorSettings(threshold=0.1, mean_trials_between_false_alarms=500, min_trials=5)
KINDS = ("general.spelling", "general.tone")


class Log:
    """A verdict log in the making, and what its fold says."""

    def __init__(self, state: MonitorState | None = None) -> None:
        self.state = state or MonitorState(SETTINGS)
        self.events = []
        self.place = 0
        self.late_s = 0.0

    def add(self, entry) -> None:
        """One more entry."""
        self.place += 1
        if isinstance(entry, Verdict):
            entry = replace(entry, id=f"v{self.place}", scored_at=10.0 * self.place - self.late_s)
        self.events += self.state.apply(logged(self.place, entry)).events

    def answers(self, count: int, model: str, broken=(), route: str = "chat", **said) -> None:
        """So many exchanges: the resend is like the original, the broken rewordings never are."""
        for number in range(count):
            exchange = f"{route}-{self.place}-{number}"
            own = {"model": model, "route": route, "exchange_id": exchange, **said}
            self.add(replace(VERDICT, perturbation=BASELINE, rating=3, baseline_rating=None, **own))
            for kind in KINDS:
                rating = 1 if kind in broken else 3
                self.add(replace(VERDICT, perturbation=kind, rating=rating, baseline_rating=3, **own))

    def decide(self, decided: str, incident: str | None = None, route: str = "chat") -> None:
        """A person's decision about an incident, by default the only one."""
        name = incident or self.incidents()[0].id
        self.add(Decision.of(name, decided, route=route, by="ana", at=10.0 * self.place, note="seen"))

    def incidents(self):
        """What the events tell of."""
        return incidents_of(self.events)


@pytest.fixture
def log():
    return Log()


def swapped(log: Log) -> None:
    """A good model, and then another one that breaks under both rewordings."""
    log.answers(60, "m1")
    log.answers(60, "m2", broken=KINDS)


def test_the_alerts_after_a_swap_are_one_incident(log):
    """Both rewordings alert, and the incident names the swap."""
    swapped(log)
    (incident,) = log.incidents()
    assert (incident.state, incident.effect, incident.severity) == ("open", "fragile", "critical")
    assert {part.raised.perturbation for part in incident.up} == set(KINDS)
    assert [(mark.kind, mark.before, mark.after) for mark in incident.stated] == [("model", "m1", "m2")]
    assert incident.id == incident.change != ""
    assert all(part.raised.value == pytest.approx(1.0) for part in incident.up)


def test_a_swap_that_is_reversed_ends_it(log):
    """Forty exchanges of the old model and none of the new one: the alerts of the new one are over."""
    swapped(log)
    log.answers(39, "m1")
    assert log.incidents()[0].state == "open"
    log.answers(1, "m1")
    (incident,) = log.incidents()
    assert (incident.state, incident.ending) == ("resolved", "reversed")
    assert not any(report.alert for report in log.state.reports())


def test_a_stray_answer_of_the_new_model_keeps_it_open(log):
    """While the new model answers now and then, the change is not reversed."""
    swapped(log)
    for _ in range(3):
        log.answers(30, "m1")
        log.answers(1, "m2", broken=KINDS)
    assert log.incidents()[0].state == "open"


def test_a_model_that_is_retired_ends_it(log):
    """A third model took over: after 200 exchanges without the second its alerts are over."""
    swapped(log)
    log.answers(201, "m3")
    (incident,) = log.incidents()
    assert (incident.state, incident.ending) == ("resolved", "retired")


def test_a_prompt_that_is_rolled_back_ends_it_though_the_model_is_the_same(log):
    """The evidence was about another prompt, so it is forgotten with it."""
    log.answers(60, "m1", prompt_version="p1")
    log.answers(60, "m1", broken=KINDS, prompt_version="p2")
    log.answers(40, "m1", prompt_version="p1")
    (incident,) = log.incidents()
    assert (incident.state, incident.ending) == ("resolved", "reversed")
    assert not any(report.alert for report in log.state.reports())


def test_evidence_ends_it_where_the_new_model_was_mended(log):
    """The same model answers well again for long enough."""
    swapped(log)
    log.answers(400, "m2")
    (incident,) = log.incidents()
    assert (incident.state, incident.ending) == ("resolved", "recovered")


def test_what_comes_back_goes_on_in_the_same_incident(log):
    """Recovered, and fragile again: reopened, not a second one."""
    swapped(log)
    log.answers(400, "m2")
    log.answers(60, "m2", broken=KINDS)
    (incident,) = log.incidents()
    assert (incident.state, incident.reopened) == ("open", 1)


def test_alerts_without_a_change_are_one_incident_of_the_route(log):
    """Nothing was noticed before them."""
    log.answers(60, "m1")
    log.answers(60, "m1", broken=KINDS)
    (incident,) = log.incidents()
    assert incident.stated == ()
    assert {part.raised.perturbation for part in incident.up} == set(KINDS)


def test_a_change_after_a_reversed_one_is_an_incident_of_its_own(log):
    """The old model turns fragile later: the change that was reversed did not do that."""
    swapped(log)
    log.answers(60, "m1")
    log.answers(60, "m1", broken=KINDS)
    newest, reversed_ = log.incidents()
    assert (newest.state, newest.stated, reversed_.state) == ("open", (), "resolved")


def test_eight_routes_are_eight_incidents(log):
    """An incident is of a route."""
    for number in range(8):
        log.answers(60, "m1", route=f"r{number}")
    for number in range(8):
        log.answers(60, "m2", broken=KINDS, route=f"r{number}")
    found = log.incidents()
    assert sorted(incident.routes for incident in found) == [[f"r{number}"] for number in range(8)]


def test_two_changes_within_a_minute_are_one_incident(log):
    """A model and a prompt that change together are one change."""
    log.answers(60, "m1", prompt_version="p1")
    log.answers(3, "m2", broken=KINDS, prompt_version="p1")
    log.answers(60, "m2", broken=KINDS, prompt_version="p2")
    (incident,) = log.incidents()
    assert {mark.kind for mark in incident.stated} == {"model", "prompt_version"}


def test_a_cause_that_is_noticed_after_the_alert_is_that_of_the_incident():
    """Seven fragile answers raise it, the twelfth of the new model is a change, and so is a new prompt."""
    log = Log(MonitorState(replace(SETTINGS, mean_trials_between_false_alarms=5)))
    log.answers(60, "m1", prompt_version="p1")
    noticed = []
    for prompt, count in (("p1", 7), ("p1", 5), ("p2", 16)):
        log.answers(count, "m2", broken=KINDS, prompt_version=prompt)
        incident = log.incidents()[0]
        noticed.append((incident.state, [mark.after for mark in incident.stated]))
    assert noticed == [("open", []), ("open", ["m2"]), ("open", ["m2", "p2"])]
    log.answers(40, "m1", prompt_version="p1")
    incident = log.incidents()[0]
    assert (incident.state, incident.ending) == ("resolved", "reversed")


def test_an_acknowledged_incident_is_open(log):
    """Somebody looks at it."""
    swapped(log)
    log.decide("acknowledged")
    (incident,) = log.incidents()
    assert (incident.state, incident.acknowledged_by, incident.note) == ("acknowledged", "ana", "seen")


@pytest.mark.parametrize("decided", ["accepted", "false_alarm"])
def test_what_a_person_closed_stays_closed(log, decided):
    """One more alert of the same change reopens nothing."""
    log.answers(60, "m1")
    log.answers(60, "m2", broken=KINDS[:1])
    log.decide(decided)
    log.answers(60, "m2", broken=KINDS)
    (incident,) = log.incidents()
    assert (incident.state, incident.ending, incident.decided_by) == ("resolved", decided, "ana")
    assert {part.raised.perturbation for part in incident.up} == set(KINDS)


def test_what_was_not_rolled_back_is_reopened(log):
    """A hundred exchanges of the new model after somebody said that it was gone."""
    swapped(log)
    log.decide("rolled_back")
    log.answers(99, "m2", broken=KINDS)
    assert log.incidents()[0].state == "resolved"
    log.answers(1, "m2", broken=KINDS)
    (incident,) = log.incidents()
    assert (incident.state, incident.reopened) == ("open", 1)
    assert "m2 still answers" in incident.note


def test_of_two_decisions_at_once_the_last_one_counts(log):
    """Both are events, with who decided; the incident stays closed."""
    swapped(log)
    name = log.incidents()[0].id
    for by, said in (("ana", "rolled_back"), ("ben", "false_alarm")):
        log.add(Decision.of(name, said, route="chat", by=by, at=10.0 * log.place))
    (incident,) = log.incidents()
    assert (incident.state, incident.ending, incident.decided_by) == ("resolved", "false_alarm", "ben")
    assert [event.by for event in log.events[-2:]] == ["ana", "ben"]


def test_an_acknowledgement_of_what_is_over_reopens_nothing(log):
    """Somebody pressed the button of a page that was old."""
    swapped(log)
    log.answers(40, "m1")
    log.decide("acknowledged")
    (incident,) = log.incidents()
    assert (incident.state, incident.ending) == ("resolved", "reversed")


def test_a_route_without_traffic_keeps_its_incident_until_somebody_closes_it(log):
    """As one that was removed from the settings: nothing says that its answers are well again."""
    swapped(log)
    log.answers(300, "m1", route="other")
    assert log.incidents()[0].state == "open"
    log.decide("accepted")
    assert log.incidents()[0].state == "resolved"


def test_a_clock_that_steps_back_keeps_no_incident_open(log):
    """A day earlier, the rollback still ends it, after no time at all."""
    swapped(log)
    log.late_s = 86_400.0
    log.answers(40, "m1")
    (incident,) = log.incidents()
    assert (incident.state, incident.ending) == ("resolved", "reversed")
    assert over_line(incident) == "chat: over after 0 s, the change was reversed (m1 → m2)."


def test_a_decision_about_what_is_not_known_says_nothing(log):
    """As one about an incident of before the log begins."""
    swapped(log)
    before = len(log.events)
    log.decide("accepted", "unknown")
    assert len(log.events) == before


def test_a_checkpoint_knows_its_incidents(log):
    """Restored in the middle, the fold says the same."""
    swapped(log)
    log.answers(20, "m1")
    twin = Log(MonitorState.from_bytes(log.state.to_bytes(), SETTINGS))
    twin.place = log.place
    for one in (log, twin):
        one.answers(20, "m1")
    assert twin.events == log.events[-len(twin.events) :] != []
    assert twin.state.to_bytes() == log.state.to_bytes()


def test_events_whose_beginning_is_gone_are_no_incident(log):
    """The store keeps the newest events only."""
    swapped(log)
    log.answers(40, "m1")
    assert incidents_of(log.events[-1:]) == []
