"""Request bodies of each API: which of their strings are slots, and what is shown of the rest."""

from __future__ import annotations

import json
from typing import Any

import pytest

from evenkeel.shadow.prompt import PromptView, UnreadablePrompt, api_of


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


@pytest.mark.parametrize(
    ("api", "body", "reason"),
    [
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
def test_bodies_without_a_readable_prompt_say_why(api: str, body: object, reason: str) -> None:
    """What is no prompt of that API is refused with a short reason."""
    with pytest.raises(UnreadablePrompt) as caught:
        parsed(body, api)
    assert caught.value.reason == reason


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
