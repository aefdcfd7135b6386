"""Prompts of a check: text, messages, request bodies, templates with rows, and other tools' datasets."""

import json
from pathlib import Path

import pytest
import yaml

from evenkeel.release.check.prompts import as_chat, read_dataset, read_prompts
from evenkeel.release.kit.arguments import InputError
from evenkeel.release.kit.datasets import read_rows
from tests.cases import cases

CASES = cases(__file__)


def texts(view):
    """Text of each segment with its kind."""
    return [(segment.kind, segment.text) for segment in view.segments]


def test_text_is_one_user_message():
    """A plain prompt, braces and all, is what a user typed."""
    (view,) = read_prompts("{Why} does it rain?", None, "p.txt")

    assert texts(view) == [("input", "{Why} does it rain?")]


@pytest.mark.parametrize(("given", "api"), CASES["bodies"])
def test_messages_and_bodies_are_read_as_the_sdk_sends_them(given, api):
    """A list of messages is a chat; a body is of the API that its members say."""
    (view,) = read_prompts(json.dumps(given), None, "p.json")

    assert view.api.name == api
    assert view.typed[-1].text == "Hi"


@pytest.mark.parametrize("given", CASES["other_apis"])
def test_requests_of_other_apis_can_be_asked_as_chats(given):
    """The simulated model speaks nothing else."""
    messages = [{"role": "system", "content": "s"}, {"role": "user", "content": "Hi"}]

    assert json.loads(as_chat(json.dumps(given), "p.json")) == {"messages": messages}
    assert as_chat("Ask me", "p.txt") == "Ask me"


def test_values_of_variables_are_input_and_the_rest_is_template():
    """Only what a row fills in may be reworded."""
    rows = [{"name": "Ada", "question": "Why {x}?"}, {"name": "Bo", "question": "How?"}]

    views = read_prompts("Answer {{name}} shortly.\n\nQ: {{ question }}", rows, "t.txt")

    assert texts(views[0]) == [
        ("template", "Answer "),
        ("input", "Ada"),
        ("template", " shortly.\n\nQ: "),
        ("input", "Why {x}?"),
    ]
    assert views[1].text == "user: Answer Bo shortly.\n\nQ: How?"


def test_a_value_may_come_from_windows():
    """Its lines are the input's, whatever ends them."""
    (view,) = read_prompts("Sort {{mail}}", [{"mail": "Hello,\r\nwhere is it?"}], "t.txt")

    assert texts(view) == [("template", "Sort "), ("input", "Hello,\nwhere is it?")]


def test_variables_in_a_system_message_are_filled_too():
    """A template of messages keeps its roles."""
    template = json.dumps(
        [{"role": "system", "content": "You help {{team}}."}, {"role": "user", "content": "{{question}}"}]
    )

    (view,) = read_prompts(template, [{"team": "sales", "question": "Who?"}], "t.json")

    assert view.text == "system: You help sales.\n\nuser: Who?"


@pytest.mark.parametrize(("text", "rows", "said"), CASES["errors"])
def test_errors_say_what_is_wrong_where_and_what_to_do(text, rows, said):
    """Each message names the source and the remedy."""
    with pytest.raises(InputError) as raised:
        read_prompts(text, rows, "p.txt")

    assert said in str(raised.value)


DATASETS = yaml.safe_load((Path(__file__).parents[1] / "datasets.yaml").read_text("utf-8"))
OF_VARIABLES = {"items.jsonl", "promptfoo.yaml", "promptfoo.csv", "questions.jsonl"}


@pytest.mark.parametrize(("name", "content", "questions"), [row[:3] for row in DATASETS])
def test_rows_of_other_tools_fill_a_template_or_are_prompts(tmp_path, name, content, questions):
    """Requests, batch lines, messages, JSON in a cell, plain questions; expected answers are left alone."""
    path = tmp_path / name
    path.write_text(content)
    rows = read_rows(path)
    if name in OF_VARIABLES:
        assert [row.values["question"] for row in rows] == questions
        assert "__expected" not in rows[0].values
    assert [view.typed[-1].text for view in read_dataset(rows, name)] == questions


def test_a_row_without_a_prompt_is_named(tmp_path):
    """The message says which row, and how to use it with a template."""
    path = tmp_path / "rows.jsonl"
    path.write_text('{"question": "One?"}\n{"topic": "x"}\n')

    with pytest.raises(InputError, match=r"line 2: holds no prompt .* --inputs"):
        read_dataset(read_rows(path), "rows.jsonl")
