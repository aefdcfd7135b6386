"""The Responses API over a WebSocket, by the real SDK on one side and a real server on the other."""

import asyncio
import json

import openai
import pytest

from evenkeel.shadow.answer import read_answer
from evenkeel.shadow.prompt import RESPONSES, PromptView, refusal
from tests.proxy.conftest import eventually, relay

server = pytest.importorskip("websockets.asyncio.server")

TOOL = {"type": "function", "name": "look_up", "parameters": {"type": "object", "properties": {}}}


def _response(number, output):
    return {
        "id": f"resp_{number}", "object": "response", "status": "completed", "model": "m-1", "output": output,
        "created_at": 1.0, "parallel_tool_calls": True, "tool_choice": "auto", "tools": [],
    }  # fmt: skip


async def _agent(socket):
    """Call a tool, and answer once its result is there."""
    number = 0
    async for message in socket:
        asked = json.loads(message)
        number += 1
        item = {"type": "function_call", "call_id": f"c{number}", "name": "look_up", "arguments": "{}"}
        if "previous_response_id" in asked:
            text = [{"type": "output_text", "text": "It is 7. " * 50, "annotations": []}]
            item = {"type": "message", "id": "m", "status": "completed", "role": "assistant", "content": text}
        item["id"] = f"i{number}"
        for kind, more in (
            ("response.created", {"response": _response(number, []) | {"status": "in_progress"}}),
            ("response.output_item.done", {"item": item, "output_index": 0}),
            ("response.completed", {"response": _response(number, [item])}),
        ):
            await socket.send(json.dumps({"type": kind, "sequence_number": number, **more}))


def _talk(url, turns, compression):
    """An agent's loop: ask, run the tool, send its result. Return the types of all events."""
    events = []
    options = {"compression": compression}
    with (
        openai.OpenAI(base_url=f"{url}/v1", api_key="sk-k") as client,
        client.responses.connect(websocket_connection_options=options) as connection,
    ):
        for turn in range(turns):
            previous = f"resp_{2 * turn + 1}"
            result = {"type": "function_call_output", "call_id": f"c{2 * turn + 1}", "output": "7"}
            for request in (
                {"input": [{"role": "user", "content": "What is it?"}]},
                {"input": [result], "previous_response_id": previous},
            ):
                connection.response.create(model="m", store=False, tools=[TOOL], **request)
                for event in connection:
                    events.append(event.type)
                    if event.type == "response.completed":
                        break
    return events


@pytest.mark.parametrize("compression", ["deflate", None])
async def test_an_agent_s_loop_over_a_websocket_is_sampled(compression):
    """The SDK hears the same with the proxy between, and each request is an exchange."""
    async with server.serve(_agent, "127.0.0.1", 0, compression="deflate") as upstream:
        port = upstream.sockets[0].getsockname()[1]
        direct = await asyncio.to_thread(_talk, f"http://127.0.0.1:{port}", 2, compression)
        async with relay(b"", upstream_port=port) as rig:
            proxied = await asyncio.to_thread(_talk, f"http://127.0.0.1:{rig.port}", 2, compression)
            await eventually(lambda: len(rig.queue.exchanges) == 4)
            assert proxied == direct
            first, second, *_ = rig.queue.exchanges
    assert "sk-k" not in str(rig.queue.exchanges)
    view = PromptView.parse(second.request_body, api=RESPONSES)
    assert refusal(view) is None
    replayed = json.loads(view.for_replay())
    assert [item.get("type", "message") for item in replayed["input"]] == [
        "message", "function_call", "function_call_output",
    ]  # fmt: skip
    assert "previous_response_id" not in replayed
    called, answered = (
        read_answer(dict(exchange.response_headers), exchange.response_body, RESPONSES.answer_reader())
        for exchange in (first, second)
    )
    assert [call.name for call in called.tool_calls] == ["look_up"]
    assert answered.text == "It is 7. " * 50
