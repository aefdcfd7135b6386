"""A completion of the rewriter, read: its text, or why there is none."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from openai.types.chat import ChatCompletion

    from evenkeel.shadow.rewriter.protocol import Trouble

_THOUGHT: Final = re.compile(r"\s*<(think|thinking|reasoning)>.*?</\1>", re.DOTALL | re.IGNORECASE)
"""Some servers leave what a reasoning model thought in front of its reply."""
_DECLINES: Final = re.compile(
    r"""
    \s* (?:i['’]m\ (?:very\ |really\ )?sorry|i\ am\ sorry|sorry|i\ apologi[sz]e|unfortunately)?
    [,.:]?\ ? (?:but\ )?
    (?: i(?:\ can(?:no|['’])t|\ can\ not|\ won['’]t|(?:\ a|['’])m\ (?:unable|not\ able)\ to)
        \ (?:help|assist|comply|do\ that|rewrite|translate|paraphrase|fulfil+|provide|process)\b
      | as\ an\ ai\b )
    """,
    re.VERBOSE | re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class NoText:
    """Why a call brought no text."""

    reason: Trouble
    detail: str
    """One sentence for people. Holds no credentials."""


def read_reply(completion: ChatCompletion) -> str | NoText:
    """The text of a reply without white space around it.

    Returns: or `NoText` with the reason "bad_schema", "refused", "truncated" or "empty".
    """
    # The SDK builds its objects without checking them, so any field can be missing or odd.
    choices = completion.choices
    if not isinstance(choices, list) or not choices or getattr(choices[0], "message", None) is None:
        return NoText("bad_schema", "The completion has no message.")
    message, finish = choices[0].message, choices[0].finish_reason
    if message.refusal or finish == "content_filter":
        return NoText("refused", "The model declined.")
    content: object = message.content
    if content is not None and not isinstance(content, str):
        return NoText("bad_schema", "The message is not text.")
    if finish == "length":
        return NoText("truncated", "The reply was cut off at the limit of its length.")
    thought = _THOUGHT.match(content or "")
    text = (content or "")[thought.end() if thought else 0 :].strip()
    return text or NoText("empty", "The reply is empty.")


def declines(text: str) -> bool:
    """Whether a text begins like a refusal in words."""
    return _DECLINES.match(text) is not None
