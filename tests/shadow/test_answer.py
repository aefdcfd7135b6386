"""Reading answers from response bodies of every API, whole and streamed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai.types.responses import Response

from evenkeel.core.pair import Answer, ToolCall
from evenkeel.shadow.answer import UnreadableAnswer, read_answer

JSON = {"content-type": "application/json"}
SSE = {"content-type": "text/event-stream; charset=utf-8"}


def stream(*events: Any, end: str = "data: [DONE]\n\n") -> bytes:
    """An event stream; what has a type is named by it, as both OpenAI and Anthropic do."""
    lines = [
        (f"event: {event['type']}\n" if "type" in event else "") + f"data: {json.dumps(event)}\n\n"
        for event in events
    ]
    return ("".join(lines) + end).encode()


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


def whole(body: object, api: Any) -> Answer:
    return read_answer(JSON, json.dumps(body).encode(), api=api)


# --- completions ---


def test_a_completion() -> None:
    """The text of choice 0, with model, finish reason and counts."""
    body = {
        "object": "text_completion",
        "model": "m-1",
        "choices": [
            {"index": 0, "text": " A wren.", "logprobs": None, "finish_reason": "length"},
            {"index": 1, "text": " A rook.", "finish_reason": "stop"},
        ],
        "usage": {"prompt_tokens": 4, "completion_tokens": 3},
    }
    assert whole(body, "completions") == Answer(" A wren.", (), "m-1", None, "length", 4, 3)


def test_a_streamed_completion() -> None:
    """Pieces of choice 0 are joined."""
    body = stream(
        {"model": "m-1", "choices": [{"index": 0, "text": " A ", "finish_reason": None}]},
        {"model": "m-1", "choices": [{"index": 1, "text": " no", "finish_reason": None}]},
        {"model": "m-1", "choices": [{"index": 0, "text": "wren.", "finish_reason": None}]},
        {"model": "m-1", "choices": [{"index": 0, "text": "", "finish_reason": "stop"}]},
        {"choices": [], "usage": {"prompt_tokens": 4, "completion_tokens": 3}},
        end="data: [DONE]\n\n",
    )
    assert read_answer(SSE, body, api="completions") == Answer(" A wren.", (), "m-1", None, "stop", 4, 3)


def test_a_completion_that_comes_as_a_message() -> None:
    """Servers that fill in the middle of a text answer in the shape of a chat."""
    assert whole({"choices": [{"index": 0, "message": {"content": "x = 1"}}]}, "completions").text == "x = 1"
    body = stream({"choices": [{"delta": {"content": "x = 1"}, "finish_reason": "stop"}]}, end="")
    assert read_answer(SSE, body, api="completions").text == "x = 1"


# --- responses ---

RESPONSE = {
    "id": "resp_1",
    "object": "response",
    "status": "completed",
    "error": None,
    "incomplete_details": None,
    "model": "m-1-2025",
    "output": [
        {"type": "reasoning", "id": "rs_1", "summary": []},
        {
            "type": "message",
            "role": "assistant",
            "content": [
                {"type": "output_text", "text": "A wren", "annotations": []},
                {"type": "output_text", "text": ", I think."},
            ],
        },
        {"type": "function_call", "call_id": "c", "name": "look_up", "arguments": '{"id":7}'},
        {"type": "custom_tool_call", "call_id": "d", "name": "note", "input": "seen a wren"},
    ],
    "usage": {"input_tokens": 11, "output_tokens": 5, "total_tokens": 16},
}
ANSWER = Answer(
    "A wren, I think.",
    (ToolCall("look_up", '{"id":7}'), ToolCall("note", "seen a wren")),
    "m-1-2025",
    None,
    "completed",
    11,
    5,
)


def test_a_response() -> None:
    """Text parts are joined, calls taken over, reasoning skipped."""
    assert whole(RESPONSE, "responses") == ANSWER


@given(st.lists(st.lists(st.text(max_size=9), max_size=3), max_size=4))
def test_the_text_of_a_response_is_what_the_client_library_says(messages: list[list[str]]) -> None:
    """However the text is divided into messages and parts, it is joined as OpenAI's own client does."""
    output = [
        {"type": "message", "content": [{"type": "output_text", "text": part} for part in parts]}
        for parts in messages
    ]
    body = RESPONSE | {"output": output}
    assert whole(body, "responses").text == Response.construct(**body).output_text


def test_a_refused_response() -> None:
    """A refusal is the text where there is no other."""
    output = [{"type": "message", "content": [{"type": "refusal", "refusal": "I can't."}]}]
    assert whole(RESPONSE | {"output": output}, "responses").text == "I can't."


def test_an_incomplete_response_says_why() -> None:
    """An answer that was cut off is an answer, whose finish reason is the cause."""
    cut = RESPONSE | {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    assert whole(cut, "responses").finish_reason == "max_output_tokens"
    assert whole(RESPONSE | {"status": "incomplete"}, "responses").finish_reason == "incomplete"


BEGIN = {"type": "response.created", "response": {"id": "resp_1", "status": "in_progress", "output": []}}
DELTAS = [
    {"type": "response.output_text.delta", "output_index": 1, "content_index": 0, "delta": piece}
    for piece in ("A wr", "en, ", "I think.")
]


@pytest.mark.parametrize("end", ["", "data: [DONE]\n\n", 'event: more\ndata: {"type": "resp'])
@pytest.mark.parametrize(
    ("last", "reason"), [("completed", "completed"), ("incomplete", "max_output_tokens")]
)
def test_a_streamed_response_is_its_last_event(end: str, last: str, reason: str) -> None:
    """The response in the last event counts, not the pieces; what follows is not missed."""
    final = RESPONSE | {"status": last, "incomplete_details": {"reason": "max_output_tokens"}}
    body = stream(
        BEGIN,
        {"type": "response.output_text.delta", "delta": "another text"},
        {"type": "response.something.new", "item": 7},
        {"type": f"response.{last}", "response": final},
        {"type": "response.output_text.delta", "delta": "late"},
        end=end,
    )
    answer = read_answer(SSE, body, api="responses")
    assert (answer.text, answer.tool_calls, answer.finish_reason) == (ANSWER.text, ANSWER.tool_calls, reason)


def test_a_last_event_without_output_leaves_what_came_before() -> None:
    """Of servers that leave the last event's output empty, finished items or else the pieces are taken."""
    final = {"type": "response.completed", "response": RESPONSE | {"output": []}}
    items = [{"type": "response.output_item.done", "item": item} for item in RESPONSE["output"]]
    assert read_answer(SSE, stream(BEGIN, *DELTAS, *items, final, end=""), api="responses") == ANSWER
    pieces = read_answer(SSE, stream(BEGIN, *DELTAS, final, end=""), api="responses")
    assert (pieces.text, pieces.tool_calls) == (ANSWER.text, ())
    bare = {"type": "response.completed"}
    assert read_answer(SSE, stream(*DELTAS, bare, end=""), api="responses").text == ANSWER.text


# --- messages ---

MESSAGE = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "m-2",
    "content": [
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "text", "text": "Let me "},
        {"type": "text", "text": "look."},
        {"type": "tool_use", "id": "t", "name": "look_up", "input": {"id": 7, "é": True}},
        {"type": "server_tool_use", "id": "u", "name": "web_search", "input": {"query": "x"}},
    ],
    "stop_reason": "tool_use",
    "usage": {
        "input_tokens": 10,
        "cache_creation_input_tokens": 100,
        "cache_read_input_tokens": 1000,
        "output_tokens": 6,
    },
}


def test_a_message() -> None:
    """Text blocks are joined; input is written as JSON; cached tokens belong to the prompt's."""
    assert whole(MESSAGE, "messages") == Answer(
        "Let me look.",
        (ToolCall("look_up", '{"id": 7, "é": true}'),),
        "m-2",
        None,
        "tool_use",
        1110,
        6,
    )


def test_a_call_without_arguments_is_the_same_whole_and_streamed() -> None:
    """An empty input is an empty object in both forms."""
    block = {"type": "tool_use", "id": "t", "name": "now", "input": {}}
    calls = (ToolCall("now", "{}"),)
    assert whole({"content": [block]}, "messages").tool_calls == calls
    body = stream(
        {"type": "message_start", "message": {"model": "m-2", "content": []}},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "message_stop"},
        end="",
    )
    assert read_answer(SSE, body, api="messages").tool_calls == calls


def message_events(*pieces: str) -> list[dict[str, Any]]:
    """The events of a message with that text and one call."""
    return [
        {
            "type": "message_start",
            "message": MESSAGE
            | {"content": [], "stop_reason": None, "usage": {"input_tokens": 25, "output_tokens": 1}},
        },
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "ping"},
        *(
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": piece}}
            for piece in pieces
        ),
        {"type": "content_block_stop", "index": 0},
        {
            "type": "content_block_start",
            "index": 1,
            "content_block": {"type": "tool_use", "id": "t", "name": "look_up", "input": {}},
        },
        *(
            {
                "type": "content_block_delta",
                "index": 1,
                "delta": {"type": "input_json_delta", "partial_json": piece},
            }
            for piece in ("", '{"id"', ": 7}")
        ),
        {"type": "content_block_delta", "index": 1, "delta": {"type": "a new kind of delta"}},
        {"type": "content_block_stop", "index": 1},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "tool_use", "stop_sequence": None},
            "usage": {"output_tokens": 15},
        },
        {"type": "message_stop"},
    ]


def test_a_streamed_message() -> None:
    """Pieces of text and of a call's input are joined; the last counts win; pings are skipped."""
    assert read_answer(SSE, stream(*message_events("Let me ", "look."), end=""), api="messages") == Answer(
        "Let me look.", (ToolCall("look_up", '{"id": 7}'),), "m-2", None, "tool_use", 25, 15
    )


def test_input_of_a_providers_tool_is_no_call() -> None:
    """What the provider's own tools were given is skipped."""
    body = stream(
        {"type": "message_start", "message": {}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "server_tool_use"}},
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "input_json_delta", "partial_json": '{"query"'},
        },
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
        end="",
    )
    assert read_answer(SSE, body, api="messages").tool_calls == ()


# --- all ---

TERMINAL = {
    "completions": (
        [
            {"choices": [{"index": 0, "text": "A {wren}."}]},
            {"choices": [{"text": "", "finish_reason": "stop"}]},
        ],
        b'"finish_reason": "stop"',
    ),
    "responses": ([BEGIN, *DELTAS, {"type": "response.completed", "response": RESPONSE}], None),
    "messages": (message_events("A {wren}", "."), b'"stop_reason": "tool_use"'),
}


@given(st.sampled_from(sorted(TERMINAL)), st.floats(0, 1, exclude_max=True))
def test_a_cut_stream_of_another_api_is_never_taken_for_a_whole_one(api: Any, share: float) -> None:
    """A stream cut before its end is truncated, wherever that is."""
    events, mark = TERMINAL[api]
    body = stream(*events, end="")
    # an object is whole with its last brace, which stands before the two line ends
    end = len(body) - 3 if mark is None else body.rindex(mark)
    with pytest.raises(UnreadableAnswer) as caught:
        read_answer(SSE, body[: int(share * end)], api=api)
    assert caught.value.reason == "truncated_stream"


@pytest.mark.parametrize(
    ("api", "said", "reason"),
    [
        ("completions", {"choices": []}, "no_choices"),
        ("completions", {"error": {"type": "server_error", "message": "secret"}}, "error_body"),
        (
            "responses",
            {"status": "failed", "error": {"code": "server_error", "message": "secret"}},
            "error_body",
        ),
        ("responses", {"status": "failed"}, "error_body"),
        ("responses", {"error": {"message": "secret"}}, "error_body"),
        ("responses", {"status": "queued", "output": []}, "unfinished"),
        ("responses", {"status": "in_progress"}, "unfinished"),
        ("responses", {"status": "cancelled", "output": []}, "unfinished"),
        ("responses", {"choices": []}, "no_output"),
        (
            "messages",
            {"type": "error", "error": {"type": "overloaded_error", "message": "secret"}},
            "error_body",
        ),
        ("messages", {"error": "secret"}, "error_body"),
        ("messages", {"type": "message"}, "no_output"),
        ("messages", {"content": "a"}, "no_output"),
        ("completions", [{"error": {"code": "x"}}], "error_body"),
        ("responses", [{"type": "error", "code": "rate_limit", "message": "secret"}], "error_body"),
        ("responses", [{"type": "error", "error": {"code": "rate_limit"}}], "error_body"),
        ("responses", [{"type": "response.failed", "response": {"error": {"code": "x"}}}], "error_body"),
        ("responses", [{"error": {"message": "secret"}}], "error_body"),
        ("responses", [{"type": "response.completed", "response": []}], "no_output"),
        ("responses", [BEGIN, *DELTAS], "truncated_stream"),
        ("messages", [{"type": "error", "error": {"type": "overloaded_error"}}], "error_body"),
        ("messages", [{"error": {"message": "secret"}}], "error_body"),
        ("messages", [{"type": "message_stop"}], "no_output"),
        ("messages", message_events("a")[:5], "truncated_stream"),
    ],
)
def test_bodies_and_streams_without_an_answer_say_why(api: Any, said: Any, reason: str) -> None:
    """Refused with a short reason that quotes nothing; [DONE] alone ends no stream of typed events."""
    end = "" if api == "completions" else "data: [DONE]\n\n"
    body = stream(*said, end=end) if isinstance(said, list) else json.dumps(said).encode()
    with pytest.raises(UnreadableAnswer) as caught:
        read_answer(SSE if isinstance(said, list) else JSON, body, api=api)
    assert caught.value.reason == reason
    assert caught.value.detail
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("api", ["chat", "completions", "responses", "messages"])
def test_odd_types_are_skipped(api: Any) -> None:
    """Where a value is not what it should be, it is as if it were absent."""
    odd: list[Any] = [None, 7, [], {}, "text", [[]], {"type": {}}, {"type": ["text"]}, True]
    for value in odd:
        bodies = [
            {"choices": [value, {"index": 0, "message": value, "text": value, "finish_reason": value}]},
            {"output": [value, {"type": "message", "content": [value]}], "model": value, "status": value},
            {"content": [value, {"type": "text", "text": value}], "usage": value, "stop_reason": value},
            {"output": [{"type": "function_call", "name": value, "arguments": value}], "usage": value},
            {"content": [{"type": "tool_use", "name": value, "input": value}]},
        ]
        events = [
            {"type": value},
            {"type": "message_start", "message": value},
            {"type": "content_block_start", "index": value, "content_block": value},
            {"type": "content_block_delta", "index": value, "delta": value},
            {"type": "response.output_item.done", "item": value},
            {"choices": [{"delta": {"tool_calls": [value, {"index": value, "function": value}]}}]},
            {"type": "message_delta", "delta": value, "usage": value},
            {"type": "message_stop"},
            {"type": "response.completed", "response": RESPONSE},
            {"choices": [{"finish_reason": "stop"}]},
        ]
        for body in (*(json.dumps(one).encode() for one in bodies), stream(*events, end="")):
            try:
                answer = read_answer({}, body, api=api)
            except UnreadableAnswer as unreadable:
                reason = unreadable.reason
            else:
                reason = None
                assert isinstance(answer.text, str)
            assert reason in {None, "no_choices", "no_output", "error_body", "unfinished", "truncated_stream"}


@pytest.mark.parametrize("depth", [400, 480, 900, 960, 970, 980, 990, 1000, 50_000])
@pytest.mark.parametrize("api", ["chat", "completions", "responses", "messages"])
def test_nesting_too_deep_to_read_is_a_reason(api: Any, depth: int) -> None:
    """However deep an answer is nested, it is read or refused: never another exception."""
    deep = '{"text":[' * depth + '"a"' + "]}" * depth
    body = (
        f'{{"choices":[{{"text":[{deep}],"message":{{"content":[{deep}],'
        f'"tool_calls":[{{"function":{{"name":"f","arguments":{deep}}}}}]}}}}],'
        f'"content":[{{"type":"tool_use","name":"f","input":{deep}}}],'
        f'"output":[{{"type":"function_call","name":"f","arguments":{deep}}}]}}'
    )
    try:
        read_answer(JSON, body.encode(), api=api)
    except UnreadableAnswer as unreadable:
        assert unreadable.reason == "not_json"  # noqa: PT017 - shallow ones are read


def test_halves_of_a_character_in_two_events_are_joined() -> None:
    """A server that cuts a stream inside a character loses nothing; a lone half becomes U+FFFD."""
    pieces = (b'"A bird: \\ud83d"', b'"\\udc26 \\ud83d"')
    body = b"".join(
        b'data: {"choices":[{"index":0,"delta":{"content":' + piece + b"}}]}\n\n" for piece in pieces
    )
    answer = read_answer(SSE, body + b"data: [DONE]\n\n")
    assert answer.text == "A bird: \U0001f426 \ufffd"


def test_counts_no_store_can_hold_are_ignored() -> None:
    """Numbers of tokens beyond reason are as if they were absent."""
    usage = {"prompt_tokens": 10**30, "completion_tokens": 10**12}
    answer = whole({"choices": [{"index": 0, "text": "a"}], "usage": usage}, "completions")
    assert (answer.prompt_tokens, answer.completion_tokens) == (None, 10**12)
