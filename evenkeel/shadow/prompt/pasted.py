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
from evenkeel.shadow.prompt.mail import opens_with_greeting
from evenkeel.shadow.prompt.references import (
    begins_a_request,
    holds_a_question,
    labels_a_request,
    orders,
    points_ahead,
    refers,
)
from evenkeel.shadow.prompt.segments import Span

if TYPE_CHECKING:
    from collections.abc import Iterator

# Fewest characters of a text that nothing else protects: a paragraph with fewer, which asks nothing, is a
# greeting, a word of thanks, or code.
_SHORTEST: Final = 25
# Who speaks, or what a text is: "Customer: My parcel is damaged."
_LABEL: Final = re.compile(r"[^\W\d_][\w ]{0,30}:[ ]")
# Label of one of several: "Answer A: …", "Headline 2: …"
_COUNTED: Final = re.compile(r"[^\W\d_]{2,20}[ ](?:[A-Z]|\d{1,2}):[ ]")
_ITEM: Final = re.compile(rf"\n[ \t]*(?={LIST_MARK.pattern})")
_WRITER: Final = re.compile(
    r"(?<!\w)(?:i|i[’']\w+|we|my|our|ich|wir|meine?[rmns]?|unsere?[rmns]?|je|j[’']\w+|nous|mon|ma|mes|notre|nos"
    r"|yo|mis?|tengo|nuestr[oa]s?|ho|mi[oae]|miei|nostr[oaie]|ik|wij|mijn|onze|eu|meus?|minhas?|noss[oa]s?)(?!\w)",
    re.IGNORECASE,
)


def pasted_in(text: str) -> tuple[Span, ...]:
    """Return the stretches of a user's message that its paragraphs ask about; () of one paragraph."""
    paragraphs: list[Span] = []
    own: list[bool] = []
    for span in _paragraphs(text):
        paragraph = text[span.start : span.end]
        asks_something = _asks_about(paragraph)
        kept = sum(span.end - span.start for span in protected_spans(paragraph))
        if asks_something or len(paragraph.rstrip()) - kept >= _SHORTEST:
            paragraphs.append(span)
            own.append(asks_something)
    if len(paragraphs) <= 1:
        return ()
    first = text[paragraphs[0].start : paragraphs[0].end]
    last = text[paragraphs[-1].start : paragraphs[-1].end]
    is_headed = opens_with_greeting(first) or _LABEL.match(first) is not None
    speaks = _WRITER.search(first) is not None and not is_headed
    if not any(own):
        # "Grade my essay." and the essay; a text and "Make this shorter"
        is_last = orders(last) or (len(last) < len(first) and (refers(last) or not speaks))
        own[-1 if is_last else 0] = True
    # Behind "this email" and "these sentences" stands what they speak of, even if it asks something itself.
    introduces = own[0] and (points_ahead(first) or refers(first) or first.rstrip().endswith((":", "\uff1a")))
    if introduces:
        following = paragraphs[1]
        own[1] = labels_a_request(text[following.start : following.end])
    own[0] = own[0] or speaks
    return tuple(span for span, is_own in zip(paragraphs, own, strict=True) if not is_own)


def _paragraphs(text: str) -> Iterator[Span]:
    """Yield the paragraphs of a text; the items of a list below a line are one of their own."""
    bounds = [0]
    for match in BLANK_LINES.finditer(text.rstrip()):
        bounds.append(match.end())
    bounds.append(len(text))
    for start, end in pairwise(bounds):
        item = _ITEM.search(text, start, end)
        if item is None or LIST_MARK.match(text, start):
            yield Span(start, end)
        else:
            yield Span(start, item.end())
            yield Span(item.end(), end)


def _asks_about(paragraph: str) -> bool:
    if LIST_MARK.match(paragraph) or _COUNTED.match(paragraph):
        return labels_a_request(paragraph)
    return (
        begins_a_request(paragraph)
        or holds_a_question(paragraph)
        or points_ahead(paragraph)
        or paragraph.rstrip().endswith((":", "\uff1a"))
    )
