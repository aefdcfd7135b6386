"""Prompts of the simulated application: made from a catalogue of cases, and recognised again."""

from __future__ import annotations

import json

import pytest

from evenkeel.simulate import PromptMessage, make_case, make_prompt
from evenkeel.simulate.model import fill, read
from evenkeel.simulate.recognition import find_topic
from evenkeel.simulate.tasks import TASKS
from evenkeel.simulate.topics import TOPICS


@pytest.mark.parametrize(
    "text",
    [
        "",
        "What is the capital of Australia, and since when?",
        "Explain sequential testing to a newcomer, with one example from medicine and one from brewing.",
        "My printer is broken.",
        TOPICS[0].name + " " + TOPICS[1].name,
    ],
)
def test_other_prompts_have_no_topic(text):
    """A question on something else, or a mere mention of a subject, is not taken for a case."""
    assert find_topic(text) is None


TASK = pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)


def messages(task, seed):
    """The prompt as the model sees it."""
    return [PromptMessage(raw["role"], raw["content"]) for raw in make_prompt(task, seed)]


@TASK
def test_prompts_are_read_back(task):
    """What a prompt was made of is what it is read as: task, topic and every identifier."""
    for seed in range(150):
        case = make_case(seed)
        reading = read(messages(task.name, seed))
        assert reading.task is task
        assert reading.topic is case.topic
        assert reading.details == case.details
        assert (reading.format, reading.language.tag) == ("json", "en")


VALUES = {"host": "BER-DB-01", "host_name": "other", "people": "12", "sources": ("Doc 1", "Doc 2")}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "string"}, "?"),
        ({"properties": {"my_host": {"type": "string"}}}, {"my_host": "BER-DB-01"}),
        # The longer name is the better match.
        ({"properties": {"my_host_name": {}}}, {"my_host_name": "other"}),
        ({"properties": {"people": {"type": "integer"}, "n": {"type": "number"}}}, {"people": 12, "n": 0}),
        ({"properties": {"people": {"type": "string"}}}, {"people": "12"}),
        (
            {"properties": {"people": {"type": "boolean"}, "n": {"type": "boolean"}}},
            {"people": True, "n": False},
        ),
        ({"properties": {"sources": {"type": "array"}}}, {"sources": ["Doc 1", "Doc 2"]}),
        ({"properties": {"sources": {"type": "string"}}}, {"sources": "Doc 1, Doc 2"}),
        ({"properties": {"people": {"type": "array", "items": {"type": "integer"}}}}, {"people": [12]}),
        ({"properties": {"x": {"type": ["null", "string"]}, "y": {"type": "null"}}}, {"x": "?", "y": None}),
        (
            {"properties": {"x": {"enum": ["a", "b"]}, "host": {"enum": ["a", "BER-DB-01"]}}},
            {"x": "a", "host": "BER-DB-01"},
        ),
        ({"properties": {"x": {"const": 5}}}, {"x": 5}),
        ({"properties": {"x": {"anyOf": [{"type": "integer"}, {"type": "null"}]}}}, {"x": 0}),
        (
            {"$defs": {"d": {"properties": {"host": {}}}}, "properties": {"x": {"$ref": "#/$defs/d"}}},
            {"x": {"host": "BER-DB-01"}},
        ),
        ({"properties": {"x": {"$ref": "#/nowhere"}}}, {"x": "?"}),
        ({"properties": 1, "type": "object"}, {}),
    ],
    ids=range(16),
)
def test_fill_by_hand(schema, expected):
    assert json.loads(fill(schema, VALUES, "?")) == expected
