"""What a completion holds: its rating, and the tokens that the endpoint reports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from evenkeel.metrics.judge.reading import Ruling, Unreadable, read_ruling

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openai.types.chat import ChatCompletion

Usage = Literal["prompt_tokens", "completion_tokens"]
"""A count of tokens in a completion."""


def read_completion(completion: ChatCompletion, scale: Sequence[int]) -> Ruling | Unreadable:
    """The rating in a completion's first choice, or why there is none.

    A reply that was cut off at a limit of tokens is "truncated", even if what is there can be read. The
    SDK builds its objects without checking them, so any field can be missing or odd.
    """
    choices = completion.choices
    if not isinstance(choices, list) or not choices or getattr(choices[0], "message", None) is None:
        return Unreadable("bad_schema", "The judge's completion has no message.")
    message = choices[0].message
    if message.refusal or choices[0].finish_reason == "content_filter":
        return Unreadable("refused", "The judge declined.")
    if choices[0].finish_reason == "length":
        return Unreadable("truncated", "The judge's reply was cut off at a limit of tokens.")
    content: object = message.content
    if content is not None and not isinstance(content, str):
        return Unreadable("bad_schema", "The judge's message is not text.")
    return read_ruling(content, scale)


def reported(completion: ChatCompletion, field: Usage) -> int:
    """Tokens as the endpoint reports them, 0 if it does not or reports something else."""
    tokens = getattr(completion.usage, field, 0)
    return tokens if isinstance(tokens, int) and tokens > 0 else 0
