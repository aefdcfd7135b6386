"""Requests that must not be replayed.

A replay has no effect but its answer. `PromptView.for_replay` sends known members only and switches off
streams, storing and further choices; a request that cannot be made harmless in this way, or whose answer
would no longer be comparable, is refused.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from evenkeel.shadow.prompt.apis import Refusal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenkeel.shadow.prompt.view import PromptView


def refusal(view: PromptView) -> Refusal | None:
    """Return why this request must not be replayed, or cannot be compared; None if it can.

    Function tools are no reason: a replay offers them, and what the model calls is compared but
    never executed. Tools that the provider runs itself are: searching, computing and reaching other
    servers has effects and costs, and its results change by the minute.
    """
    return next(_any_api(view), None) or next(view.api.refusals(view.get), None)


def _any_api(view: PromptView) -> Iterator[Refusal]:
    if any(count > 1 for count in Counter(view.keys).values()):
        yield Refusal("ambiguous", "a member occurs twice, and servers differ in which of the two they read")
    yield from _stateful(view)
    yield from _searching_members(view)
    yield from _searching_models(view)
    yield from _tools(view)
    yield from _media(view)
    if _names_remote_content(view):
        yield Refusal("remote_content", "the provider would fetch a file or picture from elsewhere again")


# Members that name a conversation which a replay would add to. `previous_response_id` is none of them: a
# replay with `store: false` forks from it and appends nothing.
_STATE: Final = ("conversation", "thread_id", "assistant_id", "session_params")


def _stateful(view: PromptView) -> Iterator[Refusal]:
    for key in _STATE:
        if view.get(key) is not None:
            yield Refusal("stateful", f"'{key}' continues a conversation that the provider keeps")
    thread = view.get("thread")
    # A request that opens a thread holds all of its messages; one that continues it holds the new turn alone.
    if thread is not None and not (isinstance(thread, dict) and thread.get("type") == "create"):
        yield Refusal("stateful", "'thread' continues a conversation that the provider keeps")
    messages = view.get("messages")
    for message in messages if isinstance(messages, list) else ():
        spoken = message.get("audio") if isinstance(message, dict) else None
        if isinstance(spoken, dict) and spoken.get("id"):
            yield Refusal("stateful", "an earlier answer in speech is kept by the provider")


# Member names, in lower case and without marks, that make providers search, compute or call others.
_ON_ITS_OWN: Final = re.compile(
    r"""
      search | brows | grounding | retriev | plugin | connector | mcp | datasource | knowledge | vectorstore
    | (?:code|python) (?:interpreter|execution|exec) | computeruse | urlcontext | webfetch | builtintool
    | serversidetool | servertool | toolresources | compound | agentreference
    | \A (?: agent (?: id )? | container | toolset s? | toolkit s? | tools ) \Z
    """,
    re.VERBOSE,
)
_OFF: Final[tuple[Any, ...]] = (None, False, 0.0, "", "none", "off", "false", "disabled", [])
# Members that are known although the members inside them are not.
_NESTED: Final = (
    "reasoning",
    "thinking",
    "chat_template_kwargs",
    "options",
    "provider",
    "generationConfig",
    "toolConfig",
)


def _searching_members(view: PromptView) -> Iterator[Refusal]:
    # A request whose search was left out would be answered, but by another system than the original.
    waiting = view.members_left_out
    for key in _NESTED:
        held = view.get(key)
        waiting += held.items() if isinstance(held, dict) else ()
    while waiting:
        key, value = waiting.pop()
        if _is_off(value):
            continue
        plain = re.sub("[^a-z]", "", key.lower())
        if _ON_ITS_OWN.search(plain) and not plain.startswith("disable"):
            yield Refusal("server_side_tools", "a member lets the provider search, run code or call others")
        waiting += value.items() if isinstance(value, dict) else ()
        waiting += [("", item) for item in value] if isinstance(value, list) else ()


def _is_off(value: Any) -> bool:
    return value in _OFF or (isinstance(value, dict) and value.get("mode") in ("off", "none"))


# Models that search by themselves: asked again, they would find other pages.
_SEARCHING_MODEL: Final = re.compile(
    r":online\b|-online\Z|search-(?:preview|api)|deep-?research|(?:\A|/)(?:sonar|compound)(?:[-:]|\Z)",
    re.IGNORECASE,
)


def _searching_models(view: PromptView) -> Iterator[Refusal]:
    models = view.get("models")
    for model in (view.model, *(models if isinstance(models, list) else (models,))):
        if isinstance(model, str) and _SEARCHING_MODEL.search(model):
            yield Refusal("server_side_tools", "the model searches the web or runs tools on its own")


# Values of `tool_choice` that are allowed besides the functions of the request.
_CLIENT_CHOICES: Final = (None, "auto", "any", "none", "required", "tool", "allowed_tools")
_FUNCTION_MEMBERS: Final = frozenset({
    "type", "function", "custom", "name", "description", "parameters", "strict", "format", "input_schema",
    "output_schema", "cache_control", "eager_input_streaming", "input_examples", "defer_loading",
    "allowed_callers", "async",
})  # fmt: skip
_DEFINITIONS: Final = ("function", "custom")
# Values of `allowed_callers` with which only the model calls a function, and no code at the provider.
_CALLERS: Final = (None, ["direct"])


def _tools(view: PromptView) -> Iterator[Refusal]:
    for tools in view.api.offered(view.get):
        if tools and not (isinstance(tools, list) and all(_runs_at_client(view, tool) for tool in tools)):
            yield Refusal("server_side_tools", "a tool of the request is not known to run at the client")
    choice = view.get("tool_choice")
    allowed = (*_CLIENT_CHOICES, *_DEFINITIONS, *view.api.client_tools)
    if isinstance(choice, dict) and choice.get("type") not in allowed:
        yield Refusal(
            "server_side_tools", "'tool_choice' names a tool that is not known to run at the client"
        )


def _runs_at_client(view: PromptView, tool: Any) -> bool:
    if _is_function(tool):
        return True
    return isinstance(tool, dict) and view.api.runs_at_client(tool, _is_function)


def _is_function(tool: Any) -> bool:
    """Return whether a tool is a function by type and content: `{"google_search": {}}` has no type."""
    if not isinstance(tool, dict) or not tool.keys() <= _FUNCTION_MEMBERS:
        return False
    if tool.get("allowed_callers") not in _CALLERS:
        return False
    kind = tool.get("type")
    if kind not in (None, *_DEFINITIONS):
        return False
    definitions = [tool[key] for key in _DEFINITIONS if isinstance(tool.get(key), dict)] or [tool]
    names = []
    for definition in definitions:
        names.append(definition.get("name"))
    # Moonshot's own functions, which run at the provider, begin with this sign.
    named = all(isinstance(name, str) and not name.startswith("$") for name in names)
    return named or (definitions != [tool] and names == [None])


# Members of messages and their parts that hold words, which nobody fetches.
_TEXTS: Final = frozenset({
    "content", "text", "thinking", "refusal", "reasoning", "reasoning_content", "signature", "title",
    "context", "name", "output", "encrypted_content",
})  # fmt: skip
# Members that hold the words of the model or of the client's tools about calls and sources.
_SAID: Final = ("arguments", "annotations", "citations", "args", "response")
_CALLS: Final = ("tool_use", "server_tool_use", "mcp_tool_use", "custom_tool_call")
# Ends of the types of parts that tell what the provider did earlier, or what tools there are. Its sources,
# files and containers are named there and not asked for again. The client's own results end in another way.
_RECORDS: Final = ("_call", "_tool_result", "_tools", "tool_search_output", "browser_state")
_ADDRESS: Final = re.compile(r"\s*[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_INLINE: Final = re.compile(r"\s*data:", re.IGNORECASE)
_STORED: Final = ("fileid", "fileids", "containerid", "vectorstoreids")


def _names_remote_content(view: PromptView) -> bool:
    waiting: list[tuple[str, Any]] = [("content", view.get(key)) for key in view.api.prompt_members]
    while waiting:
        key, value = waiting.pop()
        if isinstance(value, list):
            waiting += [(key, item) for item in value]
        elif isinstance(value, dict) and not str(value.get("type")).endswith(_RECORDS):
            for member in value.items():
                if not _is_text(value, *member):
                    waiting.append(member)
        elif not isinstance(value, dict) and _is_remote(key, value):
            return True
    return False


def _is_text(part: dict[str, Any], key: str, value: Any) -> bool:
    """Return whether a member of a part holds words, or arguments of a call, that no server fetches."""
    if isinstance(value, str):
        # A search result that the client sends says where its text comes from.
        source = (part.get("type"), key) in (("search_result", "source"), ("text", "data"))
        return source or key in _TEXTS
    return key in _SAID or (key == "input" and part.get("type") in _CALLS)


def _is_remote(key: str, value: Any) -> bool:
    plain = re.sub("[^a-z]", "", key.lower())
    if plain in _STORED:
        return bool(value)
    if not isinstance(value, str) or key in _TEXTS or not value or _INLINE.match(value):
        return False
    return plain.endswith(("url", "uri")) or _ADDRESS.match(value) is not None


# Gemini's members, which replays send and which may ask for pictures or speech.
_GENERATION_CONFIG: Final = ("generationConfig", "generation_config")


def _media(view: PromptView) -> Iterator[Refusal]:
    """Answers that are not text, asked for by `modalities` or a vendor's name for it, however deep."""
    waiting = [("modalities", view.get("modalities")), *view.members_left_out]
    for config in _GENERATION_CONFIG:
        waiting.append((config, view.get(config)))
    while waiting:
        key, value = waiting.pop()
        if not key.lower().endswith("modalities"):
            waiting += value.items() if isinstance(value, dict) else ()
            continue
        asked = value if isinstance(value, list | dict) else [value or "text"]
        kinds = {str(item).lower() for item in asked}
        if "audio" in kinds:
            yield Refusal("audio_output", "the answer is speech, which cannot be compared")
        elif kinds - {"text"}:
            yield Refusal("media_output", "the answer holds pictures, which cost more and cannot be compared")
