"""Cells as lines of the table of a route: every estimate with its interval."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from evenkeel.console.chart import bar
from evenkeel.core import figures, rewordings
from evenkeel.core.geometry import Interval, Range
from evenkeel.core.verdict import BASELINE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from evenkeel.console.chart import ChartBar
    from evenkeel.core.cells import CellReport


def cell_groups(reports: Iterable[CellReport]) -> list[tuple[str, list[CellReport]]]:
    """Group the cells of a route and model by category, in the order of the heatmap."""
    ordered = sorted(reports, key=lambda report: rewordings.position(report.key.perturbation))
    groups = groupby(ordered, key=lambda one: rewordings.category(one.key.perturbation).name)
    return [(category, list(members)) for category, members in groups]


def excess_bars(reports: Sequence[CellReport]) -> Callable[[CellReport], ChartBar | None]:
    """Return a function that draws the excess of a cell, or the noise floor of a control, on one scale."""
    shown = [report.current.excess for report in reports]
    ends = [end for report in shown if report for end in (report.lower, report.upper)]
    limits = [1.2 * report.detection.threshold for report in reports]
    values = Range.holding((*ends, 0.2, *limits), step=0.1, least=0.1, within=(-1.0, 1.0))

    def drawn(report: CellReport) -> ChartBar | None:
        control = report.key.perturbation == BASELINE
        shown = report.current.content_delta if control else report.current.excess
        if shown is None:
            return None
        lines = () if control else (report.detection.threshold,)
        return bar(
            Interval(shown.value, shown.lower, shown.upper), values, lines=lines, loud=report.detection.alert
        )

    return drawn


def quality_changed(report: CellReport) -> str:
    """Describe the share of shifted answers that changed in quality, and in which direction."""
    if report.estimates.quality_delta is None:
        return figures.MISSING
    text = f"{figures.percent(report.estimates.quality_delta.value)} of {report.estimates.quality_delta.n}"
    worse, better = report.estimates.quality_worse, report.estimates.quality_better
    if worse and better:
        text += f": {figures.percent(worse.value)} worse, {figures.percent(better.value)} better"
    return text
