"""Punctuation as people leave it out, repeat it or mix it up."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from evenkeel.core.pair import AS_BEFORE
from evenkeel.core.rewordings import Rewording
from evenkeel.shadow.perturbations.places import change_places
from evenkeel.shadow.perturbations.protocol import GENERAL, NOTHING

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

    from evenkeel.shadow.perturbations.protocol import NotApplicable
    from evenkeel.shadow.prompt import PromptView

# A terminal mark needs a word of two letters before it ("J." and "e.g." end nothing) and a new
# sentence, a line end or a closing mark after it; French puts a space before "?" and "!". Commas and
# dashes stand between words, never between numbers. Apostrophes, colons and marks at the start of a
# line are no places at all. The mark is matched before its surroundings, so that the search can
# leap to it.
_L: Final = r"[^\W\d_]"
_SPACED: Final = r"[ \u00a0\u202f]"
_OPENING: Final = r"""["'“\u2018«(¿¡]"""
_CLOSING: Final = r"""["'”’»)]"""
_PLACES: Final = re.compile(
    rf"""
    [.?!,;\-–—。、¿¡\uff01\uff0c\uff1f] (?:
        (?P<full_stop>   (?<={_L}{_L}\.) (?= \s*\Z | [ \t]*\r?\n | {_CLOSING}*[ ]+{_OPENING}*[^\Wa-z\d_] ) )
      | (?P<question>    (?: (?<={_L}\?) | (?<={_L}{_SPACED}\?) ) (?= \s | \Z | {_CLOSING} ) )
      | (?P<exclamation> (?: (?<={_L}!) | (?<={_L}{_SPACED}!) ) (?= \s | \Z | {_CLOSING} ) )
      | (?P<wide_stop>        (?<={_L}。) (?!。) )
      | (?P<wide_question>    (?<={_L}\uff1f) )
      | (?P<wide_exclamation> (?<={_L}\uff01) )
      | (?P<comma>       (?<={_L},) (?= [ ]{_L} ) )
      | (?P<enumeration> (?<={_L}[、\uff0c]) (?={_L}) )
      | (?P<semicolon>   (?<={_L};) (?= [ ]{_L} ) )
      | (?P<dash>        (?<={_L}[ ][-–—]) -? (?= [ ]{_L} ) )
      | (?P<tight_dash>  (?<={_L}—) (?={_L}) )
      | (?P<inverted>    (?<=[¿¡]) (?={_L}) )
    )
    """,
    re.VERBOSE,
)
_UNENDED: Final = re.compile(rf"(?P<unended>(?<={_L}))")
_CHOICES: Final[dict[str, tuple[str, ...]]] = {
    "full_stop": ("", "..", "...", "!"),
    "question": ("", "??", ".", "?!"),
    "exclamation": ("", "!!", "."),
    "wide_stop": ("", "。。", "\uff01"),
    "wide_question": ("", "\uff1f\uff1f", "。"),
    "wide_exclamation": ("", "\uff01\uff01", "。"),
    "comma": ("", ",,", " ,", ";"),
    "enumeration": ("", "、、"),
    "semicolon": (",", ""),
    "dash": ("-", "–", "—", "--"),
    "tight_dash": (" - ", " – "),
    "inverted": ("",),
    "unended": (".", "!", "..", "..."),
}


class Punctuation:
    """Drops, doubles or replaces terminal marks, commas, semicolons and dashes.

    Line structure, list markers, headings, apostrophes, hyphens inside words and every mark that
    touches a protected span stay.
    """

    name: Final = "general.punctuation"
    rewording: Final = Rewording(GENERAL, phrase="different punctuation", order=30)
    version: Final = 2
    graded: Final = True
    requires: Final = NOTHING
    wanted: Final = AS_BEFORE

    def apply(self, view: PromptView, severity: float, rng: random.Random) -> PromptView | NotApplicable:
        """A variant with a share of its marks changed, as `Perturbation.apply`."""
        # A mark added next to an address or a number could be read as part of it: hence the margin.
        return change_places(view, severity, rng, find=_places, rewrite=_rewrite, margin=1)


def _places(text: str) -> Iterator[re.Match[str]]:
    yield from _PLACES.finditer(text)
    end = len(text.rstrip())
    yield from _UNENDED.finditer(text, end, end)


def _rewrite(place: re.Match[str], rng: random.Random) -> str | None:
    kind = place.lastgroup
    assert kind is not None  # every alternative is named
    return rng.choice(tuple(choice for choice in _CHOICES[kind] if choice != place[0]))
