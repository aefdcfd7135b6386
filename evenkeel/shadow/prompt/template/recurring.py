"""Lines and labels that recur in the gaps of a template: its optional sections."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, Final

from evenkeel.shadow.prompt.template.skeleton import Span

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_LINE: Final = re.compile(
    r"^[ \t]*+(?P<label>[^\W\d_][^\n:]{0,38}:(?=[ \t\n]|\Z)|<[A-Za-z][\w.-]{0,30}>|</[A-Za-z][\w.-]{0,30}>"
    r"|\#{1,6}\ [^\n]{1,60}$)?(?P<rest>[^\n]*)",
    re.MULTILINE,
)
_SHORTEST_LINE: Final = 3
"""Fewest blanks in a line without a label. Shorter lines, such as greetings, recur by chance."""
_LONGEST_LINE: Final = 600
_MOST_LINES: Final = 512
_MOST_READ: Final = 32_768
_HALVED_AT: Final = 1_000
_OPTIONAL_FROM: Final = 0.4
_Z: Final = 2.0
_WHOLE_LINE: Final = 0.9


def lower_bound(hits: float, trials: float) -> float:
    """Lower end of the Wilson interval for a share at two standard errors; 0 without trials."""
    if trials <= 0:
        return 0.0
    share = min(hits / trials, 1.0)
    spread = _Z * math.sqrt(share * (1 - share) / trials + _Z * _Z / (4 * trials * trials))
    return (share + _Z * _Z / (2 * trials) - spread) / (1 + _Z * _Z / trials)


class RecurringLines:
    """Counts in how many requests a line, or the label it begins with, stood in a gap.

    A line that more than 40 % of the requests have for certain is an optional section of the
    template. An article of the knowledge base in 30 % of the requests is not, nor is a label that
    one request has several times (the speakers of a transcript).
    """

    def __init__(self) -> None:
        self._requests = 0.0
        self._counts: dict[str, float] = {}
        self._repeats: dict[str, float] = {}

    def observe(self, text: str, spans: Iterable[Span]) -> None:
        """Count the lines of one request's gaps, each once."""
        seen: dict[str, int] = {}
        for _, units in _lines(text, spans):
            for unit in units:
                seen[unit] = seen.get(unit, 0) + 1
        self._requests += 1
        for unit, times in seen.items():
            self._counts[unit] = self._counts.get(unit, 0) + 1
            if times > 1:
                self._repeats[unit] = self._repeats.get(unit, 0) + 1
        if len(self._counts) > _MOST_LINES:
            kept = sorted(self._counts.items(), key=lambda item: -item[1])[: _MOST_LINES // 2]
            self._counts = dict(kept)
        if self._requests >= _HALVED_AT:
            self._requests /= 2
            self._counts = {unit: count / 2 for unit, count in self._counts.items() if count > 1}
            self._repeats = {unit: count / 2 for unit, count in self._repeats.items()}
        self._repeats = {unit: count for unit, count in self._repeats.items() if unit in self._counts}

    def sections(self, text: str, spans: Iterable[Span]) -> list[Span]:
        """The stretches of a request's gaps that are optional sections of the template, in order."""
        found: list[Span] = []
        for line, units in _lines(text, spans):
            whole = units[-1]
            if len(units) == 1:
                if self._recurs(whole):
                    found.append(line)
                continue
            label = units[0]
            if self._recurs(label):
                constant = self._counts.get(whole, 0) >= _WHOLE_LINE * self._counts[label]
                begin = text.index(label, line.start)
                found.append(line if constant else Span(line.start, begin + len(label)))
        return found

    def _recurs(self, unit: str) -> bool:
        count = self._counts.get(unit, 0.0)
        return (
            lower_bound(count, self._requests) > _OPTIONAL_FROM
            and self._repeats.get(unit, 0.0) <= 0.1 * count
        )

    def state(self) -> dict[str, object]:
        """Return a snapshot. It holds only the template's lines, since the others are somebody's input."""
        return {
            "requests": self._requests,
            "counts": {unit: count for unit, count in self._counts.items() if self._recurs(unit)},
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> RecurringLines:
        """Restore the lines from their `state`."""
        lines = cls()
        lines._requests = float(state["requests"])
        lines._counts = {str(unit): float(count) for unit, count in state["counts"].items()}
        return lines


def _lines(text: str, spans: Iterable[Span]) -> list[tuple[Span, Sequence[str]]]:
    """The full lines of the spans, with what each is counted as: its label, if any, and itself."""
    found: list[tuple[Span, Sequence[str]]] = []
    for span in spans:
        # Only lines that begin in the gap: what follows a fragment on its line is a field's value.
        start = span.start if span.start == 0 or text[span.start - 1] in "\n\x02" else -1
        if start < 0:
            start = text.find("\n", span.start, span.end) + 1
            if start == 0:
                continue
        limit = min(span.end, start + _MOST_READ)
        for match in _LINE.finditer(text, start, limit):
            label, line = match["label"], match[0].strip()
            if not line:
                continue
            end = match.end()
            extent = Span(match.start(), end + 1 if end < span.end and text[end] == "\n" else end)
            if label is not None:
                found.append((extent, (label, label + "\n" + line[:_LONGEST_LINE])))
            elif line.count(" ") >= _SHORTEST_LINE:
                found.append((extent, (line[:_LONGEST_LINE],)))
    return found
