"""English phrases that can stand for each other, and what is foreign to any answer (`phrases.toml`)."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from typing import Any, Final

_TABLES: Final[dict[str, Any]] = tomllib.loads(files(__package__).joinpath("phrases.toml").read_text("utf-8"))


def _choices(name: str) -> dict[str, tuple[str, ...]]:
    return {phrase: tuple(others) for phrase, others in _TABLES[name].items()}


PHRASES: Final = _choices("phrases")
"""Phrases of running text, in lower case."""
FRAMES: Final[tuple[str, ...]] = tuple(_TABLES["frames"])
"""Words in front of a sentence in which no phrase is found."""
ENGLISH_ONLY: Final[frozenset[str]] = frozenset(_TABLES["english_only"])
"""Common words that other languages in Latin letters rarely have."""
SHARED: Final[frozenset[str]] = frozenset(_TABLES["shared"])
"""Common words that English has and others too."""
FOREIGN: Final[frozenset[str]] = frozenset(_TABLES["foreign"])
"""Common words of German, French, Spanish, Italian, Portuguese and Dutch."""
OPENERS: Final[frozenset[str]] = frozenset(_TABLES["openers"])
"""Words besides the commonest that begin sentences and are no names: they lose their capital within one."""

VERBS: Final = _choices("verbs")
"""Words in lower case, as they stand at the beginning of a step or behind "and", "then" or "to"."""
ANYWHERE: Final = _choices("anywhere")
"""Words in lower case, wherever they stand in a step."""
STEP_FRAMES: Final[tuple[str, ...]] = tuple(_TABLES["step_frames"])
"""Around a step in which no phrase is found."""
STEP_ENGLISH: Final[frozenset[str]] = frozenset(_TABLES["step_english"])
"""Words of which a step without a known phrase has at least one, if it is in English."""

SENTENCES: Final[tuple[str, ...]] = tuple(_TABLES["sentences"])
"""Plausible, self-contained, and about a town that no answer is about."""
FIELDS: Final[tuple[tuple[str, str], ...]] = tuple(_TABLES["fields"].items())
"""Key and value. Keys are snake_case, and names that XML allows."""
FOREIGN_STEPS: Final[tuple[str, ...]] = tuple(_TABLES["foreign_steps"])
"""Steps of no office, shop or machine, so that they are foreign to nearly every workflow."""
