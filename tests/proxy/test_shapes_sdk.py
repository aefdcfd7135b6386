"""Requests of agents as the real SDK sends them: captured, and asked again with all of their members."""

from __future__ import annotations

import asyncio
import contextlib
import json

import openai
import pytest

from evenkeel.runtime.replays import without_further_query
from evenkeel.shadow.original import api_headers
from evenkeel.shadow.prompt import PromptView, api_of, refusal
from tests.proxy.conftest import eventually, relay

ANSWER = b'{"id":"r","object":"response","status":"completed","output":[],"choices":[]}'
OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(ANSWER) + ANSWER
FUNCTION = {"type": "function", "name": "find", "parameters": {"type": "object", "properties": {}}}


def responses(**members):
    """Ask by the Responses API."""
    return lambda client: client.responses.create(model="m", **{"input": "Hi"} | members)


def chat(**members):
    """Ask by chat completions."""
    messages = [{"role": "user", "content": "Hi"}]
    return lambda client: client.chat.completions.create(model="m", **{"messages": messages} | members)


def post(path, headers=(), **body):
    """Ask as a client of another API does."""
    return lambda client: client.post(path, cast_to=object, body=body, options={"headers": dict(headers)})


REPLAYED = {
    "a response before": responses(previous_response_id="resp_1"),
    "a namespace": responses(
        tools=[{"type": "namespace", "name": "crm", "description": "Customers.", "tools": [FUNCTION]}]
    ),
    "a search for tools at the client": responses(
        tools=[{"type": "tool_search", "execution": "client"}, FUNCTION | {"defer_loading": True}]
    ),
    "a search for tools in the request": responses(
        tools=[{"type": "tool_search"}, FUNCTION | {"defer_loading": True}]
    ),
    "patches": responses(tools=[{"type": "apply_patch"}]),
    "a shell at the client": responses(tools=[{"type": "shell", "environment": {"type": "local"}}]),
    "the older shell": responses(tools=[{"type": "local_shell"}]),
    "a function with a shape of its result": responses(
        tools=[FUNCTION | {"output_schema": {"type": "object"}}]
    ),
    "a function for the model alone": responses(tools=[FUNCTION | {"allowed_callers": ["direct"]}]),
    "a custom tool": responses(tools=[{"type": "custom", "name": "note", "format": {"type": "text"}}]),
    "tools that are allowed": responses(
        tools=[FUNCTION],
        tool_choice={
            "type": "allowed_tools",
            "mode": "auto",
            "tools": [{"type": "function", "name": "find"}],
        },
    ),
    "a result of a tool": responses(
        tools=[FUNCTION],
        input=[
            {"role": "user", "content": "Hi"},
            {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "e"},
            {"type": "function_call", "call_id": "c", "name": "find", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c", "output": "7"},
        ],
        include=["reasoning.encrypted_content"],
        store=False,
    ),
    "a compaction": responses(context_management=[{"type": "compaction", "compact_threshold": 9000}]),
    "a function in chat": chat(
        tools=[{"type": "function", "function": {"name": "find", "parameters": {}, "strict": True}}],
        parallel_tool_calls=False,
    ),
    "Anthropic's context management": post(
        "/messages",
        {"anthropic-version": "2023-06-01", "anthropic-beta": "context-management-2025-06-27"},
        model="m",
        max_tokens=9,
        messages=[{"role": "user", "content": "Hi"}],
        context_management={"edits": [{"type": "clear_tool_uses_20250919"}]},
    ),
    "Anthropic's tools at the client": post(
        "/messages",
        {"anthropic-version": "2023-06-01", "anthropic-beta": "computer-use-2025-01-24"},
        model="m",
        max_tokens=9,
        messages=[{"role": "user", "content": "Hi"}],
        tools=[
            {"type": "bash_20250124", "name": "bash"},
            {"type": "memory_20250818", "name": "memory"},
            {"type": "tool_search_tool_bm25_20251119", "name": "search"},
            {"name": "find", "input_schema": {"type": "object"}, "defer_loading": True},
        ],
    ),
    "Vertex's Anthropic": post(
        "/projects/p/locations/l/publishers/anthropic/models/claude-x@20250929:rawPredict",
        anthropic_version="vertex-2023-10-16",
        max_tokens=9,
        messages=[{"role": "user", "content": "Hi"}],
    ),
    "Gemini": post(
        "/models/gemini-x:streamGenerateContent?alt=sse",
        contents=[{"role": "user", "parts": [{"text": "Hi"}]}],
        tools=[{"functionDeclarations": [{"name": "find"}]}],
    ),
}
REFUSED = {
    "stateful": responses(conversation="conv_1"),
    "background": responses(background=True),
    "stored_prompt": responses(prompt={"id": "pmpt_1"}),
    "server_side_tools": responses(tools=[{"type": "web_search"}]),
}


@pytest.fixture(scope="module")
def exchanges():
    """The exchange that each request of the SDK becomes, by its name."""

    def talk(port):
        client = openai.OpenAI(base_url=f"http://127.0.0.1:{port}/v1", api_key="sk-k", max_retries=0)
        for ask in (REPLAYED | REFUSED).values():
            with contextlib.suppress(openai.APIResponseValidationError):
                ask(client)

    async def captured():
        async with relay(OK) as rig:
            await asyncio.to_thread(talk, rig.port)
            await eventually(lambda: len(rig.queue.exchanges) == len(REPLAYED) + len(REFUSED))
            return dict(zip(REPLAYED | REFUSED, rig.queue.exchanges, strict=True))

    return asyncio.run(captured())


@pytest.mark.parametrize("name", REPLAYED)
def test_an_agent_s_request_is_asked_again_as_it_is(exchanges, name):
    """Every member is sent again, only `store` is false; so are the headers that belong to it."""
    exchange = exchanges[name]
    view = PromptView.parse(exchange.request_body, api=api_of(exchange.path))
    assert refusal(view) is None
    asked = json.loads(exchange.request_body)
    stored = {"store": False} if view.api.name == "responses" else {}
    assert json.loads(view.for_replay()) == asked | stored
    beta = dict(exchange.request_headers).get("anthropic-beta")
    assert dict(api_headers(exchange)).get("anthropic-beta") == beta
    assert without_further_query(exchange.path) == exchange.path


@pytest.mark.parametrize("reason", REFUSED)
def test_what_would_act_or_cannot_be_compared_is_refused(exchanges, reason):
    """State that a replay would add to, answers that come later, and tools that the provider runs."""
    exchange = exchanges[reason]
    refused = refusal(PromptView.parse(exchange.request_body, api=api_of(exchange.path)))
    assert refused is not None
    assert refused.reason == reason
