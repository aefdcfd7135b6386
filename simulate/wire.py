"""One answer, and what its size is in tokens: what the APIs have in common on the wire."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenkeel.core.pair import ToolCall

_PIECE: Final = re.compile(r"\s*\S{1,8}")
"""A token, roughly: up to eight characters of a word with the space before it."""
_TOKEN_LENGTH: Final = 4
"""Characters of a prompt that count as one token."""


@dataclass(frozen=True, slots=True)
class Completion:
    """One answer with everything the wire needs."""

    id: str
    created: int
    """Unix time in seconds."""
    model: str
    system_fingerprint: str | None
    text: str
    """"" where a tool is called."""
    tool_call: ToolCall | None
    prompt_tokens: int

    @property
    def tokens(self) -> int:
        """Tokens of the answer."""
        return len(pieces(self.tool_call.arguments if self.tool_call else self.text))

    @property
    def short_id(self) -> str:
        """What tells this answer from others, for the ids of its parts."""
        return self.id[-24:]


def count_prompt_tokens(characters: int) -> int:
    """A rough count of tokens: one for every four characters, rounded up."""
    return -(-characters // _TOKEN_LENGTH)


def pieces(text: str) -> list[str]:
    """The text cut into tokens, whose concatenation is the text.

    Returns: [] for the empty text.
    """
    cut = _PIECE.findall(text)
    rest = text[sum(map(len, cut)) :]
    return [*cut, rest] if rest else cut


def bundles(text: str, size: int) -> Iterator[str]:
    """The text cut into pieces of `size` tokens."""
    tokens = pieces(text)
    for start in range(0, len(tokens), size):
        yield "".join(tokens[start : start + size])


def chat_usage(completion: Completion) -> dict[str, Any]:
    """Token counts as chat completions and completions name them."""
    return {
        "prompt_tokens": completion.prompt_tokens,
        "completion_tokens": completion.tokens,
        "total_tokens": completion.prompt_tokens + completion.tokens,
    }


def data_event(content: dict[str, Any]) -> bytes:
    """A server-sent event without a name."""
    return b"data: %b\n\n" % json.dumps(content).encode()


def named_event(content: dict[str, Any]) -> bytes:
    """A server-sent event under the name of its `type`."""
    return b"event: %b\ndata: %b\n\n" % (content["type"].encode(), json.dumps(content).encode())
