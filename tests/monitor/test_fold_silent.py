"""Silent changes in the fold: suspicions, findings, incidents across routes, and restarts."""

from __future__ import annotations

import pytest

from evenkeel.monitor.changes import kinds
from evenkeel.monitor.fold import MonitorSettings, MonitorState
from evenkeel.monitor.fold.silent import DAY_S, MOST_MODELS, NEEDED, PATIENCE_S
from evenkeel.monitor.notify import summary
from evenkeel.stores.verdict_log import LoggedSighting, LoggedVerdict
from tests.kit.records import altered
from tests.monitor.changes.silent_evidence import references, traits
from tests.monitor.planted_sightings import MINUTE_S, NOON, answered, logged, seen, sightings
from tests.monitor.planted_verdicts import VERDICT

SETTINGS = MonitorSettings(min_trials=5, max_models_per_route=20)
WITHOUT = altered(SETTINGS, asks_references=False)


class ScriptedTraits:
    """Suspects a change with each answer that is marked."""

    evidence_log10 = 0.0
    reserve = 0

    def __init__(self, level):
        self.count = 0

    def add(self, answer):
        self.count += 1
        return traits(answer.at, model=answer.requested_model) if answer.traits[0] == 9 else None

    def to_json(self):
        return self.count

    @classmethod
    def from_json(cls, raw):
        test = cls(1e7)
        test.count = raw
        return test


class ScriptedReferences:
    """Finds a change with each answer that is like no other; its evidence is what the test says."""

    evidence_log10 = 0.0

    def __init__(self, level):
        self.level = level
        self.count = 0

    def add(self, answer):
        self.count += 1
        found = answer.likeness == 0
        return references(answer.at, model=answer.requested_model) if found else None

    def to_json(self):
        return self.count

    @classmethod
    def from_json(cls, raw, level):
        test = cls(level)
        test.count = raw
        return test


@pytest.fixture
def scripted(monkeypatch):
    """Both tests say what the sightings tell them to."""
    monkeypatch.setattr("evenkeel.monitor.fold.silent.TraitTest", ScriptedTraits)
    monkeypatch.setattr("evenkeel.monitor.fold.silent.ReferenceTest", ScriptedReferences)


class Fold:
    """A state and the events so far."""

    def __init__(self, settings=SETTINGS):
        self.state = MonitorState(settings)
        self.events = []

    def add(self, *sightings):
        """Apply sightings at the end of the log; returns the events they gave rise to."""
        found = []
        for one in sightings:
            found += self.state.apply(LoggedSighting(self.state.offset + 1, one)).events
        self.events += found
        return found

    def suspect(self, at=NOON, **changes):
        return self.add(seen(at, marker=9.0, **changes))

    def find(self, at=NOON, **changes):
        return self.add(answered(at, likeness=0.0, compared=4, **changes))

    def wait(self, until):
        """Nine answers at a time, after which that is the log's time."""
        return self.add(*[seen(until + place / 10) for place in range(9)])

    def records(self, route="chat"):
        return [one for one in self.state.change_records() if one.route == route]


def said(events):
    return [(one.kind, one.route, one.measure) for one in events]


@pytest.mark.usefixtures("scripted")
def test_a_suspicion_waits_for_the_references():
    """It is in the list of changes and in the report, and nobody is alarmed."""
    fold = Fold()
    assert fold.suspect() == []
    (record,) = fold.records()
    assert record.silent.state == "suspected"
    (report,) = fold.state.silent()
    assert (report.suspected.change, report.suspected.at, report.found) == (record.id, NOON, None)
    assert fold.state.changes()[0].counts == {kinds.TRAITS: 1}


@pytest.mark.usefixtures("scripted")
def test_a_finding_is_one_event_about_the_suspected_change():
    """With both pieces of evidence in one record, and words that say since when and how different."""
    fold = Fold()
    fold.suspect()
    (event,) = fold.find(NOON + 20 * MINUTE_S)
    (record,) = fold.records()
    assert record.kinds == {kinds.TRAITS, kinds.REFERENCES}
    assert (event.what, event.kind, event.model, event.perturbation) == ("change", "raised", "m", "")
    assert (event.change, event.incident, event.is_more) == (record.id, record.id, False)
    assert (event.since, event.after, event.trials) == (NOON + 10 * MINUTE_S, NOON + 10 * MINUTE_S, 20)
    assert summary(event) == (
        "m on chat answers differently since 15 Jan 2027 08:10 UTC: new answers to reference prompts are "
        "41% like the earlier ones, which are 83% like each other (20 calls). The very same requests were "
        "sent, so neither prompt, parameters nor traffic explain it, and no other model name or fingerprint "
        "was noticed."
    )
    assert fold.state.silent()[0].found.change == record.id
    assert fold.state.silent()[0].suspected is None


@pytest.mark.usefixtures("scripted")
def test_sixty_answers_that_are_as_before_deny_a_suspicion():
    """Failures are no answers; the suspicion is kept in the list as not confirmed."""
    fold = Fold()
    fold.suspect()
    minutes = iter(range(1, 1000))
    fold.add(*[answered(NOON + next(minutes), failure="timeout") for _ in range(30)])
    fold.add(*[answered(NOON + next(minutes)) for _ in range(NEEDED - 1)])
    assert fold.records()[0].silent.state == "suspected"
    assert fold.add(answered(NOON + next(minutes))) == []
    assert fold.records()[0].silent.state == "not_confirmed"
    assert fold.records()[0].silent.closed_at == NOON + 90


@pytest.mark.usefixtures("scripted")
def test_a_suspicion_is_not_denied_while_the_evidence_is_high(monkeypatch):
    """Sixty answers with evidence of half the level, in logarithms, leave it open."""
    fold = Fold()
    fold.suspect()
    monkeypatch.setattr(ScriptedReferences, "evidence_log10", 2.5)
    fold.add(*[answered(NOON + number) for number in range(NEEDED + 5)])
    assert fold.records()[0].silent.state == "suspected"


@pytest.mark.usefixtures("scripted")
def test_without_references_a_suspicion_is_an_alert_that_says_so():
    """After a day it is over, undecided."""
    fold = Fold(WITHOUT)
    (event,) = fold.suspect()
    assert (event.measure, event.trials) == ("traits", 40)
    assert summary(event) == (
        "Suspected: m on chat may answer differently since 15 Jan 2027 07:50 UTC: length of answers: 812 → "
        "433 characters. Reference prompts are switched off, so nothing confirms it."
    )
    assert fold.wait(NOON + DAY_S - 10) == []
    (over,) = fold.wait(NOON + DAY_S)
    assert (over.kind, over.change, over.incident) == ("resolved", event.change, event.incident)
    assert "undecided" in summary(over)
    assert fold.records()[0].silent.state == "undecided"


@pytest.mark.usefixtures("scripted")
def test_a_suspicion_that_the_references_cannot_settle_is_raised_after_four_hours():
    """With no budget left, say; if they convict later, that is the same change."""
    fold = Fold()
    fold.suspect()
    assert fold.wait(NOON + PATIENCE_S - 10) == []
    (event,) = fold.wait(NOON + PATIENCE_S)
    assert "could not be asked to confirm it" in summary(event)
    (found,) = fold.find(NOON + PATIENCE_S + 60)
    assert (found.change, found.measure) == (event.change, "references")
    assert found.id != event.id


@pytest.mark.usefixtures("scripted")
def test_the_same_model_on_two_routes_is_one_incident():
    """The second event says so, and each record names the other routes."""
    fold = Fold()
    (first,) = fold.find(route="chat")
    (second,) = fold.find(NOON + 3600, route="billing")
    (third,) = fold.find(NOON + 3700, route="search", model="another")
    assert second.incident == first.incident == first.change
    assert (second.is_more, third.is_more) == (True, False)
    assert summary(second).endswith("It was found on chat as well.")
    assert fold.records("chat")[0].silent.also_on == ("billing",)
    assert fold.records("billing")[0].silent.also_on == ("chat",)
    assert fold.records("billing")[0].silent.incident == first.change


@pytest.mark.usefixtures("scripted")
def test_a_finding_more_than_a_day_later_is_an_incident_of_its_own():
    """So is one of requests that name no model, on every route."""
    fold = Fold()
    fold.find(route="chat")
    fold.find(NOON + DAY_S + 60, route="billing")
    fold.find(NOON + DAY_S + 70, route="a", model="")
    fold.find(NOON + DAY_S + 80, route="b", model="")
    raised = [one for one in fold.events if one.kind == "raised"]
    assert [(one.route, one.is_more) for one in raised] == [
        (route, False) for route in ("chat", "billing", "a", "b")
    ]


@pytest.mark.usefixtures("scripted")
def test_a_finding_is_the_new_normal_after_a_day():
    """By the log's time, which a single answer from a wrong clock does not move."""
    fold = Fold()
    (event,) = fold.find()
    assert fold.add(seen(NOON + 10 * DAY_S)) == []
    (over,) = fold.wait(NOON + DAY_S)
    assert (over.kind, over.change) == ("resolved", event.change)
    assert "24 hours old" in summary(over)
    assert fold.records()[0].silent.state == "settled"


@pytest.mark.usefixtures("scripted")
def test_time_passes_with_verdicts_as_well():
    """A route whose answers are all scored, but that was seen last a day ago."""
    fold = Fold()
    fold.find()
    events = []
    for number in range(9):
        verdict = altered(VERDICT, id=f"v{number}", exchange_id=f"x{number}", scored_at=NOON + 2 * DAY_S)
        events += fold.state.apply(LoggedVerdict(fold.state.offset + 1, verdict)).events
    assert [one.kind for one in events] == ["resolved"]


@pytest.mark.usefixtures("scripted")
@pytest.mark.parametrize(("former", "state", "kind"), [(0.8, "reversed", 0), (0.45, "replaced", 1)])
def test_a_second_finding_says_whether_answers_are_back(former, state, kind):
    """Between likenesses of 41 % then and 83 % before, the middle decides; back is no further alarm."""
    fold = Fold()
    fold.find()
    fold.add(*[answered(NOON + 3600 + number, compared=3, former=former) for number in range(5)])
    events = fold.add(answered(NOON + 3700, likeness=0.0, compared=4, former=former))
    assert [one.kind for one in events] == ["resolved", "raised"][: 1 + kind]
    first, second = fold.records()
    assert first.silent.state == state
    assert second.silent.state == ("found" if kind else "settled")


@pytest.mark.usefixtures("scripted")
def test_answers_compared_with_those_of_before_a_finding_say_nothing_more():
    """Until a reference has begun anew it compares more answers than before; the rest of a burst does."""
    fold = Fold()
    fold.add(answered(NOON - 60, compared=7))
    fold.find()
    assert fold.add(*[answered(NOON + n, likeness=0.0, compared=8 + n) for n in range(20)]) == []
    assert fold.add(answered(NOON + 30, likeness=0.0, compared=5, reference="never asked")) == []
    fold.add(answered(NOON + 3600, compared=3))
    assert said(fold.add(answered(NOON + 3660, likeness=0.0, compared=5))) == [
        ("resolved", "chat", ""),
        ("raised", "chat", "references"),
    ]


@pytest.mark.usefixtures("scripted")
def test_a_finding_begins_a_new_era_and_a_suspicion_does_not():
    """What cells show since the last change goes on over a suspicion."""
    fold = Fold()
    for number in range(10):
        verdict = altered(VERDICT, id=f"v{number}", exchange_id=f"x{number}", scored_at=NOON)
        fold.state.apply(LoggedVerdict(fold.state.offset + 1, verdict))

    def trials():
        return fold.state.reports()[0].windows["since_change"].trials

    fold.suspect()
    assert trials() == 10
    fold.find(NOON + 60)
    assert trials() == 0


@pytest.mark.usefixtures("scripted")
def test_a_route_has_tests_for_so_many_requested_models():
    """A client that asks for a thousand names makes no more; one with traffic takes an idle one's place."""
    fold = Fold()
    for number in range(1000):
        fold.add(seen(NOON + number, model=f"name-{number}"))
    assert len(fold.state.silent()) == MOST_MODELS
    fold.state.checkpoint()
    fold.add(*[seen(NOON + 2000 + number, model="real") for number in range(300)])
    assert "real" in {one.requested_model for one in fold.state.silent()}
    assert len(fold.state.silent()) == MOST_MODELS
    checkpoint = fold.state.checkpoint()
    assert checkpoint.whole, "the store has a part of what is gone"


def folded(log, state=None):
    state = state or MonitorState(SETTINGS)
    return state, [event for logged in log for event in state.apply(logged).events]


def test_the_real_tests_find_a_change_once_and_a_restart_anywhere_goes_on_equally():
    """One incident on two routes; whatever the place, the state read back ends as the whole fold does."""
    log = logged(sightings(600, 1))
    whole, events = folded(log)
    raised = [one for one in events if one.kind == "raised"]
    assert sorted(one.route for one in raised) == ["billing", "chat"]
    assert len({one.incident for one in raised}) == 1
    for place in (1, 150, 333, 420, 599):
        before, first = folded(log[:place])
        again, rest = folded(log[place:], MonitorState.from_bytes(before.to_bytes(), SETTINGS))
        assert again.to_bytes() == whole.to_bytes()
        assert first + rest == events


def test_nothing_is_found_where_nothing_changes():
    """Ranks that chance draws and answers of one kind."""
    _, events = folded(logged(sightings(500, 3)[:250]))
    assert events == []
