"""Words by which one part of a prompt points at another, in nine languages; they are in `references.toml`.

"Above", "ci-dessous" and 下記 bind parts together: where a move would break such a reference, it is not made.
"""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

Direction = Literal["back", "ahead"]
Target = Literal["context", "output", "any"]
"""Kind of text that a pointing word refers to, as far as the words tell."""

_TABLES: Final = tomllib.loads(files(__package__).joinpath("references.toml").read_text("utf-8"))
_NEAR: Final = 40
"""Characters around a pointing word in which its target is named."""
_IN_LINE: Final = re.compile(r"[(`\"“«「<{]|[:\uff1a][ \t]*[^\s*_]")
"""Start of a target in the same line: "in the following format (id)"."""
_ENDS: Final = re.compile(r"[\n.!?。:;,\uff0c\u3001]")
"""End of the words near a pointing word."""
_WORD: Final = re.compile(r"[^\W\d_]{4,}")


class Reference(NamedTuple):
    """A pointing word."""

    start: int
    end: int
    direction: Direction
    target: Target


@cache
def _pattern(group: str) -> str:
    """The words of a group in all languages; those of scripts without blanks need no edges."""
    spaced = [word for table in _TABLES.values() if not table.get("spaceless") for word in table[group]]
    spaceless = [word for table in _TABLES.values() if table.get("spaceless") for word in table[group]]
    return rf"(?:(?<!\w)(?:{'|'.join(spaced)})(?!\w)|{'|'.join(spaceless)})"


@cache
def _compiled(group: str) -> re.Pattern[str]:
    return re.compile(_pattern(group), re.IGNORECASE)


@cache
def _begins(group: str) -> re.Pattern[str]:
    return re.compile(rf"[\W_]*{_pattern(group)}", re.IGNORECASE)


@cache
def _pointers() -> re.Pattern[str]:
    return re.compile(rf"(?P<back>{_pattern('back')})|(?P<ahead>{_pattern('ahead')})", re.IGNORECASE)


def references(text: str) -> Iterator[Reference]:
    """Yield the pointing words of a text, in order, except those whose target is in that text.

    "The rules above" points inside if a word of it ("rules") stands before it in the text. A line that ends
    in a colon is a lead-in, which points at the next thing anyway.
    """
    for match in _pointers().finditer(text):
        direction: Direction = "back" if match.lastgroup == "back" else "ahead"
        near = _around(text, match.start(), match.end())
        if _names(text, match, near):
            continue
        target: Target = "any"
        if _compiled("output").search(near):
            target = "output"
        elif _compiled("context").search(near):
            target = "context"
        if direction == "ahead" and _shown_behind(text, match.end()):
            continue
        yield Reference(match.start(), match.end(), direction, target)


def _shown_behind(text: str, end: int) -> bool:
    """Return whether the target directly follows a pointing word: after a colon, or as a structure."""
    line_end = text.find("\n", end)
    line = text[end : line_end if line_end >= 0 else len(text)]
    if _IN_LINE.search(line) or line.rstrip(" *_").endswith((":", "\uff1a")):
        return True
    return line_end >= 0 and text[line_end : line_end + _NEAR].lstrip()[:1] in set("{[<`-#|")


def _around(text: str, start: int, end: int) -> str:
    """Return the words near a pointing word in its own clause."""
    before = _ENDS.split(text[max(0, start - _NEAR) : start])[-1]
    behind = _ENDS.split(text[end : end + _NEAR], maxsplit=1)[0]
    return " ".join((*before.split()[-2:], *behind.split()[:3]))


def _names(text: str, pointer: re.Match[str], near: str) -> bool:
    """Return whether a word near a pointing word also occurs on the side it points to, in another line."""
    if pointer.lastgroup == "back":
        line = text.rfind("\n", 0, pointer.start()) + 1
        said = text[max(0, line - _LONGEST_LOOK) : line].lower()
    else:
        line = text.find("\n", pointer.end())
        said = "" if line < 0 else text[line : line + _LONGEST_LOOK].lower()
    return any(re.search(rf"\b{re.escape(stem)}", said) for stem in _stems(near))


_LONGEST_LOOK: Final = 2_000
_LONGEST_LEAD: Final = 200


def _stems(near: str) -> set[str]:
    """Return the words that may be a target: no verb of a request, and no word of every other sentence."""
    words = (word for word in _WORD.findall(near) if not _compiled("request").fullmatch(word))
    return {word.lower().removesuffix("s") for word in words} - _EVERYDAY


_EVERYDAY: Final = frozenset(word for table in _TABLES.values() for word in table.get("everyday", ()))


def points_by_order(text: str) -> bool:
    """Return whether a text speaks of the places of items or documents among others: "the second rule"."""
    return _compiled("order").search(text) is not None


def goes_on(item: str) -> bool:
    """Return whether an item begins like one that goes on with the one before it: "otherwise", "zuletzt"."""
    return _begins("follows").match(item) is not None or _compiled("then").search(item) is not None


def speaks_of_output(line: str) -> bool:
    """Return whether a line speaks of the form of the answer: "Format of the summary:"."""
    return _compiled("output").search(line) is not None


def announces_an_order(line: str) -> bool:
    """Return whether the line above a list says that its order means something."""
    return _compiled("announces").search(line) is not None


def orders(paragraph: str) -> bool:
    """Return whether a paragraph gives an order, or refers back to its subject."""
    return (
        labels_a_request(paragraph)
        or _begins("request").match(paragraph) is not None
        or any(one.direction == "back" for one in references(paragraph))
    )


def asks(paragraph: str) -> bool:
    """Return whether a paragraph is a question or gives an order."""
    return paragraph.rstrip().endswith(("?", "\uff1f")) or orders(paragraph)


def introduces_context(line: str) -> bool:
    """Return whether a line introduces a text to work on, such as "Here is the chat transcript:"."""
    if not line.rstrip(" *_\n").endswith((":", "\uff1a")) or len(line) > _LONGEST_LEAD:
        return False
    shows = _compiled("ahead").search(line) is not None or _begins("shows").match(line) is not None
    words = line.rstrip(" *_:\uff1a\n")
    return (
        shows and _compiled("given").search(words) is not None and _compiled("output").search(words) is None
    )


def labels_a_request(line: str) -> bool:
    """Return whether a line begins with a label such as "Question:"."""
    return _labelled().match(line) is not None


@cache
def _labelled() -> re.Pattern[str]:
    return re.compile(rf"[\s#*]*{_pattern('label')}(?:\s?\d+)?[*\s]*(?:[:\uff1a]|\n|\Z)", re.IGNORECASE)
