"""Validity: metric of whether an answer can be parsed in the format it should have."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from evenkeel.core.verdict import Failure
from evenkeel.metrics.protocol import About
from evenkeel.metrics.structured.reading import Structure, read_structure
from evenkeel.metrics.structured.tree import UnreadableError

if TYPE_CHECKING:
    from evenkeel.core.pair import Format, Pair


class FormatValidity:
    """Strict parse of the candidate in the wanted format, or else in the reference's."""

    name: ClassVar[str] = "format_validity"
    version: ClassVar[int] = 1
    about: ClassVar[About] = About("structured", high_means="better")

    def score(self, pair: Pair) -> float | Failure:
        """Validity of the candidate: 1.0 if an application that expects the format could read it.

        The format is the one asked for by the variant, else the one the reference was read as,
        valid or not.

        Returns: 1.0 if the candidate is nothing but a valid text of that format, one fence around
            it allowed; 0.0 if it is another format, needs repair, or has talk around it; nothing
            but tool calls is 0.0 as well. A `Failure` "no_format_wanted" if free text was asked
            for, or the reference has no structure.
        """
        expected = _expected(pair)
        if expected is None:
            return Failure(self.name, self.version, "no_format_wanted", "No format to be valid in.")
        return float(is_valid(pair.candidate.text, expected))


def is_valid(text: str, expected: Format) -> bool:
    """Return whether a text is nothing but a valid text of a format, one fence around it allowed.

    Markdown is valid if it has some structure and all its fences are closed. HTML is valid if it
    has an HTML element and no tag lacks its counterpart where HTML needs one.
    """
    found = read_structure(text, expected)
    if not isinstance(found, Structure):
        return False
    return found.format == expected and found.strict and found.alone


def format_found(text: str) -> Format | UnreadableError:
    """Return the format a text was read as, valid or not.

    "free" without structure; an error beyond the limits.
    """
    found = read_structure(text)
    if isinstance(found, UnreadableError):
        return found
    return "free" if found is None else found.format


def _expected(pair: Pair) -> Format | None:
    wanted = pair.wanted.format
    if wanted is None:
        found = format_found(pair.reference.text)
        wanted = None if isinstance(found, UnreadableError) else found
    return None if wanted == "free" else wanted
