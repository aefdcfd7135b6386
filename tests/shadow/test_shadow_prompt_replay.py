"""What a replay leaves out of a request, and which requests are never replayed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from evenkeel.shadow.prompt import PromptView, refusal

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
