"""Punctuation as people leave it out, repeat it or mix it up."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from evenkeel.core.rewordings import Rewording
from evenkeel.shadow.perturbations.places import change_places, is_question, may_be_completed, small_words
from evenkeel.shadow.perturbations.protocol import GENERAL, PerturbationBase
from evenkeel.shadow.prompt.blocks import LIST_MARK

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

    from evenkeel.shadow.perturbations.protocol import NotApplicable
    from evenkeel.shadow.prompt import PromptView

# A terminal mark needs a word of two letters before it ("J." and "e.g." end nothing, "n!" is a product),
# inside a line one of four ("St. Louis"), and a new sentence, a line end or a closing mark after it; French
# puts a space before "?" and "!". Marks are left out only where a line ends there: "No. Refunds are possible"
# is not "No refunds are possible". A question mark is left out only behind a sentence that asks without it,
# a comma only before a conjunction. A hyphen between blanks may be a minus. Apostrophes, colons and marks at
# the start of a line are no places at all. The mark is matched first: the search can leap to it.
_L: Final = r"[^\W\d_]"
# Letters and vowel signs of Hindi and Thai, not all of which are letters to Unicode.
_SIGN: Final = r"[\u0900-\u0963\u0e01-\u0e4e]"
_SPACED: Final = r"[ \u00a0\u202f]"
_OPENING: Final = r"""["'“\u2018«(¿¡]"""
_CLOSING: Final = r"""["'”’»)]"""
_LINE_END: Final = r"(?= [ \t]*(?:\r?\n|\Z) )"
# Letters of Arabic and Persian. Urdu and others write further ones, and have a full stop of their own.
_ARABIC: Final = r"\u0621-\u064a\u067e\u0686\u0698\u06a9\u06af\u06cc"
# Letters of the scripts that end a sentence with a point. Hindi, Armenian and Amharic have another full stop,
# Thai has none; where it is not known, nothing is added.
_POINTED: Final = rf"[A-Za-zÀ-ÖØ-öø-ɏͰ-ԯ\u05d0-\u05ea{_ARABIC}\u1e00-\u1fff\uac00-\ud7a3]"
_FURTHER_ARABIC: Final = re.compile(rf"(?![{_ARABIC}])[\u0620-\u064a\u066e-\u06d3\u0750-\u077f]")
# In Greek a semicolon asks a question.
_GREEK: Final = r"[Ͱ-Ͽ\u1f00-\u1fff]"
_NOT_BEHIND_NO: Final = r"(?<![Nn]o,)(?<![Nn]ein,)(?<![Nn]on,)(?<![Nn]ão,)(?<![Nn]ee,)"
_CONJUNCTION: Final = rf"(?:{'|'.join(sorted(small_words('joins')))})\b"
_PLACES: Final = re.compile(
    rf"""
    [.?!,;—।。、؟،¿¡\uff01\uff0c\uff1f] (?:
        (?P<last_stop>     (?<={_L}{_L}\.) {_LINE_END} )
      | (?P<full_stop>     (?<={_L}{_L}{_L}{_L}\.) (?<!Prof\.) (?= {_CLOSING}*[ ]+{_OPENING}*[^\Wa-z\d_] ) )
      | (?P<question>      (?: (?<={_L}\?) | (?<={_L}{_SPACED}\?) | (?<={_SIGN}\?) )
                           (?= \s | \Z | {_CLOSING} ) )
      | (?P<last_danda>    (?<={_SIGN}।) {_LINE_END} )
      | (?P<last_exclamation> (?: (?<={_L}{_L}!) | (?<={_L}{_SPACED}!) ) {_LINE_END} )
      | (?P<exclamation>   (?: (?<={_L}{_L}!) | (?<={_L}{_SPACED}!) ) (?= \s | {_CLOSING} ) )
      | (?P<last_wide_stop>   (?<={_L}。) {_LINE_END} )
      | (?P<wide_stop>        (?<={_L}。) (?!。) )
      | (?P<wide_question>    (?<={_L}\uff1f) )
      | (?P<wide_exclamation> (?<={_L}\uff01) )
      | (?P<arabic_question>  (?<={_L}؟) )
      | (?P<arabic_comma>     (?<={_L}،) (?= [ ]{_L} ) )
      | (?P<joining_comma> (?<={_L}{_L},) {_NOT_BEHIND_NO} (?= [ ]{_CONJUNCTION} ) )
      | (?P<comma>         (?<={_L}{_L},) (?= [ ]{_L} ) )
      | (?P<enumeration>   (?<={_L}、) (?={_L}) )
      | (?P<wide_comma>    (?<={_L}\uff0c) (?={_L}) )
      | (?P<semicolon>     (?<={_L};) (?<!{_GREEK};) (?= [ ]{_L} ) )
      | (?P<tight_dash>    (?<={_L}{_L}—) (?={_L}) )
      | (?P<inverted>      (?<=[¿¡]) (?={_L}) )
    )
    """,
    re.VERBOSE,
)
_UNENDED: Final = re.compile(
    rf"(?P<wide_unended>(?<=[\u3040-\u30ff\u3400-\u9fff]))|(?P<unended>(?<={_POINTED}))"
)
_BEFORE_A_POINT: Final = re.compile(rf"{_POINTED}[ \u00a0\u202f]?\Z")
_CHOICES: Final[dict[str, tuple[str, ...]]] = {
    "last_stop": ("", "..", "...", "!"),
    "full_stop": ("..", "...", "!"),
    "question": ("??", " ?", "?!"),
    "last_danda": ("", ".", " ।"),
    "last_exclamation": ("", "!!", "."),
    "exclamation": ("!!", "."),
    "last_wide_stop": ("", "。。", "\uff01"),
    "wide_stop": ("。。", "\uff01", "."),
    "wide_question": ("\uff1f\uff1f", "?"),
    "wide_exclamation": ("\uff01\uff01", "。", "!"),
    "arabic_question": ("؟؟", "?", " ؟"),
    "arabic_comma": (" ،", ",", "،،"),
    "joining_comma": ("", ",,", " ,"),
    "comma": (",,", " ,"),
    "enumeration": ("、、", "\uff0c", ","),
    "wide_comma": ("\uff0c\uff0c", ","),
    "semicolon": (",", ";;"),
    "tight_dash": (" - ", " – "),
    "inverted": ("",),
    "wide_unended": ("。", "\uff01", "。。"),
    "unended": (".", "!", "..", "..."),
}
_AT_LINE_END: Final = re.compile(r"[ \t]*(?:\r?\n|\Z)")
_SENTENCE_END: Final = re.compile(r"[.!?\n。\uff01\uff1f؟:;]")
_LONGEST_SENTENCE: Final = 300


class Punctuation(PerturbationBase):
    """Drops, doubles or replaces terminal marks, commas, semicolons and dashes, where that says the same.

    Line structure, list markers, headings, apostrophes, hyphens and every mark that touches a protected span
    stay. No full stop is added where the script has another one, or none.
    """

    name: Final = "general.punctuation"
    rewording: Final = Rewording(GENERAL, phrase="different punctuation", order=30)
    version = 8
    graded = True

    def apply(self, view: PromptView, severity: float, rng: random.Random) -> PromptView | NotApplicable:
        """A variant with a share of its marks changed, as `Perturbation.apply`."""
        # A mark added next to an address or a number could be read as part of it: hence the margin.
        return change_places(view, severity, rng, find=_places, rewrite=_rewrite, margin=1)


def _places(text: str) -> Iterator[re.Match[str]]:
    yield from _PLACES.finditer(text)
    end = len(text.rstrip())
    last_line = text[text.rfind("\n", 0, end) + 1 :].lstrip()
    # The last item of a list may be one of the answers to choose from.
    if not may_be_completed(text) and not LIST_MARK.match(last_line):
        for match in _UNENDED.finditer(text, end, end):
            if match.lastgroup == "wide_unended" or _ends_in_a_point(text, end):
                yield match


def _ends_in_a_point(text: str, end: int) -> bool:
    """Return whether a point ends a sentence in the script of the words before `end`."""
    before = text[max(0, end - _LONGEST_SENTENCE) : end]
    return _BEFORE_A_POINT.search(before) is not None and _FURTHER_ARABIC.search(before) is None


def _rewrite(match: re.Match[str], rng: random.Random) -> str | None:
    kind = match.lastgroup
    assert kind is not None  # every alternative is named
    choices = []
    for choice in _CHOICES[kind]:
        is_stop = choice == "." and "exclamation" in kind
        if choice != match[0] and not (is_stop and not _ends_in_a_point(match.string, match.start())):
            choices.append(choice)
    ends_line = _AT_LINE_END.match(match.string, match.end()) is not None
    if "question" in kind and ends_line and _asks(match.string, match.start()):
        choices.append("")
    return rng.choice(choices)


def _asks(text: str, end: int) -> bool:
    """Return whether the sentence that ends at `end` is a question without its mark."""
    start = max(0, end - _LONGEST_SENTENCE)
    sentence = _SENTENCE_END.split(text[start:end].rstrip())[-1]
    return is_question(sentence)
