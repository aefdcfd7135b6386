"""Answers of the server, asked by the openai SDK and by a plain HTTP client."""

from __future__ import annotations

import json

import openai
import pytest

from tests.evenkeel.simulated_question import (
    CASE,
    CHAT,
    PROMPT,
    SAID,
)

TOOL = {
    "type": "function",
    "function": {
        "name": "close_ticket",
        "parameters": {
            "type": "object",
            "properties": {
                "ticket_id": {"type": "string"},
                "host": {"type": "string"},
                "people": {"type": "integer"},
                "urgent": {"type": "boolean"},
                "team": {"type": "string", "enum": ["network", "storage"]},
            },
        },
    },
}
TOOL_CHAT = [{"role": "user", "content": f"{PROMPT} Then use close_ticket."}]


def test_completion(simulated_sdk):
    """A completion has the answer, the requested name and consistent counts."""
    answer = simulated_sdk.chat.completions.create(
        model="sound", messages=CHAT, temperature=0, extra_body={"unheard_of": {"a": 1}}
    )
    assert answer.choices[0].message.content == SAID.good
    assert answer.choices[0].finish_reason == "stop"
    assert answer.object == "chat.completion"
    assert (answer.model, answer.system_fingerprint) == ("sound", "fp_simulated")
    assert answer.usage.prompt_tokens == -(-len(PROMPT) // 4)
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens


@pytest.mark.parametrize(
    ("model", "text"),
    [("always-worse", SAID.worse), ("always-different", SAID.different), ("new", SAID.good)],
)
def test_state_by_requested_name(simulated_sdk, model, text):
    """The requested name picks the state; one that is not served is answered by the first model."""
    answer = simulated_sdk.chat.completions.create(model=model, messages=CHAT)
    assert answer.choices[0].message.content == text
    assert answer.model == model


def test_stream(simulated_sdk):
    """A stream brings the same text in small pieces, then the reason, then the counts."""
    whole = simulated_sdk.chat.completions.create(model="sound", messages=CHAT)
    with simulated_sdk.chat.completions.create(
        model="sound", messages=CHAT, stream=True, stream_options={"include_usage": True}
    ) as stream:
        chunks = list(stream)
    *said, last = chunks
    texts = [chunk.choices[0].delta.content or "" for chunk in said]
    assert "".join(texts) == SAID.good
    assert len(texts) > 40
    assert max(map(len, texts)) <= 10
    assert said[0].choices[0].delta.role == "assistant"
    assert [chunk.choices[0].finish_reason for chunk in said[-2:]] == [None, "stop"]
    assert last.choices == []
    assert last.usage == whole.usage
    assert {chunk.id for chunk in chunks} == {whole.id}


def test_events_of_a_stream(simulated_http):
    """Counts are sent only where asked for, and then as null before; the stream ends with [DONE]."""
    request = {"model": "sound", "messages": CHAT, "stream": True}
    asked = simulated_http.post(
        "/v1/chat/completions", json={**request, "stream_options": {"include_usage": True}}
    )
    usages = [json.loads(event.removeprefix("data: "))["usage"] for event in asked.text.split("\n\n")[:-2]]
    assert set(map(bool, usages[:-1])) == {False}
    assert usages[-1]["completion_tokens"] > 0
    reply = simulated_http.post("/v1/chat/completions", json=request)
    assert reply.headers["content-type"].startswith("text/event-stream")
    events = reply.text.split("\n\n")
    assert events[-2:] == ["data: [DONE]", ""]
    assert all("usage" not in json.loads(event.removeprefix("data: ")) for event in events[:-2])






def test_tool_call(simulated_sdk):
    """A tool named in the prompt is called with what the case holds."""
    answer = simulated_sdk.chat.completions.create(model="sound", messages=TOOL_CHAT, tools=[TOOL])
    choice = answer.choices[0]
    assert (choice.finish_reason, choice.message.content) == ("tool_calls", None)
    (call,) = choice.message.tool_calls
    assert call.function.name == "close_ticket"
    assert json.loads(call.function.arguments) == {
        "ticket_id": CASE.details.ticket,
        "host": CASE.details.first.host,
        "people": int(CASE.details.first.people),
        "urgent": True,
        "team": "network",
    }




def test_streamed_tool_call(simulated_sdk):
    """A streamed call adds up to the one that is sent at once."""
    whole = simulated_sdk.chat.completions.create(model="sound", messages=TOOL_CHAT, tools=[TOOL])
    with simulated_sdk.chat.completions.create(
        model="sound", messages=TOOL_CHAT, tools=[TOOL], stream=True
    ) as stream:
        deltas = [chunk.choices[0].delta for chunk in stream]
    calls = [delta.tool_calls[0] for delta in deltas if delta.tool_calls]
    (expected,) = whole.choices[0].message.tool_calls
    assert calls[0].id == expected.id
    assert calls[0].function.name == expected.function.name
    assert "".join(call.function.arguments for call in calls) == expected.function.arguments
    assert len(calls) > 3




def test_deterministic_answers_are_equal_byte_by_byte(simulated_http):
    """With `deterministic`, the same request gets the same bytes and headers again."""
    for stream in (False, True):
        request = {"model": "sound", "messages": CHAT, "stream": stream}
        first, second = (simulated_http.post("/v1/chat/completions", json=request) for _ in range(2))
        assert first.content == second.content
        assert first.headers.raw == second.headers.raw
        assert "date" not in first.headers




def test_models(simulated_sdk):
    """All served models are listed, and each can be fetched by name."""
    names = [model.id for model in simulated_sdk.models.list()]
    assert names[:3] == ["sound", "always-worse", "always-different"]
    assert simulated_sdk.models.retrieve("sound").owned_by == "simulated"
    with pytest.raises(openai.NotFoundError, match=r"'no/such' does not exist; served: sound, "):
        simulated_sdk.models.retrieve("no/such")
