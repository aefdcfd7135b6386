"""Reading answers out of response bodies."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.core.pair import Answer, ToolCall
from evenkeel.shadow.answer import UnreadableAnswer, read_answer

JSON = {"content-type": "application/json"}
SSE = {"content-type": "text/event-stream; charset=utf-8"}


def stream(*chunks: object, end: str = "data: [DONE]\n\n") -> bytes:
    """An event stream of JSON chunks."""
    return ("".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + end).encode()


def delta(finish: str | None = None, index: int = 0, **fields: object) -> dict[str, object]:
    """One chunk with one choice."""
    return {"model": "m-1", "choices": [{"index": index, "delta": fields, "finish_reason": finish}]}


def test_plain_answer() -> None:
    """Text, model, fingerprint, finish reason and token counts are taken from a JSON response."""
    body = {
        "id": "c1",
        "model": "m-1-2024",
        "system_fingerprint": "fp_1",
        "choices": [
            {"index": 1, "message": {"role": "assistant", "content": "other"}, "finish_reason": "length"},
            {
                "index": 0,
                "message": {"role": "assistant", "content": "The printer."},
                "finish_reason": "stop",
            },
        ],
        "usage": {"prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15},
    }
    assert read_answer(JSON, json.dumps(body).encode()) == Answer(
        "The printer.", (), "m-1-2024", "fp_1", "stop", 12, 3
    )


@pytest.mark.parametrize(
    ("message", "text", "calls"),
    [
        ({"content": None, "refusal": "I can't."}, "I can't.", ()),
        ({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, "ab", ()),
        (
            {
                "content": None,
                "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": '{"a": 1}'}}],
            },
            "",
            (ToolCall("f", '{"a": 1}'),),
        ),
        (
            {
                "content": "ok",
                "tool_calls": [{"function": {"name": "f", "arguments": {"a": 1}}}, {"type": "custom"}],
            },
            "ok",
            (ToolCall("f", '{"a": 1}'), ToolCall("", "")),
        ),
        (
            {"tool_calls": [{"type": "custom", "custom": {"name": "g", "input": "x y"}}]},
            "",
            (ToolCall("g", "x y"),),
        ),
        ({"function_call": {"name": "f", "arguments": "{}"}}, "", (ToolCall("f", "{}"),)),
        ({}, "", ()),
    ],
)
def test_forms_of_a_message(message, text, calls) -> None:
    """Refusals, part lists, tool calls and the older function call are understood."""
    answer = read_answer(JSON, json.dumps({"choices": [{"message": message}]}).encode())
    assert (answer.text, answer.tool_calls) == (text, calls)
    assert answer.finish_reason is None
    assert answer.prompt_tokens is None


def test_streamed_text_is_assembled() -> None:
    """Deltas of choice 0 are joined; the usage chunk, which has no choices, gives the counts."""
    body = stream(
        delta(role="assistant", content=""),
        delta(content="Hel"),
        delta(index=1, content="another choice"),
        delta(content="lo "),
        delta(content="wörld"),
        delta("stop"),
        {
            "model": "m-1",
            "system_fingerprint": "fp_2",
            "choices": [],
            "usage": {"prompt_tokens": 7, "completion_tokens": 2},
        },
    )
    assert read_answer(SSE, body) == Answer("Hello wörld", (), "m-1", "fp_2", "stop", 7, 2)


def test_streamed_tool_calls_are_assembled_by_index() -> None:
    """Pieces of parallel calls go to their own call, in the order of the indices."""
    body = stream(
        delta(tool_calls=[{"index": 1, "id": "b", "function": {"name": "second", "arguments": ""}}]),
        delta(tool_calls=[{"index": 0, "id": "a", "function": {"name": "first", "arguments": '{"ci'}}]),
        delta(tool_calls=[{"index": 1, "function": {"arguments": "{}"}}]),
        delta(tool_calls=[{"index": 0, "function": {"arguments": 'ty": "Bonn"}'}}]),
        delta("tool_calls"),
    )
    answer = read_answer(SSE, body)
    assert answer.tool_calls == (ToolCall("first", '{"city": "Bonn"}'), ToolCall("second", "{}"))
    assert answer.text == ""
    assert answer.finish_reason == "tool_calls"


def test_streamed_function_call_and_refusal() -> None:
    """The older form of a call and refusals are joined as well."""
    called = read_answer(
        SSE,
        stream(
            delta(function_call={"name": "f", "arguments": "{"}),
            delta("stop", function_call={"arguments": "}"}),
        ),
    )
    assert called.tool_calls == (ToolCall("f", "{}"),)
    assert read_answer(SSE, stream(delta(refusal="I "), delta("stop", refusal="can't"))).text == "I can't"


def test_event_stream_syntax() -> None:
    """Comments, event names, carriage returns, split data lines and a missing last newline are read."""
    body = (
        b"\xef\xbb\xbf: ping\r\n\r\nevent: message\r\nid: 1\r\n"
        b'data: {"choices": [{"index": 0,\r\ndata: "delta": {"content": "a"}}]}\r\n\r\n'
        b'retry: 10\rdata:{"choices":[{"index":0,"delta":{"content":" b"}}]}\r\r'
        b'data: {"choices":[{"delta":{"content":"c"},"finish_reason":"stop"}]}'
    )
    assert read_answer(SSE, body).text == "a bc"


@pytest.mark.parametrize("end", ["", "data: [DONE]\n\n", "data: [DO", 'data: {"usage": {"prom'])
def test_a_finish_reason_completes_a_stream(end: str) -> None:
    """What is missing or cut off after the finish reason is not missed."""
    assert read_answer(SSE, stream(delta(content="a"), delta("stop"), end=end)).text == "a"


def test_done_completes_a_stream_without_a_finish_reason() -> None:
    """Servers that never send a finish reason are understood, and nothing after [DONE] is read."""
    body = stream(delta(content="a")) + stream(delta(content="b"))
    answer = read_answer(SSE, body)
    assert (answer.text, answer.finish_reason) == ("a", None)


_pieces = st.lists(st.text(max_size=8), min_size=1, max_size=8)


@given(_pieces, st.sampled_from(["\n", "\r\n", "\r"]), st.booleans())
def test_any_cut_of_a_text_into_deltas_gives_the_same_answer(pieces, newline, escape) -> None:
    """However the text is cut and the lines end, the joined text is the same."""
    events = [
        f"data: {json.dumps(delta(content=piece), ensure_ascii=escape)}{newline}{newline}"
        for piece in pieces
        if piece.isprintable() or escape
    ]
    body = "".join((*events, "data: [DONE]", newline, newline)).encode("utf-8", "replace")
    if not events:
        return
    expected = "".join(piece for piece in pieces if piece.isprintable() or escape)
    assert read_answer(SSE, body).text == expected


@given(st.integers(0, 400))
def test_a_cut_stream_is_never_taken_for_a_whole_one(length: int) -> None:
    """A stream cut anywhere before its finish reason is truncated, or has no choice yet; never an answer."""
    body = stream(delta(content="Hello "), delta(content="{world}"), delta("stop"))
    finish = body.index(b'"finish_reason": "stop"')
    if length >= finish:
        return
    with pytest.raises(UnreadableAnswer) as caught:
        read_answer(SSE, body[:length])
    assert caught.value.reason == "truncated_stream"


@pytest.mark.parametrize(
    ("headers", "body", "reason"),
    [
        (JSON, b"", "not_json"),
        (JSON, b"<html>busy</html>", "not_json"),
        (JSON, b'{"choices": [', "not_json"),
        (JSON, b'{"choices": []} tail', "not_json"),
        (JSON, b'{"choices": []}', "no_choices"),
        (JSON, b'{"object": "list"}', "no_choices"),
        (JSON, b'{"choices": [{"index": 1, "message": {"content": "a"}}]}', "no_choices"),
        (JSON, b'{"error": {"message": "secret", "code": "rate_limit_exceeded"}}', "error_body"),
        (JSON, b'{"a":' + b"[" * 100_000, "not_json"),
        (SSE, b'{"error": "busy"}', "error_body"),
        (SSE, b"", "truncated_stream"),
        (SSE, b": ping\n\n", "truncated_stream"),
        (SSE, stream(delta(content="a"), end=""), "truncated_stream"),
        (SSE, b"data: nonsense\n\n", "not_json"),
        (SSE, b"data: 7\n\n", "not_json"),
        (SSE, stream(delta(content="a"), {"error": {"type": "server_error"}}), "error_body"),
        (SSE, stream({"choices": []}), "no_choices"),
        (SSE, stream(delta(content="a"), {"error": "x", **delta("error")}), "error_body"),
        (SSE, stream({"choices": [{"error": {"code": 502}, "delta": {"content": "a"}}]}), "error_body"),
        (JSON, b'{"choices": [{"message": {"content": "a"}, "finish_reason": "error"}]}', "error_body"),
    ],
)
def test_unreadable_answers_say_why(headers, body, reason) -> None:
    """A body that holds no comparable answer is refused with a short reason, without quoting it."""
    with pytest.raises(UnreadableAnswer) as caught:
        read_answer(headers, body)
    assert caught.value.reason == reason
    assert caught.value.detail
    assert "secret" not in str(caught.value)
