"""Prompts of the tasks, and structured output."""

from __future__ import annotations

import json

import pytest

from evenkeel.simulate import Condition, Message, TaskName, make_case, make_prompt
from evenkeel.simulate.model import Form, fill, read, say
from evenkeel.simulate.tasks import TASKS, task_of

TASK = pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)


def messages(task, seed):
    """The prompt as the model sees it."""
    return [Message(raw["role"], raw["content"]) for raw in make_prompt(task, seed)]


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


@TASK
def test_template_is_constant_and_input_is_not(task):
    """Around the input all prompts of a task are the same; no two inputs are."""
    template = task.template
    inputs = set()
    for seed in range(50):
        prompt = make_prompt(task.name, seed)
        assert [one["role"] for one in prompt] == (["system", "user"] if template.system else ["user"])
        assert prompt[0]["content"] == template.system or not template.system
        text = prompt[-1]["content"]
        assert text.startswith(f"{template.before}\n\n")
        assert text.endswith(f"\n\n{template.after}")
        inputs.add(text[len(template.before) : -len(template.after)])
    assert len(inputs) == 50








def test_documents_are_cited():
    """Each state of an answer to a question rests on other documents, a worse one on none."""
    reading = read(messages(TaskName.QUESTIONS, 1))
    sources = {state: json.loads(say(reading, state))["sources"] for state in Condition}
    assert sources == {"good": ["Doc 1", "Doc 2"], "different": ["Doc 3", "Doc 4"], "worse": []}


def test_unknown_task():
    """A task that does not exist is refused."""
    with pytest.raises(ValueError, match="poetry"):
        make_prompt("poetry", 1)




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
    """A schema is filled by the names and types of its properties."""
    assert json.loads(fill(schema, VALUES, "?")) == expected


def test_recursive_schema_comes_to_an_end():
    """A schema that refers to itself is filled to a limited depth."""
    node = {"properties": {"next": {"$ref": "#"}, "all": {"type": "array", "items": {"$ref": "#"}}}}
    assert fill({"properties": {"next": {"$ref": "#"}}}, {}, "?").count("next") == 12
    assert fill({"$ref": "#"}, {}, "?") == '"?"'
    assert len(fill(node, {}, "?")) < 10_000_000


