"""The report of a calibration as one HTML file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from evenkeel.experiments.calibrate.report import plots

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenkeel.experiments.calibrate.calibration import Calibration, MetricResult, Role
    from evenkeel.experiments.calibrate.report.plots import Curves, Heatmap, Histogram
    from evenkeel.experiments.calibrate.resampling import Measured
    from evenkeel.experiments.calibrate.score_table import FailureMode, ScoreTable
    from evenkeel.experiments.calibrate.sensitivity import Trajectory
    from evenkeel.metrics.protocol import AnswerForm

UNITS: Final[Mapping[AnswerForm | None, str]] = {
    None: "steps",
    "workflow": "steps",
    "prose": "sentences",
    "list": "items",
    "data": "values",
}
"""What is missing, compressed and so on, by the form of the goldens."""
_SERIES = 8
"""Colours there are, and lines in a picture: more cannot be told apart."""


@dataclass(frozen=True, slots=True)
class ModeView:
    """One failure mode: pictures and words."""

    title: str
    harmless: bool
    curves: Curves
    left_out: int
    """Metrics that are not in the picture."""
    parts: tuple[tuple[str, Role], ...]
    """(part, role); empty if nothing watches the mode."""
    histogram: Histogram | None
    why_not: str
    """Why nothing watches it."""


def report(calibration: Calibration, table: ScoreTable, ways: Sequence[Trajectory]) -> bytes:
    """The page as UTF-8; names from files are escaped.

    Args:
        calibration: what was found.
        table: the scores it was found on.
        ways: their trajectories; see `trajectories`.
    """
    environment = Environment(
        loader=PackageLoader("evenkeel.experiments.calibrate.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    page = environment.get_template("calibration.html").render(
        calibration=calibration,
        modes=[_mode(calibration, table, ways, mode) for mode in table.modes],
        heatmap=_heatmap(calibration, table),
        failures=_failures(table),
        plots=plots,
        share=_share,
        series=range(_SERIES),
    )
    return page.encode("utf-8", "replace")


def _mode(
    calibration: Calibration, table: ScoreTable, ways: Sequence[Trajectory], mode: FailureMode
) -> ModeView:
    result = calibration.of(mode)
    own = _shown(calibration, ways, mode)
    names = [facts.name for facts in table.metrics]
    title = f"{mode.value.capitalize()} {UNITS[calibration.form]}"
    parts = [] if result is None else [("primary", result.primary), ("secondary", result.secondary)]
    primary = None if result is None else result.primary
    return ModeView(
        title=title,
        harmless=result is not None and result.harmless,
        curves=plots.curves(
            f"Mean scores by severity: {title.lower()}",
            own,
            _colours([names.index(way.metric) for way in own]),
        ),
        left_out=sum(way.mode is mode for way in ways) - len(own),
        parts=tuple((part, role) for part, role in parts if role is not None),
        histogram=None if primary is None else _histogram(calibration, table, mode, primary),
        why_not="" if result is None or result.failure is None else result.failure.detail,
    )


def _shown(calibration: Calibration, ways: Sequence[Trajectory], mode: FailureMode) -> list[Trajectory]:
    """The ways to draw: those that watch the mode and then the steepest, in the order of the table."""
    result = calibration.of(mode)
    roles = [] if result is None else [role for role in (result.primary, result.secondary) if role]
    watching = [role.metric for role in roles]
    falls = {
        metric.name: metric.sensitivity[mode].value
        for metric in calibration.metrics
        if mode in metric.sensitivity
    }
    own = [way for way in ways if way.mode is mode]
    first = sorted(own, key=lambda way: (way.metric not in watching, -falls.get(way.metric, 0.0)))[:_SERIES]
    return [way for way in own if way in first]


def _colours(places: Sequence[int]) -> list[int]:
    """A colour for each metric by its place in the table: the same in all pictures, if it is free."""
    taken: list[int] = []
    for place in places:
        colour = place % _SERIES
        while colour in taken:
            colour = (colour + 1) % _SERIES
        taken.append(colour)
    return taken


def _histogram(
    calibration: Calibration, table: ScoreTable, mode: FailureMode, role: Role
) -> Histogram | None:
    mild = table.place(mode, calibration.placement.mild)
    moderate = table.place(mode, calibration.placement.moderate)
    names = [facts.name for facts in table.metrics]
    if role.threshold is None or mild is None or moderate is None or role.metric not in names:
        return None
    column = names.index(role.metric)
    return plots.histogram(
        f"{role.metric} of mild and moderate candidates, threshold {role.threshold.value:.3f}",
        table.scores[:, mild, column],
        table.scores[:, moderate, column],
        role.threshold,
    )


def _heatmap(calibration: Calibration, table: ScoreTable) -> Heatmap:
    def value(metric: MetricResult, mode: FailureMode) -> tuple[float, str] | None:
        found = metric.sensitivity.get(mode)
        if found is None:
            return None
        about = (
            f"{metric.name}, {mode.value} {UNITS[calibration.form]}: "
            f"[{found.lower:.2f}, {found.upper:.2f}], n = {found.n}"
        )
        return found.value, about

    return plots.heatmap(
        [metric.name for metric in calibration.metrics],
        [mode.value for mode in table.modes],
        [[value(metric, mode) for mode in table.modes] for metric in calibration.metrics],
    )


def _failures(table: ScoreTable) -> list[tuple[str, str, int]]:
    """(metric, reason, how many), over all conditions."""
    summed: dict[tuple[str, str], int] = {}
    for _, metric, reason, count in table.failures:
        summed[metric, reason] = summed.get((metric, reason), 0) + count
    return [(metric, reason, count) for (metric, reason), count in sorted(summed.items())]


def _share(measured: Measured) -> Markup:
    """A share with its interval in per cent."""
    interval = f"[{measured.lower:.1%}, {measured.upper:.1%}]"
    return Markup('{} <span class="range">{}</span>').format(f"{measured.value:.1%}", interval)
