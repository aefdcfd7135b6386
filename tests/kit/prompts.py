"""Prompts as applications send them, as `prompts.toml` has them: four tasks, twelve and more of each."""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_FIELD = re.compile(r"\{([a-z_]+)\}")


@dataclass(frozen=True, slots=True)
class Layout:
    """Texts that an application writes around its data: messages with `{fields}`."""

    user: str
    system: str = ""

    @property
    def messages(self):
        """(role, text), the system message first if there is one."""
        system = (("system", self.system),) if self.system else ()
        return (*system, ("user", self.user))

    @property
    def templates(self):
        """The texts, as a template in the settings states them; a message that is one field is left out."""
        return tuple(text for _, text in self.messages if _FIELD.sub("", text).strip())


@dataclass(frozen=True, slots=True)
class ApplicationPrompt:
    """A layout with its fields filled in."""

    task: str
    layout: Layout
    fields: Mapping[str, str]

    @property
    def body(self):
        """The chat-completions request."""
        messages = [
            {"role": role, "content": _FIELD.sub(lambda found: self.fields[found[1]], text)}
            for role, text in self.layout.messages
        ]
        return json.dumps({"model": "any", "messages": messages}, ensure_ascii=False).encode()


def read_prompts(path):
    """Every prompt of a file, task by task; the layouts of a task are taken in turn."""
    return tuple(
        ApplicationPrompt(task, Layout(**table["layouts"][number % len(table["layouts"])]), row)
        for task, table in tomllib.loads(path.read_text("utf-8")).items()
        for number, row in enumerate(table["rows"])
    )


EVERY = read_prompts(Path(__file__).with_suffix(".toml"))
"""All of them."""
