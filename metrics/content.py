"""What two answers say, whatever form they say it in.

Reading a document's structure takes longer than everything else in the heuristic rating, and most
documents are prose under headings and bullets with hardly any slots to fill, so pairs that read the same
with and without their structure are sorted out first (`are_prose`).
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenkeel.metrics.similarity.normalised import normalise
from evenkeel.metrics.similarity.words import same_word, words
from evenkeel.metrics.structured.alignment import align
from evenkeel.metrics.structured.html import construct_count
from evenkeel.metrics.structured.json_rouge import value_rouge
from evenkeel.metrics.structured.reading import Structure, looks_like, read_structure
from evenkeel.metrics.structured.tree import TEXT_KEY, Tree, UnreadableError, flat

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenkeel.core.pair import Answer, Format, Pair
    from evenkeel.metrics.structured.alignment import ValuePair


LEAST_SLOTS = 3
"""Short values at the same place that make a record of two documents."""
SLOT_WORDS = 4
"""A value of up to so many words is a slot to fill; longer ones are prose."""

_MARKED = re.compile(r"[{\[<|`~&\r\ue000\ue001]")
"""What JSON, markup, tables, fences and links are not without, and what may stand for less than it says."""
_KEY_ENDS = ":*_"


def are_prose(reference: str, candidate: str) -> bool:
    """Whether neither text is data or a page, and they cannot have `LEAST_SLOTS` slots in common.

    Right whenever it says so: what it is not certain of, it leaves to the readers.
    """
    both = (reference, candidate)
    if any(_MARKED.search(text) or looks_like(text.strip(), "yaml") for text in both):
        return False
    return not all(map(construct_count, both)) or any(_short_lines(text) < LEAST_SLOTS for text in both)


def _short_lines(text: str) -> int:
    """At most so many values of up to `SLOT_WORDS` words has the text as Markdown.

    Every value has a line of its own, or begins on one: its own text, the key it stands behind, or the
    heading that is followed by nothing. A number before an item is no word of it.
    """
    return sum(
        "#" in line or len(words(_behind_key(line))) <= SLOT_WORDS + 1
        for line in text.split("\n")
        if line and not line.isspace()
    )


def _behind_key(line: str) -> str:
    """What stands behind the last mark that a key can end with, all of the line if there is none."""
    return line[max(map(line.rfind, _KEY_ENDS)) + 1 :]


_RULE_MARKS = frozenset("|:- \t")
_DATA = ("json", "yaml", "xml")
"""Formats whose keys are the form's words and not the answer's."""


@dataclass(frozen=True, slots=True)
class Side:
    """One answer's content."""

    text: str
    """In words, without marks of its format."""
    record: str
    """The same for whoever reads values one by one: JSON of the tree, else the text."""


@dataclass(frozen=True, slots=True)
class Content:
    """Two answers, read so that they can be compared in words."""

    reference: Side
    candidate: Side
    values: tuple[ValuePair, ...] | None
    """Values that answer each other, where at least one answer is data, or both have a structure."""

    is_data: bool
    """Whether at least one answer is data."""

    @property
    def json_rouge(self) -> float | None:
        """ROUGE-L F1 over aligned values, in [0, 1]; None if neither answer is data."""
        if self.values is None or not self.is_data:
            return None
        return value_rouge(self.values)

    @property
    def slots(self) -> float | None:
        """Share of the short values at the same place that agree, typos aside; None without any.

        Values without counterpart do not count: other keys are another form, and what was added or
        lost shows in the details. In documents fewer than three are no record.
        """
        short = [
            (pair.reference, pair.candidate)
            for pair in self.values or ()
            if pair.reference is not None and pair.candidate is not None and _is_slot(pair)
        ]
        if len(short) < (1 if self.is_data else LEAST_SLOTS):
            return None
        return sum(_same_slot(left, right) for left, right in short) / len(short)


def read_content(pair: Pair) -> Content:
    """Read both answers.

    - Data (JSON, YAML, XML) on either side: both by their values, keys left out, whatever the
      other side's format is; a free text stays as it is.
    - HTML on both sides, or on one and with nothing around it: both as documents, headings and
      keys included. A text that quotes some HTML stays a text.
    - Otherwise the texts as they are: comparing words sees no Markdown.

    What is too large or too deep to be read as a structure is taken as free text.
    """
    if pair.wanted.format in (None, "free") and are_prose(pair.reference.text, pair.candidate.text):
        texts = pair.reference.text, pair.candidate.text
        return Content(Side(texts[0], texts[0]), Side(texts[1], texts[1]), None, is_data=False)
    reference = _read(pair.reference, None)
    candidate = _read(pair.candidate, pair.wanted.format)
    if candidate is None and reference is not None:
        # What is small or broken may be recognised by what it should be.
        candidate = _read(pair.candidate, reference.format)
    formats = {side.format for side in (reference, candidate) if side}
    is_data = bool(formats.intersection(_DATA))
    is_page = formats == {"html"} or any(map(_is_page, (reference, candidate)))
    values = None
    if is_data or (reference is not None and candidate is not None):
        values = tuple(align(_tree(pair.reference, reference), _tree(pair.candidate, candidate)))
    read = _by_values if is_data else _as_document if is_page else _as_it_is
    return Content(read(pair.reference, reference), read(pair.candidate, candidate), values, is_data)


def _read(answer: Answer, wanted: Format | None) -> Structure | None:
    found = read_structure(answer.text, wanted)
    return None if isinstance(found, UnreadableError) else found


def _is_page(found: Structure | None) -> bool:
    return found is not None and found.format == "html" and found.alone


def _tree(answer: Answer, found: Structure | None) -> Tree:
    return answer.text.strip() if found is None else found.tree


def _by_values(answer: Answer, found: Structure | None) -> Side:
    if found is None:
        return Side(answer.text, answer.text)
    text = flat(found.tree)
    return Side(text, text if isinstance(found.tree, str) else json.dumps(found.tree, ensure_ascii=False))


def _as_document(answer: Answer, found: Structure | None) -> Side:
    text = answer.text if found is None else "\n".join(_lines(found.tree))
    return Side(text, text)


def _as_it_is(answer: Answer, found: Structure | None) -> Side:
    is_markdown = found is not None and found.format == "markdown"
    return Side(answer.text, _without_table_heads(answer.text) if is_markdown else answer.text)


def _without_table_heads(text: str) -> str:
    """Markdown without the first rows of its tables: they are keys, and capitals there name nothing."""
    lines = text.split("\n")
    below = [*lines[1:], ""]
    return "\n".join(
        line for line, under in zip(lines, below, strict=True) if "|" not in line or not _is_rule(under)
    )


def _is_rule(line: str) -> bool:
    return "-" in line and _RULE_MARKS.issuperset(line)


def _lines(tree: Tree) -> Iterator[str]:
    if isinstance(tree, str):
        yield tree
    elif isinstance(tree, dict):
        for key, value in tree.items():
            if isinstance(value, str) and key != TEXT_KEY:
                yield f"{key}: {value}"
                continue
            if key != TEXT_KEY:
                yield f"{key}:"
            yield from _lines(value)
    else:
        for item in tree:
            yield from _lines(item)


def _is_slot(pair: ValuePair) -> bool:
    return all(len(words(value)) <= SLOT_WORDS for value in pair if value is not None)


def _same_slot(left: str, right: str) -> bool:
    if normalise(left) == normalise(right):
        return True
    one, other = words(left), words(right)
    return len(one) == len(other) > 0 and all(map(same_word, one, other))
