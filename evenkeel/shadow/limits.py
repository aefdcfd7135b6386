"""Limits on the size of an exchange: texts come from strangers, and processing them must end.

Every stage takes time in proportion to a text; these limits bound the text. What is beyond is counted:
a prompt or an answer as a skipped exchange, a prompt in too many parts as a perturbation that is not
applicable.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from evenkeel.core.pair import Answer
    from evenkeel.shadow.prompt import PromptView

LONGEST_PROMPT_CHARS: Final = 300_000
"""Most characters of a request's text, about 75,000 tokens. Longer ones are skipped as "prompt_too_long"."""
MOST_MESSAGES: Final = 2_000
"""Most texts of a request, each a message or a part of one. More are skipped as "too_many_messages"."""
LONGEST_ANSWER_CHARS: Final = 200_000
"""Most characters of an answer, its tool calls included. Longer ones are skipped as "answer_too_long"."""
MOST_SEGMENTS: Final = 2_000
"""Most blocks of a prompt (paragraphs, lists, documents …). More are not perturbed: "too_many_parts"."""


def beyond(view: PromptView) -> str | None:
    """Return the reason why a prompt exceeds the limits, None if it does not."""
    if sum(len(slot.text) for slot in view.slots) > LONGEST_PROMPT_CHARS:
        return "prompt_too_long"
    return "too_many_messages" if len(view.slots) > MOST_MESSAGES else None


def is_too_long(answer: Answer) -> bool:
    """Return whether an answer, its tool calls included, is longer than the limit."""
    calls = sum(len(call.name) + len(call.arguments) for call in answer.tool_calls)
    return len(answer.text) + calls > LONGEST_ANSWER_CHARS
