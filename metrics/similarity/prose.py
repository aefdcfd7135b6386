"""Which pairs of answers are read no differently for their structure, so that it need not be looked for.

To read a document's structure takes longer than everything else that the cheap rating does, and most
documents are prose under headings and behind bullets: there is little in them to fill in.
"""

from __future__ import annotations

import re

from evenkeel.metrics.similarity.words import words
from evenkeel.metrics.structured.markdown_reader import construct_count
from evenkeel.metrics.structured.reading import looks_like

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
