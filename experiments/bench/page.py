"""The outcome as one HTML file that needs nothing else: no script, no font, no request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkeel.console.heatmap import BANDS
from evenkeel.experiments.bench import wording
from evenkeel.experiments.bench.heat import heats, matrices, said
from evenkeel.experiments.judge_audit import plots
from evenkeel.experiments.judge_audit.plots import Point, dot_plot
from evenkeel.experiments.kit.single_page import console_style, single_page

if TYPE_CHECKING:
    from evenkeel.experiments.bench.run import Outcome
    from evenkeel.experiments.bench.scores import Tables
    from evenkeel.experiments.judge_audit.plots import DotPlot

_TICKS = (0.0, 0.25, 0.5, 0.75, 1.0)
_ZOOMED = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


def page(outcome: Outcome) -> bytes:
    """The page as UTF-8. Names and texts from outside are escaped."""
    return single_page(
        "evenkeel.experiments.bench",
        "bench.html",
        outcome=outcome,
        tables=outcome.tables,
        heats=list(heats(outcome.tables)),
        matrices=list(matrices(outcome.tables)),
        bands=BANDS,
        overall=_plot(outcome.tables),
        plots=plots,
        wording=wording,
        languages=lambda row: row.languages,
        style=console_style(),
    )


def _plot(tables: Tables) -> DotPlot:
    points = [
        Point(row.model, figure.value, figure.lower, figure.upper, "plain", said(figure))
        if (figure := row.overall.robustness) is not None
        else Point(row.model, None, None, None, "plain", "not measured")
        for row in tables.models
    ]
    known = [one.lower for one in points if one.lower is not None]
    low, ticks = (0.5, _ZOOMED) if known and min(known) >= _ZOOMED[0] else (0.0, _TICKS)
    return dot_plot("Overall robustness", points, low=low, high=1, ticks=ticks)
