"""Thoughts that servers leave in the text of an answer, in every form that is known.

Answers, the judge's replies and the rewriter's are read by this one list. Only what stands at the head of a
text is a thought: a tag further down is part of the answer.
"""

from __future__ import annotations

import re
from typing import Final

_TAGS: Final = ("think", "thinking", "thought", "thoughts", "reasoning", "seed:think")
_PAIRS: Final = (
    *((f"<{tag}>", f"</{tag}>") for tag in _TAGS),
    ("[THINK]", "[/THINK]"),  # Magistral
    ("◁think▷", "◁/think▷"),  # Kimi
    ("<|begin_of_thought|>", "<|end_of_thought|>"),  # OpenThinker, Skywork
    ("<|START_THINKING|>", "<|END_THINKING|>"),  # Cohere
    ("<unused94>thought", "<unused95>"),  # MedGemma
    ("<|channel>", "<channel|>"),  # Gemma 4
)


def _form(start: str, end: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    return re.compile(rf"\s*{re.escape(start)}", re.IGNORECASE), re.compile(re.escape(end), re.IGNORECASE)


_FORMS: Final = tuple(_form(start, end) for start, end in _PAIRS)
# Quotation marks around a tag that the answer talks about.
_QUOTES: Final = "\"'`\u201c\u201d\u2018\u2019\u00ab\u00bb"
# End of a thought that began in the prompt, where some chat templates put the opening tag. A tag in quotes is
# something that the answer talks about, and ends no thought.
_CLOSING_ALONE: Final = re.compile(
    rf"(?<![{_QUOTES}])(?:{'|'.join(re.escape(end) for _, end in _PAIRS)})(?![{_QUOTES}])", re.IGNORECASE
)
_OPENING: Final = re.compile("|".join(re.escape(start) for start, _ in _PAIRS), re.IGNORECASE)
# First characters of data and code, in which a closing mark ends no thought.
_NO_PROSE: Final = frozenset("{[<`")
# Head of a message of OpenAI's harmony format.
_CHANNEL: Final = re.compile(
    r"\s*(?:<\|start\|>\w{0,20})?<\|channel\|>\s*(\w{1,20})(?:(?!<\|message).){0,100}<\|message\|>"
)
_MESSAGE_END: Final = re.compile(r"<\|(?:end|return|call)\|>")
_ANSWER_MARKS: Final = re.compile(
    # The tags are Granite's and Hunyuan's.
    r"\A\s*(?:<\|begin_of_solution\|>|<\|START_RESPONSE\|>|<response>|<answer>)"
    r"|(?:<\|end_of_solution\|>|<\|END_RESPONSE\|>|</response>|</answer>)\s*\Z"
)
_FINAL: Final = "final"


def without_thoughts(text: str) -> str:
    """Return a text without the thoughts at its head; the same object if there are none.

    A thought that never ends leaves nothing: the answer was cut off before it began.
    """
    rest = _after_channels(text)
    if rest is text:
        rest = _after_thoughts(text)
    if rest is text:
        return text
    return _ANSWER_MARKS.sub("", rest).lstrip()


def _after_thoughts(text: str) -> str:
    at = 0
    while True:
        opening = _opening(text, at)
        if opening is None:
            break
        head, end = opening
        closing = end.search(text, head.end())
        if closing is None:
            return ""
        at = closing.end()
    if at:
        return text[at:]
    # Some servers cut the whole thought off but for its end. No markup begins with a closing tag.
    leftover = _CLOSING_ALONE.match(text.lstrip())
    if leftover:
        return text.lstrip()[leftover.end() :]
    if text.lstrip()[:1] in _NO_PROSE:
        return text
    alone = _CLOSING_ALONE.search(text)
    if alone is None or _OPENING.search(text, 0, alone.start()):
        return text
    return text[alone.end() :]


def _opening(text: str, at: int) -> tuple[re.Match[str], re.Pattern[str]] | None:
    """Return the mark with which a thought begins at a place, and the pattern of its end; None without."""
    for start, end in _FORMS:
        head = start.match(text, at)
        if head:
            return head, end
    return None


def _after_channels(text: str) -> str:
    """Return the message to the user of a text in the harmony format; "" if there is none yet."""
    at = 0
    while head := _CHANNEL.match(text, at):
        end = _MESSAGE_END.search(text, head.end())
        if head[1] == _FINAL:
            return text[head.end() : end.start() if end else len(text)]
        if end is None:
            return ""
        at = end.end()
    return text[at:] if at else text
