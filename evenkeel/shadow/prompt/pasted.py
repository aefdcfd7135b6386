"""Text that a user pasted into a message, told from the paragraphs that ask something about it.

"Explain clause 7 to me." and the clause, "Write a reply to this email" and the email: what is pasted could
not have been typed differently. Of several paragraphs only those that ask something are known to be the
user's own, and a first one that speaks of its writer; if none asks, the first or the last.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from evenkeel.core.protected_spans import protected_spans
from evenkeel.shadow.prompt.blocks import BLANK_LINES, LIST_MARK
from evenkeel.shadow.prompt.mail import opens_with_greeting, opens_with_headers
from evenkeel.shadow.prompt.references import (
    begins_a_request,
    holds_a_question,
    labels_a_request,
    leads_on,
    points_ahead,
    refers,
)
from evenkeel.shadow.prompt.segments import Span

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

NOT_TYPED: Final = "\ufffc"
"""Stands for a character of code or of a document between the paragraphs."""
# Fewest characters of a text that nothing else protects: a paragraph with fewer, which asks nothing, is a
# greeting, a word of thanks, or code.
_SHORTEST: Final = 25
# Who speaks, or what a text is: "Customer: My parcel is damaged."
_LABEL: Final = re.compile(r"[^\W\d_][\w ]{0,30}:[ ]")
# Label of one of several: "Answer A: …", "Headline 2: …"
_COUNTED: Final = re.compile(r"[^\W\d_]{2,20}[ ](?:[A-Z]|\d{1,2}):[ ]")
# Items of a list below a line, with the lines that go on with one
_LIST: Final = re.compile(
    rf"(?<=\n)[ \t]*{LIST_MARK.pattern}[^\n]*(?:\n(?:[ \t]*{LIST_MARK.pattern}|[ \t]+\S)[^\n]*)*\n?"
)
WRITER: Final = re.compile(
    r"(?<!\w)(?:i|i[’']\w+|we|my|our|ich|wir|meine?[rmns]?|unsere?[rmns]?|je|j[’']\w+|nous|mon|ma|mes|notre|nos"
    r"|yo|mis?|tengo|nuestr[oa]s?|ho|mi[oae]|miei|nostr[oaie]|ik|wij|mijn|onze|eu|meus?|minhas?|noss[oa]s?)(?!\w)",
    re.IGNORECASE,
)
"""Pattern for a word by which a text speaks of its writer."""


# Three and more items on one line behind a colon or a dash, up to its end: "cold to hot: ice, tea, lava". Of
# one word each also within a sentence: "Which is heavier, a mouse, a cat or an elephant?"
# Without blanks between words a clause would look like an item.
_WORD: Final = r"[^\s,;:.!?\u3040-\u30ff\u3400-\u9fff]{1,40}"
# Without "o", "en" and "of", which are other words in the next language.
_OR: Final = "(?:and|or|und|oder|y|et|ou|e|lub|ve|veya|или)"
_ITEM: Final = rf"(?:(?:an?|the|eine?|der|die|das|una?|el|la|une|le|il|uma?) )?{_WORD}"
LISTED: Final = re.compile(
    rf"(?<=[:–-] ){_WORD}(?> {_WORD}){{0,3}}(?:[,;/|] {_WORD}(?> {_WORD}){{0,4}}){{2,40}}"
    r"(?=[.!?]?[ \t]*$| [–-] )"
    rf"|(?<!\S){_ITEM}(?:, {_ITEM}){{1,20}},? {_OR} {_ITEM}(?!\w)",
    re.MULTILINE,
)
"""Pattern for a list on one line, whose items the answer may have to repeat."""


def pasted_in(text: str) -> tuple[Span, ...]:
    """Return the stretches of a user's message that its paragraphs ask about; () of one paragraph."""
    paragraphs = tuple(_paragraphs(text))
    texts = [text[span.start : span.end] for span in paragraphs]
    letter = _letter_below(texts)
    if letter:
        # It goes on to the end, whatever it asks.
        below = (span for span in paragraphs[letter:] if not labels_a_request(text[span.start : span.end]))
        return (*pasted_in(text[: paragraphs[letter].start]), *below)
    own = [_is_own(paragraph) for paragraph in texts]
    said = [number for number, is_own in enumerate(own) if is_own is not None]
    if not said:
        return ()
    first, last = texts[said[0]], texts[said[-1]]
    is_headed = opens_with_greeting(first) or _LABEL.match(first) is not None
    speaks = WRITER.search(first) is not None and not is_headed
    if not any(own):
        if len(said) == 1 or opens_with_greeting(text):
            return ()
        # "Grade my essay." and the essay; a text and "Make this shorter"
        is_last = len(last) < len(first) and (refers(last) or not speaks)
        own[said[-1] if is_last else said[0]] = True
    # Behind "this email:" and "these sentences" stands what they speak of, even if it asks something itself.
    is_introduced = False
    for number, paragraph in enumerate(texts):
        if is_introduced:
            own[number] = labels_a_request(paragraph)
            is_introduced = False
        elif own[number]:
            is_introduced = leads_on(paragraph) or (
                number == said[0] and (points_ahead(paragraph) or refers(paragraph))
            )
    own[said[0]] = own[said[0]] or speaks
    pasted: list[Span] = []
    is_typed = own[said[0]]
    for span, is_own in zip(paragraphs, own, strict=True):
        # A greeting at the head belongs to what follows, a word of thanks to what stands before it.
        is_typed = is_typed if is_own is None else is_own
        if not is_typed:
            pasted.append(span)
    return tuple(pasted)


def _letter_below(paragraphs: Sequence[str]) -> int:
    """Return the number of the paragraph that begins a letter below other words; 0 without one."""
    is_spoken = False
    for number, paragraph in enumerate(paragraphs):
        is_headed = opens_with_headers(paragraph)
        if is_spoken and (is_headed or opens_with_greeting(paragraph)):
            return number
        if is_headed:
            return 0
        is_spoken = is_spoken or bool(paragraph.replace(NOT_TYPED, "").strip())
    return 0


def _is_own(paragraph: str) -> bool | None:
    """Return whether a paragraph asks something; None if it is too short to be a text of its own."""
    bare = paragraph.rstrip().replace(NOT_TYPED, "")
    left = len(bare) - sum(span.end - span.start for span in protected_spans(bare))
    if left > 0 and _asks_about(paragraph):
        return True
    return False if left >= _SHORTEST or LIST_MARK.match(paragraph) else None


def _paragraphs(text: str) -> Iterator[Span]:
    """Yield the paragraphs of a text; the items of a list below a line are one of their own."""
    bounds = [0]
    for match in BLANK_LINES.finditer(text.rstrip()):
        bounds.append(match.end())
    bounds.append(len(text))
    for start, end in pairwise(bounds):
        items = None if LIST_MARK.match(text, start) else _LIST.search(text, start, end)
        cuts = (start, end) if items is None else (start, *items.span(), end)
        for first, last in pairwise(cuts):
            if first < last:
                yield Span(first, last)


def _asks_about(paragraph: str) -> bool:
    if LIST_MARK.match(paragraph) or _COUNTED.match(paragraph):
        return labels_a_request(paragraph)
    return (
        begins_a_request(paragraph)
        or holds_a_question(paragraph)
        or points_ahead(paragraph)
        or leads_on(paragraph)
    )
