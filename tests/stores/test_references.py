"""Reference prompts: what is kept, changed and forgotten, on every backend."""

from dataclasses import replace

import pytest

from evenkeel.core.pair import Answer, ToolCall
from evenkeel.stores.references import (
    FORMER_KEPT,
    MOST_ANSWERS,
    AskedToday,
    KeptAnswer,
    Reference,
    ReferenceStore,
)


def kept(text, at=10.0, source="asked", model="m-1"):
    return KeptAnswer(Answer(text, (ToolCall("f", '{"a": "é"}'),), model), at, model, source)


REFERENCE = Reference(
    id="x1",
    route="shop",
    requested_model="m",
    prompt_version="p1",
    path="/v1/chat/completions",
    request=r'{"messages":[{"role":"user","content":"How long? \é"}]}',
    task="chat",
    sketch=(1, -2, 3),
    taken_at=10.5,
    answers=(kept("Four days.", 10.5, "original"), kept("Four.", 11.5, "resend")),
)


@pytest.fixture
def reopen(backend):
    return lambda **options: ReferenceStore(backend.documents(backend.opened()), **options)


@pytest.fixture
def store(reopen):
    return reopen()


def test_what_is_kept_is_there(store, reopen):
    """All its answers come back, in another process too; what pacing needs comes without the texts."""
    assert store.add(REFERENCE)
    assert not store.add(REFERENCE)
    again = reopen()
    assert again.find("x1") == REFERENCE
    assert again.of_route("shop") == [REFERENCE]
    assert again.of_route("other") == []
    (state,) = again.states()
    assert state[:6] == ("x1", "shop", "m", "p1", 2, 0)
    assert (state.asked_at, state.taken_at, state.chars) == (0, 10, REFERENCE.chars)
    assert not state.ripe
    assert again.find("other") is None


def test_an_answer_joins_the_others(store):
    """And is the last call; with all answers a reference begins anew; one that is gone changes nothing."""
    store.add(REFERENCE)
    store.update("x1", lambda known: replace(known, asked_at=15.0, failed=2))
    joined = store.update("x1", lambda known: known.answered(kept("Five.", 20.0)))
    assert joined == store.find("x1")
    assert [row.answer.text for row in joined.answers] == ["Four days.", "Four.", "Five."]
    assert (joined.asked_at, joined.failed) == (20.0, 0)
    assert store.states()[0].answers == 3
    assert store.update("gone", lambda known: known) is None
    full = replace(REFERENCE, answers=(kept("old"),) * MOST_ANSWERS)
    assert full.answered(kept("new")).answers == (kept("new"),)


def test_after_a_change_the_answers_are_former_ones():
    """The last few of them; those of after the change stay."""
    several = replace(REFERENCE, answers=tuple(kept(str(number), number) for number in range(16)))
    renewed = several.renewed(lambda known: known.at > 14, at=14.0, since=13.0)
    assert [row.answer.text for row in renewed.answers] == ["15"]
    assert [row.answer.text for row in renewed.former] == [str(number) for number in range(3, 15)]
    assert len(renewed.former) == FORMER_KEPT
    assert [row.answer.text for row in renewed.before] == [str(number) for number in range(3, 13)]
    again = replace(renewed, answers=()).renewed(lambda _one: False, at=20.0, since=19.0)
    assert (again.former, again.before, again.changed_at) == (renewed.former, renewed.before, 20.0)


def test_no_more_is_held_than_allowed(reopen):
    """Room is counted in characters of requests and answers; one may take the place of another."""
    small = reopen(total_chars=REFERENCE.chars + 10)
    assert small.add(REFERENCE)
    assert not small.add(replace(REFERENCE, id="x2"))
    assert small.add(replace(REFERENCE, id="x2"), instead_of="x1")
    assert [state.id for state in small.states()] == ["x2"]
    assert small.find("x1") is None


def test_a_route_is_forgotten(store):
    """Names choose them, or all go; an id chooses one."""
    for number, route in enumerate(("shop", "shop", "forms", "help")):
        store.add(replace(REFERENCE, id=f"x{number}", route=route))
    assert store.drop("shop") == 2
    assert {state.route for state in store.states()} == {"forms", "help"}
    store.remove("x2")
    assert [state.id for state in store.states()] == ["x3"]
    assert store.drop() == 1
    assert store.states() == []
    assert store.add(REFERENCE)


def test_old_ones_and_those_of_routes_that_are_gone_are_pruned(reopen):
    store = reopen(kept_s=100.0)
    for name, route, taken_at in (("a", "shop", 50.0), ("b", "shop", 150.0), ("c", "gone", 150.0)):
        store.add(replace(REFERENCE, id=name, route=route, taken_at=taken_at))
    assert store.prune(150.0) == 1
    assert store.prune(150.0, ["shop"]) == 1
    assert [state.id for state in store.states()] == ["b"]


def test_what_was_asked_today_is_remembered(store, reopen):
    """The last that was noted of a route counts."""
    assert store.asked("shop") is None
    store.put_asked(AskedToday("shop", "2026-11-23", calls=3))
    noted = AskedToday("shop", "2026-11-23", 4, 1, 1, 8, 0.25, 99.5, 98.5, "m", 98.75, 60, 5)
    store.put_asked(noted)
    assert reopen().asked("shop") == noted
    assert store.asked("forms") is None
