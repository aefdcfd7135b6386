"""Tables of cases that stand in a YAML file beside a module of tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml


def cases(module: str) -> dict[str, Any]:
    """The tables of a module, whose `__file__` is given, by their names."""
    tables: dict[str, Any] = yaml.safe_load(Path(module).with_suffix(".yaml").read_text(encoding="utf-8"))
    return tables


def tupled(value: Any) -> Any:
    """The same value with tuples for lists, which YAML has in their place."""
    if isinstance(value, dict):
        return {key: tupled(item) for key, item in value.items()}
    return tuple(map(tupled, value)) if isinstance(value, list) else value
