"""Incidents for Prometheus: a series each while it is open, and no ids."""

import pytest
from prometheus_client import CollectorRegistry

from evenkeel.core.cells import CellKey, ChangeMark, Estimate
from evenkeel.core.verdict import BASELINE
from evenkeel.monitor.changes import kinds
from evenkeel.monitor.export.incidents import SLOTS, IncidentCollector, change_of, slots
from evenkeel.monitor.notify import Contact
from evenkeel.stores.monitor_state import AlertEvent
from tests.kit.cells import cell_report
from tests.kit.records import altered
from tests.monitor.notify.scene import incidents_of

SWAP = (
    ChangeMark(kinds.PROMPT, "a1", "b2", 100.0, 7),
    ChangeMark(kinds.MODEL, "helpdesk-1", "helpdesk-2", 101.0, 8),
)


def raised(name, at, route="support", **more):
    """The event that raises an alert of an incident."""
    told = {"measure": "content", "value": 0.4, "limit": 0.1, **more}
    return AlertEvent(
        f"{name}-{at}",
        at,
        "raised",
        route,
        "helpdesk-2",
        "general.tone",
        1,
        40,
        0.4,
        incident=name,
        **told,
    )


def decided(event, kind, at, reason=""):
    """A person's word about its incident."""
    return altered(event, id=f"{kind}-{at}", at=at, kind=kind, what="incident", reason=reason, by="ana")


def exported(*events, reports=(), contacts=None):
    """Every sample: its name with its labels, and the value."""
    registry = CollectorRegistry()
    registry.register(IncidentCollector(lambda: incidents_of(events), lambda: reports, contacts))
    return {
        (sample.name.removeprefix("evenkeel_"), *sorted(sample.labels.items())): sample.value
        for family in registry.collect()
        for sample in family.samples
    }


def opened(found):
    """The labels of the open incidents, without their route."""
    return [dict(labels[1:]) for labels in found if labels[0] == "incident_open"]


def test_an_open_incident_says_what_changed_what_came_of_it_and_how_much():
    """The furthest cell that is up gives the points, with interval and pairs."""
    cell = cell_report(CellKey("support", "helpdesk-2", "general.tone"), "judge", 90, threshold=0.1)
    reports = [
        altered(cell, excess=Estimate(0.42, 0.29, 0.57, 121)),
        altered(
            cell, key=CellKey("support", "helpdesk-2", "general.casing"), excess=Estimate(0.9, 0.8, 1.0, 9)
        ),
        altered(cell, key=CellKey("support", "helpdesk-2", BASELINE)),
        altered(
            cell, key=CellKey("support", "helpdesk-1", "general.tone"), excess=Estimate(0.0, -0.1, 0.1, 99)
        ),
    ]
    found = exported(raised("c1", 120.0, marks=SWAP, change="c1"), reports=reports)
    key = (("route", "support"), ("slot", "1"))
    assert opened(found) == [
        {
            "route": "support",
            "slot": "1",
            "case": "support/1",
            "change": "model",
            "effect": "fragile",
            "severity": "critical",
            "acknowledged": "no",
        }
    ]
    values = {labels[0]: value for labels, value in found.items() if labels[1:] == key}
    assert values == {
        "incident_opened_timestamp_seconds": 120.0,
        "incident_above_noise_ratio": 0.42,
        "incident_above_noise_lower_ratio": 0.29,
        "incident_above_noise_upper_ratio": 0.57,
        "incident_above_noise_observations": 121,
        "incident_limit_ratio": 0.1,
    }
    assert found["incident_rewordings", *key, ("state", "affected")] == 1
    assert found["incident_rewordings", *key, ("state", "tried")] == 2
    (info,) = [dict(labels[1:]) for labels in found if labels[0] == "incident_info"]
    assert (info["before"], info["after"], info["routes"]) == ("helpdesk-1", "helpdesk-2", "support")


def test_a_page_at_night_has_no_interval_that_holds_the_limit():
    """A cell shown to be over its limit is preferred to one further off; the latter alone has no interval."""
    names = ("general.tone", "general.casing")
    cell = cell_report(CellKey("support", "helpdesk-2", names[0]), "judge", 90, threshold=0.1)
    tone = altered(cell, excess=Estimate(0.54, 0.1, 0.97, 57))
    casing = altered(
        cell, key=CellKey("support", "helpdesk-2", names[1]), excess=Estimate(0.56, -0.49, 0.98, 54)
    )
    first = altered(raised("c1", 120.0), perturbation=names[1], measure="similarity")
    key = (("route", "support"), ("slot", "1"))
    found = exported(first, altered(raised("c1", 121.0), id="tone"), reports=[casing, tone])
    assert found["incident_above_noise_ratio", *key] == 0.54
    assert found["incident_above_noise_lower_ratio", *key] == 0.1
    alone = exported(first, reports=[casing])
    assert alone["incident_above_noise_ratio", *key] == 0.56
    assert ("incident_above_noise_lower_ratio", *key) not in alone


def test_groups_are_not_counted_as_rewordings():
    """A group that moved gives the points while no rewording by itself has moved, and never a count."""
    names = ("together.4_general", "general.tone", "general.casing")
    cells = [
        altered(
            cell_report(CellKey("support", "helpdesk-2", name), "judge", 90, threshold=0.1),
            excess=Estimate(value, value - 0.1, value + 0.1, 100),
        )
        for name, value in zip(names, (0.7, 0.4, 0.0), strict=True)
    ]
    group = altered(raised("c1", 120.0), perturbation=names[0])
    found = exported(group, reports=cells)
    key = (("route", "support"), ("slot", "1"))
    assert found["incident_above_noise_ratio", *key] == 0.7
    assert ("incident_rewordings", *key, ("state", "affected")) not in found
    found = exported(group, altered(raised("c1", 125.0), id="tone"), reports=cells)
    assert found["incident_above_noise_ratio", *key] == 0.4
    assert found["incident_rewordings", *key, ("state", "affected")] == 1
    assert found["incident_rewordings", *key, ("state", "tried")] == 2


def test_an_incident_that_is_over_leaves_nothing_behind():
    """Resolved by itself or by a person: no series of it, and its route has none open."""
    first = raised("c1", 120.0)
    events = (first, decided(first, "closed", 130.0, "rolled_back"))
    assert exported(*events, contacts={"support": Contact()}) == {
        ("route_incidents", ("route", "support")): 0
    }
    over = altered(first, id="over", kind="resolved", at=140.0, reason="retired")
    assert exported(first, over) == {}


def test_two_changes_within_a_minute_are_two_slots_until_both_are_over():
    """Both differ by slot and by what changed, and so does a third one within the hour."""
    prompt = (ChangeMark(kinds.PROMPT, "a1", "b2", 130.0, 9),)
    one, two = raised("c1", 120.0, marks=SWAP), raised("c2", 150.0, marks=prompt)
    assert {(said["slot"], said["change"]) for said in opened(exported(one, two))} == {
        ("1", "model"),
        ("2", "prompt"),
    }
    over = decided(one, "closed", 200.0, "accepted")
    three, four = raised("c3", 900.0), raised("c4", 200.0 + 3600.0)
    assert slots(incidents_of([one, two, over, three, four])) == {"c1": "1", "c2": "2", "c3": "3", "c4": "1"}
    assert slots(incidents_of([raised("c1", 1.0), raised("d1", 2.0, route="chat")])) == {"c1": "1", "d1": "1"}


def test_incidents_with_one_cause_have_the_case_of_the_first():
    events = (raised("c1", 120.0, "support", marks=SWAP), raised("c2", 130.0, "billing", marks=SWAP))
    assert [said["case"] for said in opened(exported(*events))] == ["support/1", "support/1"]


@pytest.mark.parametrize("late", ["c1", "c2"])
def test_a_cause_that_is_noticed_later_changes_no_case(late):
    """An alert that went over to another group would be reported as over in its old one."""
    events = [
        raised("c1", 120.0, "support", marks=() if late == "c1" else SWAP),
        raised("c2", 130.0, "billing", marks=() if late == "c2" else SWAP),
    ]
    before = {said["route"]: said["case"] for said in opened(exported(*events))}
    told = next(event for event in events if event.incident == late)
    events.append(altered(decided(told, "explained", 140.0), marks=SWAP))
    after = opened(exported(*events))
    assert {said["route"]: said["case"] for said in after} == before
    assert {said["change"] for said in after} == {"model"}


def test_an_incident_of_several_routes_is_exported_once_and_counted_on_each():
    """An incident's route is the one where it was opened; the sentence lists them all."""
    silent = {"what": "change", "measure": "references", "value": 0.3, "limit": 0.02}
    events = [raised("c1", 1.0, "billing", **silent), raised("c1", 2.0, "chat", **silent)]
    found = exported(*events)
    assert [(said["route"], said["effect"]) for said in opened(found)] == [("billing", "different")]
    assert {dict(labels[1:])["routes"] for labels in found if labels[0] == "incident_info"} == {
        "billing and chat"
    }
    key = (("route", "billing"), ("slot", "1"))
    assert found["incident_references_ratio", *key, ("when", "now")] == 0.3
    assert found["incident_references_ratio", *key, ("when", "before")] == 0.02
    assert found["route_incidents", ("route", "billing")] == found["route_incidents", ("route", "chat")] == 1


def test_labels_are_bounded_however_many_incidents_there_are():
    """Sixteen of a route at most, and no id among the values."""
    found = exported(*(raised(f"id-{number}", float(number)) for number in range(40)))
    assert len(opened(found)) == SLOTS
    assert not [labels for labels in found if "id-" in str(labels)]
    assert found["route_incidents", ("route", "support")] == 40


@pytest.mark.parametrize(
    ("marked", "said"),
    [
        ((), "none"),
        ((kinds.REFERENCES,), "unannounced"),
        ((kinds.JUDGE, kinds.PROMPT), "prompt"),
        ((kinds.RATINGS, kinds.FINGERPRINT), "model"),
        ((kinds.RATINGS, kinds.SETTINGS), "settings"),
    ],
)
def test_what_changed_is_one_word(marked, said):
    """The likeliest cause of those that were noticed together."""
    assert change_of([ChangeMark(kind, "a", "b", 1.0, 1) for kind in marked]) == said


def test_values_of_prompts_are_no_labels():
    found = exported(raised("c1", 1.0, marks=SWAP[:1]))
    (info,) = [dict(labels[1:]) for labels in found if labels[0] == "incident_info"]
    assert (info["before"], info["after"]) == ("", "")


def test_routes_that_say_so_have_an_owner():
    contacts = {
        "support": Contact("@support-ml", "https://wiki.example/s", "helm rollback s"),
        "chat": Contact(),
    }
    found = exported(contacts=contacts)
    said = (
        ("owner", "@support-ml"),
        ("rollback", "helm rollback s"),
        ("route", "support"),
        ("runbook_url", "https://wiki.example/s"),
    )
    assert {labels for labels in found if labels[0] == "route_info"} == {("route_info", *said)}
