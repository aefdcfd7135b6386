"""API keys, read from the environment."""

from __future__ import annotations

import os
from typing import NamedTuple


class Credential(NamedTuple):
    """An API key and the header that carries it."""

    header: str
    value: str

    @classmethod
    def read(cls, variable: str, header: str) -> Credential | None:
        """The credential in an environment variable; None if the variable is empty."""
        key = os.environ.get(variable)
        if not key:
            return None
        name = header.lower()
        return cls(name, f"Bearer {key}" if name == "authorization" else key)

    def __repr__(self) -> str:
        return f"Credential(header={self.header!r})"
