"""Answers before and after a change that nobody announced: examples, and how answers begin.

Both are read when somebody looks at a report, from what the archive and the references still hold, so nothing
of a prompt or an answer is kept a second time.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import asdict, dataclass
from math import sqrt
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from evenkeel.stores.sealing import SealError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from evenkeel.core.pair import Answer
    from evenkeel.monitor.changes.silent_report import SilentSide
    from evenkeel.monitor.detect.references import ReferenceEvidence
    from evenkeel.stores.archive import ArchivedExchange, ExchangeArchive
    from evenkeel.stores.references import KeptAnswer, Reference, ReferenceStore

MOST_EXAMPLES: Final = 4
_MOST_PHRASES: Final = 6
_WORDS: Final = (3, 2, 1)
"""Lengths of the phrases, in words."""
_FEWEST: Final = 3
"""Answers that a phrase has to begin on one side."""
_SURE: Final = 3.0
"""Standard errors by which its share has to differ."""
_MOSTLY: Final = 0.75
_WORD: Final = re.compile(r"\S+")
_LONGEST: Final = 60
"""Characters of a phrase."""


class BothSides(NamedTuple):
    """Two answers to one reference prompt."""

    before: KeptAnswer
    after: KeptAnswer


@dataclass(frozen=True, slots=True)
class Example:
    """An answer before and one after."""

    route: str
    request: str
    """Body of the request, as JSON text."""
    before: Answer
    after: Answer
    later_request: str = ""
    """The request that `after` answers; "" if it is the very same one, as for reference prompts."""


@dataclass(frozen=True, slots=True)
class Phrase:
    """How some answers begin. Shares are in [0, 1]."""

    text: str
    before: float
    after: float


@dataclass(frozen=True, slots=True)
class Exhibits:
    """What can still be shown of a change."""

    examples: tuple[Example, ...] = ()
    """At most four; reference prompts before ordinary answers, the ones that moved furthest first."""
    phrases: tuple[Phrase, ...] = ()
    """Beginnings that became more or less frequent, the most changed first."""
    compared: tuple[int, int] = (0, 0)
    """Answers of the archive before and after that phrases were looked for in."""
    unreadable: bool = False
    """Whether the key that opens them is missing."""


def exhibits(silent: SilentSide, references: ReferenceStore | None, archive: ExchangeArchive) -> Exhibits:
    """What the stores hold of both sides. Blocks on storage.

    Args:
        silent: The evidence.
        references: None where none are kept.
        archive: Sampled exchanges.
    """
    try:
        found = [*_of_references(silent, references), *_of_traits(silent, archive)][:MOST_EXAMPLES]
        answers = _answers(silent, archive)
    except SealError:
        return Exhibits(unreadable=True)
    before, after = answers
    return Exhibits(tuple(found), tuple(phrases(before, after)), (len(before), len(after)))


def plain(
    shown: Exhibits, prompt: Callable[[str], str], answer: Callable[[Answer], str]
) -> dict[str, list[dict[str, Any]]]:
    """Examples and phrases as JSON values.

    Args:
        shown: what the stores hold.
        prompt: text of the body of a request.
        answer: text of an answer and its calls.
    """
    examples = [
        {
            "route": one.route,
            "prompt": prompt(one.request),
            "before": answer(one.before),
            "later_prompt": prompt(one.later_request) if one.later_request else None,
            "after": answer(one.after),
        }
        for one in shown.examples
    ]
    return {"examples": examples, "phrases": [asdict(one) for one in shown.phrases]}


def both_sides(reference: Reference, evidence: ReferenceEvidence) -> BothSides | None:
    """The last answer before a change and the first since; None if one of them is not kept (any more)."""
    kept = sorted((*reference.former, *reference.answers), key=lambda one: one.at)
    before = [one for one in kept if one.at <= evidence.after]
    after = [one for one in kept if one.at >= evidence.since]
    return BothSides(before[-1], after[0]) if before and after else None


def _of_references(silent: SilentSide, references: ReferenceStore | None) -> Iterator[Example]:
    if references is None:
        return
    for place in silent.routes:
        for name in place.references.references if place.references is not None else ():
            reference = references.find(name)
            assert place.references is not None
            sides = None if reference is None else both_sides(reference, place.references)
            if reference is not None and sides is not None:
                yield Example(place.route, reference.request, sides.before.answer, sides.after.answer)


def _of_traits(silent: SilentSide, archive: ExchangeArchive) -> Iterator[Example]:
    for place in silent.routes:
        if place.traits is None:
            continue
        for earlier, later in zip(place.traits.before, place.traits.after, strict=False):
            before, after = archive.find(earlier), archive.find(later)
            if before is not None and after is not None:
                other = after.request if after.request != before.request else ""
                yield Example(place.route, before.request, before.answer, after.answer, other)


def _answers(silent: SilentSide, archive: ExchangeArchive) -> tuple[list[str], list[str]]:
    """Texts of the archived answers on both sides, of the requested model where requests name one."""
    before: list[str] = []
    after: list[str] = []
    for place in silent.routes:
        for exchange in archive.latest(route=place.route):
            if exchange.answer.text.strip() and _asks(exchange, silent.requested_model):
                if exchange.received_at <= place.after:
                    before.append(exchange.answer.text)
                elif exchange.received_at >= place.since:
                    after.append(exchange.answer.text)
    return before, after


def _asks(exchange: ArchivedExchange, model: str) -> bool:
    """Whether a request names a model, read without parsing all of it."""
    return not model or f'"{model}"' in exchange.request


def phrases(before: Sequence[str], after: Sequence[str]) -> list[Phrase]:
    """Beginnings of one to three words whose share differs by three standard errors, the most changed first.

    Of phrases that begin alike, the longer one stands where it holds most of the change, else the shorter.
    """
    if not before or not after:
        return []
    found: list[Phrase] = []
    for words in _WORDS:
        old, new = _openings(before, words), _openings(after, words)
        for text in old.keys() | new.keys():
            one = Phrase(text, old[text] / len(before), new[text] / len(after))
            if max(old[text], new[text]) >= _FEWEST and _moved(one, len(before), len(after)):
                longer = [other for other in found if other.text.startswith(f"{text} ")]
                if not any(abs(_change(other)) >= _MOSTLY * abs(_change(one)) for other in longer):
                    found = [other for other in found if other not in longer] + [one]
    return sorted(found, key=lambda one: (-abs(_change(one)), one.text))[:_MOST_PHRASES]


def _openings(texts: Iterable[str], words: int) -> Counter[str]:
    """How many answers begin with each phrase of so many words; shorter answers begin with none."""
    found: Counter[str] = Counter()
    for text in texts:
        begins = _WORD.findall(text[: 4 * _LONGEST])[:words]
        if len(begins) == words:
            found[" ".join(begins)[:_LONGEST]] += 1
    return found


def _change(phrase: Phrase) -> float:
    return phrase.after - phrase.before


def _moved(phrase: Phrase, n_before: int, n_after: int) -> bool:
    """By a comparison of two shares, half an answer more on each side so that none is without error."""
    shares = [
        (share * n + 0.5) / (n + 1) for share, n in ((phrase.before, n_before), (phrase.after, n_after))
    ]
    variance = sum(share * (1 - share) / n for share, n in zip(shares, (n_before, n_after), strict=True))
    return abs(_change(phrase)) >= _SURE * sqrt(variance)
