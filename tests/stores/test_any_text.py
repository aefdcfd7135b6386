"""Text is text: whatever clients, models, judges and people write comes back from every store as it was."""

import pytest

from evenkeel.core.approval import Approval, ApprovedCell
from evenkeel.core.pair import Answer, ToolCall
from evenkeel.core.sightings import ReferenceAnswered
from evenkeel.core.verdict import Evidence, Failure
from evenkeel.stores.audit_log import Action, ActionLog
from evenkeel.stores.goldens import Golden, GoldenStore
from evenkeel.stores.labels import LabelStatement, LabelStore, label_of
from evenkeel.stores.sealing import KEY_VARIABLE, seal_of
from tests.stores.examples import EVIDENCE, verdict

TEXTS = {
    "zero": "a\x00b\x00",
    "like a sealed text": "\x00sealed:AAAA",
    "like an unsealed text": "\x00plain:\x00sealed:",
    "bidi controls": "\u202egnp.exe\u2066\u2069\u200f",
    "line ends": "a\u2028b\r\n\x85\x1b[31m",
    "deep": "[" * 100_000 + "]" * 100_000,
    "escapes": '\\ud83d \\u0000 "',
}


@pytest.fixture(params=TEXTS.values(), ids=TEXTS)
def said(request):
    return request.param


@pytest.fixture(params=[False, True], ids=["plain", "sealed"])
def opened(request, backend):
    """Another process's view of the place, with or without a key."""
    seal = seal_of({KEY_VARIABLE: "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="}) if request.param else None
    return lambda: backend.opened(**({"seal": seal} if seal else {}))


def test_verdicts_evidence_and_notes_round_trip(backend, opened, said):
    """Every field holds it, those that name a verdict included; what is stored can be found."""
    short = said[:200]
    failure = Failure("judge", 1, "timeout", said)
    kept = verdict(
        1,
        id=f"v {short}",
        exchange_id=f"e {short}",
        route=f"r {short}",
        model=short,
        perturbation=f"general.{short}",
        explanation=said,
        failure=failure,
        quality_failures=(failure,),
        parameters=short,
        task=short,
        prompt_version=short,
    )
    answer = Answer(said, (ToolCall(short, said),), short, short, short, 1, 2)
    evidence = Evidence(said, said, answer, answer)
    log = backend.verdicts(opened())
    assert log.append(kept, evidence)
    assert not log.append(kept, evidence)
    again = backend.verdicts(opened())
    assert again.find(kept.id) == kept
    assert again.of_exchange(kept.exchange_id) == [kept]
    assert again.latest(9) == again.latest(9, route=kept.route) == [kept]
    assert again.evidence(kept.id) == evidence

    seen = ReferenceAnswered(f"s {short}", 1.0, short, short, short, short)
    cell = ApprovedCell(short, short, 0.2, 0.1, 0.3, 9)
    approval = Approval.of(short, [cell], by=f"ann {short}", at=3.0, note=f"a {short} b")
    for note in (seen, approval):
        assert log.note(note)
        assert not log.note(note)
    _, *noted = again.entries_after(0, 9)
    assert noted[0].note == seen
    assert noted[1].note == approval


def test_labels_goldens_and_audit_log_round_trip(backend, opened, said):
    """One document of each form of body: its texts are there in another process as they were given."""
    short = said[:200]
    answer = Answer(said, (ToolCall(short, said),), short, short)
    labelled = verdict(1, id=f"v {short}", explanation=said)
    label = label_of(labelled, LabelStatement("ann", rating=3, note=short), at=2.0)
    golden = Golden(id="g/1", route=short, request=said, answer=answer, note=short, model=short)
    action = Action(1.0, short, "typed", "golden_approved", short, short)

    documents = backend.documents(opened())
    LabelStore(documents).put(label, EVIDENCE)
    approved = GoldenStore(documents).approve(golden, by="ann", at=1.0)
    ActionLog(documents).record(action)

    again = backend.documents(opened())
    assert LabelStore(again).of_verdict(label.verdict_id) == (label,)
    assert GoldenStore(again).find(golden.id) == approved
    assert GoldenStore(again).select(route=short) == (approved,)
    assert ActionLog(again).latest(1) == [action]
