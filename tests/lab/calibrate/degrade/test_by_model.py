"""A scripted model that rewords and compresses: what is asked, checked, told again and given up."""

from __future__ import annotations

import asyncio
import json
import random

import pytest

from evenkeel.core.pair import Answer, ToolCall
from evenkeel.core.verdict import Failure
from evenkeel.lab.calibrate.degrade.by_model import faults, model_degraded, read_parts
from evenkeel.metrics.workflow.reading import read_workflow
from evenkeel.release.calibration.calibration import FailureMode
from evenkeel.release.calibration.forms import form_of

PROSE = " ".join(f"Tank {n} holds {n}0 litres at noon." for n in range(1, 11))
LIST = "\n".join(f"{n}. Tank {n} holds {n}0 litres at noon." for n in range(1, 11))
NODES = (
    "Node:\n" + "\n".join(f"{n}: Check the valve of tank {n}." for n in range(1, 11)) + "\nEdge: (1,2) (1,3)"
)
DATA = json.dumps({"id": 7, "notes": [f"Tank {n} holds {n}0 litres at noon." for n in range(1, 10)]})
FORMS = {"prose": PROSE, "list": LIST, "workflow": NODES, "data": DATA}
REWORDED, COMPRESSED = FailureMode.REWORDED, FailureMode.COMPRESSED
REFUSAL = "I'm sorry, but I can't help with that."


def parts_of(form):
    """What the model is shown, by number."""
    texts = read_parts(Answer(FORMS[form]), form).texts
    return {str(number): text for number, text in enumerate(texts, 1)}


def chosen(form, severity=0.3):
    """Numbers that are reworded with the seed of these tests."""
    size = len(parts_of(form))
    return [n + 1 for n in sorted(random.Random(2).sample(range(size), 3))]


def good(form):
    return parts_of(form) | {
        str(n): parts_of(form)[str(n)].replace("holds", "keeps").replace("Check", "Look at")
        for n in chosen(form)
    }


def asked_of(form, mode, *answers, stronger=None, severity=0.3, text=None):
    """What comes of models that give these answers in turn, and what they were asked."""
    asked = []

    def scripted(texts):
        given = iter(texts)

        async def rewrite(prompt):
            asked.append(prompt)
            answer = next(given)
            return answer if isinstance(answer, str | Failure) else json.dumps(answer, ensure_ascii=False)

        return rewrite

    found = asyncio.run(
        model_degraded(
            scripted(answers), Answer(FORMS[form] if text is None else text), form, mode, severity,
            random.Random(2), stronger=None if stronger is None else scripted(stronger),
        )
    )  # fmt: skip
    return found, asked


@pytest.mark.parametrize("form", list(FORMS))
def test_a_model_rewords_the_parts_it_is_asked_for(form) -> None:
    """One call naming them by number; the answer has them and all others as they were."""
    assert form_of(Answer(FORMS[form]), None) == form
    found, asked = asked_of(form, REWORDED, good(form))
    assert list(read_parts(found, form).texts) == list(good(form).values())
    assert len(asked) == 1
    assert f"s {', '.join(map(str, chosen(form)))} in other words" in asked[0]
    assert json.dumps(parts_of(form)["10" if form != "data" else "9"]) in asked[0]


def wrong(changes):
    texts = good("prose") | changes
    return {number: text for number, text in texts.items() if text is not None}


FIRST, SECOND, THIRD = map(str, chosen("prose"))
OTHER = next(str(n) for n in range(1, 11) if n not in chosen("prose"))


@pytest.mark.parametrize(
    ("said", "complaint"),
    [
        (REFUSAL, "There is no JSON object in it."),
        ("", "There is no JSON object in it."),
        ('{"1": "a", "2": }', "The JSON is not valid."),
        ('["a", "b"]', "It is not a JSON object."),
        (wrong({OTHER: 7}), "Each number must have one text."),
        (wrong({OTHER: None}), f"Number {OTHER} is missing."),
        (wrong({"11": "More."}), "There is no number 11."),
        (wrong({"x": "More."}), "There is no number x."),
        (wrong({OTHER: "Changed."}), f"Number {OTHER} was changed and should not be."),
        (wrong({FIRST: parts_of("prose")[FIRST] + " "}), f"Number {FIRST} is the same as before."),
        (wrong({FIRST: " "}), f"Number {FIRST} is empty."),
        (wrong({FIRST: "Tank 99 keeps 990 litres."}), f"Number {FIRST} does not have the same numbers as"),
        (wrong({FIRST: good("prose")[FIRST] + " very" * 60}), f"Number {FIRST} became much longer."),
        (wrong({FIRST: good("prose")[FIRST].replace(" at", "\nat")}), f"Number {FIRST} has line breaks."),
        (wrong({FIRST: good("prose")[FIRST] + " So."}), "Together there are 11 sentences instead of 10"),
    ],
)
def test_a_model_is_told_what_was_wrong(said, complaint) -> None:
    """Every fault has a sentence in the next prompt; a good second answer is taken, chatter and all."""
    chatter = f"Sure! Here it is:\n```json\n{json.dumps(good('prose'), indent=1)}\n```\nAnything else?"
    found, asked = asked_of("prose", REWORDED, said, chatter)
    assert isinstance(found, Answer)
    assert len(asked) == 2
    assert asked[1].startswith(asked[0])
    assert complaint in asked[1]


def test_a_stronger_model_is_asked_when_the_first_gives_up() -> None:
    """It is told what was wrong, too; a call that failed is not repeated with the same model."""
    down = Failure("rewriter", 1, "timeout")
    found, asked = asked_of("prose", REWORDED, REFUSAL, REFUSAL, REFUSAL, stronger=[good("prose")])
    assert isinstance(found, Answer)
    assert len(asked) == 4
    assert "There is no JSON object in it." in asked[3]
    found, asked = asked_of("prose", REWORDED, down, stronger=[good("prose")])
    assert isinstance(found, Answer)
    assert len(asked) == 2
    assert asked_of("prose", REWORDED, down)[0] is down
    assert asked_of("prose", REWORDED, REFUSAL, REFUSAL, REFUSAL, stronger=[down])[0] is down
    found, asked = asked_of("prose", REWORDED, down, stronger=[REFUSAL, REFUSAL, wrong({OTHER: None})])
    assert (found.reason, found.detail) == ("checks_failed", f"Number {OTHER} is missing.")
    assert len(asked) == 4


def merged(form):
    """A good compression: the numbers that stay, the merged ones shorter."""
    joints = sorted(random.Random(2).sample(range(1, 10), 3))
    texts = parts_of(form)
    for joint in joints:
        texts.pop(str(joint + 1))
        first = next(n for n in range(joint, 0, -1) if n - 1 not in joints)
        texts[str(first)] = "Check them." if form == "workflow" else f"Tank {first} holds some."
    return texts


@pytest.mark.parametrize("form", ["prose", "list", "workflow"])
def test_a_model_merges_the_parts_it_is_asked_for(form) -> None:
    """Three of ten fewer; the rest as it was."""
    found, asked = asked_of(form, COMPRESSED, merged(form))
    assert isinstance(found, Answer)
    assert len(read_parts(found, form).texts) == 7
    assert list(read_parts(found, form).texts) == list(merged(form).values())
    assert len(asked) == 1
    assert " into one" in asked[0]
    if form == "workflow":
        assert len(read_workflow(found.text).edges) <= 2


LEFT = next(str(n) for n in range(1, 11) if str(n) not in merged("prose"))
FEWER = next(number for number, text in merged("prose").items() if "some" in text)


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({LEFT: "Still here."}, f"Number {LEFT} should be left out: it is merged into"),
        ({FEWER: "Tank holds " + "very " * 40}, f"Number {FEWER} is not shorter than its parts together."),
        ({FEWER: "Tank 77 holds some."}, f"Number {FEWER} has numbers that were not there before."),
        ({FEWER: ""}, f"Number {FEWER} is empty."),
    ],
)
def test_what_is_wrong_with_a_compression(changes, complaint) -> None:
    """Parts left in, not shorter, with new numbers."""
    texts = merged("prose")
    found, asked = asked_of("prose", COMPRESSED, texts | changes, texts)
    assert isinstance(found, Answer)
    assert complaint in asked[1]


def test_values_are_shortened_one_by_one() -> None:
    """As many values as before, three of ten with less in them."""
    less = parts_of("data") | {str(n): f"Tank {n} has some." for n in chosen("data")}
    found, asked = asked_of("data", COMPRESSED, less)
    assert json.loads(found.text) == {"id": 7, "notes": list(less.values())}
    assert "Shorten the values" in asked[0]
    long_ = less | {str(chosen("data")[0]): "Tank holds " + "very " * 40}
    assert "is not shorter than before." in asked_of("data", COMPRESSED, long_, less)[1][1]


def test_what_cannot_be_degraded_so_is_a_failure_without_a_call() -> None:
    """Too few parts, no text, tool calls; another mode is an error of the caller."""
    for form, mode, text, reason in (
        ("prose", COMPRESSED, "One sentence.", "too_few_units"),
        ("prose", REWORDED, "```\ncode\n```", "too_few_units"),
        ("prose", REWORDED, "", "empty"),
        ("data", REWORDED, '{"a": 1}', "too_few_units"),
        ("data", REWORDED, "no data", "no_data"),
        ("workflow", REWORDED, "no workflow", "no_workflow"),
    ):
        found, asked = asked_of(form, mode, text=text)
        assert (found.reason, asked) == (reason, [])
    with pytest.raises(ValueError, match="rewords or compresses"):
        asked_of("prose", FailureMode.MISSING)
    with pytest.raises(ValueError, match="severity"):
        asked_of("prose", REWORDED, severity=2.0)

    async def never(prompt):
        raise AssertionError(prompt)

    calls = Answer("", (ToolCall("a", "{}"), ToolCall("b", "{}")))
    found = asyncio.run(model_degraded(never, calls, "workflow", REWORDED, 0.5, random.Random(1)))
    assert found.reason == "tool_calls"


def test_a_much_shorter_rewording_is_a_fault() -> None:
    """A quarter of the text, and a few words, is the least."""
    before = ["It is a very long sentence " + "with many words " * 20]
    found = list(faults(before, {"1": "It is long."}, {0: range(1)}, shorter=False))
    assert found == ["Number 1 became much shorter."]
