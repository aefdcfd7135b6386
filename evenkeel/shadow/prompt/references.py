"""Words by which the parts of a prompt are told apart, and point at one another, in nine languages.

They are in `references.toml`.
"""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import Final

_TABLES: Final = tomllib.loads(files(__package__).joinpath("references.toml").read_text("utf-8"))

LANGUAGES: Final = frozenset(_TABLES)
"""Languages whose words for orders are known."""


@cache
def _pattern(group: str) -> str:
    """The words of a group in all languages; those of scripts without blanks need no edges."""
    spaced: list[str] = []
    spaceless: list[str] = []
    for table in _TABLES.values():
        words = spaceless if table.get("spaceless") else spaced
        words.extend(table[group])
    return rf"(?:(?<!\w)(?:{'|'.join(spaced)})(?!\w)|{'|'.join(spaceless)})"


@cache
def _compiled(group: str) -> re.Pattern[str]:
    return re.compile(_pattern(group), re.IGNORECASE)


@cache
def _begins(group: str) -> re.Pattern[str]:
    return re.compile(rf"[\W_]*{_pattern(group)}", re.IGNORECASE)


def points_back(text: str) -> bool:
    """Return whether a word of a text points at something before it: "above", "ci-dessus", 上記."""
    return _compiled("back").search(text) is not None


def refers(text: str) -> bool:
    """Return whether a word of a text may speak of something named elsewhere: "these", "it", この."""
    return _compiled("this").search(text) is not None


def points_ahead(text: str) -> bool:
    """Return whether a word of a text speaks of something behind it: "below", "folgende", 下記."""
    return _compiled("ahead").search(text) is not None


def points(text: str) -> bool:
    """Return whether any word of a text speaks of something elsewhere."""
    return points_back(text) or points_ahead(text) or refers(text)


def points_by_order(text: str) -> bool:
    """Return whether a text speaks of the places of items or documents among others: "the second rule"."""
    return _compiled("order").search(text) is not None


def speaks_of_output(line: str) -> bool:
    """Return whether a line speaks of the form of the answer: "Format of the summary:"."""
    return _compiled("output").search(line) is not None


def orders(paragraph: str) -> bool:
    """Return whether a paragraph gives an order, or refers back to its subject."""
    return begins_a_request(paragraph) or points_back(paragraph)


def begins_a_request(paragraph: str) -> bool:
    """Return whether a paragraph begins with the words of an order or a question, or their label."""
    return labels_a_request(paragraph) or _begins("request").match(paragraph) is not None


def asks(paragraph: str) -> bool:
    """Return whether a paragraph is a question or gives an order."""
    return holds_a_question(paragraph) or orders(paragraph)


def ends_in_a_question(text: str) -> bool:
    """Return whether a text ends with a question mark."""
    return text.rstrip().endswith(("?", "\uff1f", "؟"))


def leads_on(text: str) -> bool:
    """Return whether a text ends with a colon, so that something belongs behind it."""
    return text.rstrip().endswith((":", "\uff1a"))


def holds_a_question(paragraph: str) -> bool:
    """Return whether a paragraph begins or ends with a question."""
    return ends_in_a_question(paragraph) or _QUESTION.match(paragraph) is not None


_QUESTION: Final = re.compile(r"[^.!?:\n]{1,300}\?(?=\s)|[^\u3002\uff01\uff1f\uff1a\n]{1,300}\uff1f")


# A longer line before a document is a paragraph of its own.
_LONGEST_LEAD: Final = 200


def introduces_context(line: str) -> bool:
    """Return whether a line introduces a text to work on: "Here is the chat transcript:", "Fix this:"."""
    if not leads_on(line.rstrip(" *_\n")) or len(line) > _LONGEST_LEAD:
        return False
    shows = points_ahead(line) or refers(line) or _begins("shows").match(line) is not None
    return shows and not speaks_of_output(line)


def labels_a_request(text: str) -> bool:
    """Return whether a text begins with a label such as "Question:", and is no transcript."""
    return _labelled().match(text) is not None and _ANSWERED.search(text) is None


def end_of_label(text: str) -> int:
    """Return where a label such as "Question:" ends that a text begins with; 0 without one."""
    label = _labelled().match(text) if labels_a_request(text) else None
    return label.end() if label is not None and label.end() < len(text.rstrip()) else 0


# Line of the one who answered the customer, or the user.
_ANSWERED: Final = re.compile(
    r"\n[ \t]*(?:agent|assistant|bot|chatbot|support|advisor|ai)\b[^\n:]{0,20}:[ ]*\S", re.IGNORECASE
)


@cache
def _labelled() -> re.Pattern[str]:
    return re.compile(rf"[\s#*]*{_pattern('label')}(?:\s?\d+)?[*\s]*(?:[:\uff1a]|\n|\Z)", re.IGNORECASE)
