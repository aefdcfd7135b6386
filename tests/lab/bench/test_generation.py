"""`evenkeel bench generate`: a model that is scripted writes issues."""

from __future__ import annotations

import asyncio
import json
import random

import pytest
from click.testing import CliRunner

from evenkeel.cli.main import main
from evenkeel.lab.bench.generation import (
    fault_of,
    read_written,
    requests,
    resembles,
    write_item,
)
from evenkeel.lab.bench.items import builtin_items, read_items
from tests.scripted_chat import ScriptedChat

KNOWN = builtin_items()


def row(**changes):
    """An issue as a model would write it."""
    case = (
        "Since the roof works of 3 June the door intercom at the east gate of the gardening depot has been "
        "silent. Visitors ring and nobody hears them. The caretaker exchanged the button on 4 June, without "
        "effect. On 5 June the electrician found that the amplifier G-7 had lost its supply, as the roofers "
        "had taken a socket on the same line and its breaker had tripped. The socket was moved to another "
        "line at 14:20 and the intercom has worked since then."
    )
    return {
        "issue": "Door intercom at the gardening depot is silent after roof works",
        "case": case,
        "chat": "09:01 Ute: the bell is dead\n09:02 Rob: which gate?\n09:03 Ute: east\n09:05 Rob: I come by",
        "question": "Why is the intercom silent although its button works?",
        "documents": [{"title": f"Page {n}", "text": f"Line {n} feeds the gate."} for n in range(4)],
        "message": "The intercom at the east gate is silent since 3 June. The button was exchanged.",
        "schema": [
            {"name": "gate", "description": "Gate"},
            {"name": "since", "description": "Date"},
            {"name": "part", "description": "Part that failed"},
        ],
        "entities": {"gate": "east", "since": "3 June"},
    } | changes


def scripted(*replies):
    """A model that says these one after another, and what it was asked."""
    asked = []
    waiting = iter(replies)

    async def say(messages):
        asked.append([dict(one) for one in messages])
        return next(waiting)

    return say, asked


def test_a_fault_is_told_and_put_right():
    """The second request holds the first reply and what was wrong; a fence does no harm."""
    say, asked = scripted(json.dumps(row(entities={"gate": "west"})), f"```json\n{json.dumps(row())}\n```")
    found = asyncio.run(write_item(say, "Write one.", KNOWN))
    assert found.id == "door-intercom-at-the-gardening-depot-is-silent"
    assert [one["role"] for one in asked[1]] == ["user", "assistant", "user"]
    assert 'the value of "gate" word for word' in asked[1][-1]["content"]


def test_after_three_faults_an_issue_is_given_up():
    """The last fault is the reason."""
    say, asked = scripted("no", "{}", json.dumps(row(case="Too short.")))
    found = asyncio.run(write_item(say, "Write one.", KNOWN))
    assert found == 'the field "case" has 2 words, which is too few'
    assert len(asked) == 3


def test_what_resembles_a_known_issue_is_refused():
    """The same story under another title is the same story."""
    first = read_written(json.dumps(row()))
    again = read_written(json.dumps(row(issue="Nobody hears visitors ringing")))
    assert resembles(again, [*KNOWN, first]) == first
    assert resembles(first, KNOWN) is None


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"chat": "09:01 Ute: hello"}, '"chat" has 1 turns'),
        ({"documents": [{"title": "a", "text": "same"}] * 4}, "two of the documents"),
        ({"entities": {"gate": "east", "since": "3 June", "part": "button"}}, "fills every slot"),
    ],
)
def test_what_does_not_hold_together_is_told(changes, said):
    """Each check names the field."""
    assert said in fault_of(read_written(json.dumps(row(**changes))))


def test_requests_follow_from_the_seed_and_differ():
    """The same seed asks the same; no pair of subject and cause comes twice while there are others."""
    first = requests(50, "the IT of a school", random.Random(1))
    assert first == requests(50, "the IT of a school", random.Random(1))
    assert len(set(first)) == 50
    assert "the IT of a school" in first[0]


def test_the_command_appends_what_is_new(tmp_path):
    """Two issues are asked for, the second is the first again: one is written, and the exit code says so."""
    target = tmp_path / "more.jsonl"
    with ScriptedChat(lambda _: json.dumps(row())) as chat:
        done = CliRunner().invoke(
            main,
            ["bench", "generate", "--model", "w", "--base-url", chat.url,
             "-n", "2", "--out", str(target), "--concurrency", "1", "--yes"],
        )  # fmt: skip
    assert done.exit_code == 1, done.output
    assert "1 of 2 issues written" in done.output
    assert "there is one like it already" in done.output
    assert len(read_items([target])) == 1
