"""Labels: the names of metrics as people read them.

A verdict names its scores and nothing else. Each metric declares its label in its own file, which the
console never loads; the registry of metrics publishes all of them once per process.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

_PUBLISHED: Final[dict[str, str]] = {}
"""The one thing of a process: every page and report reads it, and nothing is ever taken back."""


def publish(labels: Mapping[str, str]) -> None:
    """Make labels known, by the metric's name."""
    _PUBLISHED.update(labels)


def label(metric: str) -> str:
    """The label of a metric; its name with spaces if none was published."""
    return _PUBLISHED.get(metric) or metric.replace("_", " ")
