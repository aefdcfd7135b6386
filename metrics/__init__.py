"""Judgement plane: from a pair of answers to a gauge and an alert. Imports nothing of ours.

`pair` (two answers) → `tasks` (what they are for) → `similarity`, `judge` (rate them, `cascade` asking
the judge only where it is needed and `noise` watching it), `quality` (what else changed) → `scoring`
(the two-stage `Judgement`) → `verdict` (logged in `stores`) → `estimate` (rates with intervals) → `detect`
(evidence against a threshold) → `cells`, `monitor` (the fold over the log) → `export` (Prometheus).

`registry` names every metric of `lexical`, `semantic`, `structured`, `entity`, `tools`, `surface` and
`structural`; `audit` holds a judge against people; `calibration` sets thresholds.

The names in `__all__` are for use without a proxy (`docs/api.md`). Each is loaded when it is first asked for:
the data plane imports submodules of this package and must not pay for the rest.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from metrics.calibration import Calibration, read_calibration
    from metrics.cells import Estimate
    from metrics.detect import Alert, AlertRules, Change, EDetector, alarm_set, bets_against
    from metrics.estimate import bounded_mean, paired_excess, proportion
    from metrics.judge import Judge
    from metrics.pair import Answer, Pair, ToolCall, Wanted
    from metrics.registry import CHEAP, METRICS, Listed, UnknownMetricError, metric
    from metrics.scoring import TwoStageScorer, cheap_scorer, judge_scorer
    from metrics.verdict import Failure, Judgement, QualityScore

__all__ = [
    "CHEAP",
    "METRICS",
    "Alert",
    "AlertRules",
    "Answer",
    "Calibration",
    "Change",
    "EDetector",
    "Estimate",
    "Failure",
    "Judge",
    "Judgement",
    "Listed",
    "Pair",
    "QualityScore",
    "ToolCall",
    "TwoStageScorer",
    "UnknownMetricError",
    "Wanted",
    "alarm_set",
    "bets_against",
    "bounded_mean",
    "cheap_scorer",
    "judge_scorer",
    "metric",
    "paired_excess",
    "proportion",
    "read_calibration",
]

if not TYPE_CHECKING:  # a type checker must still find a name that is misspelt
    _HOMES = {
        "calibration": ("Calibration", "read_calibration"),
        "cells": ("Estimate",),
        "detect": ("Alert", "AlertRules", "Change", "EDetector", "alarm_set", "bets_against"),
        "estimate": ("bounded_mean", "paired_excess", "proportion"),
        "judge": ("Judge",),
        "pair": ("Answer", "Pair", "ToolCall", "Wanted"),
        "registry": ("CHEAP", "METRICS", "Listed", "UnknownMetricError", "metric"),
        "scoring": ("TwoStageScorer", "cheap_scorer", "judge_scorer"),
        "verdict": ("Failure", "Judgement", "QualityScore"),
    }
    _HOME = {name: home for home, names in _HOMES.items() for name in names}

    def __getattr__(name: str) -> object:
        """Load a public name from its module."""
        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
        globals()[name] = found
        return found

    def __dir__() -> list[str]:
        """The public names among the rest."""
        return sorted({*globals(), *__all__})
