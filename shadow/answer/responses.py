"""The answer in a response of the responses API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from evenkeel.shadow.answer.draft import Draft
from evenkeel.shadow.answer.values import (
    UnreadableAnswer,
    elements,
    error_body,
    fields,
    string,
    text_of,
    written,
)

if TYPE_CHECKING:
    from evenkeel.core.pair import Answer

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
