"""Perturbations of tools: the same tools and results, said otherwise, in every request shape."""

import json
import random

import pytest

from evenkeel.shadow.perturbations import NotApplicable, attempt
from evenkeel.shadow.perturbations.tools import TOOLS
from evenkeel.shadow.prompt import PromptView
from evenkeel.shadow.prompt.apis import CHAT, GEMINI, MESSAGES, RESPONSES
from tests.cases import cases

CASES = cases(__file__)
KINDS = {kind.name.partition(".")[2]: kind for kind in TOOLS}
SCHEMA = CASES["schema"]
NAMES = ("get_weather", "refund", "lookup_order")
RESULT = '{"total": 10.50, "id": "00123", "rows": [1, 2]}'


def request(api, result=RESULT):
    """A request that offers tools and holds a result of the first."""
    given = CASES["requests"][api.name]
    functions = [{"name": name, "description": f"Use {name} for what it says."} for name in NAMES]
    if api is CHAT:
        tools = [{"type": "function", "function": {**tool, "parameters": SCHEMA}} for tool in functions]
    elif api is MESSAGES:
        tools = [{**tool, "input_schema": SCHEMA} for tool in functions]
    elif api is GEMINI:
        tools = [{"functionDeclarations": [{**tool, "parameters": SCHEMA} for tool in functions]}]
    else:
        tools = [{"type": "function", **tool, "parameters": SCHEMA} for tool in functions]
    return {"tools": tools} | json.loads(json.dumps(given).replace('"RESULT"', json.dumps(result)))


def applied(name, body, api=CHAT, seed=1):
    """The outcome of a perturbation."""
    view = PromptView.parse(json.dumps(body).encode(), api=api)
    return attempt(KINDS[name], view, 1.0, random.Random(seed))


def function_of(tool):
    return tool.get("function", tool)


def definitions(body):
    """The definitions of a request, which Gemini holds in a list of their own."""
    return body["tools"][0].get("functionDeclarations", body["tools"])


@pytest.mark.parametrize("api", [CHAT, MESSAGES, RESPONSES, GEMINI])
@pytest.mark.parametrize("name", ["order", "enum_order", "unrelated"])
def test_definitions_keep_names_types_and_required_members(name, api):
    """Definitions differ in the subject of the perturbation only."""
    before = request(api)
    after = json.loads(applied(name, before, api).body())
    assert {key: after[key] for key in before if key != "tools"} == {
        key: before[key] for key in before if key != "tools"
    }
    offered = definitions(after)
    kept = [tool for tool in offered if function_of(tool)["name"] in NAMES]
    assert sorted(function_of(tool)["name"] for tool in kept) == sorted(NAMES)
    for tool in kept:
        schema = function_of(tool).get("parameters", tool.get("input_schema"))
        assert schema["required"] == ["city"]
        assert sorted(schema["properties"]["unit"]["enum"]) == ["c", "f", "k"]
    assert len(offered) == len(NAMES) + (name == "unrelated")
    if name == "unrelated":
        (added,) = [tool for tool in offered if tool not in kept]
        assert added.keys() == definitions(before)[0].keys()
    if name == "order":
        assert offered != definitions(before)
    if name == "enum_order":
        assert kept != definitions(before)


@pytest.mark.parametrize("api", [CHAT, MESSAGES, RESPONSES])
@pytest.mark.parametrize(
    ("name", "result"),
    [
        ("result_layout", '{\n  "total": 10.50,\n  "id": "00123",\n  "rows": [\n    1,\n    2\n  ]\n}'),
        ("result_extra", '{"total": 10.50, "id": "00123", "rows": [1, 2], "_schema_version": "2"}'),
    ],
)
def test_results_keep_their_values_to_the_letter(name, result, api):
    """10.50 stays 10.50."""
    assert json.dumps(result) in applied(name, request(api), api).body().decode()


def test_keys_of_a_result_come_in_another_order():
    """Each with its value, as it was written."""
    text = applied("result_keys", request(CHAT)).segments[-1].text
    assert text != RESULT
    assert json.loads(text) == json.loads(RESULT)
    assert '"total": 10.50' in text


@pytest.mark.parametrize("name", KINDS)
def test_a_request_without_tools_has_none_to_change(name):
    """Results in prose and tools of the provider cannot be changed either."""
    body = {"messages": [{"role": "user", "content": "Hello, how are you today?"}]}
    assert isinstance(applied(name, body), NotApplicable)
    body = request(CHAT, result="It is 12 degrees.")
    body["tools"] = [{"type": "web_search"}, *body["tools"]]
    assert isinstance(applied(name, body), NotApplicable)


def test_an_unrelated_tool_is_not_one_that_the_request_speaks_of():
    """A tool that might be of use is never added."""
    body = request(CHAT)
    body["messages"][0]["content"] = (
        "Which phase has the moon, when is the tide, and what is XIV as a numeral?"
    )
    assert applied("unrelated", body) == NotApplicable("nothing_to_change")


@pytest.mark.parametrize(("name", "text"), [("description", "Use "), ("parameter", "The unit of")])
def test_a_model_rewords_one_description(name, text):
    """Names and types are not its business."""
    draft = applied(name, request(CHAT))
    (task,) = draft.tasks
    assert task.text.startswith(text)
    after = json.loads(draft.finish(["Other words for the same."]).body())
    assert json.dumps(after["tools"]).count("Other words for the same.") == 1
    assert [function_of(tool)["name"] for tool in after["tools"]] == list(NAMES)
