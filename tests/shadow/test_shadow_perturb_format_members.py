"""Format perturbations and members of a request that constrain the answer: schemas, grammars, tools."""

from __future__ import annotations

import json

import pytest

from evenkeel.shadow.perturbations.format import FORMATS, JSON, MARKDOWN, YAML
from evenkeel.shadow.perturbations.format.schema import forces_tools
from tests.shadow.asked_formats import applied, texts, view_of

SCHEMA = {
    "type": "object",
    "properties": {
        "cause": {"type": "string", "description": "in one sentence"},
        "parts": {"type": "array", "items": {"$ref": "#/$defs/part"}},
        "level": {"enum": ["low", "high"]},
        "owner": {"anyOf": [{"type": "null"}, {"type": "string"}]},
    },
    "$defs": {"part": {"type": "object", "properties": {"count": {"type": "integer"}}}},
}
STRUCTURE = (
    'cause: "<string: in one sentence>"\nparts:\n  - count: <integer>\nlevel: <low | high>\nowner: <string>'
)


@pytest.mark.parametrize(("members", "left"), [
    ({"response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": SCHEMA}}}, {}),
    ({"text": {"format": {"type": "json_schema", "name": "n", "schema": SCHEMA}, "verbosity": "low"}},
     {"text": {"verbosity": "low"}}),
    ({"text": {"format": {"type": "json_schema", "name": "n", "schema": SCHEMA}}}, {}),
    ({"output_config": {"format": {"type": "json_schema", "schema": SCHEMA}}}, {}),
    ({"guided_json": SCHEMA}, {}),
    ({"guided_json": json.dumps(SCHEMA), "guided_decoding_backend": "x"}, {}),
])  # fmt: skip
def test_a_json_schema_becomes_words(members, left):
    """Its fields are asked for in the prompt, the member is lifted, and JSON is what was asked for."""
    view = view_of(**members, temperature=0)
    made = applied(YAML, view)
    body = json.loads(made.body())
    assert body.pop("messages")[0]["content"].endswith(
        f"\n\nWrite your whole answer as one valid YAML document.\n\n```yaml\n{STRUCTURE}\n```"
    )
    assert body == {**left, "temperature": 0}
    assert applied(JSON, view).reason == "already_wanted"


def test_a_schema_that_the_words_repeat_is_only_lifted():
    """If the instructions name all fields already, they are not shown twice."""
    members = {"response_format": {"type": "json_schema", "json_schema": {"schema": SCHEMA}}}
    asked = "Reply in JSON with cause, parts (count), level and owner."
    made = applied(MARKDOWN, view_of(asked, **members))
    assert texts(made)[0].endswith("Reply in Markdown with cause, parts (count), level and owner.")
    assert made.get("response_format") is None


def test_json_keeps_any_json():
    """Where the words ask for another format than the members, these are loosened to any object."""
    members = {"response_format": {"type": "json_schema", "json_schema": {"schema": SCHEMA}}}
    asked = "Reply in YAML with cause, parts (count), level and owner."
    made = applied(JSON, view_of(asked, **members))
    assert made.get("response_format") == {"type": "json_object"}
    nested = applied(JSON, view_of(asked, text={"format": {"type": "json_object"}, "verbosity": "low"}))
    assert nested.get("text") == {"format": {"type": "json_object"}, "verbosity": "low"}


@pytest.mark.parametrize(("members", "forced"), [
    ({}, False),
    ({"tool_choice": "auto"}, False),
    ({"tool_choice": "none"}, False),
    ({"tool_choice": {"type": "auto"}}, False),
    ({"tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": []}}, False),
    ({"tool_choice": "required"}, True),
    ({"tool_choice": {"type": "any"}}, True),
    ({"tool_choice": {"type": "function", "function": {"name": "f"}}}, True),
    ({"tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "required"}}}, True),
    ({"function_call": {"name": "f"}}, True),
    ({"function_call": "auto"}, False),
])  # fmt: skip
def test_forced_tools(members, forced):
    """A model that must call a tool writes no answer that could have a format."""
    view = view_of(**members)
    assert forces_tools(view) is forced
    if forced:
        assert {applied(kind, view).reason for kind in FORMATS} == {"tools_forced"}


def test_other_constraints_are_lifted():
    """A grammar that only one format satisfies would forbid the wanted one; plain text forbids nothing."""
    made = applied(YAML, view_of("Use JSON.", grammar="root ::= x", response_format={"type": "grammar"}))
    assert (made.get("grammar"), made.get("response_format")) == (None, None)
    assert applied(YAML, view_of(response_format={"type": "text"})).get("response_format") == {"type": "text"}
    assert applied(YAML, view_of(guided_json="{")).get("guided_json") is None
