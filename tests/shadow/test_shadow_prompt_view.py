"""PromptView: reading a request body and writing it back."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.shadow.prompt import Block, PromptView, UnreadablePrompt
from evenkeel.shadow.prompt.body import READERS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.shadow.prompt import Api, SlotText

APIS = tuple(READERS)

# --- any JSON a client may send, as text: odd blanks, escapes, numbers and repeated keys included ---

_blanks = st.text(" \t\r\n", max_size=2)
_numbers = st.from_regex(r"-?(0|[1-9][0-9]{0,30})(\.[0-9]{1,5})?([eE][+-]?[0-9]{1,4})?", fullmatch=True)
_strings = st.one_of(
    st.builds(json.dumps, st.text(max_size=12), ensure_ascii=st.booleans()),
    st.sampled_from(
        [r'"\u0041\/\"\\"', r'"\ud800"', r'"\ud83d\ude00"', r'"a\u0000b"', '"messages"', '"\U0001f600"']
    ),
)
_keys = st.one_of(
    _strings,
    st.sampled_from(
        [
            '"messages"',
            r'"\u006dessages"',
            '"role"',
            '"content"',
            '"text"',
            '"type"',
            '"prompt"',
            '"input"',
            '"instructions"',
            '"system"',
            '"output"',
        ]
    ),
)


def _array(pieces: list[str], blank: str) -> str:
    return "[" + blank + f"{blank},".join(pieces) + blank + "]"


def _object(members: list[tuple[str, str]], blank: str) -> str:
    return "{" + blank + f",{blank}".join(f"{key}{blank}:{blank}{value}" for key, value in members) + "}"


_values = st.recursive(
    st.one_of(_numbers, _strings, st.sampled_from(["null", "true", "false", "[]", "{}"])),
    lambda inner: st.one_of(
        st.builds(_array, st.lists(inner, max_size=4), _blanks),
        st.builds(_object, st.lists(st.tuples(_keys, inner), max_size=4), _blanks),
    ),
    max_leaves=12,
)
_parts = st.one_of(
    _values,
    st.builds(lambda text: f'{{"type": "text", "text": {text}}}', _strings),
    st.builds(
        lambda kind, text: f'{{"type":"{kind}","text":{text}}}',
        st.sampled_from(["input_text", "output_text", "thinking"]),
        _strings,
    ),
    st.builds(lambda value: f'{{"type":"tool_result","tool_use_id":"t","content":{value}}}', _values),
    st.builds(lambda value: f'{{"type":"tool_use","name":"f","input":{value}}}', _values),
    st.just('{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}'),
)
_messages = st.builds(
    lambda role, content, more, blank: _object([('"role"', role), ('"content"', content), *more], blank),
    st.sampled_from(['"user"', '"system"', '"assistant"', '"tool"']),
    st.one_of(_strings, st.just("null"), st.builds(_array, st.lists(_parts, max_size=4), _blanks)),
    st.lists(st.tuples(_keys.filter(lambda key: key != '"role"'), _values), max_size=2),
    _blanks,
)
_chat_bodies = st.builds(
    lambda messages, more, blank: (
        blank + _object([*more, ('"messages"', _array(messages, blank))], blank) + blank
    ),
    st.lists(_messages, min_size=1, max_size=4),
    st.lists(st.tuples(_keys, _values), max_size=3),
    _blanks,
)
_items = st.one_of(
    _messages,
    st.builds(lambda value: f'{{"type":"function_call_output","call_id":"c","output":{value}}}', _values),
    st.builds(lambda text: f'{{"type":"function_call","name":"f","arguments":{text}}}', _strings),
    st.just('{"type":"reasoning","summary":[]}'),
)


def _with(
    conversation: st.SearchStrategy[tuple[str, str]], *more: st.SearchStrategy[tuple[str, str]]
) -> st.SearchStrategy[str]:
    """Bodies that hold the given members, other ones before and between."""
    return st.builds(
        lambda members, others, blank: blank + _object([*others, *members], blank) + blank,
        st.tuples(*more, conversation),
        st.lists(st.tuples(_keys, _values), max_size=3),
        _blanks,
    )


def _list_of(one: st.SearchStrategy[str], blanks: st.SearchStrategy[str] = _blanks) -> st.SearchStrategy[str]:
    return st.builds(_array, st.lists(one, min_size=1, max_size=4), blanks)


_completion_bodies = _with(st.tuples(st.just('"prompt"'), st.one_of(_strings, _list_of(_strings))))
_response_bodies = _with(
    st.tuples(st.just('"input"'), st.one_of(_strings, _list_of(_items))),
    st.tuples(st.just('"instructions"'), st.one_of(_strings, st.just("null"))),
)
_message_bodies = _with(
    st.tuples(st.just('"messages"'), _list_of(_messages)),
    st.tuples(st.just('"system"'), st.one_of(_strings, _list_of(_parts))),
)
_any_api_bodies = st.one_of(_chat_bodies, _completion_bodies, _response_bodies, _message_bodies)
_bodies_by_api = st.one_of(
    st.tuples(st.just("chat"), _chat_bodies),
    st.tuples(st.just("completions"), _completion_bodies),
    st.tuples(st.just("responses"), _response_bodies),
    st.tuples(st.just("messages"), _message_bodies),
)


@given(st.one_of(_values, _any_api_bodies), st.sampled_from(APIS))
def test_unedited_body_is_identical_for_any_json(text: str, api: Api) -> None:
    """Whatever JSON is sent to whichever API, an unedited view gives the very same bytes, or a reason."""
    body = text.encode()
    try:
        view = PromptView.parse(body, api=api)
    except UnreadablePrompt as unreadable:
        reason = unreadable.reason
    else:
        reason = None
        assert view.body() == body
        assert view.with_texts({one.index: one.text for one in view.segments}).body() == body
    assert reason in {None, "no_messages", "unsupported_shape", "token_prompt"}


@given(st.binary(max_size=60), st.sampled_from(APIS))
def test_any_bytes_are_read_or_refused_with_a_reason(body: bytes, api: Api) -> None:
    """Bytes that are no JSON never raise anything but UnreadablePrompt."""
    with pytest.raises(UnreadablePrompt) as caught:
        PromptView.parse(body, api=api)
    assert caught.value.reason in {"not_json", "no_messages", "unsupported_shape"}


@given(_chat_bodies, st.data())
def test_an_edit_is_what_a_json_reader_sees(text: str, data: st.DataObject) -> None:
    """After an edit of a chat body any JSON reader finds the new text in its place."""
    view = PromptView.parse(text.encode())
    if not view.segments:
        return
    segment = data.draw(st.sampled_from(view.segments))
    new = data.draw(st.text(max_size=20))
    edited = view.with_texts({segment.index: new})

    expected = json.loads(text)
    message = expected["messages"][segment.message]
    if segment.part is None:
        message["content"] = new
    else:
        message["content"][segment.part]["text"] = new
    assert repr(json.loads(edited.body())) == repr(expected)  # repr, since nan differs from itself


@given(_bodies_by_api, st.data())
def test_an_edit_replaces_one_literal_and_no_other_byte(given: tuple[Api, str], data: st.DataObject) -> None:
    """In a body of any API an edited text is read back; the bytes around its literal are the old ones."""
    api, text = given
    try:
        view = PromptView.parse(text.encode(), api=api)
    except UnreadablePrompt:
        return  # a member that was added made it so
    if not view.segments:
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


def test_an_edit_keeps_every_other_byte() -> None:
    """Only the edited literal differs; blanks, order, numbers and images stay."""
    edited = PromptView.parse(BODY).with_texts({2: 'Say "what" it is\n'})
    assert edited.body() == BODY.replace(b'"What is it?"', b'"Say \\"what\\" it is\\n"')
    assert edited.input_text == 'Look:\n\nSay "what" it is\n'


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
    ("body", "reason"),
    [
        (b"", "not_json"),
        (b"hello", "not_json"),
        (b'{"messages": [}', "not_json"),
        (b"{messages: []}", "not_json"),
        (b'{"messages" []}', "not_json"),
        (b'{"messages": [] "n": 1}', "not_json"),
        (b'{"messages": [{"role": "user", "content": "a"}]} x', "not_json"),
        (b'{"messages": [{"role": "user", "content": "a"}], "n": 01}', "not_json"),
        (b'{"messages": [{"role": "user", "content": "\xff"}]}', "not_json"),
        (b"[1]", "unsupported_shape"),
        (b'{"prompt": "a"}', "no_messages"),
        (b'{"messages": null}', "no_messages"),
        (b'{"messages": []}', "no_messages"),
        (b'{"messages": "hi"}', "unsupported_shape"),
        (b'{"messages": ["hi"]}', "unsupported_shape"),
        (b'{"messages": [{"content": "hi"}]}', "unsupported_shape"),
        (b'{"messages": ' + b"[" * 100_000, "too_deep"),
    ],
)
def test_unreadable_bodies_say_why(body: bytes, reason: str) -> None:
    """A body without a readable prompt is refused with a short reason."""
    with pytest.raises(UnreadablePrompt) as caught:
        PromptView.parse(body)
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


@given(_chat_bodies)
def test_a_replay_differs_in_the_forced_keys_alone(text: str) -> None:
    """For any body, reading the replay gives the same object but for stream, stream_options and store."""
    body = text.replace("{", '{"stream": true, "stream_options": {"include_usage": true}, "store": true, ', 1)
    if body.rstrip().endswith(", }"):
        return
    replayed = json.loads(PromptView.parse(body.encode()).for_replay())
    expected = json.loads(body)
    del expected["stream_options"]
    assert repr(replayed) == repr(expected | {"stream": False, "store": False})


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
