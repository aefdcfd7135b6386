"""The answer in a chat-completions response."""

from __future__ import annotations

from typing import Any

from evenkeel.shadow.answer.choices import ChoicesReader
from evenkeel.shadow.answer.values import count, elements, fields, text_of, written


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
