"""Notices: one sentence that says what happened, where, when and after what; then figures and advice."""

from dataclasses import replace

import pytest

from evenkeel.core.cells import ChangeMark
from evenkeel.core.rewordings import label
from evenkeel.monitor.changes.prompt_edit import WordChange
from evenkeel.monitor.incidents import Case, cases_of
from evenkeel.monitor.incidents.case import TOGETHER_S
from evenkeel.monitor.measuring import HoldUp
from evenkeel.monitor.notify import Contact, Writer
from tests.kit.records import altered
from tests.monitor.notify.scene import SPELLING, decided, incidents_of, over
from tests.monitor.planted_verdicts import VERDICT

CONTACT = Contact("@support-ml", "https://wiki.example/support", "helm rollback support")


def written(*events, phase="opened"):
    """The notice about the incident of these events."""
    (incident,) = incidents_of(events)
    return Writer({"support": CONTACT}, "https://keel.example/").notice(incident, phase, 1)


@pytest.mark.parametrize(
    ("marks", "said"),
    [
        ((ChangeMark("prompt_version", "v1", "v2", 1.0, 1),), ", after prompt version v1 → v2."),
        ((ChangeMark("system_fingerprint", "a", "b", 1.0, 1),), ", after system fingerprint a → b."),
        ((ChangeMark("answers", "length", "length", 1.0, 1),), "UTC."),
        ((), "UTC."),
    ],
)
def test_the_change_is_said_if_it_stands_in_the_traffic(marks, said):
    """A mark that only shows that answers moved is not said."""
    assert written(altered(SPELLING, marks=marks)).headline.endswith(said)


def test_a_name_is_said_once():
    """Requested and returned model changed together."""
    marks = tuple(ChangeMark(kind, "a", "b", 1.0, 1) for kind in ("requested_model", "model"))
    assert written(altered(SPELLING, marks=marks)).headline.count("a → b") == 1


def cases(*events):
    """The cases of these events."""
    return {case.id: case for case in cases_of(incidents_of(events)).values()}


def on(route, at=1000.0, **changes):
    """The alert of the same swap on another route."""
    own = {"id": f"e-{route}", "route": route, "incident": f"i-{route}", "change": f"i-{route}", "at": at}
    return altered(SPELLING, **own | changes)


@pytest.mark.parametrize(
    "events",
    [
        (on("support"), on("billing", marks=(ChangeMark("model", "helpdesk-1", "other", 990.0, 5),))),
        (on("support"), on("billing", 1000.0 + TOGETHER_S + 1)),
        (on("support"), over(on("support"), 1200.0), on("billing", 1300.0)),
        (on("support", marks=()), on("billing", marks=())),
        (on("support"), on("support", 1100.0, id="e-2", incident="i-2")),
    ],
)
def test_what_has_another_cause_is_a_message_of_its_own(events):
    """Another change, much later, after the first was over, no change at all, the same route again."""
    assert [len(case.members) for case in cases(*events).values()] == [1, 1]


def test_a_prompt_version_is_no_common_cause():
    """Every application counts its own."""
    marks = (ChangeMark("prompt_version", "v1", "v2", 990.0, 5),)
    assert len(cases(on("support", marks=marks), on("billing", marks=marks))) == 2


def test_a_case_is_over_with_its_last_incident():
    """Notices before that are about the open ones, and acknowledged if all of those are."""
    first, second = on("support"), on("billing", 1300.0)
    seen = decided("acknowledged", 1400.0, incident="i-billing")
    (case,) = cases(first, second, over(first), altered(seen, route="billing")).values()
    assert (case.id, case.whole.routes, case.whole.state) == ("i-support", ["billing"], "acknowledged")
    (case,) = cases(first, second, over(first), over(second, 2100.0)).values()
    assert (case.whole.routes, case.whole.state) == (["support", "billing"], "resolved")
    assert case.whole.closed_at == 2100.0


def test_examples_name_rewordings_and_quote_nobody():
    """A link each; without the console's address there is nothing to open."""
    (case,) = cases(SPELLING).values()
    verdicts = [altered(VERDICT, id="v 7", rating=1), altered(VERDICT, id="v8", rating=2)]
    notice = Writer(console_url="https://keel.example", trials=lambda _: verdicts).message(
        case, "opened", 1, None
    )
    name = label(VERDICT.perturbation)
    assert f"- {name}, a different message: https://keel.example/verdicts/v%207\n" in notice.text
    assert f"- {name}, some details differ: " in notice.text
    bare = Writer(trials=lambda _: verdicts).message(case, "opened", 1, None)
    assert "control held" not in bare.text
    assert [example["trial"] for example in bare.to_json()["examples"]] == ["v 7", "v8"]


def test_a_message_says_that_a_budget_that_is_held_back_hides_the_end():
    """The message does so where only a part of its own route's traffic is measured."""
    (incident,) = incidents_of([SPELLING])
    for routes, said in (((), True), (("support",), True), (("other",), False)):
        cause = HoldUp("budget_pace", "The budget is held back so that it lasts the day", "", 1.0, routes)
        writer = Writer(thinned=lambda cause=cause: [cause])
        facts = writer.message(Case((incident,)), "opened", 1, None).facts
        assert facts[-1].endswith("a rollback too, is noticed later.") == said


def test_a_message_has_three_of_the_words_that_changed():
    """The page and the command have all words of a prompt edit."""
    (incident,) = incidents_of([SPELLING])
    edits = tuple(WordChange(f"old{number}", f"new{number}") for number in range(5))
    writer = Writer(edits=lambda _route, _marks: edits)
    notice = writer.message(Case((incident,)), "opened", 1, None)
    assert notice.facts[-1] == (
        "Words of the prompt that changed: “old0” → “new0”; “old1” → “new1”; “old2” → “new2”; 2 more."
    )


def test_a_message_has_the_possible_causes_of_its_change():
    """Those of the change's report, in its words."""
    (incident,) = incidents_of([SPELLING])
    causes = {"c7": "another model or other traffic, which cannot be told apart"}
    facts = Writer(coincided=causes.get).facts(replace(incident, change="c7"))
    assert facts[0] == "It coincided with another model or other traffic, which cannot be told apart."
    assert "coincided" not in " ".join(Writer(coincided=causes.get).facts(replace(incident, change="")))
