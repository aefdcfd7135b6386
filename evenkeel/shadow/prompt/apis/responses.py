"""OpenAI's responses: `input`, a text or a list of items, and `instructions`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from evenkeel.llm.answer import (
    AnswerReader,
    UnreadableAnswer,
    count,
    elements,
    error_body,
    fields,
    string,
    text_of,
    written,
)
from evenkeel.shadow.prompt.apis.protocol import Api, Refusal
from evenkeel.shadow.prompt.body import (
    RawMessage,
    Slot,
    call_note,
    last,
    listed,
    message_of,
    role_of,
    type_of,
)
from evenkeel.shadow.prompt.members import ANY_API, FORM, SAMPLING
from evenkeel.shadow.prompt.spans import members_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from evenkeel.shadow.prompt.apis.protocol import Get
    from evenkeel.shadow.prompt.spans import Member, Value

_OWN_MEMBERS: Final = frozenset({
    "input", "instructions", "include", "max_output_tokens", "max_tool_calls", "text", "modalities",
    "chat_template_kwargs", "provider", "previous_response_id", "context_management", "image",
    "access_programs",
})  # fmt: skip
# Types of items that call a tool of the client, and the member with its arguments.
_ARGUMENTS: Final = {
    "function_call": "arguments",
    "custom_tool_call": "input",
    "apply_patch_call": "operation",
    "shell_call": "action",
    "local_shell_call": "action",
    "computer_call": "actions",
}
# Member with the arguments of a computer call of the preview, which has one action each.
_ONE_ACTION: Final = "action"
# Events with pieces, and the member of an item or of a part of a message that they fill.
_PIECES: Final = {
    "output_text": "text",
    "refusal": "refusal",
    "function_call_arguments": "arguments",
    "custom_tool_call_input": "input",
    "audio.transcript": "transcript",
}
# Members of a message's parts, with the type of such a part.
_PARTS: Final = {"text": "output_text", "refusal": "refusal", "transcript": "output_audio"}
# Types of parts with text; SGLang's router writes the second.
_TEXTS: Final = ("output_text", "text")
# End of the types of results: of the client's tools, and those that the provider gave earlier.
_RESULT: Final = "_output"
# Types of items that offer tools behind the beginning of the conversation.
_OFFERS: Final = ("additional_tools", "tool_search_output")
# End of the type of a call without a name, which is named by the rest of its type: "apply_patch".
_NAMELESS: Final = "_call"
_REFERENCE: Final = "item_reference"
# Places where a shell or a search for tools runs at the client.
_LOCAL: Final = ("local", "client")
# Members with which the body may hold no text at all.
_STORED_CONVERSATION: Final = ("previous_response_id", "conversation", "prompt")


class ResponsesReader(AnswerReader):
    """Reads responses. The finish reason is the status, or why an answer is incomplete.

    The last event of a stream holds the whole response, and only that counts. If it has no text and no calls,
    the earlier items are taken, or else their pieces.
    """

    def __init__(self) -> None:
        super().__init__()
        self._items: list[Any] = []
        # Items that were begun, by their place in the output.
        self._begun: dict[int, dict[str, Any]] = {}
        # What came in pieces, by place in the output and in its item, and by the member that it fills.
        self._pieces: dict[tuple[int, int, str], str] = {}
        self._read = False

    @property
    def complete(self) -> bool:
        """Implement `AnswerReader`."""
        return self._read

    def whole(self, body: dict[str, Any]) -> None:
        """Implement `AnswerReader`."""
        status = string(body.get("status"))
        if body.get("error") or status == "failed":
            raise error_body(body.get("error"))
        if status in ("queued", "in_progress", "cancelled"):
            raise UnreadableAnswer("unfinished", f"the response is {status}")
        outputs = [elements(body.get("output")), self._items, self._assembled()]
        if not any(outputs) and not isinstance(body.get("output"), list):
            raise UnreadableAnswer("no_output", "the response holds no output")
        self._read = True
        draft = self.draft
        draft.note_origin(body)
        draft.note_usage(body.get("usage"), ("input_tokens",), "output_tokens")
        why = string(fields(body.get("incomplete_details")).get("reason"))
        draft.finish_reason = why if status == "incomplete" and why else status
        for output in outputs:
            for number, item in enumerate(map(fields, output)):
                self._add_item(number, item)
            if any(draft.text) or any(draft.fallback) or draft.calls:
                break

    def event(self, data: dict[str, Any]) -> None:
        """Implement `AnswerReader`."""
        if self._read:
            return
        match data.get("type"):
            case "response.output_item.added":
                self._begun[_place(data)] = fields(data.get("item"))
            case "response.output_item.done":
                self._items.append(data.get("item"))
            case "response.failed":
                raise error_body(fields(data.get("response")).get("error"))
            case "response.completed" | "response.incomplete" | "response.done":
                self.whole(fields(data.get("response")))
            case "error":
                raise error_body(data.get("error") or {"code": data.get("code")})
            case None if data.get("error"):
                raise error_body(data["error"])
            case str(name):
                self._add_piece(name, data)

    def _add_piece(self, name: str, data: dict[str, Any]) -> None:
        """Keep a piece of a text or of a call, of which the last one is the whole again."""
        what, _, step = name.removeprefix("response.").rpartition(".")
        member = _PIECES.get(what)
        if member is None:
            return
        key = _place(data), count(data.get("content_index"), 0) or 0, member
        if step == "delta":
            self._pieces[key] = self._pieces.get(key, "") + text_of(data.get("delta"))
        elif isinstance(data.get(member), str):
            self._pieces[key] = data[member]

    def _assembled(self) -> list[dict[str, Any]]:
        """Return the output that the pieces make: a message, and the calls that were begun."""
        content: list[dict[str, str]] = []
        for (_, _, member), text in self._pieces.items():
            if member in _PARTS:
                content.append({"type": _PARTS[member], member: text})
        output: list[dict[str, Any]] = [{"type": "message", "content": content}] if content else []
        for place, item in self._begun.items():
            arguments = _ARGUMENTS.get(string(item.get("type")) or "")
            if arguments:
                whole = self._pieces.get((place, 0, arguments), item.get(arguments))
                output.append({**item, arguments: whole})
        return output

    def _add_item(self, number: int, item: dict[str, Any]) -> None:
        kind = string(item.get("type"))
        if kind == "message":
            content = item.get("content")
            if isinstance(content, str):  # some gateways write it as a text
                self.draft.text.append(content)
            for part in map(fields, elements(content)):
                if part.get("type") in _TEXTS:
                    self.draft.text.append(text_of(part.get("text")))
                elif part.get("type") == "refusal":
                    self.draft.fallback.append(text_of(part.get("refusal")))
                elif part.get("type") == "output_audio":
                    self.draft.fallback.append(text_of(part.get("transcript")))
        elif kind in _ARGUMENTS:
            arguments = written(item.get(_ARGUMENTS[kind]) or item.get(_ONE_ACTION))
            name = text_of(item.get("name")) or kind.removesuffix(_NAMELESS)
            # Two namespaces may have tools of one name.
            space = text_of(item.get("namespace"))
            self.draft.add_call((number, 0), f"{space}.{name}" if space else name, arguments)
        elif kind == "tool_search_call" and item.get("execution") in _LOCAL:
            self.draft.add_call((number, 0), "tool_search", written(item.get("arguments")))


def _is_reference(item: dict[str, Any]) -> bool:
    """Return whether an item stands for one that the provider keeps. It may leave its type out."""
    kind = item.get("type")
    return kind == _REFERENCE or (kind is None and "id" in item and "role" not in item)


def _place(data: dict[str, Any]) -> int:
    return count(data.get("output_index"), 0) or 0


class ResponsesApi(Api):
    """Responses."""

    name = "responses"
    path = "responses"
    prompt_members = ("input", "instructions")
    text_parts = ("input_text", "output_text", "text")
    kept = ANY_API | SAMPLING | FORM | _OWN_MEMBERS
    added = (("store", "false"),)  # it is true unless it is said to be false
    answer_reader = ResponsesReader
    limits = ("max_output_tokens",)
    has_flex = True
    client_tools = ("apply_patch", "local_shell", "shell", "computer", "computer_use", "computer_use_preview")
    parameters = (("text", "verbosity", "verbosity"), ("text", "format", "response_format"))

    def messages(self, text: str, members: tuple[Member, ...]) -> tuple[RawMessage, ...]:
        """Implement `Api`; instructions come first, as a system message."""
        instructions = last(members, "instructions")
        system: tuple[RawMessage, ...] = ()
        if instructions is not None and isinstance(instructions.decoded, str):
            system = (RawMessage("system", (Slot.whole(instructions),)),)
        asked = last(members, "input")
        if asked is not None and isinstance(asked.decoded, str):
            return (*system, RawMessage("user", (Slot.whole(asked),)))
        if asked is None or asked.decoded in (None, []):
            elsewhere = []
            for key in _STORED_CONVERSATION:
                elsewhere.append(last(members, key))
            if system or any(value is not None and value.decoded is not None for value in elsewhere):
                return system
        items = enumerate(listed(text, members, "input"))
        return (*system, *(self._item(text, index, item) for index, item in items))

    def offered(self, get: Get) -> list[Any]:
        """Extend `Api`: items of the input may offer tools, too."""
        offers = super().offered(get)
        for item in map(fields, elements(get("input"))):
            if item.get("type") in _OFFERS:
                offers.append(item.get("tools"))
        return offers

    def _item(self, text: str, index: int, item: Value) -> RawMessage:
        kind = _REFERENCE if _is_reference(fields(item.decoded)) else type_of(item)
        if kind is None or kind == "message":
            role = role_of(index, item)
            return message_of(text, role, last(members_of(text, item.start)[0], "content"), self.text_parts)
        if kind in _ARGUMENTS:
            return RawMessage("assistant", (), (call_note(text, item, _ARGUMENTS[kind]),))
        if kind.endswith(_RESULT):
            output = last(members_of(text, item.start)[0], "output")
            return message_of(text, "tool", output, self.text_parts)
        # reasoning, calls of tools that run at the provider, references to stored items
        return RawMessage("assistant", (), (f"[{kind}]",))

    def runs_at_client(self, tool: Mapping[str, Any], is_function: Callable[[Any], bool]) -> bool:
        """Implement `Api`: a namespace of functions, a shell or a search for tools at the client, too.

        A search over the request's own definitions runs at the provider and reads nothing else.
        """
        match tool.get("type"):
            case "namespace":
                held = tool.get("tools")
                return isinstance(held, list) and all(map(is_function, held))
            case "shell":
                return fields(tool.get("environment")).get("type") in _LOCAL
            case "tool_search":
                return tool.get("execution") in (None, "server", *_LOCAL)
            case _:
                return super().runs_at_client(tool, is_function)

    def refusals(self, get: Get) -> Iterator[Refusal]:
        """Implement `Api`."""
        items = list(map(fields, elements(get("input"))))
        if any(map(_is_reference, items)):
            yield Refusal("stateful", "an 'item_reference' stands for an item that the provider keeps")
        if any(item.get("type") == "image_generation_call" and not item.get("result") for item in items):
            yield Refusal("stateful", "a picture of an earlier answer is kept by the provider")
        if any(item.get("type") == "mcp_approval_response" for item in items):
            yield Refusal("server_side_tools", "the provider would run a call that a person approved")
        if any(item.get("type") == "compaction_trigger" for item in items):
            yield Refusal(
                "compaction", "the request asks for a summary of the conversation, not for an answer"
            )
        if get("background"):
            yield Refusal("background", "the request runs in the background; its answer comes later")
        if get("prompt") is not None:
            yield Refusal("stored_prompt", "the prompt is a template that the provider keeps")

    def is_answer(self, body: Mapping[str, Any]) -> bool:
        """Implement `Api`."""
        return isinstance(body.get("output"), list)


RESPONSES: Final = ResponsesApi()
