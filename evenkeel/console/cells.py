"""Cells as lines of the table of a route: every estimate with its interval."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from evenkeel.core import figures, rewordings

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenkeel.core.cells import CellReport


def cell_groups(reports: Iterable[CellReport]) -> list[tuple[str, list[CellReport]]]:
    """Group the cells of a route and model by category, in the order of the heatmap."""
    ordered = sorted(reports, key=lambda report: rewordings.position(report.key.perturbation))
    groups = groupby(ordered, key=lambda one: rewordings.category(one.key.perturbation).name)
    return [(category, list(members)) for category, members in groups]


def quality_changed(report: CellReport) -> str:
    """Describe the share of shifted answers that changed in quality, and in which direction."""
    if report.estimates.quality_delta is None:
        return figures.MISSING
    text = f"{figures.percent(report.estimates.quality_delta.value)} of {report.estimates.quality_delta.n}"
    worse, better = report.estimates.quality_worse, report.estimates.quality_better
    if worse and better:
        text += f": {figures.percent(worse.value)} worse, {figures.percent(better.value)} better"
    return text
