"""Cells as lines of a table and as a file: every estimate with its interval."""

from __future__ import annotations

from itertools import groupby
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

from evenkeel.console.chart import bar
from evenkeel.console.downloads import DownloadTable, estimate_columns
from evenkeel.core import figures, rewordings
from evenkeel.core.cells import WINDOWS
from evenkeel.core.geometry import Interval, Range
from evenkeel.core.verdict import BASELINE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from evenkeel.console.chart import ChartBar
    from evenkeel.console.downloads import Column, Value
    from evenkeel.core.cells import CellReport, Window

_ESTIMATES: Final = (
    "content_delta",
    "quality_delta",
    "quality_worse",
    "quality_better",
    "robustness",
    "unsure",
    "invalid",
    "free_delta",
    "similarity",
    "control_similarity",
    "loss",
    "tool_choice",
    "tool_choice_noise",
    "tool_arguments",
    "tool_arguments_noise",
    "noise_floor",
    "excess",
    "judge_noise",
    "swap_consistency",
    "group_agreement",
)


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


def cells_table(reports: Sequence[CellReport], route: str | None = None) -> DownloadTable:
    """Build a table of all estimates of all cells, or of one route."""
    columns: list[Column] = [
        ("route", lambda one: one.key.route),
        ("model", lambda one: one.key.model),
        ("perturbation", lambda one: one.key.perturbation),
        "retired",
        "scorer",
        "trials",
        "effective",
        "last_scored_at",
        *(column for name in _ESTIMATES for column in estimate_columns(name)),
        "threshold",
        "evidence_log10",
        "alarm_log10",
        "alert",
        ("over", lambda one: " ".join(one.over)),
        ("blind", lambda one: one.is_blind),
        ("drift", lambda one: one.drift.state if one.drift else None),
        *(column for window in WINDOWS for column in _window_columns(window)),
    ]
    shown = sorted(
        (report for report in reports if route in {None, report.key.route}),
        key=lambda report: report.key.parts,
    )
    rows = (SimpleNamespace(**report.flat(), is_blind=report.is_blind) for report in shown)
    return DownloadTable.of(rows, *columns)


def _window_columns(window: Window) -> list[Column]:
    def value(name: str) -> Callable[[Any], Value]:
        return lambda one: getattr(getattr(one.windows.get(window), name, None), "value", None)

    return [
        *((f"{name}_{window}", value(name)) for name in ("content_delta", "robustness", "excess")),
        (f"trials_{window}", lambda one: one.windows[window].trials if window in one.windows else None),
    ]
