"""The identifiers of a case, read out of a prompt by their shape alone.

Shapes are what a perturbation must leave alone (ticket numbers, hosts, versions, hexadecimal codes,
dates, times, plain numbers), so the same details are read from a prompt and from any variant of it. Where
a kind occurs several times, the smallest is the first one: order in the text does not count.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_SHAPES: Final = re.compile(
    # The lookahead passes over words without a digit at once; the alternatives are in order of precedence.
    r"""
    \b (?= [A-Za-z_.-]{0,16} [0-9] ) (?:
        (?P<host>    [A-Z]{3} - [A-Z]{2,4} - [0-9]{2} \b )
      | (?P<ticket>  INC-[0-9]{3,8} \b )
      | (?P<change>  CHG-[0-9]{3,8} \b )
      | (?P<article> KB[0-9]{4,9} \b )
      | (?P<code>    0x[0-9A-Fa-f]{4,16} \b )
      | (?P<date>    [0-9]{4}-[0-9]{2}-[0-9]{2} \b )
      | (?P<time>    [0-9]{2}:[0-9]{2} \b )
      | (?P<version> [0-9]{1,4} \. [0-9]{1,4} \. [0-9]{1,4} \b )
      | (?P<other>   (?: [A-Za-z]+ [-_.]? [0-9] | [0-9]+ (?: [-_.:/] [A-Za-z0-9] | [A-Za-z] ) ) [\w.:/-]* )
      | (?P<people>  [0-9]{1,4} \b )
    )
    """,
    re.VERBOSE | re.ASCII,
)


# "Doc 1", "Document [2]", and the numbers of list items: they name a place in the prompt, not a fact.
_PLACES: Final = re.compile(
    r"\b(?:Doc|Document|Source)[ ]?\[?[0-9]{1,3}\b | ^[ \t]*[0-9]{1,2}[.)][ \t]",
    re.IGNORECASE | re.VERBOSE | re.MULTILINE,
)


class SideDetails(NamedTuple):
    """The details that belong to one side of an incident; "" where the prompt has none."""

    host: str
    version: str
    code: str
    time: str
    people: str
    date: str


class Details(NamedTuple):
    """All identifiers that an answer can quote; "" where the prompt has none."""

    ticket: str
    change: str
    article: str
    first: SideDetails
    second: SideDetails
    """Empty fields where the prompt holds only one value of a kind."""


def read_details(text: str) -> Details:
    """The identifiers in a text, in any order and with anything between them.

    Plain numbers are ordered by value, versions by their parts, everything else as text. The first side
    gets the smallest value of each kind and the second side the largest, if there are two.
    """
    found: dict[str, set[str]] = {}
    for match in _SHAPES.finditer(_PLACES.sub(" ", text)):
        kind = match.lastgroup
        assert kind is not None
        found.setdefault(kind, set()).add(match.group())
    low: list[str] = []
    high: list[str] = []
    for kind in SideDetails._fields:
        values = sorted(found.get(kind, ()), key=_order)
        low.append(values[0] if values else "")
        high.append(values[-1] if len(values) > 1 else "")
    return Details(
        ticket=min(found.get("ticket", ()), default=""),
        change=min(found.get("change", ()), default=""),
        article=min(found.get("article", ()), default=""),
        first=SideDetails(*low),
        second=SideDetails(*high),
    )


def _order(value: str) -> tuple[tuple[int, ...], str]:
    """Sort key: numbers and versions by value, the rest as text."""
    parts = value.split(".")
    return (tuple(int(part) for part in parts) if all(part.isdecimal() for part in parts) else (), value)
