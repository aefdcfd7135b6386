"""Finds the question in a prompt: the user's own words, stored with a trial if its template was learned.

Differences between a prompt and its rewording are always shown.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from evenkeel.console import diffs
from evenkeel.console.diffs import Run

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_LEAST_WORDS: Final = 4
"""Words below which a question is shown with the words around it."""
_AROUND: Final = 70
_TURN: Final = re.compile(r"(?:\A|\n\n)(?:user|human): ")
_ROLE: Final = re.compile(r"(?:\A|\n\n)(?:system|developer|user|human|assistant|tool): ")
_WORD: Final = re.compile(r"\w+")
_FEW_WORDS: Final = 7
_ROOM: Final = 6
"""Ratio of characters compared to characters shown."""


class Span(NamedTuple):
    """A half-open stretch of a prompt, in characters."""

    start: int
    end: int


def question_spans(prompt: str, asked: Sequence[tuple[int, int]]) -> list[Span]:
    """Return the spans of the question in a prompt.

    Args:
        prompt: "role: text" blocks, a blank line between, as trials store them.
        asked: spans of the user's own words, if known; else the user's last turn is taken.

    Returns: at least one span of a prompt that has words.
    """
    turn = _last_turn(prompt)
    spans = _merged([Span(start, end) for start, end in asked if 0 <= start < end <= len(prompt)] or [turn])
    words = sum(1 for one in spans for _ in zip(range(_LEAST_WORDS), _words(prompt, one), strict=False))
    return spans if words >= _LEAST_WORDS else [_widened(prompt, one) for one in spans]


def leaves_out(prompt: str, spans: Sequence[Span]) -> bool:
    """Return whether a prompt has words besides its question and the role of the first turn."""
    rest, at = "", 0
    for one in spans:
        rest, at = rest + prompt[at : one.start], one.end
    return _WORD.search(_ROLE.sub("", rest + prompt[at:], count=1)) is not None


def _merged(spans: Sequence[Span]) -> list[Span]:
    """Merge spans that are at most `_AROUND // 2` characters apart, since dots would take as much room."""
    found: list[Span] = []
    for one in sorted(spans):
        if found and one.start - found[-1].end <= _AROUND // 2:
            found[-1] = Span(found[-1].start, max(found[-1].end, one.end))
        else:
            found.append(one)
    return found


def _words(prompt: str, span: Span) -> Iterator[re.Match[str]]:
    return _WORD.finditer(prompt, *span)


def _last_turn(prompt: str) -> Span:
    """Return the span of the user's last turn; all of a prompt without turns."""
    start, end = 0, len(prompt)
    for found in _TURN.finditer(prompt):
        start = found.end()
    after = _ROLE.search(prompt, start)
    return Span(start, after.start() if after else end)


def _widened(prompt: str, span: Span) -> Span:
    """Widen a short span by the words around it in the same line of the same turn."""
    begins = [found.end() for found in _ROLE.finditer(prompt, 0, span.start + 1)]
    begins += [0, prompt.rfind("\n", 0, span.start) + 1]
    line = prompt.find("\n", span.end)
    first = max(*begins, span.start - _AROUND)
    last = min(len(prompt) if line < 0 else line, span.end + _AROUND)
    while 0 < first < span.start and prompt[first - 1].isalnum():
        first += 1
    while span.end < last < len(prompt) and prompt[last].isalnum():
        last -= 1
    return Span(min(first, span.start), max(last, span.end))


def question_runs(prompt: str, variant: str, spans: Sequence[Span], *, max_chars: int) -> tuple[Run, ...]:
    """Shorten the question to the part that was reworded, with removals and additions in place.

    Args:
        prompt: the original.
        variant: the reworded prompt.
        spans: spans of the question in the original.
        max_chars: the output is cut, ending in a gap, once it is longer than this.
    """
    if prompt == variant:
        return _cut(_kept(prompt, Span(0, len(prompt)), spans), max_chars)
    start, end, other_end = diffs.difference(prompt, variant)
    before = _joined(_kept(prompt, Span(0, start), spans))
    after = _joined(_kept(prompt, Span(end, len(prompt)), spans))
    # If words change one after the other, the characters that are shown are enough.
    for chars in (max_chars, _ROOM * max_chars):
        runs = _middle(prompt[start:end], variant[start:other_end], chars, max_chars)
        if max(end, other_end) <= start + chars or sum(len(run.text) for run in runs) > max_chars:
            break
    middle = diffs.cut(runs, max_chars)
    if middle[-1].kind == "gap":
        after = ""
    shown = [*diffs.shortened(before.lstrip(), head=max_chars // 3, tail=max_chars // 7)]
    if before.strip() and not _within(spans, start):
        shown.append(Run("gap", " … "))
    shown += middle
    if after.strip() and not _within(spans, end):
        shown.append(Run("gap", " … "))
    shown += diffs.shortened(after.rstrip(), head=max_chars // 3, tail=0)
    return tuple(run for run in shown if run.text)


def _middle(before: str, after: str, chars: int, max_chars: int) -> list[Run]:
    """Diff the first characters of both sides and shorten long runs; ends in a gap if the texts go on."""
    found = diffs.inline(
        before[:chars], after[:chars], context_words=max(_FEW_WORDS, max_chars // 100), max_chars=chars
    )
    if max(len(before), len(after)) > chars:
        while len(found) > 1 and found[-1].kind in {"removed", "added"}:
            found = found[:-1]  # a difference only because both sides were cut there
        found = (*found, Run("gap", " …"))
    return [part for run in found for part in _brief(run, max_chars // 4)]


def _brief(run: Run, longest: int) -> tuple[Run, ...]:
    """Shorten a long run to its beginning and its end, so that a text that was moved shows at both places."""
    if len(run.text) <= longest:
        return (run,)
    half = longest // 2
    return Run(run.kind, run.text[:half]), Run("gap", " … "), Run(run.kind, run.text[-half:])


def _within(spans: Sequence[Span], at: int) -> bool:
    return any(one.start <= at <= one.end for one in spans)


def _kept(text: str, within: Span, spans: Sequence[Span]) -> list[str]:
    """Return the parts of the question that lie within a span."""
    cut = (text[max(one.start, within.start) : min(one.end, within.end)] for one in spans)
    return [part for part in cut if part]


def _joined(parts: Sequence[str]) -> str:
    return " … ".join(parts)


def _cut(parts: Sequence[str], max_chars: int) -> tuple[Run, ...]:
    return diffs.shortened(_joined(parts).strip(), head=max_chars, tail=0)
