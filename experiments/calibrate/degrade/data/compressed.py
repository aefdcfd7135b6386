"""Compressed values: the same fields with less in them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar, Final

from evenkeel.experiments.calibrate.degrade.data.changing import changed_values
from evenkeel.experiments.calibrate.degrade.data.document import read_document
from evenkeel.experiments.calibrate.degrade.shortening import shortened, without_hanging
from evenkeel.experiments.calibrate.score_table import FailureMode

if TYPE_CHECKING:
    import random

    from evenkeel.core.pair import Answer
    from evenkeel.experiments.calibrate.degrade.protocol import Form

_DECIMAL: Final = re.compile(r"(-?\d+)\.\d*[1-9]\d*")
_TIME: Final = re.compile(r"(\d{4}-\d{2}-\d{2})[T ]\d{2}:\d{2}\S*")
_DATE: Final = re.compile(r"(\d{4}-\d{2})-\d{2}")
_CUT: Final = " ,;:–—-"
_LEAST_WIDE = 4


class Compressed:
    """Cuts detail from values: clauses, half of the words, decimals, times of day."""

    name: ClassVar[str] = "compressed_values"
    version: ClassVar[int] = 1
    form: ClassVar[Form] = "data"
    mode: ClassVar[FailureMode] = FailureMode.COMPRESSED

    def expected(self, severity: float) -> float:
        """1 − severity: the share of the values that still says all."""
        return 1 - severity

    def apply(self, given: Answer, severity: float, rng: random.Random) -> Answer:
        """The answer with max(1, ⌈n · severity⌉) of its n values shorter (see `shorter`); keys stay.

        Raises:
            NotDegradableError: "too_few_units" also if so few values have anything to cut.
        """
        document = read_document(given.text)
        return changed_values(document, given, severity, rng, lambda text, _: shorter(text))


def shorter(text: str) -> str | None:
    """A value with less detail; None where nothing can be cut.

    A text loses its side clauses or last phrase, or else its second half; a decimal number its fraction; a
    time its time of day; a date its day.
    """
    for pattern in (_DECIMAL, _TIME, _DATE):
        if found := pattern.fullmatch(text):
            return found[1]
    said = shortened(text)
    if said != text:
        return said
    words = text.split()
    if len(words) > 1:
        return without_hanging(" ".join(words[: (len(words) + 1) // 2])).rstrip(_CUT) or None
    if len(text) >= _LEAST_WIDE and all(letter >= "\u2e80" for letter in text):
        return text[: (len(text) + 1) // 2]
    return None
