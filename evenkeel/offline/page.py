"""The outcome as one HTML file that needs nothing else: no script, no font, no request."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from console.heatmap import BANDS
from console.rendering import visible
from evenkeel import __version__
from evenkeel.judge_audit import plots
from evenkeel.judge_audit.plots import Point, dot_plot
from evenkeel.offline import wording
from evenkeel.offline.heat import heats, matrices, said

if TYPE_CHECKING:
    from evenkeel.judge_audit.plots import DotPlot
    from evenkeel.offline.outcome import Outcome
    from evenkeel.offline.tables import Tables

_TICKS = (0.0, 0.25, 0.5, 0.75, 1.0)
_ZOOMED = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


def page(outcome: Outcome) -> bytes:
    """The page as UTF-8. Names and texts from outside are escaped."""
    environment = Environment(
        loader=PackageLoader("evenkeel.offline"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=visible,
    )
    values: dict[str, Any] = {
        "outcome": outcome,
        "tables": outcome.tables,
        "heats": list(heats(outcome.tables)),
        "matrices": list(matrices(outcome.tables)),
        "bands": BANDS,
        "overall": _plot(outcome.tables),
        "plots": plots,
        "wording": wording,
        "languages": lambda row: row.languages,
        "version": __version__,
        # The console's own style sheet: one look, one place to change it. It is trusted.
        "style": Markup(files("console").joinpath("static/console.css").read_text(encoding="utf-8")),  # noqa: S704
    }
    return environment.get_template("bench.html").render(**values).encode("utf-8", "replace")


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
