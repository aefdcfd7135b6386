"""A layout with `{fields}` and the prompts made of it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_FIELD: Final = re.compile(r"\{([a-z_]+)\}")


@dataclass(frozen=True, slots=True)
class Layout:
    """What an application writes around its data: messages with `{fields}`."""

    user: str
    system: str = ""

    @property
    def messages(self) -> tuple[tuple[str, str], ...]:
        """(role, text), the system message first if there is one."""
        system = (("system", self.system),) if self.system else ()
        return (*system, ("user", self.user))

    @property
    def templates(self) -> tuple[str, ...]:
        """The texts, as a template in the settings states them; a message that is one field is left out."""
        return tuple(text for _, text in self.messages if _FIELD.sub("", text).strip())


@dataclass(frozen=True, slots=True)
class ApplicationPrompt:
    """A layout with its fields filled in."""

    task: str
    layout: Layout
    fields: Mapping[str, str]

    @property
    def body(self) -> bytes:
        """The chat-completions request."""
        messages = [
            {"role": role, "content": _FIELD.sub(lambda found: self.fields[found[1]], text)}
            for role, text in self.layout.messages
        ]
        return json.dumps({"model": "any", "messages": messages}, ensure_ascii=False).encode()


def in_turn(
    task: str, layouts: Sequence[Layout], rows: Iterable[Mapping[str, str]]
) -> tuple[ApplicationPrompt, ...]:
    """A prompt of each row, the layouts taken in turn."""
    return tuple(
        ApplicationPrompt(task, layouts[number % len(layouts)], row) for number, row in enumerate(rows)
    )
