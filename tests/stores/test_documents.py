"""The contract of `Documents`; every backend runs it, over collections of every shape."""

from __future__ import annotations

import threading
from dataclasses import dataclass

import pytest

from evenkeel.stores.documents import Collection, plain


@dataclass(frozen=True)
class Note:
    """A document of no particular kind."""

    name: str
    text: str = ""
    version: int = 1
    shelf: str | None = "a"
    hidden: bool = False


FIELDS = {"fields": ("shelf", "hidden")}
PLAIN = Collection(name="plain_notes", key=("name",), body=plain(Note))
FILTERED = Collection(name="filtered_notes", key=("name",), body=plain(Note), group="notes", **FIELDS)
VERSIONED = Collection(
    name="versioned_notes", key=("name",), version=True, body=plain(Note), group="notes", **FIELDS
)
TRAIL = Collection(name="trail_notes", key=("name", "text"), body=plain(Note), group="notes")


@pytest.fixture
def opened(backend):
    """Opens documents with some collections, as another process each time."""

    def open_with(*collections):
        documents = backend.documents(backend.opened())
        documents.open(*collections)
        return documents

    return open_with


@pytest.mark.parametrize("notes", [PLAIN, FILTERED, VERSIONED], ids=lambda notes: notes.name)
def test_a_document_is_put_added_once_and_dropped(opened, notes):
    """Putting replaces, adding does not; what is dropped can be stored again."""
    documents = opened(notes)
    assert documents.find(notes, "a") is None
    documents.put(notes, Note("a", "first"))
    assert not documents.add(notes, Note("a", "again"))
    assert documents.add(notes, Note("bé", "second"))
    assert opened(notes).find(notes, "a") == Note("a", "first")
    assert documents.find(notes, "bé") == Note("bé", "second")
    documents.put(notes, Note("a", "replaced"))
    assert documents.find(notes, "a") == Note("a", "replaced")
    assert {note.text for note in documents.history(notes)} == {"replaced", "second"}
    documents.drop(notes, "a")
    documents.drop(notes, "never there")
    assert documents.find(notes, "a") is None
    documents.put(notes, Note("a", "again"))
    assert [note.text for note in documents.select(notes)] == ["again", "second"]


def test_documents_stand_in_the_order_in_which_they_were_put(opened):
    """All of them, or those whose name begins so; the newest are read first."""
    documents = opened(TRAIL)
    for number in range(5):
        documents.put(TRAIL, Note("ab"[number % 2], str(number)))
    assert [note.text for note in documents.history(TRAIL, "a")] == ["0", "2", "4"]
    assert [note.text for note in documents.select(TRAIL)] == ["4", "3", "2", "1", "0"]
    assert [note.text for note in documents.select(TRAIL, limit=1)] == ["4"]
    assert documents.select(TRAIL, limit=0) == documents.history(TRAIL, "c") == []


@pytest.mark.parametrize(
    ("kept_of", "left"), [("", ["a", "c"]), ("shelf", ["quiet", "a", "c"])], ids=["all", "each"]
)
def test_the_newest_are_kept_of_all_or_of_each_field(opened, kept_of, left):
    """A document that is put again is the newest; the revision grows with each."""
    notes = Collection(
        name="bounded_notes", key=("name",), body=plain(Note), kept=2, kept_of=kept_of, **FIELDS
    )
    documents = opened(notes)
    seen = [documents.revision(notes)]
    for name, shelf in (("quiet", "q"), ("a", "busy"), ("b", "busy"), ("a", "busy"), ("c", "busy")):
        documents.put(notes, Note(name, shelf=shelf))
        seen.append(documents.revision(notes))
    assert [note.name for note in documents.history(notes)] == left
    assert seen == sorted(set(seen))
    assert seen[0] == 0


def test_every_version_is_kept_and_the_newest_is_selected(opened):
    """Fields and names narrow the selection; as many come as asked for, the last stored first."""
    documents = opened(VERSIONED)
    written = [
        Note("a", "1"),
        Note("b", "2", shelf="é\x00"),
        Note("c", "3", hidden=True),
        Note("a", "4", version=2),
    ]
    for note in written:
        documents.put(VERSIONED, note)
    assert documents.find(VERSIONED, "a") == written[3]
    assert documents.history(VERSIONED, "a") == [written[0], written[3]]
    assert [note.name for note in documents.select(VERSIONED)] == ["a", "c", "b"]
    assert [note.name for note in documents.select(VERSIONED, {"shelf": "é\x00"})] == ["b"]
    assert [note.name for note in documents.select(VERSIONED, {"hidden": False, "shelf": None})] == ["a", "b"]
    assert [note.name for note in documents.select(VERSIONED, limit=2)] == ["a", "c"]


def test_an_older_version_can_be_asked_for_replaced_and_stored_later(opened):
    """A replaced document stays at its place in the order; the newest stays the newest."""
    documents = opened(VERSIONED)
    for note in (Note("a", "third", version=3), Note("b", shelf=None), Note("a", "first", shelf="z")):
        documents.put(VERSIONED, note)
    documents.put(VERSIONED, Note("a", "3rd", version=3, hidden=True))
    assert documents.find(VERSIONED, "a") == documents.find(VERSIONED, "a", version=3)
    assert documents.find(VERSIONED, "a", version=1) == Note("a", "first", shelf="z")
    assert documents.find(VERSIONED, "a", version=2) is None
    assert documents.values(VERSIONED, "shelf") == {("a",), ("z",), (None,)}
    assert [note.name for note in documents.select(VERSIONED)] == ["b", "a"]


def test_a_document_is_dropped_in_all_versions(opened):
    """Within a change too; the others stay, in other collections as well."""
    documents = opened(VERSIONED, FILTERED)
    documents.put(FILTERED, Note("b"))
    for note in (Note("a"), Note("a", version=2), Note("b", shelf="z"), Note("c", shelf="z")):
        documents.put(VERSIONED, note)
    documents.drop(VERSIONED, "a")

    def work(change):
        change.drop(VERSIONED, "b")
        change.put(VERSIONED, Note("d"))

    documents.change(VERSIONED, work)
    assert documents.find(VERSIONED, "a") is documents.find(VERSIONED, "a", version=1) is None
    assert [note.name for note in documents.select(VERSIONED)] == ["d", "c"]
    assert documents.values(VERSIONED, "shelf") == {("a",), ("z",)}
    assert documents.find(FILTERED, "b") == Note("b")


def test_a_change_is_all_or_nothing(opened):
    """An error in it leaves nothing of what it wrote, in no collection."""
    documents = opened(VERSIONED, TRAIL)

    def work(change):
        change.put(VERSIONED, Note("a"))
        change.put(TRAIL, Note("a"))
        raise ValueError

    with pytest.raises(ValueError):  # noqa: PT011 - which it is says the function above
        documents.change(VERSIONED, work)
    assert documents.find(VERSIONED, "a") is None
    assert documents.history(TRAIL, "a") == []
    assert documents.revision(VERSIONED) == 0


def test_changes_at_once_are_worked_out_one_after_another(opened):
    """Each builds on what the others left: no version is given twice, and the trail has them all."""
    every = [opened(VERSIONED, TRAIL) for _ in range(4)]

    def correct(documents):
        def work(change):
            known = documents.find(VERSIONED, "a")
            version = known.version + 1 if known else 1
            change.put(VERSIONED, Note("a", version=version))
            change.put(TRAIL, Note("a", f"{version}", version))

        for _ in range(5):
            documents.change(VERSIONED, work)

    threads = [threading.Thread(target=correct, args=(documents,)) for documents in every]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    versions = list(range(1, 21))
    assert [note.version for note in every[0].history(VERSIONED, "a")] == versions
    assert [note.version for note in every[0].history(TRAIL, "a")] == versions
