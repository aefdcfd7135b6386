"""What chat completions and completions have in common: choices, of which the first is read.

A request with `n > 1` is compared by its choice 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenkeel.shadow.answer.draft import Draft
from evenkeel.shadow.answer.values import UnreadableAnswer, elements, error_body, fields, string

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
