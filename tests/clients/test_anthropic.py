"""The official Anthropic SDK, direct and through the proxy, and its requests as replays read them."""

import json

import pytest
from pydantic import BaseModel

from evenkeel.shadow.prompt import PromptView, refusal
from tests.clients.scripted import sent
from tests.kit.apis import API

pytestmark = pytest.mark.system

TEXT = "Keep an even keel, caf\u00e9."
ASK = {
    "model": "scripted-1",
    "max_tokens": 64,
    "messages": [{"role": "user", "content": "Which way?"}],
}
TOOL = {"name": "restart", "description": "Restarts a host.", "input_schema": {"type": "object"}}
ERRORS = (400, 401, 404, 429, 500, 529)
STEP = [
    {"role": "user", "content": "Restart it."},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_1", "name": "restart", "input": {}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "done"}]},
]
# Each call, with the reason for which its request is not replayed; None if it is.
CALLS = {
    "a message": (lambda sdk: sdk.messages.create(**ASK, system="Be brief."), None),
    "a stream": (lambda sdk: sdk.messages.create(**ASK, stream=True), None),
    "tools": (lambda sdk: sdk.messages.create(**ASK, tools=[TOOL], tool_choice={"type": "auto"}), None),
    "a step of an agent": (lambda sdk: sdk.messages.create(**ASK | {"messages": STEP}, tools=[TOOL]), None),
    "a cached system prompt": (
        lambda sdk: sdk.messages.create(
            **ASK, system=[{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}]
        ),
        None,
    ),
    "a beta": (lambda sdk: sdk.beta.messages.create(**ASK, betas=["context-management-2025-06-27"]), None),
    "a thread that is opened": (
        lambda sdk: sdk.beta.messages.create(**ASK, betas=["threads"], thread={"type": "create"}),
        None,
    ),
    "a thread that goes on": (
        lambda sdk: sdk.beta.messages.create(
            **ASK, betas=["threads"], thread={"type": "continue", "previous_message_id": "msg_0"}
        ),
        "stateful",
    ),
    "a computer at the client": (
        lambda sdk: sdk.beta.messages.create(**ASK, tools=[{"type": "computer_toolset_20260801"}]),
        None,
    ),
    "code that the provider runs": (
        lambda sdk: sdk.messages.create(
            **ASK, tools=[{"type": "code_execution_20260521", "name": "code_execution"}]
        ),
        "server_side_tools",
    ),
    "a search of the provider": (
        lambda sdk: sdk.messages.create(**ASK, tools=[{"type": "web_search_20250305", "name": "web_search"}]),
        "server_side_tools",
    ),
    "a connector of the provider": (
        lambda sdk: sdk.beta.messages.create(
            **ASK,
            betas=["mcp-client-2025-04-04"],
            mcp_servers=[{"type": "url", "url": "https://tools.example/mcp", "name": "tools"}],
        ),
        "server_side_tools",
    ),
}


async def scripted(wire, request):
    """Answer in the shapes of the API, by the path and the model of a request."""
    body = json.loads(await wire.body() or b"{}")
    model = body.get("model", "")
    if model.startswith("error-"):
        _answer(
            wire, int(model.removeprefix("error-")), {"type": "error", "error": {"type": "x", "message": "m"}}
        )
    elif request.target.startswith(b"/v1/messages/count_tokens"):
        _answer(wire, 200, {"input_tokens": 12})
    elif body.get("stream"):
        events = [
            {"type": "message_start", "message": _message([])},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
            {"type": "ping"},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": TEXT}},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 5}},
            {"type": "message_stop"},
        ]
        stream = "".join(
            f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events
        ).encode()
        wire.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: %d\r\n\r\n" % len(stream)
        )
        wire.write(stream)
    else:
        _answer(wire, 200, _message([{"type": "text", "text": TEXT}]))


def _message(content):
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "scripted-1",
        "content": content,
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 9, "output_tokens": 5},
    }


def _answer(wire, status, value):
    body = json.dumps(value).encode()
    fields = b"Content-Type: application/json\r\nrequest-id: req_1\r\nContent-Length: %d" % len(body)
    wire.write(b"HTTP/1.1 %d Scripted\r\n%b\r\n\r\n%b" % (status, fields, body))


@pytest.fixture
def upstream(upstream):
    upstream.handler = scripted
    return upstream


def client(port):
    # Loaded when it is needed: that takes a second of every worker otherwise.
    import anthropic  # noqa: PLC0415

    return anthropic.Anthropic(base_url=f"http://127.0.0.1:{port}", api_key="k", max_retries=0, timeout=240)


def observed(port, call):
    """Make a call; return what an application sees, as data that can be compared."""
    import anthropic  # noqa: PLC0415 - see above

    with client(port) as sdk:
        try:
            result = call(sdk)
        except anthropic.APIStatusError as error:
            return [type(error).__name__, error.status_code, error.body, error.request_id]
        items = list(result) if isinstance(result, anthropic.Stream) else [result]
        return [item.model_dump() if isinstance(item, BaseModel) else item for item in items]


def failing(status):
    return lambda sdk: sdk.messages.create(**ASK | {"model": f"error-{status}"})


ALL = {name: call for name, (call, _) in CALLS.items()}
ALL["counting tokens"] = lambda sdk: sdk.messages.count_tokens(model="m", messages=ASK["messages"])
ALL |= {f"error {status}": failing(status) for status in ERRORS}


@pytest.mark.parametrize("name", ALL)
def test_a_call_gives_and_sends_the_same(paths, upstream, name):
    """Messages, events and errors are equal in the application, and requests are at the endpoint.

    Requests of the SDK are replayed, or refused for a true reason.
    """
    direct, proxied = paths.both(lambda port: observed(port, ALL[name]))
    assert proxied == direct
    first, second = sent(upstream.requests)
    assert first == second
    if name in CALLS:
        assert TEXT in json.dumps(proxied, ensure_ascii=False)
        refused = refusal(PromptView.parse(upstream.requests[1].body, api=API["messages"]))
        assert (refused and refused.reason) == CALLS[name][1]
