"""Tool calls: which tool, with which arguments."""

from __future__ import annotations

import json

import pytest

from evenkeel.simulate import Condition, Message, make_case, summary_prompt
from evenkeel.simulate.model import read
from evenkeel.simulate.requests import ModelRequest
from evenkeel.simulate.server import call_tool, requested_tool

CASE = make_case(9)
TOOLS = ({"name": "get_weather"}, {"name": "close_ticket"})


def request(text: str = "", *, role: str = "user", choice: object = None, tools=TOOLS) -> ModelRequest:
    """A request with one message."""
    return ModelRequest("m", (Message(role, text),), False, False, tools, choice)


def filled(properties: dict[str, object], condition: Condition, prompt: str) -> dict[str, object]:
    """The arguments of a call."""
    function = {"name": "f", "parameters": {"type": "object", "properties": properties}}
    call = call_tool(function, read([Message("user", prompt)]), condition)
    assert call.name == "f"
    return json.loads(call.arguments)


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (request("please close_ticket now"), "close_ticket"),
        (request("close_ticket or get_weather"), "get_weather"),
        (request("please close it"), None),
        (request("close_ticket", role="system"), None),
        (request("close_ticket", role="tool"), None),
        (request("close_ticket", choice="none"), None),
        (request("close_ticket", tools=()), None),
        (request("hello", choice="required"), "get_weather"),
        (request("hello", choice={"type": "function", "function": {"name": "close_ticket"}}), "close_ticket"),
        (request("hello", choice={"type": "function", "function": {"name": "other"}}), None),
        (request("close_ticket", choice={"type": "function"}), None),
    ],
    ids=range(11),
)
def test_requested_tool(asked, expected):
    """The choice decides, else the first offered tool that the user names."""
    found = requested_tool(asked)
    assert (found and found["name"]) == expected


def test_arguments_by_state():
    """Every kind of property is filled; the good and the different call disagree, the worse knows nothing."""
    properties = {
        "case": {"type": "string"},
        "error_code": {"type": "string"},
        "version": {"type": "string"},
        "date": {"type": "string"},
        "time": {"type": "string"},
        "subject": {},
        "users": {"type": "number"},
        "tags": {"type": "array"},
        "extra": {"type": "object"},
        "odd": True,
    }
    details, name = CASE.details, CASE.topic.name
    for condition, side, ticket in (
        (Condition.GOOD, details.first, details.ticket),
        (Condition.DIFFERENT, details.second, details.change),
    ):
        assert filled(properties, condition, summary_prompt(CASE)) == {
            "case": ticket,
            "error_code": side.code,
            "version": side.version,
            "date": side.date,
            "time": side.time,
            "subject": name,
            "users": int(side.people),
            "tags": [],
            "extra": {},
            "odd": name,
        }
    worse = filled({"case": {"type": "string"}, "users": {"type": "integer"}}, Condition.WORSE, CASE.text)
    assert worse == {"case": "unknown", "users": 9999}




