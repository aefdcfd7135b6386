"""The catalogue: what a simulated support case can be about.

Every topic tells one incident from two sides, *first* and *second*. A case names both; a summary may
tell either and is equally faithful and complete. That is what makes a content shift without a change
of quality possible. The clauses hold no digits, quotes or capitals, so that the identifiers around
them are the only details of a case, and a perturbed prompt is answered in the catalogue's spelling.
"""

from __future__ import annotations

import tomllib
from importlib.resources import files
from typing import Any, Final, NamedTuple


class IncidentSide(NamedTuple):
    """A side of an incident: three clauses without a final mark."""

    problem: str
    event: str
    fix: str


class Topic(NamedTuple):
    """A kind of incident."""

    name: str
    """Two or three words; also the key."""
    first: IncidentSide
    second: IncidentSide


_TABLES: Final = tomllib.loads(files(__package__).joinpath("topics.toml").read_text("utf-8"))


def _topic(table: dict[str, Any]) -> Topic:
    return Topic(table["name"], IncidentSide(*table["first"]), IncidentSide(*table["second"]))


TOPICS: Final = tuple(map(_topic, _TABLES["topic"]))
"""All topics, in no particular order."""
