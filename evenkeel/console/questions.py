"""The question in a prompt: the user's own words, stored with a trial if its template was learned."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

# Words below which the user's whole turn is the question.
_LEAST_WORDS: Final = 4
_TURN: Final = re.compile(r"(?:\A|\n\n)(?:user|human): ")
_ROLE: Final = re.compile(r"(?:\A|\n\n)(?:system|developer|user|human|assistant|tool): ")


def question(prompt: str, asked: Sequence[tuple[int, int]] = ()) -> str:
    """Return the question in a prompt.

    Args:
        prompt: "role: text" blocks, a blank line between, as trials store them.
        asked: spans of the user's own words, in characters, if known; else the user's last turn is taken.
    """
    return " … ".join(filter(None, (prompt[start:end].strip() for start, end in _spans(prompt, asked))))


def reworded_question(prompt: str, variant: str, asked: Sequence[tuple[int, int]]) -> tuple[str, str]:
    """Return the question before and after its rewording; both prompts if more than it was changed."""
    # A rewording may change the text's length, so its end is counted from the end of the prompt.
    spans = _spans(prompt, asked)
    start, end = spans[0][0], spans[-1][1]
    until = len(variant) - (len(prompt) - end)
    if start <= until and prompt[:start] == variant[:start] and prompt[end:] == variant[until:]:
        return prompt[start:end], variant[start:until]
    return prompt, variant


def _spans(prompt: str, asked: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the spans of the question in order, at least one."""
    spans = []
    for start, end in sorted(asked):
        # A span that does not fit is of another prompt.
        if 0 <= start < end <= len(prompt):
            spans.append((start, end))
    words = sum(len(prompt[start:end].split()) for start, end in spans)
    return spans if words >= _LEAST_WORDS else [_last_turn(prompt)]


def _last_turn(prompt: str) -> tuple[int, int]:
    """Return the span of the user's last turn; all of a prompt without turns."""
    start = 0
    for turn in _TURN.finditer(prompt):
        start = turn.end()
    after = _ROLE.search(prompt, start)
    return start, after.start() if after else len(prompt)
