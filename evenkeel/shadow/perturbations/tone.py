"""The same in another tone: by phrases, or by a model.

The phrases of each language and tone are in `tone.toml`.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final, Literal

from evenkeel.core.languages import language_of
from evenkeel.core.protected_spans import protected_spans
from evenkeel.core.rewordings import Rewording
from evenkeel.shadow.perturbations.answer_language import speaks_of_translation
from evenkeel.shadow.perturbations.places import (
    about_manner,
    asks_about_wording,
    breaks_off,
    change_places,
    is_question,
    may_be_completed,
    prose_of,
)
from evenkeel.shadow.perturbations.protocol import (
    GENERAL,
    NO_INPUT,
    NotApplicable,
    PerturbationBase,
    RewriteTask,
)
from evenkeel.shadow.perturbations.rewriting import draft
from evenkeel.shadow.prompt.demonstrations import open_input
from evenkeel.shadow.prompt.mail import opens_with_greeting
from evenkeel.shadow.prompt.pasted import WRITER
from evenkeel.shadow.prompt.references import LANGUAGES, asks, end_of_label, labels_a_request
from evenkeel.shadow.prompt.segments import text_of
from evenkeel.shadow.prompt.template.labelling import ROLE

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator, Mapping, Sequence

    from evenkeel.shadow.perturbations.protocol import Outcome
    from evenkeel.shadow.prompt import PromptView, Segment


@dataclass(frozen=True, slots=True)
class Manner:
    """Phrases that give a text a tone in one language."""

    openers: tuple[str, ...]
    """Whole sentences for the beginning of a text."""
    closers: tuple[str, ...]
    """Whole sentences for its end."""
    swaps: Mapping[str, str] = field(default_factory=dict)
    """Replacements of phrases in lower case. A phrase that begins with "^" counts only at the start of a
    sentence."""

    @classmethod
    def of(cls, table: Mapping[str, Any], language: Mapping[str, Any]) -> Manner:
        """Build a tone from its table in `tone.toml`.

        Args:
            table: Of the tone.
            language: The table of its language.
        """
        swaps: dict[str, str] = {}
        for short_forms in table.get("spells_out", ()):
            swaps |= language[short_forms]
        for short_forms in table.get("shortens", ()):
            swaps |= {full: short for short, full in language[short_forms].items()}
        swaps |= table.get("swaps", {})
        for order in table.get("orders", ()):
            for what in table["objects"]:
                swaps[f"^{order} {what}"] = f"please {order} {what}"
        return cls(tuple(table["openers"]), tuple(table["closers"]), swaps)


TONES: Final = ("formal", "casual", "urgent", "frustrated", "polite")
_TABLES: Final = tomllib.loads(files(__package__).joinpath("tone.toml").read_text("utf-8"))


def _manners(language: Mapping[str, Any]) -> dict[str, Manner]:
    manners = {}
    for tone in TONES:
        manners[tone] = Manner.of(language[tone], language)
    return manners


MANNERS: Final = {tag: _manners(language) for tag, language in _TABLES.items()}
"""Base tag of the language → tone → how it sounds."""
SPACELESS: Final = frozenset(tag for tag, language in _TABLES.items() if language.get("spaceless"))
"""Languages that put no space between sentences or words."""

# Characters from which the language is identified: more is no surer, and costs more than all the rest.
_TELLING: Final = 400
# Only so many are searched for these.
_LONGEST_BEGINNING: Final = 4_000
_CLOSED: Final = ".!?…。।؟\uff01\uff1f"


class Tone(PerturbationBase):
    """Writes what the user says in another tone, which the generator picks.

    By rule: greetings and closing words, set phrases and contractions, in fourteen languages; severity is the
    share of these places. By the rewriter: the whole input at once. What is protected stays, and no phrase
    states a fact or asks for a form of answer.

    Versions by rule and by the rewriter differ, so that their verdicts can be told apart.
    """

    name: Final = "general.tone"
    rewording: Final = Rewording(GENERAL, phrase="another tone", order=60)

    def __init__(self, by: Literal["rule", "rewriter"] = "rule", tones: Sequence[str] = TONES) -> None:
        """Set the tones and the way to write them.

        Args:
            by: Who changes the tone.
            tones: What to pick from.

        Raises: ValueError for an unknown tone, or none.
        """
        unknown = []
        for tone in tones:
            if tone not in TONES:
                unknown.append(tone)
        if unknown or not tones:
            raise ValueError(f"unknown tone {unknown[0] if unknown else ''!r}: known are {', '.join(TONES)}")
        self._by = by
        self._tones = tuple(tones)
        self.version = 18 if by == "rule" else 7
        self.graded = by == "rule"
        if by == "rewriter":
            self.requires = frozenset({"rewriter"})

    def apply(self, view: PromptView, severity: float, rng: random.Random) -> Outcome:
        """A variant in another tone, as `Perturbation.apply`.

        Not applicable: "no_input", "about_manner"; by rule also "about_wording", "text_to_translate",
        "text_to_work_on", "language_unknown" and "language_unsupported".
        """
        tone = self._tones[rng.randrange(len(self._tones))]
        spoken = view.typed
        if not spoken:
            return NO_INPUT
        if any(map(_asks_about_manner, view.segments)):
            return NotApplicable("about_manner")
        if self._by == "rewriter":
            return draft(view, spoken, lambda text: RewriteTask("tone", text, tone))
        # Data alone is in no language.
        language = language_of(prose_of(text_of(spoken, "\n\n")[:_LONGEST_BEGINNING])[:_TELLING])
        refused = _refused(view, language)
        if refused is not None:
            return refused
        assert language is not None  # else it is refused
        return _by_rule(view, severity, rng, spoken=spoken, language=language, tone=tone)


def _refused(view: PromptView, language: str | None) -> NotApplicable | None:
    """Return why no phrases can be added to a prompt in a language; None if they can."""
    for segment in view.segments:
        if segment.type != "document" and speaks_of_translation(segment.text):
            return NotApplicable("text_to_translate")
    last = view.typed[-1]
    if breaks_off(last.text) or _is_demonstrated(view, last) or _says_nothing_to_anybody(view, language):
        return NotApplicable("text_to_work_on")
    if language is None:
        return NotApplicable("language_unknown")
    if language not in MANNERS:
        return NotApplicable("language_unsupported")
    return None


def _says_nothing_to_anybody(view: PromptView, language: str | None) -> bool:
    """Return whether orders stand beside a text that neither asks anything nor speaks of its writer.

    "Classify the review", "Sum up the note". What is said to an assistant, in a conversation or to an agent
    is addressed to somebody.
    """
    told = [segment for segment in view.segments if segment.source == "instructions"]
    if language not in LANGUAGES or not told or ROLE.match(told[0].text) or view.get("tools"):
        return False
    if any(segment.role == "assistant" for segment in view.segments):
        return False
    for segment in view.typed:
        if WRITER.search(segment.text):
            return False
        for sentence in _SENTENCES.split(segment.text):
            if asks(sentence) or is_question(sentence):
                return False
    return True


def _asks_about_manner(segment: Segment) -> bool:
    """Return whether a segment orders to judge how a text is said: another tone would be another text."""
    if segment.source == "instructions":
        return about_manner().search(segment.text) is not None
    if segment.source != "typed":
        return False
    # A ticket with the line "urgency: 2" asks nothing.
    for line in segment.text.splitlines():
        if asks(line) and about_manner().search(line):
            return True
    return False


def _by_rule(
    view: PromptView,
    severity: float,
    rng: random.Random,
    *,
    spoken: Sequence[Segment],
    language: str,
    tone: str,
) -> Outcome:
    manner = MANNERS[language][tone]
    # A text with a salutation needs no other greeting before it.
    is_opened = opens_with_greeting(spoken[0].text) or not _begins_a_paragraph(view, spoken[0])
    first = None if is_opened else spoken[0].text
    last = spoken[-1].text
    # Of several parts the last may be the beginning of a sentence that the answer is to complete.
    closes = len(spoken) == 1 or last.rstrip().endswith(tuple(_CLOSED))
    # Nor may another sentence of its line follow.
    closes = closes and (last[-1:] == "\n" or not _behind(view, spoken[-1])[:1].isalpha())
    # Of a text to be proofread no word may change, and nothing may be added to its end.
    only_opens = asks_about_wording(spoken)

    def find(text: str) -> Iterator[re.Match[str]]:
        for match in _places(text, language, tone):
            if only_opens and match.lastgroup != "opening":
                continue
            # One greeting and one close for the whole input, wherever it is cut.
            if (match.lastgroup == "opening" and text != first) or (
                match.lastgroup == "closing" and (text != last or not closes)
            ):
                continue
            yield match

    def rewrite(match: re.Match[str], rng: random.Random) -> str | None:
        return _rewritten(match, rng, manner, spaceless=language in SPACELESS)

    return change_places(view, severity, rng, find=find, rewrite=rewrite, keeps_letters=True)


def _rewritten(match: re.Match[str], rng: random.Random, manner: Manner, *, spaceless: bool) -> str:
    text, word = match.string, match[0]
    match match.lastgroup:
        case "opening":
            phrase = manner.openers[rng.randrange(len(manner.openers))]
            # Before a list, a heading, a label or code it gets a paragraph of its own.
            at = match.start()
            spoken = text[at].isalpha() or text[at] in "¿¡"
            is_kept = any(span.start <= at < span.end for span in protected_spans(text))
            flows = spoken and phrase[-1] in ".!?。।" and not is_kept
            return phrase + (("" if spaceless else " ") if flows else "\n\n")
        case "closing":
            phrase = manner.closers[rng.randrange(len(manner.closers))]
            flows = text[match.start() - 1] in _CLOSED
            return (("" if spaceless else " ") if flows else "\n\n") + phrase
        case _:
            plain = word.lower().replace("’", "'")
            new = manner.swaps.get(plain) or manner.swaps[f"^{plain}"]
            return new[0].upper() + new[1:] if word[0].isupper() else new


def _places(text: str, language: str, tone: str) -> Iterator[re.Match[str]]:
    beginning = _BEGINNING.match(text, end_of_label(text))
    opening = None if beginning is None else _OPENING.match(text, beginning.end())
    assert opening is not None  # both patterns match anywhere
    yield opening
    inside = _inside(language, tone)
    if inside is not None:
        yield from inside.finditer(text)
    # Match at the end only: searching every place of the text would cost more than everything else.
    closing = _CLOSING.match(text, len(text.rstrip()))
    if closing is not None and not may_be_completed(text) and not _ends_in_data(text):
        yield closing


def _ends_in_data(text: str) -> bool:
    """Return whether the last of several lines may belong to a text to work on, which a close would end.

    So may the last of several sentences, if no mark ends it.
    """
    text = text.strip()
    pieces = text.splitlines() if text.endswith(tuple(_CLOSED)) else _SENTENCES.split(text)
    return len(pieces) > 1 and not (asks(pieces[-1]) or is_question(pieces[-1]))


def _begins_a_paragraph(view: PromptView, segment: Segment) -> bool:
    """Return whether nothing stands before a segment in its message, or a blank line does."""
    blank = _before(view, segment) + segment.text[: len(segment.text) - len(segment.text.lstrip())]
    return not blank.strip() or _BLANK_LINE.search(blank) is not None


def _before(view: PromptView, segment: Segment) -> str:
    """Return what stands before a segment in its slot."""
    return text_of(other for other in view.segments[: segment.index] if other.slot == segment.slot)


def _behind(view: PromptView, segment: Segment) -> str:
    """Return what stands behind a segment in its slot."""
    return text_of(other for other in view.segments[segment.index + 1 :] if other.slot == segment.slot)


def _is_demonstrated(view: PromptView, segment: Segment) -> bool:
    """Return whether a segment is the last of some inputs that outputs follow, other than a question."""
    line = _before(view, segment).rpartition("\n")[2]
    own = text_of(other for other in view.segments if other.slot == segment.slot)
    return not labels_a_request(line) and open_input(own) is not None


_SENTENCES: Final = re.compile(r"\n|(?<=[.!?…])\s|(?<=[。\uff01\uff1f])")
_BLANK_LINE: Final = re.compile(r"\n[ \t\r]*\n[ \t\r]*\Z")
# A line that only parts the text from what stands above it, or blanks behind a label
_BEGINNING: Final = re.compile(r"(?:\s*[-*_=]{3,}[ \t\r]*\n|(?<=[:\uff1a\n])\s+)?")
_OPENING: Final = re.compile(r"(?P<opening>)")
# End of the text, except after "Answer:", where the answer itself is to follow.
_CLOSING: Final = re.compile(r"(?P<closing>(?<=[^\s:;,\uff1a\uff1b\uff0c、]))")


@cache
def _inside(language: str, tone: str) -> re.Pattern[str] | None:
    """Return a pattern for phrases to swap; None if there are none."""
    manner = MANNERS[language][tone]
    spaceless = language in SPACELESS
    edges = ("", "") if spaceless else (r"(?<![\w'’\-])", r"(?![\w'’\-])")
    anywhere = []
    for key in manner.swaps:
        if key[0] != "^":
            anywhere.append(key)
    starting = []
    for key in manner.swaps:
        if key[0] == "^":
            starting.append(key[1:])
    phrases = [
        *_phrases(starting, r"(?:\A|(?<=[.!?]\s)|(?<=\n))", edges[1]),
        *_phrases(anywhere, edges[0], edges[1]),
    ]
    return re.compile(f"(?P<swap>{'|'.join(phrases)})") if phrases else None


def _phrases(keys: Sequence[str], before: str, behind: str) -> list[str]:
    if not keys:
        return []
    letters = {key[0] for key in keys} | {key[0].upper() for key in keys}
    firsts = "".join(sorted(map(re.escape, letters)))
    words = "|".join(re.escape(key).replace("'", "['’]") for key in sorted(keys, key=len, reverse=True))
    return [f"(?=[{firsts}]){before}(?i:{words}){behind}"]
