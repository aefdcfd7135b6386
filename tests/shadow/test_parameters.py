"""Request parameters as a short text: every API, nothing secret, nothing long."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.core.verdict import NO_PARAMETERS
from evenkeel.shadow.prompt import APIS, PromptView, UnreadablePrompt
from evenkeel.shadow.prompt.parameters import parameters_of
from tests.cases import cases
from tests.kit.apis import API
from tests.shadow.wild_exchanges import WildExchanges

CASES = cases(__file__)

SCHEMA = {"type": "object", "properties": {"secret_field": {"type": "string"}}}


def said(name="chat", **members):
    body = json.dumps({"model": "m", **API[name].ask("Hello"), **members})
    return parameters_of(PromptView.parse(body.encode(), api=API[name]))


def test_numbers_and_words_stand_as_they_are_sorted_by_name():
    """Whole numbers lose no digit and fractions gain none; null is nothing."""
    asked = said(top_p=0.9, temperature=0.2, max_tokens=300, seed=1234567890, stop=None, tool_choice="auto")
    assert asked == "max_tokens=300 seed=1234567890 temperature=0.2 tool_choice=auto top_p=0.9"
    assert said(n=2, parallel_tool_calls=False, reasoning_effort="high") == (
        "n=2 parallel_tool_calls=false reasoning_effort=high"
    )


def test_a_request_that_asks_for_nothing_says_so():
    """Streams, users and members that nobody knows do not count."""
    assert said(stream=True, user="maria", metadata={"a": "b"}, made_up=3) == NO_PARAMETERS


def test_free_text_and_structure_are_hashes():
    """Words of tools, schemas and stop sequences stay out; the order of keys does not matter."""
    tools = [{"type": "function", "function": {"name": "lookup", "description": "secret words"}}]
    form = {"type": "json_schema", "json_schema": {"name": "case", "schema": SCHEMA}}
    asked = said(tools=tools, stop=["STOP HERE"], response_format=form, reasoning_effort="sk-" + "x" * 40)
    names = [part.partition("=")[0] for part in asked.split()]
    assert names == ["reasoning_effort", "response_format", "stop", "tools"]
    assert not any(word in asked for word in ("secret", "STOP", "lookup", "case", "xxx"))
    turned = [{"function": {"description": "secret words", "name": "lookup"}, "type": "function"}]
    assert said(tools=turned) == said(tools=tools)
    assert said(tools=[*tools, *tools]) != said(tools=tools)


@pytest.mark.parametrize(("api", "members", "asked"), CASES["parameters"])
def test_each_api_has_its_names(api, members, asked):
    """Members that mean the same have one name, whatever an API calls them."""
    assert said(api, **members) == asked


@given(st.randoms(use_true_random=False), st.sampled_from(APIS))
def test_any_request_gives_a_short_line(rng, api):
    """The line is below 1,000 characters, without breaks, each part a name and a value."""
    try:
        view = PromptView.parse(WildExchanges(rng).request(api).encode("utf-8", "surrogatepass"), api=api)
    except UnreadablePrompt:
        return
    found = parameters_of(view)
    assert 0 < len(found) < 1000
    assert found.isascii()
    assert found == NO_PARAMETERS or all("=" in part for part in found.split(" "))
