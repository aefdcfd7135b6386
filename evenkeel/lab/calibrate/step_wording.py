"""Steps in other words, by tables of English synonyms (`steps.toml`)."""

from __future__ import annotations

import re
import tomllib
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable, Mapping, Sequence

_TABLES: Final[dict[str, Any]] = tomllib.loads(files(__package__).joinpath("steps.toml").read_text("utf-8"))
# Words in lower case, as they stand at the beginning of a step or behind "and", "then" or "to".
_VERBS: Final[Mapping[str, Sequence[str]]] = _TABLES["verbs"]
# Words in lower case, wherever they stand in a step.
_ANYWHERE: Final[Mapping[str, Sequence[str]]] = _TABLES["anywhere"]
# Sentences around a step in which no known phrase is found.
_FRAMES: Final[Sequence[str]] = _TABLES["frames"]
# Words of which a step without a known phrase has at least one, if it is in English.
_ENGLISH: Final[frozenset[str]] = frozenset(_TABLES["english"])
FOREIGN_STEPS: Final[tuple[str, ...]] = tuple(_TABLES["foreign"])
"""Steps of no office, shop or machine, so that they are foreign to nearly every workflow."""


def _any_of(phrases: Iterable[str]) -> str:
    """A pattern for whole phrases, longer ones first."""
    return "(?:" + "|".join(sorted(map(re.escape, phrases), key=len, reverse=True)) + r")(?![\w'’-])"


_PHRASE: Final = re.compile(
    rf"(?:^|(?<=\band )|(?<=\bthen )|(?<=\bto )){_any_of(_VERBS)}|(?<![\w'’-]){_any_of(_ANYWHERE)}",
    re.IGNORECASE,
)
_QUOTED: Final = re.compile(r"\"[^\"]*\"|“[^”]*”|`[^`]*`|\$[^$]*\$")
_WORD: Final = re.compile(r"[a-z]+")


def reworded_step(step: str, rng: random.Random) -> str | None:
    """A step in other words; None if it does not seem to be in English."""
    quoted = [match.span() for match in _QUOTED.finditer(step)]

    def replaced(match: re.Match[str]) -> str:
        if any(start <= match.start() < end for start, end in quoted):
            return match[0]
        phrase = match[0].lower()
        synonym = rng.choice(_VERBS.get(phrase) or _ANYWHERE[phrase])
        return synonym[:1].upper() + synonym[1:] if match[0][:1].isupper() else synonym

    other = _PHRASE.sub(replaced, step)
    if other != step:
        return other
    if _ENGLISH.isdisjoint(_WORD.findall(step.lower())):
        return None
    return rng.choice(_FRAMES).format(uncapitalised(step))


def uncapitalised(step: str) -> str:
    """A step without the capital it began with, unless its first word is a name or an abbreviation."""
    first = step.split(" ", 1)[0]
    return step[:1].lower() + step[1:] if first[1:].islower() else step


def foreign_steps(free: Sequence[str], count: int, rng: random.Random) -> list[str]:
    """Draw steps to add; none comes again before all have had their turn."""
    steps: list[str] = []
    while len(steps) < count:
        steps += rng.sample(free, min(len(free), count - len(steps)))
    return steps
