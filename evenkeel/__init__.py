"""evenkeel: live robustness monitoring for language models, and `check`, its figures without a proxy."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    # Loaded by name on demand: every process imports this package, and few of them make checks.
    if name == "__version__":
        return import_module("evenkeel.core.version").VERSION
    if name == "check":
        return import_module("evenkeel.release.check.python").check
    raise AttributeError(f"module 'evenkeel' has no attribute {name!r}")
