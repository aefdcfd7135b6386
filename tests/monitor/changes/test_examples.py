"""Examples before and after a silent change."""

import json

from evenkeel.core.pair import Answer
from evenkeel.monitor.changes.examples import both_sides, exhibits
from evenkeel.monitor.changes.record import Silent
from evenkeel.monitor.changes.report import silent_side
from evenkeel.stores.references import KeptAnswer, Reference, ReferenceStore
from evenkeel.stores.sealing import SealError
from tests.kit.records import altered
from tests.monitor.changes.test_silent_report import NOON, REFERENCES, record

ASKED = json.dumps({"model": "gpt-4o", "messages": [{"role": "user", "content": "How long is a day?"}]})


def kept(text, at):
    return KeptAnswer(Answer(text), at, "gpt-4o", "asked")


def reference(name, *answers, former=()):
    return Reference(
        id=name,
        route="chat",
        requested_model="gpt-4o",
        prompt_version="v3",
        path="/v1/chat/completions",
        request=ASKED,
        taken_at=NOON - 9000,
        answers=answers,
        former=former,
    )


def test_both_sides_are_the_last_before_and_the_first_since():
    """REFERENCES: nothing changed before 11:50, the first answer unlike the others came at 12:10."""
    one = reference(
        "r1",
        kept("new", NOON + 700),
        kept("newer", NOON + 900),
        former=(kept("old", NOON - 5000), kept("last old", NOON - 700), kept("between", NOON - 100)),
    )
    found = both_sides(one, REFERENCES)
    assert (found.before.answer.text, found.after.answer.text) == ("last old", "new")
    assert both_sides(altered(one, answers=()), REFERENCES) is None


def test_examples_show_the_same_request_before_and_since(documents):
    """The answers of a reference prompt; nothing where no references are kept."""
    store = ReferenceStore(documents)
    store.add(reference("r2", kept("24 hours.", NOON + 700), former=(kept("A day.", NOON - 700),)))
    side = silent_side(record(Silent(REFERENCES)))
    shown = exhibits(side, store).examples
    assert [(example.before.text, example.after.text) for example in shown] == [("A day.", "24 hours.")]
    assert exhibits(side, None).examples == ()


def test_without_the_key_nothing_is_shown(documents):
    """The report says so instead of failing."""

    class Sealed(ReferenceStore):
        def find(self, _reference):
            raise SealError("the key is missing")

    side = silent_side(record(Silent(REFERENCES)))
    assert exhibits(side, Sealed(documents)).unreadable
