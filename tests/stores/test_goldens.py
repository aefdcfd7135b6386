"""Goldens: every version that was approved, and by whom, on every backend."""

import dataclasses
from functools import partial

import pytest

from evenkeel.core.pair import Answer, ToolCall
from evenkeel.stores.goldens import Golden, GoldenError, GoldenImport, GoldenStore

ANSWER = Answer("Four days.", (ToolCall("f", '{"a": "é"}'),), "m-1", "fp", "stop", 7, 2)
GOLDEN = Golden(
    id="delivery/1",
    route="shop",
    request=r'{"messages":[{"role":"user","content":"How long? \é"}]}',
    answer=ANSWER,
    task="chat",
    model="m-1",
    prompt_version="p1",
    note="as in the handbook",
)


@pytest.fixture
def reopen(backend):
    return lambda: GoldenStore(backend.documents(backend.opened()))


@pytest.fixture
def store(reopen):
    return reopen()


def other(text, **changes):
    return dataclasses.replace(GOLDEN, answer=Answer(text), **changes)


def test_another_answer_or_request_is_the_next_version(store):
    """One of the past too, not the same at another cost; what the caller says of versions is not taken."""
    given = other(
        "Five days.", version=9, approved_by="eve", approved_at=3.0, retired_at=4.0, retired_by="eve"
    )
    first = store.approve(GOLDEN, by="ann", at=1.0)
    cheaper = dataclasses.replace(GOLDEN, answer=dataclasses.replace(ANSWER, completion_tokens=1))
    assert store.approve(cheaper, by="bob", at=1.5) == first
    second = store.approve(given, by="bob", at=2.0)
    asked = dataclasses.replace(given, request='{"messages":[]}')
    third = store.approve(asked, by="cleo", at=3.0)
    assert [second.version, third.version] == [2, 3]
    assert (second.approved_by, second.approved_at, second.retired_at) == ("bob", 2.0, None)
    assert [golden.approved_by for golden in store.history("delivery/1")] == ["ann", "bob", "cleo"]
    assert store.find("delivery/1") == third
    assert store.find("delivery/1", 1).answer == ANSWER
    assert store.find("delivery/1", 4) is None
    assert store.select() == (third,)
    assert store.approve(GOLDEN, by="ann", at=4.0).version == 4


def test_a_retired_golden_is_out_of_use_and_on_record(store):
    """The versions stay, with who retired it when; it can be put back."""
    store.approve(GOLDEN, by="ann", at=1.0)
    for act in (partial(store.retire, at=1.0), store.unretire):
        with pytest.raises(GoldenError, match='no golden "none"; `evenkeel goldens list --all`'):
            act("none", by="ann")
    retired = store.retire("delivery/1", by="bob", at=2.0)
    assert (retired.retired_by, retired.retired_at, retired.version) == ("bob", 2.0, 1)
    assert store.select() == ()
    assert store.select(active=False) == (retired,)
    assert store.retire("delivery/1", by="cleo", at=3.0) == retired
    back = store.unretire("delivery/1", by="ann")
    assert back.retired_at is back.retired_by is None
    assert store.unretire("delivery/1", by="ann") == back
    assert store.select() == (back,)


def test_approving_puts_a_retired_golden_back(store):
    """The same answer leaves it as it was, another one is a new version."""
    store.approve(GOLDEN, by="ann", at=1.0)
    store.retire("delivery/1", by="ann", at=2.0)
    again = store.approve(GOLDEN, by="bob", at=3.0)
    assert (again.version, again.approved_by, again.retired_at) == (1, "ann", None)
    store.retire("delivery/1", by="ann", at=4.0)
    newer = store.approve(other("Five days."), by="bob", at=5.0)
    assert (newer.version, store.select()) == (2, (newer,))


@pytest.mark.parametrize(
    ("changes", "by", "said"),
    [
        ({"answer": Answer("")}, "ann", "is empty"),
        ({"id": " "}, "ann", "cannot be named"),
        ({"id": "x" * 201}, "ann", "cannot be named"),
        ({"id": "a\u202eb"}, "ann", "cannot be named"),
        ({"id": ".."}, "ann", "cannot be named"),
        ({}, "", "no name of somebody"),
        ({}, "ann\x1b[2J", "no name of somebody"),
    ],
)
def test_what_cannot_be_used_is_not_stored(store, changes, by, said):
    """An answer without content, and names that would not be shown as they are."""
    golden = dataclasses.replace(GOLDEN, **changes)
    with pytest.raises(GoldenError, match=said):
        store.approve(golden, by=by, at=1.0)
    with pytest.raises(GoldenError, match=said):
        store.add([other("fine"), golden], by=by, at=1.0)
    assert store.select(active=False) == ()


def test_goldens_are_chosen_by_route_task_and_number(store):
    """The last approved first; of each its newest version only."""
    for place, (route, task) in enumerate([("a", "t"), ("a", None), ("b", "t"), ("bé", None)]):
        store.approve(other("x", id=str(place), route=route, task=task), by="ann", at=1.0)
    store.approve(other("y", id="0", route="a", task="t"), by="ann", at=2.0)

    def ids(**narrowed):
        return [golden.id for golden in store.select(**narrowed)]

    assert ids() == ["0", "3", "2", "1"]
    assert ids(limit=2) == ["0", "3"]
    assert ids(route="a") == ["0", "1"]
    assert ids(route="a", task="t") == ["0"]
    assert ids(task="t") == ["0", "2"]
    assert ids(route="bé") == ["3"]
    assert ids(route="none") == []
    assert store.labels() == (("a", None), ("a", "t"), ("b", "t"), ("bé", None))


def test_an_import_keeps_versions_and_approvals(store):
    """Who approved it is whom the file names, else who imports; twice is as good as once."""
    goldens = [
        other("x", approved_by="zoe", approved_at=5.0, retired_by="zoe", retired_at=6.0),
        other("y", version=3),
        other("z", id="b"),
    ]
    assert store.add(goldens, by="ann", at=9.0) == GoldenImport(3, 0)
    assert store.add(goldens, by="bob", at=10.0) == GoldenImport(0, 3)
    first, third = store.history("delivery/1")
    assert first == goldens[0]
    assert (third.version, third.approved_by, third.approved_at) == (3, "ann", 9.0)
    assert [golden.id for golden in store.select()] == ["b", "delivery/1"]
    assert store.approve(other("w"), by="ann", at=11.0).version == 4


def test_an_import_is_all_or_nothing(store):
    store.approve(GOLDEN, by="ann", at=1.0)
    store.approve(other("second"), by="ann", at=2.0)
    with pytest.raises(
        GoldenError, match=r'"delivery/1" is there in version 1 .*"version": 3.*nothing was imp'
    ):
        store.add([other("new", id="b"), other("another")], by="ann", at=3.0)
    assert [golden.id for golden in store.select(active=False)] == ["delivery/1"]
    assert store.find("b") is None
