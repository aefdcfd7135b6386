"""Readers of the answer in a response, one for each API.

Chat completions and completions hold choices, of which the first is read: a request with `n > 1` is
compared by its choice 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from evenkeel.shadow.answer.draft import (
    Draft,
    UnreadableAnswer,
    count,
    elements,
    error_body,
    fields,
    string,
    text_of,
    written,
)

if TYPE_CHECKING:
    from evenkeel.core.pair import Answer


class ChoicesReader:
    """Reads responses that hold a list of choices. Each API says what is in one.

    A stream is complete with a finish reason or `[DONE]`; some servers leave out one of them.
    """

    def __init__(self) -> None:
        self.draft = Draft()
        self._any_choice = False
        self._done = False

    def read_choice(self, choice: dict[str, Any], *, whole: bool) -> None:
        """Take in one choice or, of a stream, a piece of it."""
        raise NotImplementedError

    @property
    def complete(self) -> bool:
        """As `AnswerReader`."""
        return self._done or bool(self.draft.finish_reason)

    def whole(self, body: dict[str, Any]) -> None:
        """As `AnswerReader`."""
        self._read(body, whole=True)

    def event(self, data: dict[str, Any]) -> None:
        """As `AnswerReader`."""
        self._read(data, whole=False)

    def done(self) -> None:
        """As `AnswerReader`."""
        self._done = True

    def answer(self) -> Answer:
        """As `AnswerReader`."""
        if not self._any_choice:
            raise UnreadableAnswer("no_choices", "the response holds no choice 0")
        return self.draft.answer()

    def _read(self, body: dict[str, Any], *, whole: bool) -> None:
        choices = elements(body.get("choices"))
        if body.get("error") and not choices:
            raise error_body(body["error"])
        self.draft.note_origin(body)
        self.draft.note_usage(body.get("usage"), ("prompt_tokens",), "completion_tokens")
        for choice in map(fields, choices):
            if choice.get("index", 0) == 0 and not (whole and self._any_choice):
                self._any_choice = True
                # Routers report a provider that fails midway so, after a part of the answer.
                if choice.get("error") or choice.get("finish_reason") == "error":
                    raise error_body(choice.get("error") or body.get("error"))
                self.read_choice(choice, whole=whole)
                self.draft.finish_reason = string(choice.get("finish_reason")) or self.draft.finish_reason


class ChatReader(ChoicesReader):
    """Reads chat completions. A refusal counts as text."""

    def read_choice(self, choice: dict[str, Any], *, whole: bool) -> None:
        """As `ChoicesReader`."""
        # Some servers close a stream with a whole message in place of a delta.
        given = choice.get("message") if whole else choice.get("delta") or choice.get("message")
        message = fields(given)
        self.draft.text.append(text_of(message.get("content")))
        self.draft.refusal.append(text_of(message.get("refusal")))
        calls = elements(message.get("tool_calls"))
        for number, raw in enumerate(calls):
            call = fields(raw)
            index = None if whole else count(call.get("index"), None)
            self._add_call(number if index is None else index, call)
        if not calls and isinstance(message.get("function_call"), dict):  # the older form of one call
            self._add_call(0, message)

    def _add_call(self, index: int, call: dict[str, Any]) -> None:
        function = fields(call.get("function") or call.get("function_call") or call.get("custom"))
        arguments = function.get("arguments", function.get("input"))
        self.draft.add_call(index, text_of(function.get("name")), written(arguments))


class CompletionsReader(ChoicesReader):
    """Reads completions, whole and streamed alike: each choice holds text."""

    def read_choice(self, choice: dict[str, Any], *, whole: bool) -> None:
        """As `ChoicesReader`."""
        if "text" in choice:
            self.draft.text.append(text_of(choice["text"]))
            return
        # Servers that fill in the middle of a text answer with a message all the same.
        message = fields(choice.get("message") if whole else choice.get("delta") or choice.get("message"))
        self.draft.text.append(text_of(message.get("content")))


_PROMPT_TOKENS: Final = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
"""The first leaves out what the cache was asked for; the other APIs count it in."""


class MessagesReader:
    """Reads messages: text blocks and calls of the client's tools; other blocks are skipped.

    A stream is complete with a stop reason or `message_stop`.
    """

    def __init__(self) -> None:
        self._draft = Draft()
        self._begun = False
        self._stopped = False

    @property
    def complete(self) -> bool:
        """As `AnswerReader`."""
        return self._stopped or bool(self._draft.finish_reason)

    def whole(self, body: dict[str, Any]) -> None:
        """As `AnswerReader`."""
        if body.get("type") == "error" or (body.get("error") and not body.get("content")):
            raise error_body(body.get("error"))
        if not isinstance(body.get("content"), list):
            raise UnreadableAnswer("no_output", "the response holds no content")
        self._begin(body)

    def event(self, data: dict[str, Any]) -> None:
        """As `AnswerReader`."""
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

    def done(self) -> None:
        """Says nothing: a stream of this API ends with its own event."""

    def answer(self) -> Answer:
        """As `AnswerReader`."""
        if not self._begun:
            raise UnreadableAnswer("no_output", "the stream holds no message")
        for call in self._draft.calls.values():
            call.arguments = call.arguments or "{}"  # a call without arguments sends no piece of them
        return self._draft.answer()

    def _begin(self, message: dict[str, Any]) -> None:
        self._begun = True
        self._draft.note_origin(message)
        self._note(message, message.get("usage"))
        for index, block in enumerate(map(fields, elements(message.get("content")))):
            self._add_block(index, block)

    def _note(self, message: dict[str, Any], usage: Any) -> None:
        self._draft.note_usage(usage, _PROMPT_TOKENS, "output_tokens")
        self._draft.finish_reason = string(message.get("stop_reason")) or self._draft.finish_reason

    def _add_block(self, index: int, block: dict[str, Any]) -> None:
        match block.get("type"):
            case "text":
                self._draft.text.append(text_of(block.get("text")))
            case "tool_use":
                # in a stream the input is empty here and follows in pieces
                self._draft.add_call(index, text_of(block.get("name")), written(block.get("input") or None))

    def _add_piece(self, index: int, delta: dict[str, Any]) -> None:
        match delta.get("type"):
            case "text_delta":
                self._draft.text.append(text_of(delta.get("text")))
            case "input_json_delta" if index in self._draft.calls:  # else of a tool of the provider
                self._draft.add_call(index, "", text_of(delta.get("partial_json")))


def _index(data: dict[str, Any]) -> int:
    return count(data.get("index"), 0) or 0


_ARGUMENTS: Final = {"function_call": "arguments", "custom_tool_call": "input"}


class ResponsesReader:
    """Reads responses. The finish reason is the status, or why an answer is incomplete.

    In a stream the last event holds the whole response, and only that counts; of servers that leave
    its output empty the items that were announced before are taken, or else the pieces of text.
    """

    def __init__(self) -> None:
        self._draft = Draft()
        self._pieces: list[str] = []
        self._items: list[Any] = []
        self._read = False

    @property
    def complete(self) -> bool:
        """As `AnswerReader`."""
        return self._read

    def whole(self, body: dict[str, Any]) -> None:
        """As `AnswerReader`."""
        status = string(body.get("status"))
        if body.get("error") or status == "failed":
            raise error_body(body.get("error"))
        if status in ("queued", "in_progress", "cancelled"):
            raise UnreadableAnswer("unfinished", f"the response is {status}")
        output = elements(body.get("output")) or self._items
        if not output and not self._pieces and not isinstance(body.get("output"), list):
            raise UnreadableAnswer("no_output", "the response holds no output")
        self._read = True
        self._draft.note_origin(body)
        self._draft.note_usage(body.get("usage"), ("input_tokens",), "output_tokens")
        why = string(fields(body.get("incomplete_details")).get("reason"))
        self._draft.finish_reason = why if status == "incomplete" and why else status
        for number, item in enumerate(map(fields, output)):
            self._add_item(number, item)
        if not output:
            self._draft.text += self._pieces

    def event(self, data: dict[str, Any]) -> None:
        """As `AnswerReader`."""
        if self._read:
            return
        match data.get("type"):
            case "response.output_text.delta":
                self._pieces.append(text_of(data.get("delta")))
            case "response.output_item.done":
                self._items.append(data.get("item"))
            case "response.failed":
                raise error_body(fields(data.get("response")).get("error"))
            case "response.completed" | "response.incomplete":
                self.whole(fields(data.get("response")))
            case "error":
                raise error_body(data.get("error") or {"code": data.get("code")})
            case None if data.get("error"):
                raise error_body(data["error"])

    def done(self) -> None:
        """Says nothing: a stream of this API ends with one of its last events."""

    def answer(self) -> Answer:
        """As `AnswerReader`."""
        return self._draft.answer()

    def _add_item(self, number: int, item: dict[str, Any]) -> None:
        kind = string(item.get("type"))
        if kind == "message":
            for part in map(fields, elements(item.get("content"))):
                if part.get("type") == "output_text":
                    self._draft.text.append(text_of(part.get("text")))
                elif part.get("type") == "refusal":
                    self._draft.refusal.append(text_of(part.get("refusal")))
        elif kind in _ARGUMENTS:
            arguments = written(item.get(_ARGUMENTS[kind]))
            self._draft.add_call(number, text_of(item.get("name")), arguments)
