"""Reading request bodies of every API, writing them back, and what is never replayed."""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenkeel.shadow.prompt import Block, PromptView, UnreadablePrompt, api_of, refusal, refusals

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.shadow.prompt import Api, SlotText

from tests.shadow.wild_exchanges import APIS, WildExchanges

PAGE = Path(__file__).parents[2] / "docs" / "replays.md"


def loaded(text: str | bytes) -> Any:
    """What a JSON reader finds, however long a number is."""
    return json.loads(text, parse_int=float)


def parsed_or_none(text: str, api: Api) -> PromptView | None:
    """The prompt of a body, None if it has none that can be read, for one of the known reasons."""
    try:
        return PromptView.parse(text.encode("utf-8", "surrogatepass"), api=api)
    except UnreadablePrompt as unreadable:
        assert unreadable.reason in {  # noqa: PT017 - most bodies can be read
            "not_json", "too_deep", "no_messages", "unsupported_shape", "token_prompt"
        }  # fmt: skip
        return None


@settings(max_examples=200)
@given(st.randoms(use_true_random=False), st.sampled_from(APIS), st.sampled_from(APIS))
def test_unedited_body_is_identical_for_any_json(rng: Any, sent: Api, api: Api) -> None:
    """Whatever JSON is sent to whichever API, an unedited view gives the very same bytes, or a reason."""
    text = WildExchanges(rng).request(sent)
    view = parsed_or_none(text, api)
    if view is not None:
        assert view.body() == text.encode()
        assert view.with_texts({one.index: one.text for one in view.segments}).body() == text.encode()


@given(st.binary(max_size=60), st.sampled_from(APIS))
def test_any_bytes_are_read_or_refused_with_a_reason(body: bytes, api: Api) -> None:
    """Bytes that are no JSON never raise anything but UnreadablePrompt."""
    with pytest.raises(UnreadablePrompt) as caught:
        PromptView.parse(body, api=api)
    assert caught.value.reason in {"not_json", "no_messages", "unsupported_shape"}


@settings(max_examples=200)
@given(st.randoms(use_true_random=False), st.sampled_from(APIS), st.data())
def test_an_edit_replaces_one_literal_and_no_other_byte(rng: Any, api: Api, data: st.DataObject) -> None:
    """An edited text is read back, by any JSON reader too; the bytes around its literal are the old ones."""
    text = WildExchanges(rng).request(api)
    view = parsed_or_none(text, api)
    if view is None or not view.segments:
        return
    segment = data.draw(st.sampled_from(view.segments))
    new = data.draw(st.text(max_size=20))
    edited = view.with_texts({segment.index: new})
    again = PromptView.parse(edited.body(), api=api)
    assert [one.text for one in again.segments] == [
        new if one.index == segment.index else one.text for one in view.segments
    ]
    slot = view._body.messages[segment.message].slots
    literal = next(one for one in slot if one.part == segment.part)
    if new != segment.text:
        written = edited.body().decode()
        assert written.startswith(text[: literal.start])
        assert written.endswith(text[literal.end :])
    if api == "chat":
        expected = loaded(text)
        message = expected["messages"][segment.message]
        if segment.part is None:
            message["content"] = new
        else:
            message["content"][segment.part]["text"] = new
        assert repr(loaded(edited.body())) == repr(expected)  # repr, since nan differs from itself


BODY = (
    b'{ "model" : "m-1",\n  "messages": [\n'
    b'    {"role": "system", "content": "Be brief."},\n'
    b'    {"role": "user", "name": "ann", "content": [{"type":"text","text":"Look:"},'
    b' {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBOR"}},'
    b' {"type":"text","text":"What is it?"}]},\n'
    b'    {"role": "assistant", "content": null, "tool_calls": [{"id": "c1", "type": "function",'
    b' "function": {"name": "lookup", "arguments": "{\\"id\\": 7}"}}]},\n'
    b'    {"role": "tool", "tool_call_id": "c1", "content": "a fox"}\n  ],\n'
    b'  "temperature": 0.70, "tools": [{"type": "function", "function": {"name": "lookup"}}],'
    b' "stream": true }'
)


def test_messages_and_segments_of_a_conversation() -> None:
    """Text parts become segments in order; what users say is input, results of tools are history."""
    view = PromptView.parse(BODY)
    assert [(one.index, one.role, one.kind, one.text, one.message, one.part) for one in view.segments] == [
        (0, "system", "template", "Be brief.", 0, None),
        (1, "user", "input", "Look:", 1, 0),
        (2, "user", "input", "What is it?", 1, 2),
        (3, "tool", "history", "a fox", 3, None),
    ]
    assert [message.role for message in view.messages] == ["system", "user", "assistant", "tool"]
    assert view.model == "m-1"
    assert view.input_text == "Look:\n\nWhat is it?"
    assert view.text == (
        "system: Be brief.\n\nuser: Look:\nWhat is it?\n[image_url]\n\n"
        'assistant: [calls lookup {"id": 7}]\n\ntool: a fox'
    )


def test_edits_are_escaped_as_the_client_escapes() -> None:
    """An ASCII body stays ASCII, a body with raw letters gets raw letters, lone surrogates stay escapes."""
    plain = PromptView.parse(b'{"messages":[{"role":"user","content":"a"}]}')
    assert plain.with_texts({0: "\u00e9"}).body() == rb'{"messages":[{"role":"user","content":"\u00e9"}]}'
    raw = PromptView.parse('{"messages":[{"role":"user","content":"é"}]}'.encode())
    assert (
        raw.with_texts({0: "ü\ud800"}).body()
        == '{"messages":[{"role":"user","content":"ü\\ud800"}]}'.encode()
    )


def test_the_last_of_repeated_keys_counts() -> None:
    """Where a key repeats the last one is read and edited, as servers do; the first stays as it is."""
    body = (
        b'{"messages":[{"role":"user","content":"one"}],'
        b'"messages":[{"role":"user","content":"x","content":"two"}]}'
    )
    view = PromptView.parse(body)
    assert view.input_text == "two"
    assert view.with_texts({0: "three"}).body() == body.replace(b'"two"', b'"three"')


@pytest.mark.parametrize(
    ("api", "body", "reason"),
    [
        ("chat", b"", "not_json"),
        ("chat", b"hello", "not_json"),
        ("chat", b'{"messages": [}', "not_json"),
        ("chat", b"{messages: []}", "not_json"),
        ("chat", b'{"messages" []}', "not_json"),
        ("chat", b'{"messages": [] "n": 1}', "not_json"),
        ("chat", b'{"messages": [{"role": "user", "content": "a"}]} x', "not_json"),
        ("chat", b'{"messages": [{"role": "user", "content": "a"}], "n": 01}', "not_json"),
        ("chat", b'{"messages": [{"role": "user", "content": "\xff"}]}', "not_json"),
        ("chat", b"[1]", "unsupported_shape"),
        ("chat", b'{"prompt": "a"}', "no_messages"),
        ("chat", b'{"messages": null}', "no_messages"),
        ("chat", b'{"messages": []}', "no_messages"),
        ("chat", b'{"messages": "hi"}', "unsupported_shape"),
        ("chat", b'{"messages": ["hi"]}', "unsupported_shape"),
        ("chat", b'{"messages": [{"content": "hi"}]}', "unsupported_shape"),
        ("chat", b'{"messages": ' + b"[" * 100_000, "too_deep"),
        ("completions", {"prompt": [1, 2, 3]}, "token_prompt"),
        ("completions", {"prompt": [[1, 2], [3]]}, "token_prompt"),
        ("completions", {"prompt": ["one", 2]}, "unsupported_shape"),
        ("completions", {"prompt": {"text": "one"}}, "unsupported_shape"),
        ("completions", {"prompt": []}, "no_messages"),
        ("completions", {"messages": [{"role": "user", "content": "a"}]}, "no_messages"),
        ("responses", {"model": "m"}, "no_messages"),
        ("responses", {"input": [], "prompt": None}, "no_messages"),
        ("responses", {"input": 7}, "unsupported_shape"),
        ("responses", {"input": ["hi"]}, "unsupported_shape"),
        ("responses", {"input": [{"type": "message", "content": "hi"}]}, "unsupported_shape"),
        ("responses", {"input": [{"type": 3, "content": "hi"}]}, "unsupported_shape"),
        ("messages", {"system": "Be brief."}, "no_messages"),
        ("messages", {"messages": [{"content": "hi"}]}, "unsupported_shape"),
    ],
)
def test_bodies_without_a_readable_prompt_say_why(api: Any, body: object, reason: str) -> None:
    """What is no prompt of that API is refused with a short reason."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    with pytest.raises(UnreadablePrompt) as caught:
        PromptView.parse(raw, api=api)
    assert caught.value.reason == reason
    assert caught.value.detail


def test_byte_order_mark_long_numbers_and_strange_contents_are_read() -> None:
    """What is unusual but sent stays untouched and harms nothing."""
    body = b'\xef\xbb\xbf{"seed": ' + b"9" * 5000 + b', "messages": [{"role":"user","content":{"odd":1}}]}\n'
    view = PromptView.parse(body)
    assert view.segments == ()
    assert view.body() == body
    assert view.model is None


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('{"stream":true,"messages":%s}', '{"stream":false,"messages":%s}'),
        ('{"messages":%s, "stream": null }', '{"messages":%s, "stream": false }'),
        ('{"messages":%s,"stream":false}', '{"messages":%s,"stream":false}'),
        ('{"messages":%s, "stream_options": {"include_usage": true}}', '{"messages":%s}'),
        ('{"stream_options":{} , "messages":%s}', '{"messages":%s}'),
        ('{"a":1, "stream_options":{}, "messages":%s}', '{"a":1, "messages":%s}'),
        (
            '{"messages":%s, "stream": true, "stream_options": {}, "stream_options": null}',
            '{"messages":%s, "stream": false}',
        ),
        ('{"store":true,"messages":%s,"n":2}', '{"store":false,"messages":%s,"n":1}'),
        ('{"n":1,"messages":%s}', '{"n":1,"messages":%s}'),
        ('{"n":1e999,"messages":%s,"n":"2"}', '{"n":1,"messages":%s,"n":1}'),
        ('{"messages":%s,"background":true}', '{"messages":%s,"background":false}'),
        ('{"messages":%s,"metadata":{"store":true}}', '{"messages":%s,"metadata":{"store":true}}'),
    ],
)
def test_a_replay_neither_streams_nor_stores(before: str, after: str) -> None:
    """Streaming and storing are switched off where the client sent them; nothing else changes."""
    messages = '[{"role": "user",  "content": "a"}]'
    view = PromptView.parse((before % messages).encode())
    assert view.for_replay() == (after % messages).encode()
    assert view.body() == (before % messages).encode()
    edited = (after % messages).replace('"a"', '"b"', 1) if '"a":1' not in after else None
    if edited is not None:
        assert view.with_texts({0: "b"}).for_replay() == edited.encode()


@given(st.randoms(use_true_random=False))
def test_a_replay_differs_in_the_forced_keys_alone(rng: Any) -> None:
    """For any body, reading the replay gives the same object but for what a replay must not ask for."""
    text = WildExchanges(rng).request("chat").replace(
        "{", '{"stream": true, "stream_options": {"include_usage": true}, "store": true, ', 1
    )  # fmt: skip
    view = parsed_or_none(text, "chat")
    if view is None:
        return
    expected = loaded(text)
    expected.pop("stream_options")
    expected |= {key: False for key in ("stream", "store", "background") if key in expected}
    if isinstance(expected.get("n"), float) and expected["n"] > 1:
        expected["n"] = 1.0
    assert repr(loaded(view.for_replay())) == repr(expected)


def test_an_odd_message_is_read_as_far_as_it_goes() -> None:
    """Messages without content, parts that are no objects and texts that are no strings offer nothing."""
    view = PromptView.parse(
        b'{"messages":[{"role":"assistant"},{"role":"user","content":[7,{"type":"text"},{"type":"text","text":3}]},'
        b'{"role":"assistant","content":null,"tool_calls":[{"type":"custom"}]}]}'
    )
    assert view.segments == ()
    assert [message.others for message in view.messages] == [(), ("[part]", "[text]", "[text]"), ()]
    assert view.input_text == ""


def test_a_classifier_can_cut_a_text_into_segments() -> None:
    """A learned template splits a user's message; editing one segment keeps the others' text."""

    def classify(slots: Sequence[SlotText]) -> list[list[Block]]:
        (slot,) = slots
        head, mark, tail = slot.text.partition("Case: ")
        return [[Block("template", head + mark, "instructions"), Block("input", tail)]]

    view = PromptView.parse(
        b'{"messages":[{"role":"user","content":"Summarise.\\nCase: it broke"}]}', classify
    )
    assert [(one.kind, one.text) for one in view.segments] == [
        ("template", "Summarise.\nCase: "),
        ("input", "it broke"),
    ]
    assert view.input_text == "it broke"
    assert view.text == "user: Summarise.\nCase: it broke"
    assert view.with_texts({1: "it brok"}).body() == (
        b'{"messages":[{"role":"user","content":"Summarise.\\nCase: it brok"}]}'
    )


def test_a_classifier_that_loses_text_is_refused() -> None:
    """Blocks must join to the text they classify: anything else would change prompts silently."""
    with pytest.raises(ValueError, match="message 0"):
        PromptView.parse(
            b'{"messages":[{"role":"user","content":"ab"}]}',
            lambda slots: [[Block("input", slots[0].text[:1])]],
        )


def test_an_unknown_segment_is_an_error() -> None:
    """Replacing a segment that does not exist fails instead of being ignored."""
    with pytest.raises(IndexError, match="no segment 4"):
        PromptView.parse(BODY).with_texts({4: "x"})


def parsed(body: object, api: Any) -> PromptView:
    return PromptView.parse(json.dumps(body).encode(), api=api)


def slots(view: PromptView) -> list[tuple[str, str, int, int | None]]:
    return [(slot.role, slot.text, slot.message, slot.part) for slot in view.slots]


@pytest.mark.parametrize(
    ("path", "api"),
    [
        ("/v1/chat/completions", "chat"),
        ("/chat/completions?debug=1", "chat"),
        ("/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21", "chat"),
        ("/v1/completions", "completions"),
        ("/openai/deployments/chat/completions", "chat"),
        ("/openai/deployments/m/completions?api-version=1", "completions"),
        ("/completions", "completions"),
        ("/v1/responses", "responses"),
        ("/openai/v1/responses?api-version=preview", "responses"),
        ("/v1/messages", "messages"),
        ("/anthropic/v1/messages?beta=true", "messages"),
        ("/v1/messages/count_tokens", None),
        ("/v1/messages/batches", None),
        ("/v1/responses/resp_1/cancel", None),
        ("/v1/responses/resp_1", None),
        ("/v1/chat/completions/chatcmpl-1", None),
        ("/v1/threads/thread_1/messages", None),
        ("/v1/embeddings", None),
        ("/v1/models?next=/v1/messages", None),
        ("/v1/autocompletions", None),
        ("completions", None),
        ("/", None),
        ("", None),
    ],
)
def test_the_path_names_the_api(path: str, api: str | None) -> None:
    """Any prefix and query go; what stands behind the API's name makes it another endpoint."""
    assert api_of(path) == api


def test_the_prompt_of_a_completion_is_what_a_user_says() -> None:
    """One text is one slot of a user, and the view knows its API."""
    view = parsed({"model": "m-1", "prompt": "Name a bird.", "suffix": "!"}, "completions")
    assert view.api == "completions"
    assert slots(view) == [("user", "Name a bird.", 0, None)]
    assert view.model == "m-1"
    assert view.text == "user: Name a bird."
    assert view.last_user_slot == (0, None)
    assert (
        view.with_texts({0: "Name a fish."}).body()
        == b'{"model": "m-1", "prompt": "Name a fish.", "suffix": "!"}'
    )


def test_each_text_of_a_list_of_prompts_is_a_slot() -> None:
    """Several prompts are as many messages, and each is edited alone."""
    view = parsed({"prompt": ["one", "two"]}, "completions")
    assert slots(view) == [("user", "one", 0, None), ("user", "two", 1, None)]
    assert view.with_texts({1: "three"}).body() == b'{"prompt": ["one", "three"]}'
    assert view.last_user_slot == (1, None)


def test_a_response_has_instructions_and_an_input() -> None:
    """Instructions are message 0, a system's; an input of plain text is the user's message behind it."""
    body = b'{"input" : "How high is it?", "model":"m", "instructions": "Answer in metres."}'
    view = PromptView.parse(body, api="responses")
    assert slots(view) == [("system", "Answer in metres.", 0, None), ("user", "How high is it?", 1, None)]
    assert [segment.kind for segment in view.segments] == ["template", "input"]
    assert [message.text for message in view.messages] == ["Answer in metres.", "How high is it?"]
    edited = view.with_texts({0: "Answer in feet.", 1: "How deep is it?"}).body()
    assert edited == b'{"input" : "How deep is it?", "model":"m", "instructions": "Answer in feet."}'


def test_the_items_of_a_response_are_a_conversation() -> None:
    """Messages have slots; calls, reasoning and pictures are notes; what a tool gave back is history."""
    view = parsed(
        {
            "instructions": None,
            "input": [
                {"role": "developer", "content": "Be kind."},
                {
                    "type": "message",
                    "role": "user",
                    "content": [
                        {"type": "input_text", "text": "Look:"},
                        {"type": "input_image", "image_url": "data:image/png;base64,AA"},
                        {"type": "input_file", "file_id": "f"},
                        {"type": "input_text", "text": "A heron?"},
                    ],
                },
                {"type": "reasoning", "id": "rs_1", "summary": []},
                {"type": "function_call", "call_id": "c", "name": "look_up", "arguments": '{"id": 7}'},
                {"type": "function_call_output", "call_id": "c", "output": "an egret"},
                {"type": "custom_tool_call", "call_id": "d", "name": "note", "input": "seen"},
                {
                    "type": "custom_tool_call_output",
                    "call_id": "d",
                    "output": [{"type": "input_text", "text": "noted"}],
                },
                {
                    "type": "message",
                    "role": "assistant",
                    "content": [{"type": "output_text", "text": "An egret."}, {"type": "refusal"}],
                },
                {"role": "user", "content": "Sure?"},
                {"type": "function_call", "name": "f"},
            ],
        },
        "responses",
    )
    assert slots(view) == [
        ("developer", "Be kind.", 0, None),
        ("user", "Look:", 1, 0),
        ("user", "A heron?", 1, 3),
        ("tool", "an egret", 4, None),
        ("tool", "noted", 6, 0),
        ("assistant", "An egret.", 7, 0),
        ("user", "Sure?", 8, None),
    ]
    assert [(message.role, message.others) for message in view.messages if message.others] == [
        ("user", ("[input_image]", "[input_file]")),
        ("assistant", ("[reasoning]",)),
        ("assistant", ('[calls look_up {"id": 7}]',)),
        ("assistant", ("[calls note seen]",)),
        ("assistant", ("[refusal]",)),
        ("assistant", ("[calls f]",)),
    ]
    assert [segment.kind for segment in view.segments] == [
        "template",
        "input",
        "input",
        "history",
        "history",
        "history",
        "input",
    ]
    assert view.last_user_slot == (8, None)


@pytest.mark.parametrize(
    "body",
    [
        {"prompt": {"id": "pmpt_1"}},
        {"previous_response_id": "resp_1", "input": None},
        {"conversation": "conv_1", "input": []},
        {"instructions": "Say hello."},
    ],
)
def test_a_response_may_come_without_input(body: dict[str, Any]) -> None:
    """Where the provider keeps the rest of the prompt, or instructions suffice, the body can be read."""
    view = parsed(body, "responses")
    assert [message.role for message in view.messages] == ["system"] * ("instructions" in body)
    assert view.last_user_slot is None


def test_a_system_prompt_of_the_messages_api_comes_first() -> None:
    """A system prompt, text or parts, is message 0 wherever it stands in the body."""
    view = parsed({"messages": [{"role": "user", "content": "Hi"}], "system": "Be brief."}, "messages")
    assert slots(view) == [("system", "Be brief.", 0, None), ("user", "Hi", 1, None)]
    view = parsed(
        {
            "system": [
                {"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}},
                {"type": "text", "text": "Be kind."},
            ],
            "messages": [{"role": "user", "content": "Hi"}],
        },
        "messages",
    )
    assert slots(view) == [
        ("system", "Be brief.", 0, 0),
        ("system", "Be kind.", 0, 1),
        ("user", "Hi", 1, None),
    ]
    assert view.last_user_slot == (1, None)


def test_the_parts_of_messages_are_a_conversation() -> None:
    """A result of a tool is no word of the user in whose message it stands, but history of its own."""
    body = (
        b'{"messages":[{"role":"user","content":[{"type":"image","source":{}},'
        b'{"type":"text","text":"A heron?"}]},'
        b'{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"},'
        b'{"type":"text","text":"Wait."},'
        b'{"type":"tool_use","id":"c","name":"look_up","input":{"id": 7}}]},'
        b'{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"an egret"},'
        b'{"type":"tool_result","tool_use_id":"d","content":[{"type":"text","text":"white"}]},'
        b'{"type":"tool_result","tool_use_id":"e"},'
        b'{"type":"text","text":"Sure?"}]},'
        b'{"role":"user","content":[{"type":"text","text":"Well?"},'
        b'{"type":"tool_result","tool_use_id":"f","content":"yes"}]},'
        b'{"role":"assistant","content":[]},{"role":"assistant","content":null}]}'
    )
    view = PromptView.parse(body, api="messages")
    assert slots(view) == [
        ("user", "A heron?", 0, 1),
        ("assistant", "Wait.", 1, 1),
        ("tool", "an egret", 2, None),
        ("tool", "white", 3, 0),
        ("user", "Sure?", 5, 3),
        ("user", "Well?", 6, 0),
        ("tool", "yes", 7, None),
    ]
    assert [(message.role, message.others) for message in view.messages] == [
        ("user", ("[image]",)),
        ("assistant", ("[thinking]", '[calls look_up {"id": 7}]')),
        ("tool", ()),
        ("tool", ()),
        ("tool", ()),
        ("user", ()),
        ("user", ()),
        ("tool", ()),
        ("assistant", ()),
        ("assistant", ()),
    ]
    assert view.body() == body
    assert view.with_texts({4: "Really?"}).body() == body.replace(b"Sure?", b"Really?")
    assert view.last_user_slot == (6, 0)


@pytest.mark.parametrize("api", ["chat", "completions", "responses", "messages"])
def test_nesting_too_deep_to_read_is_a_reason(api: Any) -> None:
    """However deep a body is nested, it is read or refused: never another exception."""
    reasons = set()
    for depth in (10, 900, 950, 970, 980, 990, 1000, 1100, 50_000):
        for key in ("messages", "prompt", "input", "system", "x"):
            body = (
                f'{{"{key}":{"[" * depth}{"]" * depth},"messages":[{{"role":"user","content":"a"}}],'
                '"prompt":"a","input":"a"}'
            )
            try:
                PromptView.parse(body.encode(), api=api)
            except UnreadablePrompt as unreadable:
                reasons.add(unreadable.reason)
    assert "too_deep" in reasons
    assert reasons <= {"too_deep"}


def test_what_people_and_stores_read_is_well_formed() -> None:
    """Lone surrogates stay in the segments and the body, but not in what is shown and stored."""
    body = rb'{"model":"m\ud800","messages":[{"role":"user","content":"a\udc00 \ud83d\ude00"}]}'
    view = PromptView.parse(body)
    assert view.text == "user: a\ufffd \U0001f600"
    assert view.model == "m\ufffd"
    assert view.segments[0].text == "a\udc00 \U0001f600"
    assert view.body() == body


MESSAGES = [{"role": "user", "content": "Hi"}]
FUNCTION = {"type": "function", "function": {"name": "look_up", "parameters": {}}}
BARE = {
    "chat": {"messages": MESSAGES},
    "completions": {"prompt": "Hi"},
    "responses": {"input": "Hi"},
    "messages": {"messages": MESSAGES, "max_tokens": 9},
}


def view_of(api: Any, **more: object) -> PromptView:
    return PromptView.parse(json.dumps(BARE[api] | more).encode(), api=api)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('{"input":"a"}', '{"input":"a","store":false}'),
        ('{"input":"a","store":null, "stream":true}', '{"input":"a","store":false, "stream":false}'),
        ('{"store":false,"input":"a"}', '{"store":false,"input":"a"}'),
        ('{"input":"a","stream_options":{}}', '{"input":"a","store":false}'),
        ('{"stream_options":{}, "input":"a" }', '{"input":"a","store":false }'),
        ('{"background":true,"input":"a"}', '{"background":false,"input":"a","store":false}'),
    ],
)
def test_a_replayed_response_is_never_stored(before: str, after: str) -> None:
    """The responses API stores unless told not to, so a replay says so even where the client did not."""
    assert PromptView.parse(before.encode(), api="responses").for_replay() == after.encode()


def test_nothing_is_added_for_the_other_apis() -> None:
    """A replay of a bare request is the request: servers may reject keys that they do not know."""
    for api in ("chat", "completions", "messages"):
        view = view_of(api)
        assert view.for_replay() == view.body()


@pytest.mark.parametrize(("sent", "replayed"), [(3, 1), (1.5, 1), (1, 1), (0, 0), (True, True), ("2", "2")])
def test_only_one_choice_is_asked_for(sent: object, replayed: object) -> None:
    """Further choices would be paid for and never compared."""
    for api in ("chat", "completions"):
        assert json.loads(view_of(api, n=sent).for_replay())["n"] == replayed


@pytest.mark.parametrize(
    ("api", "more"),
    [
        ("chat", {}),
        ("chat", {"tools": [FUNCTION, {"type": "custom", "custom": {"name": "g"}}], "modalities": ["text"]}),
        ("chat", {"tools": None, "functions": [{"name": "f"}], "plugins": [], "web_search_options": None}),
        ("chat", {"tools": [{"function": {"name": "without a type"}}]}),
        ("completions", {}),
        ("completions", {"prompt": ["alone"], "echo": False}),
        ("responses", {"tools": [{"type": "function", "name": "f"}, {"type": "custom", "name": "g"}]}),
        ("responses", {"background": False, "previous_response_id": None, "prompt": None, "tools": []}),
        ("responses", {"input": [{"role": "user", "content": "Hi"}]}),
        (
            "messages",
            {
                "tools": [
                    {"name": "f", "input_schema": {}},
                    {"type": "custom", "name": "g"},
                    {"type": "bash_20250124", "name": "bash"},
                    {"type": "text_editor_20250728", "name": "str_replace_based_edit_tool"},
                    {"type": "computer_20250124", "name": "computer"},
                    {"type": "memory_20250818", "name": "memory"},
                ]
            },
        ),
        ("messages", {"mcp_servers": [], "container": None}),
    ],
)
def test_requests_whose_tools_run_at_the_client_are_replayed(api: str, more: dict[str, Any]) -> None:
    """Functions are offered and never executed, so they are no reason against a replay."""
    assert refusal(view_of(api, **more)) is None


@pytest.mark.parametrize(
    ("api", "more", "reason"),
    [
        ("chat", {"web_search_options": {}}, "server_side_tools"),
        ("chat", {"plugins": [{"id": "web"}]}, "server_side_tools"),
        ("chat", {"search_parameters": {"mode": "auto"}}, "server_side_tools"),
        ("chat", {"data_sources": [{"type": "azure_search"}]}, "server_side_tools"),
        ("chat", {"tools": [FUNCTION, {"type": "web_search"}]}, "server_side_tools"),
        ("chat", {"tools": ["f"]}, "server_side_tools"),
        ("chat", {"tools": [{"type": ["function"]}]}, "server_side_tools"),
        ("chat", {"tools": {"type": "function"}}, "server_side_tools"),
        ("chat", {"modalities": ["text", "audio"], "audio": {"voice": "a"}}, "audio_output"),
        ("completions", {"prompt": ["one", "two"]}, "several_prompts"),
        ("completions", {"echo": True}, "echo"),
        *(
            ("responses", {"tools": [{"type": kind}]}, "server_side_tools")
            for kind in (
                "web_search",
                "web_search_preview_2025_03_11",
                "file_search",
                "code_interpreter",
                "computer_use_preview",
                "image_generation",
                "mcp",
                "local_shell",
                "something new",
            )
        ),
        ("responses", {"previous_response_id": "resp_1"}, "stateful"),
        ("responses", {"conversation": {"id": "conv_1"}}, "stateful"),
        ("responses", {"input": [{"type": "item_reference", "id": "msg_1"}]}, "stateful"),
        ("responses", {"background": True}, "background"),
        ("responses", {"prompt": {"id": "pmpt_1"}}, "stored_prompt"),
        ("responses", {"modalities": ["audio"]}, "audio_output"),
        ("messages", {"mcp_servers": [{"type": "url", "url": "https://a.example"}]}, "server_side_tools"),
        ("messages", {"container": "container_1"}, "server_side_tools"),
        *(
            ("messages", {"tools": [{"type": kind, "name": "t"}]}, "server_side_tools")
            for kind in ("web_search_20250305", "web_fetch_20250910", "code_execution_20250522", 7)
        ),
    ],
)
def test_what_a_replay_would_do_or_could_not_compare_is_refused(
    api: str, more: dict[str, Any], reason: str
) -> None:
    """Side effects, state kept by the provider and answers that say nothing are reasons to refuse."""
    refused = refusal(view_of(api, **more))
    assert refused is not None
    assert refused.reason == reason
    assert refused.detail


def test_every_reason_of_a_refusal_has_its_line() -> None:
    """The page about replays names the reasons in the code, besides that of an unknown API."""
    in_code = set(re.findall(r'Refusal\(\s*"(\w+)"', inspect.getsource(refusals)))
    table = PAGE.read_text(encoding="utf-8").partition("## What is never replayed")[2].partition("\n## ")[0]
    on_page = set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE))
    assert on_page == in_code | {"api_unsupported"}
