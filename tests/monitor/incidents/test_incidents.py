"""Incidents: which alerts belong to one, and when it is over."""

import pytest

from evenkeel.core.incidents import Decision
from evenkeel.core.verdict import BASELINE, Verdict
from evenkeel.monitor.fold import MonitorSettings, MonitorState
from evenkeel.monitor.notify import summary
from evenkeel.monitor.notify.notices import Writer, headline, resolved_line
from evenkeel.stores.verdict_log import logged
from tests.kit.records import altered
from tests.monitor.planted_verdicts import VERDICT

SETTINGS = MonitorSettings(threshold=0.1, mean_trials_between_false_alarms=500, min_trials=5)
KINDS = ("general.spelling", "general.tone")


class Log:
    """A verdict log in the making, and what its fold says."""

    def __init__(self, state=None):
        self.state = state or MonitorState(SETTINGS)
        self.events = []
        self.place = 0
        self.late_s = 0.0

    def add(self, entry):
        """Take one more entry."""
        self.place += 1
        if isinstance(entry, Verdict):
            entry = altered(entry, id=f"v{self.place}", scored_at=10.0 * self.place - self.late_s)
        self.events += self.state.apply(logged(self.place, entry)).events

    def answers(self, count, model, broken=(), route="chat", **said):
        """Take so many exchanges: the resend is like the original, the broken rewordings never are."""
        for number in range(count):
            exchange = f"{route}-{self.place}-{number}"
            own = {"model": model, "route": route, "exchange_id": exchange, **said}
            self.add(altered(VERDICT, perturbation=BASELINE, rating=3, control_rating=None, **own))
            for kind in KINDS:
                rating = 1 if kind in broken else 3
                self.add(altered(VERDICT, perturbation=kind, rating=rating, control_rating=3, **own))

    def decide(self, decided, incident=None, route="chat"):
        """A person's decision about an incident, by default the only one."""
        name = incident or self.incidents()[0].id
        self.add(Decision.of(name, decided, route=route, by="ana", at=10.0 * self.place, note="seen"))

    def incidents(self):
        """The records of the fold."""
        return self.state.incidents()


@pytest.fixture
def log():
    return Log()


def swapped(log):
    """A good model, and then another one that breaks under both rewordings."""
    log.answers(60, "m1")
    log.answers(60, "m2", broken=KINDS)


@pytest.mark.parametrize(("before", "from_the_start"), [(0, True), (9, True), (10, False), (60, False)])
def test_answers_that_were_never_seen_otherwise_did_not_become_so(log, before, from_the_start):
    """Nobody knows with fewer than ten trials before it, and a message says no more than that."""
    log.answers(before, "m1")
    log.answers(60, "m1", broken=KINDS)
    (incident,) = log.incidents()
    assert incident.from_the_start == incident.to_json()["from_the_start"] == from_the_start
    assert ("have been fragile since measuring began" in headline(incident)) == from_the_start
    assert ("became fragile at" in headline(incident)) != from_the_start
    facts = " ".join(Writer().facts(incident))
    assert ("How they were before that is not known." in facts) == from_the_start


def test_a_swap_that_is_reversed_ends_it(log):
    """Forty exchanges of the old model and none of the new one: the alerts of the new one are over."""
    swapped(log)
    log.answers(39, "m1")
    assert log.incidents()[0].state == "open"
    log.answers(1, "m1")
    (incident,) = log.incidents()
    assert (incident.state, incident.ending) == ("resolved", "reversed")
    assert not any(report.detection.alert for report in log.state.reports())


def test_a_stray_answer_of_the_new_model_keeps_it_open(log):
    swapped(log)
    for _ in range(3):
        log.answers(30, "m1")
        log.answers(1, "m2", broken=KINDS)
    assert log.incidents()[0].state == "open"


def test_a_prompt_that_is_rolled_back_ends_it_though_the_model_is_the_same(log):
    """The evidence was about another prompt, so it is forgotten with it."""
    log.answers(60, "m1", prompt_version="p1")
    log.answers(60, "m1", broken=KINDS, prompt_version="p2")
    log.answers(40, "m1", prompt_version="p1")
    (incident,) = log.incidents()
    assert (incident.state, incident.ending) == ("resolved", "reversed")
    assert not any(report.detection.alert for report in log.state.reports())


def test_what_comes_back_goes_on_in_the_same_incident(log):
    """Recovered, as the same model answered well for long enough, and fragile again: reopened."""
    swapped(log)
    log.answers(400, "m2")
    (incident,) = log.incidents()
    assert (incident.state, incident.ending) == ("resolved", "recovered")
    log.answers(400, "m2", broken=KINDS)
    (incident,) = log.incidents()
    assert (incident.state, incident.reopened) == ("open", 1)


def test_a_change_after_a_reversed_one_is_an_incident_of_its_own(log):
    """The old model turns fragile later: the change that was reversed did not do that."""
    swapped(log)
    log.answers(60, "m1")
    log.answers(60, "m1", broken=KINDS)
    newest, reversed_ = log.incidents()
    assert (newest.state, newest.stated, reversed_.state) == ("open", (), "resolved")


def test_a_swap_does_not_explain_what_the_old_model_did_minutes_before(log):
    """The alert of the old model stays an incident of its own, and the swap is one that is said."""
    log.answers(60, "m1")
    log.answers(50, "m1", broken=KINDS[:1])
    (before,) = log.incidents()
    log.answers(60, "m2", broken=KINDS)
    newest, first = log.incidents()
    assert (first.id, first.stated, first.ending) == (before.id, (), "")
    assert [mark.after for mark in newest.stated] == ["m2"]
    assert {part.raised.model for part in newest.up} == {"m2"}
    assert newest.stated[0].at - first.opened_at < 1500


def test_a_fix_within_sixty_exchanges_is_told_as_well(log):
    """The two swaps are one change, whose second part came after the alert."""
    log.answers(60, "m1")
    log.answers(50, "m2", broken=KINDS)
    log.answers(60, "m3", broken=KINDS)
    (incident,) = log.incidents()
    assert [mark.after for mark in incident.stated] == ["m2"]
    assert [mark.after for mark in incident.later] == ["m3"]
    log.answers(50, "m1")
    assert log.incidents()[0].ending == "reversed"


def test_what_breaks_with_a_later_change_outlives_the_rollback_of_the_first(log):
    """m1 is fragile under the new prompt too: an incident of the prompt's own."""
    log.answers(60, "m1", prompt_version="p1")
    log.answers(90, "m2", broken=KINDS, prompt_version="p1")
    log.answers(90, "m2", broken=KINDS, prompt_version="p2")
    log.answers(100, "m1", broken=KINDS, prompt_version="p2")
    newest, first = log.incidents()
    assert (first.ending, newest.state) == ("reversed", "open")
    assert [(mark.before, mark.after) for mark in newest.stated] == [("p1", "p2")]


def test_a_change_after_an_incident_is_over_is_none_of_its_own(log):
    """Accepted, so nobody is at work any more: what breaks with m3 is another incident."""
    swapped(log)
    log.decide("accepted")
    log.answers(90, "m2", broken=KINDS)
    log.answers(60, "m3", broken=KINDS)
    newest, first = log.incidents()
    assert (first.later, first.ending, newest.state) == ((), "accepted", "open")
    assert [mark.after for mark in newest.stated] == ["m3"]


def test_a_cause_that_is_noticed_after_the_alert_is_that_of_the_incident():
    """Seven fragile answers raise it, the twelfth of the new model is a change, and so is a new prompt."""
    log = Log(MonitorState(altered(SETTINGS, mean_trials_between_false_alarms=5)))
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


def test_what_was_not_rolled_back_is_reopened(log):
    """A hundred exchanges of the new model after somebody said that it was gone."""
    swapped(log)
    log.decide("rolled_back")
    log.answers(99, "m2", broken=KINDS)
    assert log.incidents()[0].state == "resolved"
    log.answers(1, "m2", broken=KINDS)
    (incident,) = log.incidents()
    assert (incident.state, incident.reopened) == ("open", 1)
    assert "m2 still answers" in summary(log.events[-1])


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
    swapped(log)
    log.answers(40, "m1")
    log.decide("acknowledged")
    (incident,) = log.incidents()
    assert (incident.state, incident.ending) == ("resolved", "reversed")


def test_a_route_without_traffic_keeps_its_incident_until_somebody_closes_it(log):
    """Nothing says that the answers of a route that was removed from the settings are well again."""
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
    assert resolved_line(incident) == "chat: resolved after 0 s, the change m1 → m2 was reversed."


def test_the_oldest_incidents_that_are_over_are_forgotten(log, monkeypatch):
    """The fold keeps some of a route; the records of others leave the checkpoint with them."""
    monkeypatch.setattr("evenkeel.monitor.incidents.book.KEPT", 3)
    for number in range(6):
        log.answers(14, f"m{number}", prompt_version=f"p{number}")
        log.answers(40, f"m{number}", broken=KINDS, prompt_version=f"q{number}")
        log.decide("accepted")
        log.answers(80, f"m{number}", prompt_version=f"q{number}")
    ids = [incident.id for incident in log.incidents()]
    assert 3 <= len(ids) <= 4
    parts = log.state.checkpoint().parts
    assert {name for name in parts if name.startswith('["incident"')} == {
        f'["incident","{name}"]' for name in ids
    }


def test_a_canary_that_is_rare_is_not_taken_for_reversed(log):
    """Forty exchanges without m2, which answers one in ten, are nothing unusual."""
    swapped(log)
    log.answers(30, "m2", broken=KINDS)
    for _ in range(12):
        log.answers(9, "m1")
        log.answers(1, "m2", broken=KINDS)
    log.answers(45, "m1")
    assert log.incidents()[0].ending == ""
