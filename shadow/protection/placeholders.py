"""Placeholders in place of values: the same value, the same placeholder."""

from __future__ import annotations

import re
from bisect import bisect
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.shadow.protection.detector import Detector, Found

_SEPARATORS = re.compile(r"[\s().\-/]+")
_OPAQUE = re.compile(r"[A-Za-z0-9+/=_-]{512,}|data:[\w.+-]{1,60}/[\w.+-]{1,60};base64,[\s\S]*")
"""Pictures and signatures: no text, and long."""


class Placeholders:
    """Replaces values in the texts of one exchange.

    A placeholder is the kind and a number, "[EMAIL_1]": numbers are given in the order in which values are
    first met. Case, spaces, dots, dashes and brackets do not tell values apart.
    """

    def __init__(self, detectors: Sequence[Detector]) -> None:
        """Begin an exchange.

        Args:
            detectors: Find the values; the first one that finds a piece of text names it.
        """
        self._detectors = detectors
        self._known: dict[tuple[str, str], str] = {}
        self._numbers: Counter[str] = Counter()
        self.replaced: Counter[str] = Counter()
        """Values replaced so far, by kind."""

    def redact(self, text: str) -> str:
        """The text with placeholders; the very same text if there is nothing to replace."""
        if not text or _OPAQUE.fullmatch(text):
            return text
        chosen: list[Found] = []
        for detector in self._detectors:
            for one in detector.find(text):
                _add_if_free(chosen, one)
        if not chosen:
            return text
        pieces: list[str] = []
        at = 0
        for one in chosen:
            pieces += (text[at : one.start], self._placeholder(one.kind, text[one.start : one.end]))
            at = one.end
        return "".join(pieces) + text[at:]

    def _placeholder(self, kind: str, value: str) -> str:
        self.replaced[kind] += 1
        key = kind, _SEPARATORS.sub("", value).casefold()
        if key not in self._known:
            self._numbers[kind] += 1
            self._known[key] = f"[{kind.upper()}_{self._numbers[kind]}]"
        return self._known[key]


def _add_if_free(chosen: list[Found], one: Found) -> None:
    """Add a value to those chosen, which stay in order, unless it overlaps with one of them."""
    place = bisect(chosen, one)
    before_it = place == 0 or chosen[place - 1].end <= one.start
    if before_it and (place == len(chosen) or one.end <= chosen[place].start):
        chosen.insert(place, one)
