"""Whitespace as hurried typing and copying leave it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from evenkeel.core.rewordings import Rewording
from evenkeel.shadow.perturbations.places import change_places
from evenkeel.shadow.perturbations.protocol import GENERAL, PerturbationBase

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

    from evenkeel.shadow.perturbations.protocol import NotApplicable
    from evenkeel.shadow.prompt import PromptView

# Indentation is never a place: `gap` and `double` stand between two visible characters of a line. Nor is a
# tab, which may part the columns of a table, the last of which may be empty, nor the end of a line that a
# backslash continues. The first character is matched before its surroundings, so that the search can leap
# to it.
_PLACES: Final = re.compile(
    r"""
    [ \r\n] (?:
        (?P<gap>      (?<=\S[ ]) (?=\S) )
      | (?P<double>   (?<=[.!?][ ]) [ ] (?=\S) )
      | (?P<trailing> (?<=\S[ ]) [ ]* (?=\r?\n) )
      | (?P<line_end> (?: (?<=[^\s\\]\n) | (?<=[^\s\\]\r) \n ) )
      | (?P<blank>    (?: (?<=\n\n) | (?<=\n\r) \n ) )
    )
    """,
    re.VERBOSE,
)
_TEXT_END: Final = re.compile(r"(?P<text_end>(?<=\S)\Z)")
_CHOICES: Final[dict[str, tuple[str, ...]]] = {
    # "{}" is what stood there
    "gap": ("{} ", "{} ", "{} ", "{}  "),
    "double": (" ",),
    "trailing": ("",),
    "line_end": (" {}", "  {}", "   {}"),
    "blank": ("{0}{0}",),
    "text_end": (" ", "  ", "\n"),
}


class Whitespace(PerturbationBase):
    """Doubles spaces, adds or strips trailing blanks, adds blank lines.

    Words are never joined or split, lines never joined, tabs never changed, and blank lines only added to
    blank lines, so paragraphs stay what they were.
    """

    name: Final = "general.whitespace"
    rewording: Final = Rewording(GENERAL, phrase="different whitespace", order=10)
    version = 7
    graded = True

    def apply(self, view: PromptView, severity: float, rng: random.Random) -> PromptView | NotApplicable:
        """A variant with a share of its gaps and line ends changed, as `Perturbation.apply`."""
        return change_places(view, severity, rng, find=_places, rewrite=_rewrite)


def _places(text: str) -> Iterator[re.Match[str]]:
    yield from _PLACES.finditer(text)
    yield from _TEXT_END.finditer(text, len(text))


def _rewrite(match: re.Match[str], rng: random.Random) -> str:
    kind = match.lastgroup
    assert kind is not None  # every alternative is named
    return rng.choice(_CHOICES[kind]).format(match[0])
