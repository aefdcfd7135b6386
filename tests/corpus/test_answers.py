"""Answers and streams in the shapes that servers were reported to write."""

import json

import pytest

from evenkeel.core.pair import ToolCall
from evenkeel.shadow.answer import UnreadableAnswer, read_answer
from tests.cases import cases
from tests.kit.apis import API

CASES = [
    pytest.param(api, case, id=f"{api}, {name}")
    for api, shapes in cases(__file__).items()
    for name, case in shapes.items()
]


@pytest.mark.parametrize(("api", "case"), CASES)
def test_every_server_s_shape_is_read_as_the_same_answer(api, case):
    """Text and tool calls come out as the server meant them, whole or streamed; an error is none."""
    if "list" in case or "body" in case:
        headers, body = {"content-type": "application/json"}, json.dumps(case.get("list") or case["body"])
    else:
        headers, body = {"content-type": "text/event-stream"}, case.get("raw", "")
        for event in case.get("events", ()):
            body += f"data: {event if isinstance(event, str) else json.dumps(event)}\n\n"
    reader = API[api].answer_reader()
    if "error" in case:
        with pytest.raises(UnreadableAnswer) as raised:
            read_answer(headers, body.encode(), reader)
        assert raised.value.reason == case["error"]
        return
    found = read_answer(headers, body.encode(), reader)
    calls = tuple(ToolCall(*call) for call in case.get("calls", ()))
    finish = case.get("finish", "tool_calls" if calls else "stop")
    assert (found.text, found.tool_calls, found.finish_reason) == (case.get("text", ""), calls, finish)
