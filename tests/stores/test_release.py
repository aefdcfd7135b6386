"""Small documents that the first release wrote are read as they are, and written on as it did.

`release/` holds what it left of one of everything, on SQLite and on Redis.
"""

from __future__ import annotations

import pytest

from evenkeel.core.pair import Answer
from evenkeel.core.verdict import Evidence
from evenkeel.stores.audit_log import Action, ActionLog
from evenkeel.stores.bursts import Bursts, Override
from evenkeel.stores.changes import ChangeStore
from evenkeel.stores.goldens import Deed, Golden, GoldenStore
from evenkeel.stores.labels import LabelStore
from evenkeel.stores.templates import TemplateStore


@pytest.fixture
def documents(backend):
    backend.restore_release()
    return backend.documents()


def test_goldens_go_on_from_their_versions(documents):
    """Newest, versions, fields and trail; the next approval is the third."""
    goldens = GoldenStore(documents)
    (used,) = goldens.select()
    assert (used.id, used.version, used.answer, used.approved_by) == ("a/1", 2, Answer("Five."), "bob")
    assert [golden.id for golden in goldens.select(active=False)] == ["b", "a/1"]
    assert goldens.select(route="shop", task="qa") == (used,)
    assert [golden.answer.text for golden in goldens.history("a/1")] == ["Four.", "Five."]
    assert [entry.deed for entry in goldens.trail("b")] == [Deed.APPROVED, Deed.RETIRED]
    assert goldens.labels() == (("forms", None), ("shop", "qa"))
    third = goldens.approve(
        Golden(id="a/1", route="shop", request="{}", answer=Answer("Six.")), by="cai", at=20.0
    )
    assert third.version == 3
    assert goldens.unretire("b", by="cai", at=21.0).version == 1
    assert [golden.id for golden in goldens.select()] == ["a/1", "b"]


def test_labels_go_on_from_their_versions(documents):
    """What counts, what was withdrawn, the texts, and the next correction."""
    labels = LabelStore(documents)
    (counts,) = labels.select(route="shop")
    assert (counts.by, counts.version, counts.rating, counts.note) == ("ann", 2, 2, "on reflection")
    assert labels.texts("v1") == Evidence("p", "q", Answer("x"), Answer("y"))
    assert [label.withdrawn_at for label in labels.of_verdict("v1")] == [None, 9.0]
    assert labels.revision() == 4
    assert labels.withdraw("v1", "ann", at=10.0).version == 3
    assert labels.labelled(["v1"]) == frozenset()


def test_the_memory_of_the_change_response(documents):
    """Runs, claims, versions of settings and bursts."""
    changes = ChangeStore(documents)
    assert [(run.id, run.route) for run in changes.runs()] == [("r0", "shop"), ("r1", "forms")]
    assert changes.revision() == 2
    assert not changes.respond("c1", 8.0)
    assert changes.settings("fp") == {"a": "b"}
    assert Bursts(documents).active(1.7e9) == [Override("shop", 0.123456789012345, 1893456000.123456, "c1")]


def test_the_audit_log_and_the_templates(documents):
    """Newest first; what was learned is one text."""
    assert ActionLog(documents).latest(9) == [
        Action(2.0, "bob", "token", "golden_retired", "b"),
        Action(1.0, "ann", "typed", "golden_approved", "a/1"),
    ]
    assert TemplateStore(documents).load() == (
        '{"format":1,"routes":{"shop":{"requests":12,"clusters":[],"versions":[]}}}'
    )
