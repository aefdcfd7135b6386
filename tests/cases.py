"""Tables of cases that stand in a YAML file beside a module of tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml


def cases(module: str) -> dict[str, Any]:
    """The tables of a module, whose `__file__` is given, by their names."""
    text = Path(module).with_suffix(".yaml").read_text(encoding="utf-8")
    # Every worker reads all tables before its first test: the reader in C takes a tenth of the time.
    tables: dict[str, Any] = yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return tables


def tupled(value: Any) -> Any:
    """The same value with tuples for lists, which YAML has in their place."""
    if isinstance(value, dict):
        return {key: tupled(item) for key, item in value.items()}
    return tuple(map(tupled, value)) if isinstance(value, list) else value
