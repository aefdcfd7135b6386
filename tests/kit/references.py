"""Finds broken references in a variant of a prompt, by rules of its own, none of them the perturbations'.

A positional variant holds the lines of the original in another order. It is broken where a word that points
("above", "ci-dessous") has lost what it points at, a lead-in or heading what it introduces, a line its
section, or where a question reads as the end of a document. A format variant is broken where the old format
is still asked for or a field or choice of the answer is gone.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_BACK: Final = re.compile(
    r"\b(?:above|preceding|aforementioned|foregoing|oben|obig\w*|obenstehend\w*|vorstehend\w*|zuvor|arriba"
    r"|anterior(?:es)?|ci-dessus|précédent\w*|sopra|precedent[ei]|hierboven|bovenstaand\w*|acima)\b|上記|前述|上の文|以上の",
    re.IGNORECASE,
)
_AHEAD: Final = re.compile(
    r"\b(?:below|the following|as follows|unten|untenstehend\w*|folgend\w*|nachfolgend\w*|abajo|siguientes?"
    r"|a continuación"
    r"|ci-dessous|suivant(?:e|s|es)?|ci-après"
    r"|di seguito|seguent[ei]|sotto|hieronder|onderstaand\w*|volgende|abaixo"
    r"|seguintes?|a seguir)\b|下記|以下|次の",
    re.IGNORECASE,
)
_OF_CONTEXT: Final = re.compile(
    r"\b(?:do[ck]\w*|kontext\w*|context\w*|cont[eé]\w*|passages?|quellen?|sources?|fuentes?|text\w*|testo|tekst|texte"
    r"|artic\w+"
    r"|artik\w+|fall|case|caso|cas|ticket\w*|e-?mail\w*|courriel|transcri\w+|conversa\w+|bronn?en?)\b"
    r"|文書|資料|文章|本文|情報",
    re.IGNORECASE,
)
_DOCUMENT: Final = re.compile(
    r"\s*(?:\#{1,6}\s*|\*\*)?(?:\[\d+\]|(?:doc\w*|source|passage|artic\w+|artikel|quelle|fuente|fonte?|bron|extrait|snippet"
    r"|excerpt|text|文書|資料)\s*\#?\[?(?:\d+|(?-i:[A-Z]))\b|(?:context|kontext|contexto?|contexte|contesto)\s*[:\uff1a]"
    r"|<(?:doc\w*|source|context|passage|article)\b)",
    re.IGNORECASE,
)
_LEAD: Final = re.compile(r"[:\uff1a][*_\"')]*\s*$")
_MARKED: Final = re.compile(r"\s*(\#{1,6})\s+\S|\s*(?:\*\*|__)[^*_]{1,80}(?:\*\*|__):?\s*$")
_ITEM: Final = re.compile(r"\s*(?:[-*+•–]|\d{1,3}[.)])\s")
_PAIR: Final = re.compile(r"\s*[\w()/&# -]{2,50}[:\uff1a]\s*\S")
_ORDINAL: Final = re.compile(
    r"\b(?:first|second|third|last|erste[nrs]?|zweite[nrs]?|letzte[nrs]?|primer[oa]?|premi(?:er|ère)|prim[oa]|eerste|primeir[oa])"
    r"\s(?:rule|item|bullet|point|document|regel|punkt|dokument|regla|punto|documento|règle|point|regola|punt|regra|ponto)s?\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Line:
    """A line that is not blank."""

    number: int
    """Its place among the lines of the original; alike lines are told apart by their order."""
    text: str
    message: int
    after_blank: bool
    fenced: bool


def _lines(messages: Sequence[str]) -> list[Line]:
    """The lines that are not blank; a fence with all that is in it counts as one."""
    found: list[Line] = []
    for message, text in enumerate(messages):
        blank = True
        fence: list[str] = []
        for line in text.split("\n"):
            opens = line.lstrip().startswith(("```", "~~~"))
            if fence or opens:
                fence.append(line.strip())
                if not opens or len(fence) == 1:
                    continue
            unit, is_fence, fence = "\n".join(fence) or line.strip(), bool(fence), []
            if not unit:
                blank = True
                continue
            found.append(Line(len(found), unit, message, blank, is_fence))
            blank = False
        found += [Line(len(found) + place, one, message, False, True) for place, one in enumerate(fence)]
    return found


def _matched(before: Sequence[Line], after: Sequence[Line]) -> list[Line] | None:
    """The lines of the variant with the numbers of the original; None if they are not the same lines."""
    numbers: dict[str, list[int]] = defaultdict(list)
    for line in reversed(before):
        numbers[line.text].append(line.number)
    found: list[Line] = []
    for line in after:
        if not numbers[line.text]:
            return None
        found.append(Line(numbers[line.text].pop(), line.text, line.message, line.after_blank, line.fenced))
    return found if len(found) == len(before) else None


def _is_document(line: Line) -> bool:
    return _DOCUMENT.match(line.text) is not None


def _introduces(lines: Sequence[Line], place: int) -> bool:
    line = lines[place]
    if line.fenced or _ITEM.match(line.text):
        return False
    if _is_document(line):
        # "Context:" over documents is their heading, over prose it is a document's own label.
        return _LEAD.search(line.text) is not None and _is_document(lines[min(place + 1, len(lines) - 1)])
    return _LEAD.search(line.text) is not None or _MARKED.match(line.text) is not None


def _alike(first: Line, other: Line) -> bool:
    """Whether two lines may stand in for each other: documents, items, pairs of a record."""
    return any(
        rule.match(first.text) and rule.match(other.text) for rule in (_DOCUMENT, _ITEM, _PAIR)
    )  # fmt: skip


def _sections(lines: Sequence[Line]) -> dict[int, int | None]:
    """The number of the nearest heading with marks above each line, documents' own labels apart."""
    found: dict[int, int | None] = {}
    heading: int | None = None
    message = -1
    for line in lines:
        if line.message != message:
            heading, message = None, line.message
        marks = _MARKED.match(line.text)
        if marks and marks[1] and not line.fenced and not _is_document(line):
            heading = line.number
        else:
            found[line.number] = heading
    return found


def _blocks(lines: Sequence[Line]) -> list[list[Line]]:
    """Runs of lines without a blank between them."""
    blocks: list[list[Line]] = []
    for line in lines:
        if line.after_blank or not blocks or blocks[-1][-1].message != line.message:
            blocks.append([])
        blocks[-1].append(line)
    return blocks


def _pointing(before: Sequence[Line], position: dict[int, int]) -> Iterator[str]:
    blocks = _blocks(before)
    now = {place: number for number, place in position.items()}
    of = {line.number: place for place, block in enumerate(blocks) for line in block}
    for line in before:
        if line.fenced or _is_document(line) or _LEAD.search(line.text):
            continue
        for rule, step in ((_BACK, -1), (_AHEAD, 1)):
            match = rule.search(line.text)
            if match is None or _inline(line.text, match, step):
                continue
            own = of[line.number]
            side = blocks[:own] if step < 0 else blocks[own + 1 :]
            near = line.text[max(0, match.start() - 30) : match.end() + 30]
            if _OF_CONTEXT.search(near):
                targets = [block for block in side if _is_document(block[0])] or side[::-step][:0]
            else:
                targets = side[-1:] if step < 0 else side[:1]
            for block in targets:
                here, there = position[line.number], position[block[0].number]
                between = {now[place] for place in range(min(here, there), max(here, there) + 1)}
                apart = between - {line.number for line in (*block, *blocks[own])}
                if (there - here) * step < 0 or (apart and not _OF_CONTEXT.search(near)):
                    yield f"{match[0]!r} points at nothing: {line.text[:60]!r}"
                    break


def _inline(text: str, match: re.Match[str], step: int) -> bool:
    return step > 0 and re.search(r"[(`\"“«「{]", text[match.end() :]) is not None


def _swallowed(before: Sequence[Line], after: Sequence[Line]) -> Iterator[str]:
    """Paragraphs that now stand behind a document, have no mark of their own and ask for nothing."""
    known = {(above[0].number, below[0].number) for above, below in pairwise(_blocks(before))}
    ran_on = {below[0].number for above, below in pairwise(_blocks(before)) if _is_document(above[0])}
    for above, below in pairwise(_blocks(after)):
        first = below[0]
        if not _is_document(above[0]) or first.number in ran_on or (above[0].number, first.number) in known:
            continue
        if above[0].message != first.message or above[-1].text.startswith(("</", "```", '"""')):
            continue
        asks = first.text.endswith(("?", "\uff1f")) or _BACK.search(first.text) or _PAIR.match(first.text)
        orders = re.match(
            r"(?:[A-Z][a-zé]+(?:e|ez|en)?|[A-Z]\w+) ", first.text
        ) and not first.text.startswith(("The ", "You "))
        if not (
            asks
            or orders
            or _introduces(below, 0)
            or _ITEM.match(first.text)
            or first.text > "\u3000"
            or _is_document(first)
        ):
            yield f"reads as the end of a document: {first.text[:60]!r}"


def broken_positions(before: Sequence[str], after: Sequence[str]) -> list[str]:
    """What a positional variant breaks, in words; empty if nothing.

    Args:
        before: The messages of the original.
        after: Those of the variant.
    """
    old = _lines(before)
    new = _matched(old, _lines(after))
    if new is None:
        return ["the variant does not hold the same lines"]
    position = {line.number: place for place, line in enumerate(new)}
    faults: list[str] = []
    for place, line in enumerate(old):
        if not _introduces(old, place):
            continue
        here = position[line.number]
        behind = new[here + 1] if here + 1 < len(new) else None
        wanted = old[place + 1] if place + 1 < len(old) else None
        if wanted is None or (
            behind is not None and (behind.number == wanted.number or _alike(behind, wanted))
        ):
            continue
        faults.append(f"introduces something else: {line.text[:60]!r}")
    sections, now = _sections(old), _sections(new)
    faults += [
        f"stands under another heading: {line.text[:60]!r}"
        for line in old
        if line.number in now and now[line.number] != sections.get(line.number) and not _is_document(line)
    ]
    faults += _pointing(old, position)
    faults += _swallowed(old, new)
    items = [line.number for line in old if _ITEM.match(line.text) or _is_document(line)]
    if sorted(items, key=position.__getitem__) != items and any(
        _ORDINAL.search(line.text) for line in old if not _is_document(line)
    ):
        faults.append("the prompt speaks of an item by its place")
    return faults


_NAMED: Final = {
    "json": r"json", "yaml": r"ya?ml", "xml": r"xml", "html": r"html", "markdown": r"markdown",
    "free": r"prose|flie(?:ß|ss)text|texto corrido|texte suivi|testo discorsivo|lopende tekst|文章|普通文字",
}  # fmt: skip
_QUOTED_KEY: Final = re.compile(r"[\"']([^\"'\n]{1,60})[\"']\s*:")
_SCHEMA_WORDS: Final = frozenset(
    "$schema type properties required description items enum title additionalProperties".split()
)
"""Keys of a JSON Schema, which are none of the answer."""
_CHOICES: Final = re.compile(r"[\w-]+(?:\s?\|\s?[\w-]+)+")
_REFUSED: Final = re.compile(
    r"\b(?:no|not|without|never|avoid|kein\w*|ohne|sin|sans|senza|geen|zonder|sem|instead of|code)\b",
    re.IGNORECASE,
)


def broken_format(before: Sequence[str], after: Sequence[str], target: str) -> list[str]:
    """What a variant that asks for another format breaks, in words; empty if nothing.

    Args:
        before: The messages of the original.
        after: Those of the variant.
        target: The format asked for: "json", "yaml", "xml", "html", "markdown" or "free".
    """
    old, new = "\n".join(before), "\n".join(after)
    faults: list[str] = []
    if not re.search(_NAMED[target], new, re.IGNORECASE):
        faults.append(f"{target} is not asked for")
    kept = set(old.split("\n"))
    said = [line for line in new.split("\n") if line not in kept]
    for other, name in _NAMED.items():
        if other in (target, "free"):
            continue
        left = [
            line
            for line in said
            if re.search(rf"\b{name}\b", line, re.IGNORECASE) and not _REFUSED.search(line)
        ]
        faults += [f"{other} is still asked for: {line[:60]!r}" for line in left]
    changed = "\n".join(line for line in old.split("\n") if line not in set(new.split("\n")))
    plain = re.sub(r"[\W_]+", " ", new).lower()
    schema = _SCHEMA_WORDS if '"properties"' in changed else frozenset()
    faults += [
        f"the field {key!r} is gone"
        for key in _QUOTED_KEY.findall(changed)
        if key not in schema and re.sub(r"[\W_]+", " ", key).strip().lower() not in plain
    ]
    spaced = re.sub(r"\s+", "", new)
    faults += [
        f"the choice {choice!r} is gone"
        for choice in _CHOICES.findall(changed)
        if re.sub(r"\s+", "", choice) not in spaced
    ]
    return faults


def unbound(before: Sequence[str], after: Sequence[str], bonds: Sequence[tuple[str, str, str]]) -> list[str]:
    """Which of the relations stated with a prompt a variant breaks.

    Args:
        before: The messages of the original.
        after: Those of the variant.
        bonds: Anchor, what is bound to it, and where that stands: "follows" and "precedes" mean directly,
            "after" and "before" anywhere.
    """
    old, new = "\n\n".join(before), "\n\n".join(after)
    faults: list[str] = []
    for anchor, bound, relation in bonds:
        first, second = (anchor, bound) if relation in {"follows", "after"} else (bound, anchor)
        kept = new.find(first) < new.find(second)
        if kept and relation in {"follows", "precedes"}:
            # Items of the same list may stand between
            block = next(paragraph for paragraph in re.split(r"\n\s*\n", old) if second in paragraph)
            kept = all(
                line in block or line in _between(old, first, second)
                for line in _between(new, first, second).split("\n")
            )
        if not kept:
            faults.append(f"{bound[:40]!r} no longer {relation} {anchor[:40]!r}")
    return faults


def _between(text: str, first: str, second: str) -> str:
    start = text.find(first) + len(first)
    return text[start : text.find(second, start)]
