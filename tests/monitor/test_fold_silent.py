"""Silent changes in the fold: findings, incidents across routes, and restarts."""

import pytest

from evenkeel.monitor.changes import kinds
from evenkeel.monitor.detect.references import ReferenceTest
from evenkeel.monitor.fold import MonitorSettings, MonitorState
from evenkeel.monitor.fold.silent import DAY_S, MOST_MODELS
from evenkeel.monitor.incidents import cases_of
from evenkeel.monitor.notify import summary
from evenkeel.stores.verdict_log import LoggedNote, LoggedVerdict
from tests.kit.records import altered
from tests.monitor.changes.silent_evidence import references
from tests.monitor.planted_sightings import MINUTE_S, NOON, answered, sightings
from tests.monitor.planted_verdicts import VERDICT

SETTINGS = MonitorSettings(min_trials=5, max_models_per_route=20)


class ScriptedReferences(ReferenceTest):
    """Finds a change with each answer that is like no other; its evidence is none until then."""

    evidence_log10 = 0.0
    suspected_since = None

    def add(self, answer):
        return references(answer.at, model=answer.requested_model) if answer.likeness == 0 else None


@pytest.fixture
def scripted(monkeypatch):
    """The test says what the sightings tell it to."""
    monkeypatch.setattr("evenkeel.monitor.fold.silent.ReferenceTest", ScriptedReferences)


class Fold:
    """A state and the events so far."""

    def __init__(self, settings=SETTINGS):
        self.state = MonitorState(settings)
        self.events = []

    def add(self, *sightings):
        """Apply sightings at the end of the log; returns the events they gave rise to."""
        found = []
        for sighting in sightings:
            found += self.state.apply(LoggedNote(self.state.offset + 1, sighting)).events
        self.events += found
        return found

    def find(self, at=NOON, **changes):
        return self.add(answered(at, likeness=0.0, compared=4, **changes))

    def wait(self, until):
        """Nine answers at a time, after which that is the log's time."""
        return self.add(*[answered(until + place / 10) for place in range(9)])

    def records(self, route="chat"):
        return [record for record in self.state.change_records() if record.route == route]


def said(events):
    return [(event.kind, event.route, event.measure) for event in events]


@pytest.mark.usefixtures("scripted")
def test_a_finding_is_one_event():
    fold = Fold()
    (event,) = fold.find(NOON + 20 * MINUTE_S)
    (record,) = fold.records()
    assert record.kinds == {kinds.REFERENCES}
    assert (event.what, event.kind, event.model, event.perturbation) == ("change", "raised", "m", "")
    assert (event.change, event.incident) == (record.id, record.id)
    assert (event.since, event.after, event.trials) == (NOON + 10 * MINUTE_S, NOON + 10 * MINUTE_S, 20)
    assert summary(event) == (
        "m on chat answers differently since 15 Jan 2027 08:10 UTC: new answers to reference prompts are "
        "41% like the earlier ones, which are 83% like each other (20 calls). The very same requests were "
        "sent, so neither prompt, parameters nor traffic explain it, and no other model name or fingerprint "
        "was noticed."
    )
    assert fold.state.silent()[0].found.change == record.id


@pytest.mark.usefixtures("scripted")
def test_the_same_model_on_two_routes_is_two_incidents_of_one_case():
    """People hear of both at once, if they are found within a day; not where requests name no model."""
    fold = Fold()
    fold.find(route="chat")
    fold.find(NOON + 3600, route="billing")
    fold.find(NOON + 3700, route="search", model="another")
    fold.find(NOON + DAY_S + 60, route="mail")
    fold.find(NOON + DAY_S + 70, route="a", model="")
    fold.find(NOON + DAY_S + 80, route="b", model="")
    cases = {case.id: case for case in cases_of(fold.state.incidents()).values()}
    assert sorted(case.whole.routes for case in cases.values()) == [
        ["a"], ["b"], ["chat", "billing"], ["mail"], ["search"],
    ]  # fmt: skip


@pytest.mark.usefixtures("scripted")
def test_a_finding_is_the_new_normal_after_a_day():
    """Time is the log's, which a single answer from a wrong clock does not move."""
    fold = Fold()
    (event,) = fold.find()
    assert fold.add(answered(NOON + 10 * DAY_S)) == []
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
    assert [event.kind for event in events] == ["resolved"]


@pytest.mark.usefixtures("scripted")
@pytest.mark.parametrize(("former", "state", "kind"), [(0.8, "reversed", 0), (0.45, "replaced", 1)])
def test_a_second_finding_says_whether_answers_are_back(former, state, kind):
    """Between likenesses of 41 % then and 83 % before, the middle decides; back is no further alarm."""
    fold = Fold()
    fold.find()
    fold.add(*[answered(NOON + 3600 + number, compared=3, former=former) for number in range(5)])
    events = fold.add(answered(NOON + 3700, likeness=0.0, compared=4, former=former))
    assert [event.kind for event in events] == ["resolved", "raised"][: 1 + kind]
    first, second = fold.records()
    assert first.silent.state == state
    assert second.silent.state == ("found" if kind else "settled")


@pytest.mark.usefixtures("scripted")
def test_answers_compared_with_those_of_before_a_finding_say_nothing_more():
    """A reference that has not begun anew compares more answers than before, as the rest of a burst does."""
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
def test_a_finding_begins_a_new_era():
    fold = Fold()
    for number in range(10):
        verdict = altered(VERDICT, id=f"v{number}", exchange_id=f"x{number}", scored_at=NOON)
        fold.state.apply(LoggedVerdict(fold.state.offset + 1, verdict))

    def trials():
        return fold.state.reports()[0].since_change.trials

    assert trials() == 10
    fold.find(NOON + 60)
    assert trials() == 0


@pytest.mark.usefixtures("scripted")
def test_a_route_has_tests_for_so_many_requested_models():
    """A client that asks for a thousand names makes no more; one with traffic takes an idle one's place."""
    fold = Fold()
    for number in range(1000):
        fold.add(answered(NOON + number, model=f"name-{number}"))
    assert len(fold.state.silent()) == MOST_MODELS
    fold.state.checkpoint()
    fold.add(*[answered(NOON + 2000 + number, model="real") for number in range(300)])
    assert "real" in {report.requested_model for report in fold.state.silent()}
    assert len(fold.state.silent()) == MOST_MODELS
    checkpoint = fold.state.checkpoint()
    assert checkpoint.whole, "the store has a part of what is gone"


@pytest.mark.parametrize(("seed", "count", "found"), [(1, 200, ["billing", "chat"]), (3, 80, [])])
def test_the_real_tests_find_a_change_once_and_nothing_where_nothing_changes(seed, count, found):
    """Each route has its change; before it ranks are chance's, and answers are of one kind."""
    events = Fold().add(*sightings(600, seed)[:count])
    assert sorted(event.route for event in events if event.kind == "raised") == found
