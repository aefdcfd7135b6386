"""Names that clients and endpoints choose, cut to a length that a label, a row and a page can bear."""

from __future__ import annotations

from typing import Final

LONGEST_NAME: Final = 200
"""Characters. Names of models are below 100; a longer one is somebody's attempt."""


def named(text: str) -> str:
    """The beginning of a name."""
    return text[:LONGEST_NAME]


def named_if(text: str | None) -> str | None:
    """The same where there may be none; "" is none."""
    return named(text) if text else None
