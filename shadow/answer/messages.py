"""The answer in a response of the messages API, as Anthropic made it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from evenkeel.shadow.answer.draft import Draft
from evenkeel.shadow.answer.values import (
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
