"""The same in another tone: by phrases and marks, or by a model."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Final, Literal

from metrics.pair import AS_BEFORE
from shadow.languages import language_of
from shadow.perturbations.places import change_places
from shadow.perturbations.protect import protected_spans
from shadow.perturbations.protocol import NOTHING, NotApplicable, RewriteTask
from shadow.perturbations.rewriting import NO_INPUT, draft
from shadow.perturbations.tone_phrases import MANNERS, SPACELESS

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator, Sequence

    from shadow.perturbations.protocol import Outcome, Requirement
    from shadow.perturbations.tone_phrases import Manner
    from shadow.prompt import PromptView, Segment

TONES: Final = ("formal", "casual", "urgent", "frustrated", "polite")

_CLOSED: Final = ".!?…:;,。\uff01\uff1f"


class Tone:
    """Writes what the user says in another tone, which the generator picks.

    By rule: greetings and closing words, set phrases, contractions and marks at the end of sentences,
    in eight languages; severity is the share of these places. By the rewriter: the whole input at once.
    What is protected stays, and no phrase states a fact or asks for a form of answer.

    Versions by rule are odd, by the rewriter even, so that their verdicts can be told apart.
    """

    name: Final = "general.tone"
    wanted: Final = AS_BEFORE

    def __init__(self, by: Literal["rule", "rewriter"] = "rule", tones: Sequence[str] = TONES) -> None:
        """Choose how.

        Args:
            by: Who changes the tone.
            tones: What to pick from.

        Raises: ValueError for an unknown tone, or none.
        """
        unknown = [tone for tone in tones if tone not in TONES]
        if unknown or not tones:
            raise ValueError(f"unknown tone {unknown[0] if unknown else ''!r}: known are {', '.join(TONES)}")
        self._by = by
        self._tones = tuple(tones)
        self.version: Final = 1 if by == "rule" else 2
        self.graded: Final = by == "rule"
        self.requires: Final[frozenset[Requirement]] = NOTHING if by == "rule" else frozenset({"rewriter"})

    def apply(self, view: PromptView, severity: float, rng: random.Random) -> Outcome:
        """A variant in another tone, as `Perturbation.apply`.

        Not applicable: "no_input"; by rule also "language_unknown" and "language_unsupported".
        """
        tone = self._tones[rng.randrange(len(self._tones))]
        spoken = _spoken(view)
        if not spoken:
            return NO_INPUT
        if self._by == "rewriter":
            return draft(view, spoken, lambda text: RewriteTask("tone", text, tone))
        language = language_of(view.input_text)
        if language is None:
            return NotApplicable("language_unknown", "the language of the input is not clear")
        if language not in MANNERS:
            return NotApplicable("language_unsupported", f"there are no phrases for the language {language}")
        return _by_rule(view, severity, rng, spoken=spoken, language=language, tone=tone)


def _spoken(view: PromptView) -> list[Segment]:
    """What a user says in his own words; where nothing is known of that, all input but code."""
    inputs = [one for one in view.segments if one.kind == "input" and one.type != "code" and one.text.strip()]
    return [one for one in inputs if one.type == "text"] or inputs


def _by_rule(
    view: PromptView,
    severity: float,
    rng: random.Random,
    *,
    spoken: list[Segment],
    language: str,
    tone: str,
) -> Outcome:
    manner = MANNERS[language][tone]
    pattern = _places(language, tone)
    texts = {one.text for one in spoken}
    first, last = spoken[0].text, spoken[-1].text

    def find(text: str) -> Iterator[re.Match[str]]:
        if text not in texts:
            return
        for place in pattern.finditer(text):
            # One greeting and one close for the whole input, wherever it is cut.
            if (place.lastgroup == "opening" and text != first) or (
                place.lastgroup == "closing" and text != last
            ):
                continue
            yield place

    def rewrite(place: re.Match[str], rng: random.Random) -> str | None:
        return _rewritten(place, rng, manner, spaceless=language in SPACELESS)

    return change_places(view, severity, rng, find=find, rewrite=rewrite)


def _rewritten(place: re.Match[str], rng: random.Random, manner: Manner, *, spaceless: bool) -> str:
    text, found = place.string, place[0]
    match place.lastgroup:
        case "opening":
            phrase = manner.openers[rng.randrange(len(manner.openers))]
            # Before a list, a heading, a label or code it gets a paragraph of its own.
            spoken = text[0].isalpha() or text[0] in "¿¡"
            kept = protected_spans(text)
            flows = spoken and phrase[-1] in ".!?。" and not (kept and kept[0].start == 0)
            return phrase + (("" if spaceless else " ") if flows else "\n\n")
        case "closing":
            phrase = manner.closers[rng.randrange(len(manner.closers))]
            flows = text[place.start() - 1] in _CLOSED
            return (("" if spaceless else " ") if flows else "\n\n") + phrase
        case "end":
            return manner.ends[found]
        case _:
            plain = found.lower().replace("’", "'")
            new = manner.swaps.get(plain) or manner.swaps[f"^{plain}"]
            return new[0].upper() + new[1:] if found[0].isupper() else new


@cache
def _places(language: str, tone: str) -> re.Pattern[str]:
    """Finds the beginning, phrases to swap, marks to swap and the end of a text."""
    manner = MANNERS[language][tone]
    edge = ("", "") if language in SPACELESS else (r"(?<![\w'’\-])", r"(?![\w'’\-])")
    swaps = "|".join(
        (r"(?:\A|(?<=[.!?]\s)|(?<=\n))" if key[0] == "^" else edge[0])
        + re.escape(key.lstrip("^")).replace("'", "['’]")
        + edge[1]
        for key in sorted(manner.swaps, key=len, reverse=True)
    )
    ends = "".join(re.escape(mark) for mark in manner.ends)
    rules = [r"(?P<opening>\A)"]
    if swaps:
        rules.append(f"(?P<swap>(?i:{swaps}))")
    if ends and language in SPACELESS:
        rules.append(f"(?P<end>(?<=\\w)[{ends}])")
    elif ends:
        # Not behind abbreviations of one letter, and only where a sentence begins next.
        rules.append(rf"(?P<end>(?<=[^\W\d_]{{2}})[{ends}](?=\s+[A-ZÀ-ÞŒ¿¡]|\s*\Z))")
    rules.append(r"(?P<closing>(?<=\S)(?=\s*\Z))")
    return re.compile("|".join(rules))
