"""The answer in a response of the completions API, the one without "chat"."""

from __future__ import annotations

from typing import Any

from evenkeel.shadow.answer.choices import ChoicesReader
from evenkeel.shadow.answer.values import fields, text_of


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
