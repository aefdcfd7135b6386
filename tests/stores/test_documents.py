"""The contract of `Documents`; every backend runs it, over collections of every shape."""

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
TRAIL = Collection(name="trail_notes", key=("name", "text"), body=plain(Note), group="notes")


@pytest.fixture
def opened(backend):
    """Opens documents with some collections, as another process each time."""

    def open_with(*collections):
        documents = backend.documents(backend.opened())
        documents.open(*collections)
        return documents

    return open_with


@pytest.mark.parametrize("notes", [PLAIN, FILTERED], ids=lambda notes: notes.name)
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


def test_fields_narrow_what_is_selected(opened):
    """As many come as asked for, the last stored first; None matches everything."""
    documents = opened(FILTERED)
    for note in (Note("a"), Note("b", shelf="é\x00"), Note("c", hidden=True), Note("d", shelf=None)):
        documents.put(FILTERED, note)
    assert [note.name for note in documents.select(FILTERED, {"shelf": "é\x00"})] == ["b"]
    narrowed = {"hidden": False, "shelf": None}
    assert [note.name for note in documents.select(FILTERED, narrowed)] == ["d", "b", "a"]
    assert [note.name for note in documents.select(FILTERED, narrowed, limit=2)] == ["d", "b"]
    assert documents.values(FILTERED, "shelf") == {("a",), ("é\x00",), (None,)}


def test_documents_are_dropped_by_the_beginning_of_their_names(opened):
    """Within a change too; the others stay, in other collections as well."""
    documents = opened(TRAIL, FILTERED)
    documents.put(FILTERED, Note("b"))
    for note in (Note("a", "1"), Note("a", "2"), Note("b", "1"), Note("c", "1")):
        documents.put(TRAIL, note)
    documents.drop(TRAIL, "a")

    def work(change):
        change.drop(TRAIL, "b")
        change.put(TRAIL, Note("d"))

    documents.change(TRAIL, work)
    assert documents.find(TRAIL, "a", "1") is None
    assert [note.name for note in documents.select(TRAIL)] == ["d", "c"]
    assert documents.find(FILTERED, "b") == Note("b")


def test_a_change_is_all_or_nothing(opened):
    """An error in it leaves nothing of what it wrote, in no collection."""
    documents = opened(FILTERED, TRAIL)

    def work(change):
        change.put(FILTERED, Note("a"))
        change.put(TRAIL, Note("a"))
        raise ValueError

    with pytest.raises(ValueError):  # noqa: PT011 - which it is says the function above
        documents.change(FILTERED, work)
    assert documents.find(FILTERED, "a") is None
    assert documents.history(TRAIL, "a") == []
    assert documents.revision(FILTERED) == 0


def test_changes_at_once_are_worked_out_one_after_another(opened):
    """Each builds on what the others left: no number is given twice, and the trail has them all."""
    every = [opened(FILTERED, TRAIL) for _ in range(4)]

    def correct(documents):
        def work(change):
            known = documents.find(FILTERED, "a")
            version = known.version + 1 if known else 1
            change.put(FILTERED, Note("a", version=version))
            change.put(TRAIL, Note("a", f"{version}", version))

        for _ in range(5):
            documents.change(FILTERED, work)

    threads = [threading.Thread(target=correct, args=(documents,)) for documents in every]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    versions = list(range(1, 21))
    assert every[0].find(FILTERED, "a").version == 20
    assert [note.version for note in every[0].history(TRAIL, "a")] == versions
