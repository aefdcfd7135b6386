"""Reading answers from response bodies of every API, whole and streamed."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.core.pair import Answer, ToolCall
from evenkeel.shadow import answer as answers
from evenkeel.shadow.answer import UnreadableAnswer
from tests.cases import cases
from tests.kit.apis import API

JSON = {"content-type": "application/json"}
SSE = {"content-type": "text/event-stream; charset=utf-8"}
CASES = cases(__file__)
RESPONSE = CASES["answers"]["responses"]["body"]


def read_answer(headers, body, api="chat"):
    """The answer in a body of that API."""
    return answers.read_answer(headers, body, API[api].answer_reader())


def stream(*events, end=""):
    """An event stream; what has a type is named by it, as both OpenAI and Anthropic do."""
    lines = [
        f"data: {event}\n\n"
        if isinstance(event, str)
        else (f"event: {event['type']}\n" if "type" in event else "") + f"data: {json.dumps(event)}\n\n"
        for event in events
    ]
    return ("".join(lines) + end).encode()


def delta(finish=None, index=0, **fields):
    """Make a chunk with a single choice."""
    return {"model": "m-1", "choices": [{"index": index, "delta": fields, "finish_reason": finish}]}


@pytest.mark.parametrize("case", CASES["answers"].values(), ids=CASES["answers"])
def test_an_answer_is_read_as_its_api_writes_it(case):
    """Text, calls, model, fingerprint, finish reason and counts are taken from a body or put together."""
    body = stream(*case["events"]) if "events" in case else json.dumps(case["body"]).encode()
    expected = dict(case["answer"])
    calls = tuple(ToolCall(*call) for call in expected.pop("calls", ()))
    found = read_answer(SSE if "events" in case else JSON, body, api=case["api"])
    assert found == replace(Answer(""), tool_calls=calls, **expected)


@pytest.mark.parametrize(("api", "usage", "cached"), CASES["usage"])
def test_tokens_from_a_cache_are_read(api, usage, cached):
    """Each API has a name for them, and anything but a count is ignored."""
    body = {
        "chat": {"choices": [{"message": {"content": "a"}, "finish_reason": "stop"}]},
        "responses": RESPONSE,
        "messages": {
            "type": "message",
            "content": [{"type": "text", "text": "a"}],
            "stop_reason": "end_turn",
        },
    }[api]
    answer = read_answer(JSON, json.dumps(body | {"usage": usage}).encode(), api=api)
    assert answer.cached_tokens == cached
    assert answer == replace(answer, cached_tokens=3)


def test_what_a_server_wrote_to_its_cache_thought_and_compacted_is_counted():
    """A compaction is paid for beside the tokens of the answer."""
    usage = {
        "input_tokens": 2,
        "cache_creation_input_tokens": 5,
        "cache_read_input_tokens": 7,
        "output_tokens": 9,
        "output_tokens_details": {"thinking_tokens": 4},
        "iterations": [
            {"type": "compaction", "input_tokens": 100, "cache_read_input_tokens": 30, "output_tokens": 20},
            {"type": "message", "input_tokens": 2, "output_tokens": 9},
        ],
    }
    body = {"content": [{"type": "text", "text": "Hi"}], "stop_reason": "end_turn", "usage": usage}
    answer = read_answer(JSON, json.dumps(body).encode(), api="messages")
    assert (answer.prompt_tokens, answer.completion_tokens, answer.reasoning_tokens) == (144, 29, 4)
    assert (answer.cached_tokens, answer.cache_write_tokens) == (37, 5)
    events = [
        {"type": "message_start", "message": {"content": [], "usage": {**usage, "iterations": None}}},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn"},
            "usage": {"input_tokens": None, "output_tokens": 11},
        },
    ]
    stream = "".join(f"data: {json.dumps(event)}\n\n" for event in events)
    answer = read_answer(SSE, stream.encode(), api="messages")
    assert (answer.prompt_tokens, answer.completion_tokens, answer.cached_tokens) == (14, 11, 7)
    details = {"input_tokens": 9, "input_tokens_details": {"cache_write_tokens": 6}, "output_tokens": 1}
    body = {"status": "completed", "output": [], "usage": details}
    assert read_answer(JSON, json.dumps(body).encode(), api="responses").cache_write_tokens == 6


def test_event_stream_syntax():
    """Comments, event names, carriage returns, split data lines and a missing last newline are read."""
    body = (
        b"\xef\xbb\xbf: ping\r\n\r\nevent: message\r\nid: 1\r\n"
        b'data: {"choices": [{"index": 0,\r\ndata: "delta": {"content": "a"}}]}\r\n\r\n'
        b'retry: 10\rdata:{"choices":[{"index":0,"delta":{"content":" b"}}]}\r\r'
        b'data: {"choices":[{"delta":{"content":"c"},"finish_reason":"stop"}]}'
    )
    assert read_answer(SSE, body).text == "a bc"


@pytest.mark.parametrize("end", ["", "data: [DONE]\n\n", "data: [DO", 'data: {"usage": {"prom'])
def test_a_finish_reason_completes_a_stream(end):
    """Nothing behind the finish reason is needed."""
    assert read_answer(SSE, stream(delta(content="a"), delta("stop"), end=end)).text == "a"


_pieces = st.lists(st.text(max_size=8), min_size=1, max_size=8)


@given(_pieces, st.sampled_from(["\n", "\r\n", "\r"]), st.booleans())
def test_any_cut_of_a_text_into_deltas_gives_the_same_answer(pieces, newline, escape):
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


@pytest.mark.parametrize(
    ("api", "said", "reason"), [*CASES["no answer"], ("chat", '{"a":' + "[" * 100_000, "not_json")]
)
def test_bodies_and_streams_without_an_answer_say_why(api, said, reason):
    """A body without a comparable answer is refused with a short reason that quotes nothing."""
    streamed = isinstance(said, list)
    body = stream(*said) if streamed else (said if isinstance(said, str) else json.dumps(said)).encode()
    with pytest.raises(UnreadableAnswer) as caught:
        read_answer(SSE if streamed else JSON, body, api=api)
    assert caught.value.reason == reason
    assert caught.value.detail
    assert "secret" not in str(caught.value)


def test_an_error_in_place_of_a_stream_is_read_whatever_it_is_declared_to_be():
    """A body of JSON under the headers of a stream is the error it is."""
    with pytest.raises(UnreadableAnswer) as caught:
        read_answer(SSE, b'{"error": {"message": "busy", "code": 502}}')
    assert (caught.value.reason, "(502)" in caught.value.detail) == ("error_body", True)


@pytest.mark.parametrize("end", ["", "data: [DONE]\n\n", 'event: more\ndata: {"type": "resp'])
@pytest.mark.parametrize(
    ("last", "reason"), [("completed", "completed"), ("incomplete", "max_output_tokens")]
)
def test_a_streamed_response_is_its_last_event(end, last, reason):
    """The response in the last event counts, not the pieces; what follows is not missed."""
    final = RESPONSE | {"status": last, "incomplete_details": {"reason": "max_output_tokens"}}
    body = stream(
        {"type": "response.output_text.delta", "delta": "another text"},
        {"type": "response.something.new", "item": 7},
        {"type": f"response.{last}", "response": final},
        {"type": "response.output_text.delta", "delta": "late"},
        end=end,
    )
    answer = read_answer(SSE, body, api="responses")
    assert (answer.text, len(answer.tool_calls), answer.finish_reason) == ("A wren, I think.", 2, reason)


@given(st.sampled_from(["chat", "completions", "responses", "messages"]), st.floats(0, 1, exclude_max=True))
def test_a_cut_stream_is_never_taken_for_a_whole_one(api, share):
    """A stream cut before its end is truncated, wherever that is; never an answer."""
    said = [delta(content="Hello "), delta(content="{world}"), delta("stop")]
    events, mark = {
        "chat": (said, b'"finish_reason": "stop"'),
        "completions": (CASES["answers"]["completions, streamed"]["events"][2:4], b'"finish_reason": "stop"'),
        "responses": (CASES["answers"]["responses, streamed in pieces"]["events"], None),
        "messages": (CASES["answers"]["messages, streamed"]["events"], b'"stop_reason": "tool_use"'),
    }[api]
    body = stream(*events)
    # an object is whole with its last brace, which stands before the two line ends
    end = len(body) - 3 if mark is None else body.rindex(mark)
    with pytest.raises(UnreadableAnswer) as caught:
        read_answer(SSE, body[: int(share * end)], api=api)
    assert caught.value.reason == "truncated_stream"


@pytest.mark.parametrize("depth", [400, 480, 900, 960, 970, 980, 990, 1000, 50_000])
@pytest.mark.parametrize("api", ["chat", "completions", "responses", "messages"])
def test_nesting_too_deep_to_read_is_a_reason(api, depth):
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


def test_halves_of_a_character_in_two_events_are_joined():
    """A server that cuts a stream inside a character loses nothing; a lone half becomes U+FFFD."""
    pieces = (b'"A bird: \\ud83d"', b'"\\udc26 \\ud83d"')
    body = b"".join(
        b'data: {"choices":[{"index":0,"delta":{"content":' + piece + b"}}]}\n\n" for piece in pieces
    )
    answer = read_answer(SSE, body + b"data: [DONE]\n\n")
    assert answer.text == "A bird: \U0001f426 \ufffd"
