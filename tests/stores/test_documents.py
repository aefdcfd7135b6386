"""The contract of `Documents`; every backend runs it, over a collection of each layout."""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass, replace

import pytest

from evenkeel.stores.documents import Collection


@dataclass(frozen=True)
class Note:
    """A document of no particular kind."""

    name: str
    text: str = ""
    version: int = 1
    shelf: str | None = "a"
    hidden: bool = False


def collection(layout, **changes):
    versioned = layout in {"indexed", "newest"}
    given = Collection(
        schema=(
            f"""CREATE TABLE IF NOT EXISTS {layout}_notes (
                  seq INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT, version INTEGER, shelf TEXT,
                  hidden INTEGER, body TEXT,
                  UNIQUE ({"seq" if layout == "list" else "name, version" if versioned else "name"}))""",
        ),
        table=f"{layout}_notes",
        key=("name",),
        versioned=versioned,
        fields=("shelf", "hidden"),
        tag="notes",
        layout=layout,
        name=f"{layout}:{{}}" if layout in {"keys", "list"} else layout,
        revision="" if layout in {"hash", "keys", "list"} else f"{layout}-revision",
        pack=lambda note, _seal: json.dumps(vars(note)),
        unpack=lambda body, _seal, _name: Note(**json.loads(body)),
        key_of=lambda note: (note.name,),
        version_of=lambda note: note.version,
        fields_of=lambda note: (note.shelf, note.hidden),
        recency=lambda note: -int(note.text),
    )
    return replace(given, **changes)


@pytest.fixture
def opened(backend):
    """Opens documents with a collection of a layout."""

    def open_with(*collections):
        documents = backend.documents(backend.opened())
        documents.open(*collections)
        return documents

    return open_with


@pytest.mark.parametrize("layout", ["hash", "keys"])
def test_a_named_document_is_put_added_once_and_dropped(opened, layout):
    """Putting replaces, adding does not; a name may hold half a surrogate pair."""
    notes = collection(layout)
    documents = opened(notes)
    odd = Note("b\ud83d", "second")
    assert documents.find(notes, "a") is None
    documents.put(notes, Note("a", "first"))
    assert not documents.add(notes, Note("a", "again"))
    assert documents.add(notes, odd)
    assert opened(notes).find(notes, "a") == Note("a", "first")
    assert documents.find(notes, "b\ud83d") == odd
    documents.put(notes, Note("a", "replaced"))
    assert documents.find(notes, "a") == Note("a", "replaced")
    if layout == "hash":
        assert {note.text for note in documents.history(notes)} == {"replaced", "second"}
    documents.drop(notes, "a")
    documents.drop(notes, "never there")
    assert documents.find(notes, "a") is None


def test_a_list_grows_and_is_bounded(opened):
    """One for each name, oldest first; or one for all, of which the newest are kept and read first."""
    notes, last = collection("list"), collection("list", table="last", key=(), fields=(), name="last", kept=3)
    last = replace(
        last,
        schema=("CREATE TABLE IF NOT EXISTS last (seq INTEGER PRIMARY KEY AUTOINCREMENT, body TEXT)",),
        key_of=lambda _note: (),
        fields_of=lambda _note: (),
    )
    documents = opened(notes, last)
    for number in range(5):
        documents.put(notes, Note("ab"[number % 2], str(number)))
        documents.put(last, Note("a", str(number)))
    assert [note.text for note in documents.history(notes, "a")] == ["0", "2", "4"]
    assert [note.text for note in documents.select(last)] == ["4", "3", "2"]
    assert [note.text for note in documents.select(last, limit=1)] == ["4"]
    assert documents.select(last, limit=0) == documents.history(notes, "c") == []


def test_an_ordered_collection_keeps_the_newest_of_each_field(opened):
    """What is put again is the newest; the revision grows with each."""
    notes = collection("ordered", kept=2, kept_of="shelf")
    documents = opened(notes)
    assert documents.revision(notes) == 0
    seen = []
    for name, shelf in (("quiet", "q"), ("a", "busy"), ("b", "busy"), ("a", "busy"), ("c", "busy")):
        documents.put(notes, Note(name, shelf=shelf))
        seen.append(documents.revision(notes))
    assert [note.name for note in documents.history(notes)] == ["quiet", "a", "c"]
    assert seen == sorted(set(seen))


@pytest.mark.parametrize("layout", ["indexed", "newest"])
def test_every_version_is_kept_and_the_newest_is_selected(opened, layout):
    """By fields, by names, and as many as asked for, the last stored first."""
    notes = collection(layout)
    documents = opened(notes)
    written = [
        Note("a", "1"),
        Note("b", "2", shelf="b\ud83d"),
        Note("c", "3", hidden=True),
        Note("a", "4", version=2),
    ]
    for note in written:
        documents.change(notes, lambda change, note=note: change.put(notes, note))
    assert documents.find(notes, "a") == written[3]
    assert documents.history(notes, "a") == [written[0], written[3]]
    assert [note.name for note in documents.select(notes)] == ["a", "c", "b"]
    assert [note.name for note in documents.select(notes, {"shelf": "b\ud83d"})] == ["b"]
    assert [note.name for note in documents.select(notes, {"hidden": False, "shelf": None})] == ["a", "b"]
    assert [note.name for note in documents.select(notes, limit=2)] == ["a", "c"]
    assert documents.known(notes, ["a", "c", "x", "\ud83d"], {"hidden": False}) == {"a"}
    assert documents.known(notes, []) == frozenset()
    assert documents.known(notes, ["a", "c", "x"]) == {"a", "c"}


def test_what_is_indexed_is_dropped_in_all_versions(opened):
    """Within a change too; the others stay, and its name can be stored again."""
    notes = collection("indexed")
    documents = opened(notes)
    for note in (Note("a"), Note("a", version=2), Note("b", shelf="z"), Note("c", shelf="z")):
        documents.put(notes, note)
    documents.drop(notes, "a")
    documents.drop(notes, "never there")

    def work(change):
        change.drop(notes, "b")
        change.put(notes, Note("d"))

    documents.change(notes, work)
    assert documents.find(notes, "a") is documents.find(notes, "a", version=1) is None
    assert [note.name for note in documents.select(notes)] == ["d", "c"]
    assert documents.values(notes, "shelf") == {("a",), ("z",)}
    assert documents.known(notes, ["a", "b", "c"]) == {"c"}
    documents.put(notes, Note("a", "again"))
    assert documents.find(notes, "a") == Note("a", "again")


def test_an_index_knows_versions_and_fields(opened):
    """One version can be asked for, an old one replaced, an older one stored later."""
    notes = collection("indexed")
    documents = opened(notes)
    for note in (Note("a", "third", version=3), Note("b", shelf=None), Note("a", "first", shelf="z")):
        documents.put(notes, note)
    documents.put(notes, Note("a", "3rd", version=3, hidden=True))
    assert documents.find(notes, "a") == documents.find(notes, "a", version=3)
    assert documents.find(notes, "a", version=1) == Note("a", "first", shelf="z")
    assert documents.find(notes, "a", version=2) is None
    assert documents.values(notes, "shelf") == {("a",), ("z",), (None,)}
    # What is replaced stays at its place in the order.
    assert [note.name for note in documents.select(notes)] == ["b", "a"]


def test_a_change_is_all_or_nothing(opened):
    """An error in it leaves nothing of what it wrote, in no collection."""
    notes, trail = collection("indexed"), collection("list")
    documents = opened(notes, trail)

    def work(change):
        change.put(notes, Note("a"))
        change.put(trail, Note("a"))
        raise ValueError

    with pytest.raises(ValueError):  # noqa: PT011 - which it is says the function above
        documents.change(notes, work)
    assert documents.find(notes, "a") is None
    assert documents.history(trail, "a") == []
    assert documents.revision(notes) == 0


def test_changes_at_once_are_worked_out_one_after_another(opened):
    """Each builds on what the others left: no version is given twice, and the trail has them all."""
    notes, trail = collection("indexed"), collection("list")
    every = [opened(notes, trail) for _ in range(4)]

    def correct(documents):
        def work(change):
            known = documents.find(notes, "a")
            note = Note("a", version=known.version + 1 if known else 1)
            change.put(notes, note)
            change.put(trail, note)

        for _ in range(5):
            documents.change(notes, work)

    threads = [threading.Thread(target=correct, args=(documents,)) for documents in every]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    versions = list(range(1, 21))
    assert [note.version for note in every[0].history(notes, "a")] == versions
    assert [note.version for note in every[0].history(trail, "a")] == versions
