"""What is known of the slips people make in one language."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

_NEVER: Final = re.compile(r"(?!)")


@dataclass(frozen=True, slots=True)
class Slips:
    """The tables of a language. All words are in lower case."""

    neighbours: Mapping[str, str]
    """Letter → letters on keys beside it."""
    misspelled: Mapping[str, str]
    """Word → how it is often misspelt, with the same first letter."""
    frequent: frozenset[str]
    """Words that are one slip away from another: a slip must not say something else."""
    bare: Mapping[str, str] = field(default_factory=dict)
    """Letter with a mark → what is typed where the mark is forgotten or not on the keyboard."""
    dropped: re.Pattern[str] = _NEVER
    """Finds the letters of `bare` in a word where leaving the mark out says the same."""
    nouns: re.Pattern[str] = _NEVER
    """Words with a capital that are no names, in a language that writes nouns with capitals."""
    kept_pairs: frozenset[str] = frozenset()
    """Neighbouring letters that are never swapped, because that makes another word too often."""
    elides: bool = False
    """Whether words follow an apostrophe that joins them to the one before ("l'ordine")."""


def words(text: str) -> frozenset[str]:
    """The words of a list written as prose."""
    return frozenset(text.split())


def pairs(text: str) -> dict[str, str]:
    """Lines of "right wrong, right wrong" as a table."""
    return dict(entry.split() for entry in text.replace("\n", ",").split(",") if entry.strip())
