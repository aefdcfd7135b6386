"""Which keys touch each other, by layout."""

from __future__ import annotations

from typing import Final

_STAGGER: Final = (0.0, 0.25, 0.75)
"""How far, in keys, a row of letters is shifted to the right against the top one."""


def neighbours(*rows: str) -> dict[str, str]:
    """Letter → the letters on keys that touch its key, from the three rows of a layout."""
    places = [
        (letter, row, shift + column)
        for row, (letters, shift) in enumerate(zip(rows, _STAGGER, strict=True))
        for column, letter in enumerate(letters)
    ]
    return {
        letter: "".join(
            other
            for other, below, right in places
            if other != letter and (abs(right - at) <= 1 if below == row else _touch(row, below, right - at))
        )
        for letter, row, at in places
    }


def _touch(row: int, other_row: int, distance: float) -> bool:
    return abs(row - other_row) == 1 and abs(distance) < 1


QWERTY: Final = neighbours("qwertyuiop", "asdfghjkl", "zxcvbnm")
QWERTZ: Final = neighbours("qwertzuiopü", "asdfghjklöä", "yxcvbnm")
AZERTY: Final = neighbours("azertyuiop", "qsdfghjklm", "wxcvbn")
SPANISH: Final = neighbours("qwertyuiop", "asdfghjklñ", "zxcvbnm")
ITALIAN: Final = neighbours("qwertyuiopè", "asdfghjklòà", "zxcvbnm")
BRAZILIAN: Final = neighbours("qwertyuiop", "asdfghjklç", "zxcvbnm")
