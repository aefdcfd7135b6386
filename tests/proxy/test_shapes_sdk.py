"""Requests of agents as the real SDK sends them: captured, and asked again with all of their members.

Which members and tools are replayed, and which requests are refused, is in `tests/shadow/test_prompt.yaml`.
"""

import asyncio
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


def post(path, headers=(), **body):
    """Ask as a client of another API does."""
    return lambda client: client.post(path, cast_to=object, body=body, options={"headers": dict(headers)})


ASKED = {
    "responses": lambda client: client.responses.create(
        model="m",
        tools=[FUNCTION],
        tool_choice={
            "type": "allowed_tools",
            "mode": "auto",
            "tools": [{"type": "function", "name": "find"}],
        },
        input=[
            {"role": "user", "content": "Hi"},
            {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "e"},
            {"type": "function_call", "call_id": "c", "name": "find", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c", "output": "7"},
        ],
        include=["reasoning.encrypted_content"],
        store=False,
    ),
    "chat": lambda client: client.chat.completions.create(
        model="m",
        messages=[{"role": "user", "content": "Hi"}],
        tools=[{"type": "function", "function": {"name": "find", "parameters": {}, "strict": True}}],
        parallel_tool_calls=False,
    ),
    "messages": post(
        "/messages",
        {"anthropic-version": "2023-06-01", "anthropic-beta": "context-management-2025-06-27"},
        model="m",
        max_tokens=9,
        messages=[{"role": "user", "content": "Hi"}],
        context_management={"edits": [{"type": "clear_tool_uses_20250919"}]},
    ),
    "messages at Vertex": post(
        "/projects/p/locations/l/publishers/anthropic/models/claude-x@20250929:rawPredict",
        anthropic_version="vertex-2023-10-16",
        max_tokens=9,
        messages=[{"role": "user", "content": "Hi"}],
    ),
    "gemini": post(
        "/models/gemini-x:streamGenerateContent?alt=sse",
        contents=[{"role": "user", "parts": [{"text": "Hi"}]}],
        tools=[{"functionDeclarations": [{"name": "find"}]}],
    ),
}


@pytest.fixture(scope="module")
def exchanges():
    """The exchange that each request of the SDK becomes, by its name."""

    def talk(port):
        url = f"http://127.0.0.1:{port}/v1"
        with openai.OpenAI(base_url=url, api_key="sk-k", max_retries=0) as client:
            for ask in ASKED.values():
                ask(client)

    async def captured():
        async with relay(OK) as rig:
            await asyncio.to_thread(talk, rig.port)
            await eventually(lambda: len(rig.queue.exchanges) == len(ASKED))
            return dict(zip(ASKED, rig.queue.exchanges, strict=True))

    return asyncio.run(captured())


@pytest.mark.parametrize("name", ASKED)
def test_an_agent_s_request_is_asked_again_as_it_is(exchanges, name):
    """Every member is sent again, only `store` is false; so are the headers that belong to it."""
    exchange = exchanges[name]
    view = PromptView.parse(exchange.request_body, api=api_of(exchange.path))
    assert refusal(view) is None
    asked = json.loads(exchange.request_body)
    stored = {"store": False} if view.api.name == "responses" else {}
    assert json.loads(view.for_replay()) == asked | stored
    beta = "context-management-2025-06-27" if name == "messages" else None
    assert dict(api_headers(exchange)).get("anthropic-beta") == beta
    assert without_further_query(exchange.path) == exchange.path
