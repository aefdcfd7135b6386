"""Labels: every version of what people said, on every backend."""

import pytest

from evenkeel.core.pair import Answer, ToolCall
from evenkeel.core.verdict import Evidence
from evenkeel.stores.labels import LabelError, LabelStatement, LabelStore, label_of
from tests.stores.examples import verdict

VERDICT = verdict(
    1,
    id="x1/general.spelling é",
    route="desk",
    scorer="judge",
    explanation="The date is missing.",
    details={"decided_by": 2.0, "rouge_l": 0.5},
    rated_by="similarity@1",
    judge_model="j-1",
    task="case_summary",
)
TEXTS = Evidence("Prompt?", "Pormpt?", Answer("On the 3rd.", (ToolCall("f", "{}"),)), Answer("Soon."))


@pytest.fixture
def reopen(backend):
    return lambda: LabelStore(backend.documents(backend.opened()))


@pytest.fixture
def store(reopen):
    return reopen()


def said(by="ann", *, at=1000.0, verdict=VERDICT, **what):
    return label_of(verdict, LabelStatement(by, **(what or {"rating": 3})), at=at)


def test_what_is_said_is_there_with_who_when_and_texts(store, reopen):
    """Version 1 is there, in another process too, with all that the verdict said."""
    given = store.put(said(rating=3, quality="equal", note="only wording"), TEXTS)
    again = reopen()
    assert again.of_verdict(VERDICT.id) == again.history(VERDICT.id) == again.select() == (given,)
    assert again.texts(VERDICT.id) == TEXTS
    assert (given.version, given.by, given.at, given.rating) == (1, "ann", 1000.0, 3)
    assert (given.judge_rating, given.judge_direction, given.decided_by) == (2, "worse", "judge")
    assert (given.judge_model, given.rated_by) == ("j-1", "similarity@1")
    assert (given.note, given.explanation) == ("only wording", "The date is missing.")


def test_a_correction_is_the_next_version(store):
    """The one before stays in the history; only the newest counts. The same again changes nothing."""
    first = store.put(said(rating=3), TEXTS)
    revision = store.revision()
    assert store.put(said(rating=3, at=2000.0), None) == first
    assert store.revision() == revision
    second = store.put(said(rating=1, at=1001.0), None)
    assert second.version == 2
    assert store.select() == (second,)
    assert [label.rating for label in store.history(VERDICT.id)] == [3, 1]
    assert store.texts(VERDICT.id) == TEXTS


def test_several_people_have_a_label_each(store):
    """People come in the order in which they first spoke; the last said is selected first."""
    store.put(said("bob", rating=3), TEXTS)
    store.put(said("ann", rating=2, at=1001.0), TEXTS)
    store.put(said("bob", rating=1, at=1002.0), TEXTS)
    assert [(label.by, label.rating) for label in store.of_verdict(VERDICT.id)] == [("bob", 1), ("ann", 2)]
    assert [label.by for label in store.select()] == ["bob", "ann"]
    assert [label.by for label in store.select(limit=1)] == ["bob"]


def test_a_withdrawn_label_no_longer_counts_and_stays_on_record(store):
    """Withdrawing again changes nothing, saying it again makes it count again; what nobody said cannot be."""
    store.put(said(), TEXTS)
    withdrawn = store.withdraw(VERDICT.id, "ann", at=1005.0)
    assert (withdrawn.version, withdrawn.withdrawn_at) == (2, 1005.0)
    assert store.withdraw(VERDICT.id, "ann", at=1006.0) == withdrawn
    assert store.select() == ()
    assert store.of_verdict(VERDICT.id) == (withdrawn,)
    for name, by in ((VERDICT.id, "bob"), ("x9", "ann")):
        with pytest.raises(LabelError, match=f"'{by}' has said nothing of the verdict"):
            store.withdraw(name, by, at=1.0)
    again = store.put(said(at=1007.0), None)
    assert (again.version, again.withdrawn_at) == (3, None)
    assert store.select() == (again,)
