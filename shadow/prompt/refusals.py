"""Which requests must not be replayed at all.

A replay has no effect but its answer. `PromptView.for_replay` switches off streams, storing and further
choices; a request that cannot be made harmless in this way is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from evenkeel.shadow.prompt.body import Api
    from evenkeel.shadow.prompt.view import PromptView


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request is never replayed. Counted by reason."""

    reason: str
    """Short snake_case word, usable as a label: "server_side_tools", "stateful", "background",
    "audio_output", "stored_prompt", "several_prompts" or "echo"."""
    detail: str
    """One sentence for people; holds no prompt text."""


def refusal(view: PromptView) -> Refusal | None:
    """Why this request must not be replayed, or cannot be compared; None if it can.

    Function tools are no reason: a replay offers them, and what the model calls is compared but
    never executed. Tools that the provider runs itself are: searching, computing and reaching other
    servers has effects and costs, and its results change by the minute.
    """
    return next(_REASONS[view.api](view), None)


def _chat(view: PromptView) -> Iterator[Refusal]:
    # an empty object switches the search on
    found = "web_search_options" if view.get("web_search_options") is not None else None
    # compatible servers' own: plugins and search_parameters search the web, data_sources an index
    found = found or next(
        (key for key in ("plugins", "search_parameters", "data_sources") if view.get(key)), None
    )
    if found:
        yield Refusal("server_side_tools", f"'{found}' makes the provider search on its own")
    yield from _tools(view, _is_function)
    yield from _audio(view)


def _completions(view: PromptView) -> Iterator[Refusal]:
    prompt = view.get("prompt")
    if isinstance(prompt, list) and len(prompt) > 1:
        yield Refusal(
            "several_prompts", "the request holds several prompts; the first choice answers only one"
        )
    if view.get("echo"):
        yield Refusal("echo", "the answer repeats the prompt, so it differs whenever the prompt does")


def _responses(view: PromptView) -> Iterator[Refusal]:
    yield from _tools(view, _is_function)
    for key in ("previous_response_id", "conversation"):
        if view.get(key) is not None:
            yield Refusal("stateful", f"'{key}' continues a conversation that the provider keeps")
    given = view.get("input")
    items = given if isinstance(given, list) else ()
    if any(isinstance(item, dict) and item.get("type") == "item_reference" for item in items):
        yield Refusal("stateful", "an 'item_reference' stands for an item that the provider keeps")
    if view.get("background"):
        yield Refusal("background", "the request runs in the background; its answer comes later")
    if view.get("prompt") is not None:
        yield Refusal("stored_prompt", "the prompt is a template that the provider keeps")
    yield from _audio(view)


def _messages(view: PromptView) -> Iterator[Refusal]:
    if view.get("mcp_servers"):
        yield Refusal("server_side_tools", "'mcp_servers' makes the provider call other servers")
    if view.get("container") is not None:
        yield Refusal("server_side_tools", "'container' makes the provider run code")
    yield from _tools(view, _is_run_by_an_anthropic_client)


def _audio(view: PromptView) -> Iterator[Refusal]:
    modalities = view.get("modalities")
    if isinstance(modalities, list) and "audio" in modalities:
        yield Refusal("audio_output", "the answer is speech, which cannot be compared")


def _tools(view: PromptView, run_by_client: Callable[[Any], bool]) -> Iterator[Refusal]:
    tools = view.get("tools")
    if tools and not (isinstance(tools, list) and all(map(run_by_client, tools))):
        yield Refusal("server_side_tools", "a tool of the request is not known to run at the client")


def _is_function(tool: Any) -> bool:
    return isinstance(tool, dict) and tool.get("type") in (None, "function", "custom")


_ANTHROPIC_CLIENT_TOOLS: Final = ("bash_", "text_editor_", "computer_", "memory_")
"""What the client runs among the tools that Anthropic defined; each name ends in a date."""


def _is_run_by_an_anthropic_client(tool: Any) -> bool:
    kind = tool.get("type") if isinstance(tool, dict) else ""
    return kind in (None, "custom") or (isinstance(kind, str) and kind.startswith(_ANTHROPIC_CLIENT_TOOLS))


_REASONS: Final[dict[Api, Callable[[PromptView], Iterator[Refusal]]]] = {
    "chat": _chat,
    "completions": _completions,
    "responses": _responses,
    "messages": _messages,
}
