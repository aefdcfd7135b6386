"""Metrics: how similar two answers are, and whether their quality changed.

`tasks` (what the answers are for) → `identity`, `similarity`, `judge` (what is equal, how near the rest
is, what it means) → `quality` (what else changed) → `scoring` (the two-stage `Judgement`).

`registry` names every metric, ours and those of other packages.

The names in `__all__` are for use without a proxy (`docs/api.md`). Each is loaded when it is first asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evenkeel.core.pair import Answer, AnswerForm, Pair, ToolCall
    from evenkeel.core.verdict import Failure, Judgement, QualityScore
    from evenkeel.metrics.judge import Endpoint, Judge
    from evenkeel.metrics.pairs import PairError, score_pairs
    from evenkeel.metrics.protocol import About
    from evenkeel.metrics.registry import MetricEntry, UnknownMetricError, heuristics, metric, metrics
    from evenkeel.metrics.scoring import TwoStageScorer, heuristic_scorer, judge_scorer

__all__ = [
    "About",
    "Answer",
    "AnswerForm",
    "Endpoint",
    "Failure",
    "Judge",
    "Judgement",
    "MetricEntry",
    "Pair",
    "PairError",
    "QualityScore",
    "ToolCall",
    "TwoStageScorer",
    "UnknownMetricError",
    "heuristic_scorer",
    "heuristics",
    "judge_scorer",
    "metric",
    "metrics",
    "score_pairs",
]

if not TYPE_CHECKING:  # a type checker must still find a name that is misspelt
    _HOMES = {
        "core.pair": ("Answer", "Pair", "ToolCall", "AnswerForm"),
        "core.verdict": ("Failure", "Judgement", "QualityScore"),
        "metrics.judge": ("Endpoint", "Judge"),
        "metrics.pairs": ("PairError", "score_pairs"),
        "metrics.protocol": ("About",),
        "metrics.registry": ("MetricEntry", "UnknownMetricError", "heuristics", "metric", "metrics"),
        "metrics.scoring": ("TwoStageScorer", "heuristic_scorer", "judge_scorer"),
    }
    _HOME = {name: home for home, names in _HOMES.items() for name in names}

    def __getattr__(name: str) -> object:
        """Load a public name from its module."""
        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        attribute = getattr(import_module(f"evenkeel.{_HOME[name]}"), name)
        globals()[name] = attribute
        return attribute

    def __dir__() -> list[str]:
        """Return the public names among the rest."""
        return sorted({*globals(), *__all__})
