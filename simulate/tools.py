"""Tool calls of the simulated model: which tool, with which arguments."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from evenkeel.core.pair import ToolCall
from evenkeel.simulate.condition import Condition

if TYPE_CHECKING:
    from evenkeel.simulate.model import Reading
    from evenkeel.simulate.requests import ModelRequest

_WRONG_NUMBER = 9_999


def requested_tool(request: ModelRequest) -> dict[str, Any] | None:
    """The function that a request wants called, None if it wants words.

    A tool is wanted if `tool_choice` names or requires it, or if the last message is the user's and
    contains the tool's name. The result of a call is answered in words, so that agents come to an end.
    """
    if not request.tools or request.tool_choice == "none" or request.messages[-1].role == "tool":
        return None
    if isinstance(request.tool_choice, dict):
        function = request.tool_choice.get("function")
        name = function.get("name") if isinstance(function, dict) else None
        return next((tool for tool in request.tools if tool["name"] == name), None)
    last = request.messages[-1]
    if last.role == "user":
        for tool in request.tools:
            if tool["name"] and tool["name"] in last.text:
                return tool
    return request.tools[0] if request.tool_choice == "required" else None


def call_tool(function: dict[str, Any], reading: Reading, condition: Condition) -> ToolCall:
    """The call: every property of the function's schema filled from the prompt.

    A property is filled by its type and by words in its name (ticket, host, version, error, date,
    time). A worse call knows nothing; a different one takes the second set of identifiers.
    """
    parameters = function.get("parameters")
    properties = parameters.get("properties") if isinstance(parameters, dict) else None
    arguments = {
        name: _value(name, schema if isinstance(schema, dict) else {}, reading, condition)
        for name, schema in (properties.items() if isinstance(properties, dict) else ())
    }
    return ToolCall(function["name"], json.dumps(arguments, ensure_ascii=False))


def _value(name: str, schema: dict[str, Any], reading: Reading, condition: Condition) -> Any:
    choices = schema.get("enum")
    if isinstance(choices, list) and choices:
        return choices[0 if condition is Condition.GOOD else -1]
    match schema.get("type"):
        case "integer" | "number":
            return _number(reading, condition)
        case "boolean":
            return condition is not Condition.WORSE
        case "array":
            return []
        case "object":
            return {}
        case _:
            return _word(name.lower(), reading, condition)


def _number(reading: Reading, condition: Condition) -> int:
    if condition is Condition.WORSE:
        return _WRONG_NUMBER
    side = reading.details.first if condition is Condition.GOOD else reading.details.second
    return int(side.people or 1)


def _word(name: str, reading: Reading, condition: Condition) -> str:
    if condition is Condition.WORSE:
        return "unknown"
    details = reading.details
    side = details.first if condition is Condition.GOOD else details.second
    named = {
        "host": side.host,
        "version": side.version,
        "error": side.code,
        "code": side.code,
        "date": side.date,
        "time": side.time,
        "ticket": details.ticket if condition is Condition.GOOD else details.change,
        "case": details.ticket if condition is Condition.GOOD else details.change,
    }
    for part, value in named.items():
        if part in name and value:
            return value
    if reading.topic is not None:
        return reading.topic.name
    spoken = reading.text.split()
    return spoken[-1 if condition is Condition.GOOD else 0].strip(".,;:!?") if spoken else ""
