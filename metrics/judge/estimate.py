"""What a call to a judge may cost, before it is made."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evenkeel.metrics.judge.prompts import Prompt, Question

_WORDING_CHARS_PER_TOKEN = 3
"""Of the rubrics, which are plain English: usual tokenizers need a token for four or five characters."""
_LEAST_BYTES_PER_TOKEN = 2
"""Ordinary text of any script, code and digits need fewer tokens than one for two bytes."""
_MESSAGE_TOKENS = 16
"""What a chat template may put around a message."""


def prompt_tokens_at_most(prompt: Prompt, labels: tuple[str, ...], texts_chars: int) -> int:
    """Upper estimate of the prompt tokens of one call.

    A text is taken to need at most a token for each of its characters: some four times what English
    needs, and about what Chinese or Japanese may need.

    Args:
        prompt: the rubric.
        labels: of the texts that are filled in.
        texts_chars: characters of these texts, all together.
    """
    bare = prompt.fill(dict.fromkeys(labels, ""))
    wording = sum(
        math.ceil(len(one.content) / _WORDING_CHARS_PER_TOKEN) + _MESSAGE_TOKENS for one in bare.messages
    )
    return wording + max(0, texts_chars)


def question_tokens_at_most(question: Question) -> int:
    """Upper estimate of the prompt tokens of a question that is there already, by its bytes."""
    return sum(
        len(one.content.encode("utf-8", "replace")) // _LEAST_BYTES_PER_TOKEN + _MESSAGE_TOKENS
        for one in question.messages
    )
