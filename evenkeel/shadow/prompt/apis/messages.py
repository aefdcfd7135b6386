"""Messages, as Anthropic made them.

Results of tools stand in a user's message there; here each is a message of its own, since the user did not
write it.
"""

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
    message_of_parts,
    read_part,
    role_of,
    type_of,
)
from evenkeel.shadow.prompt.members import ANY_API, SAMPLING
from evenkeel.shadow.prompt.spans import elements_of, members_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from evenkeel.core.pair import Answer
    from evenkeel.shadow.prompt.apis.protocol import Get
    from evenkeel.shadow.prompt.spans import Member, Value

_OWN_MEMBERS: Final = frozenset({
    "messages", "system", "stop_sequences", "anthropic_version", "anthropic_beta", "output_config",
    "output_format", "effort", "chat_template_kwargs", "provider", "context_management", "cache_control",
    "inference_geo",
})  # fmt: skip


# Members that requests of chat completions have not.
_NOT_OF_CHAT: Final = frozenset({"system", "anthropic_version", "stop_sequences"})
# Keys of the prompt's token counts. The first excludes cached tokens, unlike the count of the other APIs.
_PROMPT_TOKENS: Final = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


class MessagesReader(AnswerReader):
    """Reads messages: text blocks and calls of the client's tools; other blocks are skipped.

    A stream is complete with a stop reason or `message_stop`.
    """

    def __init__(self) -> None:
        super().__init__()
        # Calls whose input came whole with their beginning; some gateways send it once more in pieces.
        self._stated: set[int] = set()
        # Token counts so far: the end of a stream may state only those that changed.
        self._usage: dict[str, Any] = {}
        self._begun = False
        self._stopped = False

    @property
    def complete(self) -> bool:
        """Implement `AnswerReader`."""
        return self._stopped or bool(self.draft.finish_reason)

    def whole(self, body: dict[str, Any]) -> None:
        """Implement `AnswerReader`."""
        if body.get("type") == "error" or (body.get("error") and not body.get("content")):
            raise error_body(body.get("error"))
        content = body.get("content")
        if not isinstance(content, list | str):
            raise UnreadableAnswer("no_output", "the response holds no content")
        self._begin(body)
        if isinstance(content, str):  # some gateways write it as a text
            self.draft.text.append(content)

    def event(self, data: dict[str, Any]) -> None:
        """Implement `AnswerReader`."""
        match data.get("type"):
            case "message_start":
                self._begin(fields(data.get("message")))
            case "content_block_start":
                self._add_block(_index(data), fields(data.get("content_block")))
            case "content_block_delta":
                self._add_piece(_index(data), fields(data.get("delta")))
            case "message_delta":
                self._note(fields(data.get("delta")), data.get("usage"))
            case "message_stop":
                self._stopped = True
            case "error":
                raise error_body(data.get("error"))
            case None if data.get("error"):
                raise error_body(data["error"])

    def answer(self) -> Answer:
        """Implement `AnswerReader`."""
        if not self._begun:
            raise UnreadableAnswer("no_output", "the stream holds no message")
        for call in self.draft.calls.values():
            if not call.pieces:  # a call without arguments sends no piece of them
                call.add("{}")
        return self.draft.answer()

    def _begin(self, message: dict[str, Any]) -> None:
        self._begun = True
        self.draft.note_origin(message)
        self._note(message, message.get("usage"))
        for index, block in enumerate(map(fields, elements(message.get("content")))):
            self._add_block(index, block)

    def _note(self, message: dict[str, Any], usage: Any) -> None:
        for key, tokens in fields(usage).items():
            if tokens is not None:
                self._usage[key] = tokens
        self.draft.note_usage(_with_compactions(self._usage), _PROMPT_TOKENS, "output_tokens")
        self.draft.finish_reason = string(message.get("stop_reason")) or self.draft.finish_reason

    def _add_block(self, index: int, block: dict[str, Any]) -> None:
        match block.get("type"):
            case "text":
                self.draft.text.append(text_of(block.get("text")))
            case "tool_use":
                # In a stream the input is usually empty here and follows in pieces.
                stated = written(block.get("input") or None)
                # Two toolsets may have tools of one name.
                toolset, name = text_of(block.get("toolset_name")), text_of(block.get("name"))
                self.draft.add_call((index, 0), f"{toolset}.{name}" if toolset else name, stated)
                if stated:
                    self._stated.add(index)

    def _add_piece(self, index: int, delta: dict[str, Any]) -> None:
        match delta.get("type"):
            case "text_delta":
                self.draft.text.append(text_of(delta.get("text")))
            case "input_json_delta" if (index, 0) in self.draft.calls:  # else of a tool of the provider
                piece = text_of(delta.get("partial_json"))
                if piece and index in self._stated:
                    self._stated.remove(index)
                    self.draft.calls[index, 0].clear()
                self.draft.add_call((index, 0), "", piece)


def _with_compactions(usage: dict[str, Any]) -> dict[str, Any]:
    """Return the token counts with those of compactions, which are paid for beside the answer's own."""
    whole = dict(usage)
    for iteration in map(fields, elements(usage.get("iterations"))):
        if iteration.get("type") == "compaction":
            for key in (*_PROMPT_TOKENS, "output_tokens"):
                whole[key] = (count(whole.get(key), 0) or 0) + (count(iteration.get(key), 0) or 0)
    return whole


def _index(data: dict[str, Any]) -> int:
    return count(data.get("index"), 0) or 0


class MessagesApi(Api):
    """Messages: `messages` with a role each, and `system`."""

    name = "messages"
    path = "messages"
    prompt_members = ("messages", "system")
    kept = ANY_API | SAMPLING | _OWN_MEMBERS
    answer_reader = MessagesReader
    limits = ("max_tokens",)
    # A search over the request's own definitions runs at the provider, and reads nothing else.
    client_tools = (
        "bash_",
        "text_editor_",
        "memory_",
        "computer_",
        "browser_toolset_",
        "tool_search_tool_regex_",
        "tool_search_tool_bm25_",
    )
    headers = (("anthropic-version", "2023-06-01"),)

    def messages(self, text: str, members: tuple[Member, ...]) -> tuple[RawMessage, ...]:
        """Implement `Api`; the system prompt comes first."""
        messages: list[RawMessage] = []
        system = last(members, "system")
        if system is not None and isinstance(system.decoded, str | list):
            messages.append(message_of(text, "system", system, self.text_parts))
        for index, message in enumerate(listed(text, members, "messages")):
            messages += self._message(text, index, message)
        return tuple(messages)

    def _message(self, text: str, index: int, message: Value) -> Iterator[RawMessage]:
        role = role_of(index, message)
        content = last(members_of(text, message.start)[0], "content")
        if content is None or not isinstance(content.decoded, list) or not content.decoded:
            yield message_of(text, role, content, self.text_parts)
            return
        parts: list[Slot | str] = []
        for number, part in enumerate(elements_of(text, content.start)):
            kind = type_of(part)
            if kind == "tool_result":
                if parts:
                    yield message_of_parts(role, parts)
                parts = []
                held = last(members_of(text, part.start)[0], "content")
                yield message_of(text, "tool", held, self.text_parts)
            elif kind == "tool_use":
                parts.append(call_note(text, part, "input"))
            else:
                parts.append(read_part(text, number, part, self.text_parts))
        if parts:
            yield message_of_parts(role, parts)

    def offered(self, get: Get) -> list[Any]:
        """Extend `Api`: blocks of messages may add tools, which a compaction repeats."""
        offers = super().offered(get)
        for message in map(fields, elements(get("messages"))):
            for block in map(fields, elements(message.get("content"))):
                for change in map(fields, (block, *elements(block.get("tool_changes")))):
                    added = fields(change.get("tool"))
                    # A reference is to a tool that stands elsewhere in the request.
                    if change.get("type") == "tool_addition" and added.get("type") != "tool_reference":
                        offers.append([added.get("definition")])
        return offers

    def refusals(self, get: Get) -> Iterator[Refusal]:
        """Implement `Api`."""
        if get("compaction"):
            yield Refusal(
                "compaction", "the request asks for a summary of the conversation, not for an answer"
            )

    def is_request(self, body: Mapping[str, Any]) -> bool:
        """Implement `Api`."""
        if "messages" not in body:
            return False
        tools = map(fields, elements(body.get("tools")))
        return bool(_NOT_OF_CHAT & body.keys()) or any("input_schema" in tool for tool in tools)

    def is_answer(self, body: Mapping[str, Any]) -> bool:
        """Implement `Api`."""
        return isinstance(body.get("content"), list)

    def ask(self, question: str) -> dict[str, Any]:
        """Implement `Api`."""
        return {"messages": [{"role": "user", "content": question}]}


MESSAGES: Final = MessagesApi()
