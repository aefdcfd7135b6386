"""Labels: the names of metrics and scorers as people read them.

A verdict names its scores and nothing else. Each metric declares its label in its own file, which the
console never loads; the registry of metrics publishes all of them once per process.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evenkeel.core.figures import NO_JUDGE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkeel.core.verdict import Scorer

# Published labels of this process: every page and report reads them, and none is ever removed.
_PUBLISHED: Final[dict[str, str]] = {}


def publish(labels: Mapping[str, str]) -> None:
    """Make labels known, by the metric's name."""
    _PUBLISHED.update(labels)


def label(metric: str) -> str:
    """Return the label of a metric; its name with spaces if none was published."""
    return _PUBLISHED.get(metric) or metric.replace("_", " ")


_SCORERS: Final[dict[Scorer, str]] = {
    "judge": "decided by the judge",
    "metrics": NO_JUDGE,
}


def scorer_words(scorer: Scorer) -> str:
    """Return words for the scorer of a rating that do not let a heuristic pass for a judge."""
    return _SCORERS.get(scorer, scorer)
