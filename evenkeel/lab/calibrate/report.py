"""The report of a calibration, for a terminal and as a page with curves."""

from __future__ import annotations

from itertools import chain
from math import ceil, floor
from typing import TYPE_CHECKING, Final

from evenkeel.core.figures import percent
from evenkeel.core.geometry import plain_number, steps
from evenkeel.lab.charts import Axis, Curve, Mark, plot
from evenkeel.release.kit.document import (
    Bullets,
    Column,
    Document,
    FigureForm,
    Paragraph,
    Picture,
    ReportSection,
    Table,
    TableCell,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from evenkeel.lab.calibrate.calibration import (
        BootstrapFigure,
        Calibration,
        FailureMode,
        ModeResult,
    )
    from evenkeel.lab.calibrate.score_table import ScoreTable
    from evenkeel.lab.calibrate.sensitivity import Trajectory, TrajectoryPoint
    from evenkeel.lab.charts import Plot
    from evenkeel.release.kit.document import Block, Rendering, Value

# Colours there are, and lines in a picture: more cannot be distinguished.
_SERIES: Final = 8
# Severity at the right end of the axis of severities; severities beyond it stretch it.
_REACH: Final = 0.55
# Height of an axis of scores up to which it is labelled in quarters.
_FEW: Final = 1.5
SHADES: Final = (0.1, 0.3, 0.55, 0.8, 1.1)
"""Sensitivities at which the colour changes."""
_HTML: Final[frozenset[Rendering]] = frozenset(("html",))


def document(
    calibration: Calibration,
    table: ScoreTable,
    ways: Sequence[Trajectory],
    *,
    beside: Sequence[ReportSection] = (),
) -> Document:
    """The report. A terminal shows only who watches what.

    Args:
        calibration: what was found.
        table: the scores it was found on.
        ways: their trajectories; see `trajectories`.
        beside: shown first.
    """
    goldens = calibration.goldens
    of_clusters = ""
    if goldens.clusters is not None and goldens.clusters < goldens.count:
        of_clusters = f" in {goldens.clusters} independent clusters"
    return Document(
        title="What the scores mean",
        kind="calibrate",
        subtitle=f"{goldens.count} goldens ({goldens.source}){of_clusters}, degraded by known "
        "amounts and scored "
        f"by {len(calibration.metrics)} metrics on {calibration.calibrated_on}. Encoder: "
        f"{calibration.encoder or 'none'}. Intervals: {percent(calibration.confidence)}, from "
        f"{calibration.resamples} resamples of the goldens, seed {calibration.seed}.",
        sections=(
            *beside,
            _watchers(calibration),
            *(_mode(calibration, table, ways, mode) for mode in table.modes),
            _sensitivities(calibration, table),
            _metrics(calibration, table),
        ),
    )


def _watchers(calibration: Calibration) -> ReportSection:
    columns = (
        Column("Failure mode"), Column("Part"), Column("Metric"), Column("Sensitivity", FigureForm.NUMBER, 2),
        Column("Specificity", FigureForm.NUMBER, 2), Column("Threshold", FigureForm.NUMBER, 3),
        Column("False alerts", FigureForm.PERCENT), Column("Misses", FigureForm.PERCENT),
    )  # fmt: skip
    placement = calibration.placement
    return ReportSection(
        "Who watches which failure mode",
        (Table(columns, tuple(chain.from_iterable(map(_roles, calibration.modes)))),),
        about=f"A candidate is flagged below the threshold. False alerts are shares of candidates degraded "
        f"by {percent(placement.mild)} that are flagged, misses of candidates degraded by "
        f"{percent(placement.moderate)} that are not, both on goldens that the threshold was not set on. "
        f"A new golden like these, mildly degraded, is flagged with probability "
        f"{percent(placement.false_alerts)} at most (conformal, by clusters of near-equal prompts). The "
        "damage is synthetic: we made it, so a threshold is about damage of this sort, not about every "
        "harmless change of a real model.",
    )


def _roles(mode: ModeResult) -> Iterator[tuple[Value, ...]]:
    name = f"{mode.mode.value} (harmless)" if mode.harmless else mode.mode.value
    if mode.primary is None:
        why = mode.failure.detail if mode.failure else ""
        yield name, "nobody", TableCell("–", why), None, None, None, None, None
        return
    for part, role in (("primary", mode.primary), ("secondary", mode.secondary)):
        if role is None:
            continue
        limit = role.threshold
        cell = TableCell(role.metric, role.family)
        figures: tuple[Value, ...] = (role.sensitivity, role.specificity)
        if limit is None:
            why = role.no_threshold.reason.replace("_", " ") if role.no_threshold else ""
            yield name, part, cell, *figures, TableCell(f"none: {why}"), "", ""
        else:
            yield name, part, cell, *figures, limit, limit.false_alerts, limit.misses
        name = ""


def _mode(
    calibration: Calibration, table: ScoreTable, ways: Sequence[Trajectory], mode: FailureMode
) -> ReportSection:
    title = f"{mode.value.capitalize()} steps"
    own = _shown(calibration, ways, mode)
    left_out = sum(way.mode is mode for way in ways) - len(own)
    names = [facts.name for facts in table.metrics]
    series = _colours([names.index(way.metric) for way in own])
    more = (
        f" The {len(own)} that watch it or fall most; {left_out} more are in the tables." if left_out else ""
    )
    pictures = [
        Picture(
            curves(f"Mean scores by severity: {title.lower()}", own, series),
            caption="Mean score by severity.",
            about=f"Dashed: expected score.{more}",
        )
    ]
    result = calibration.of(mode)
    about = ""
    if result is not None and result.harmless:
        about = (
            "As good as the golden at every severity: a flag here says that something moved, not that it got "
            "worse."
        )
    return ReportSection(title, tuple(pictures), about=about, on=_HTML)


def _shown(calibration: Calibration, ways: Sequence[Trajectory], mode: FailureMode) -> list[Trajectory]:
    """The ways to draw: those that watch the mode and then the steepest, in the order of the table."""
    result = calibration.of(mode)
    roles = [] if result is None else [role for role in (result.primary, result.secondary) if role]
    watching = [role.metric for role in roles]
    falls = {}
    for metric in calibration.metrics:
        if mode in metric.sensitivity:
            falls[metric.name] = metric.sensitivity[mode].value
    own = []
    for way in ways:
        if way.mode is mode:
            own.append(way)
    first = sorted(own, key=lambda way: (way.metric not in watching, -falls.get(way.metric, 0.0)))[:_SERIES]
    return [way for way in own if way in first]


def _colours(series_numbers: Sequence[int]) -> list[int]:
    """A colour for each metric by its place in the table: the same in all pictures, if it is free."""
    taken: list[int] = []
    for series in series_numbers:
        colour = series % _SERIES
        while colour in taken:
            colour = (colour + 1) % _SERIES
        taken.append(colour)
    return taken


def curves(title: str, ways: Sequence[Trajectory], series: Sequence[int]) -> Plot:
    """The trajectories of one mode, with the expected scores; those without points are left out.

    Args:
        title: read out by screen readers.
        ways: one for each metric.
        series: their colours.
    """
    scores: list[float] = []
    expected_at: dict[float, float] = {}
    drawn = []
    for way, colour in zip(ways, series, strict=True):
        for point in way.points:
            scores += [point.mean.lower, point.mean.upper, point.expected]
            expected_at[point.severity] = point.expected
        drawn.append(Curve(f"s{colour}", tuple(_mark(way.metric, point) for point in way.points), way.metric))
    low = min(0.0, floor(min(scores, default=0.0) * 4) / 4)
    high = max(1.0, ceil(max(scores, default=1.0) * 4) / 4)
    expected = sorted(expected_at.items())
    dashed = Curve("expected", tuple(Mark(*each) for each in expected), dotted=False)
    return plot(
        title,
        Axis(
            0.0,
            max([_REACH, *(severity for severity, _ in expected)]),
            [severity for severity, _ in expected],
            percent=True,
        ),
        Axis(low, high, steps(low, high, 0.25 if high - low <= _FEW else 0.5)),
        curves=[dashed, *drawn],
    )


def _mark(metric: str, point: TrajectoryPoint) -> Mark:
    mean = point.mean
    text = (
        f"{metric} at {point.severity:.0%}: {mean.value:.3f} [{mean.lower:.3f}, {mean.upper:.3f}], "
        f"expected {point.expected:.2f}, n = {mean.n}"
    )
    return Mark(point.severity, mean.value, mean.lower, mean.upper, text)


def _sensitivities(calibration: Calibration, table: ScoreTable) -> ReportSection:
    rows: list[tuple[Value, ...]] = []
    for metric in calibration.metrics:
        cells = []
        for mode in table.modes:
            about = f"{metric.name}, {mode.value} steps"
            cells.append(sensitivity_cell(metric.sensitivity.get(mode), about))
        rows.append((metric.name, *cells))
    columns = (Column("Metric"), *(Column(mode.value, FigureForm.NUMBER, 2) for mode in table.modes))
    return ReportSection(
        "Sensitivity",
        (Table(columns, tuple(rows), heat=True),),
        about="Fall in mean score per unit of severity: 1 = falls as much as the golden is degraded, 0 = "
        "does not react.",
        on=_HTML,
    )


def sensitivity_cell(figure: BootstrapFigure | None, about: str) -> TableCell:
    """A sensitivity with its colour; where a pointer rests, its interval.

    Args:
        figure: None = not measured.
        about: of what it is.
    """
    if figure is None:
        return TableCell("–", shade=0, title="not measured")
    return TableCell(
        plain_number(0.0) if not figure.value else f"{figure.value:.2f}".replace("-", "\u2212"),
        shade=sum(figure.value >= step for step in SHADES),
        title=f"{about}: [{figure.lower:.2f}, {figure.upper:.2f}], n = {figure.n}",
    )


def _metrics(calibration: Calibration, table: ScoreTable) -> ReportSection:
    modes = [mode.mode for mode in calibration.modes]
    columns = (
        Column("Metric"), Column("Family"), Column("Version", FigureForm.NUMBER),
        Column("USD per 1,000", FigureForm.NUMBER, 2), Column("ms each", FigureForm.NUMBER, 2),
        *(Column(f"Distance, {mode.value}", FigureForm.NUMBER, 3) for mode in modes),
    )  # fmt: skip
    rows: list[tuple[Value, ...]] = []
    for result in calibration.metrics:
        costs = (1000 * result.cost_usd, result.time_ms)
        rows.append((result.name, result.family, result.version, *costs, *map(result.residual.get, modes)))
    summed: dict[tuple[str, str], int] = {}
    for _, metric, reason, count in table.failures:
        summed[metric, reason] = summed.get((metric, reason), 0) + count
    blocks: list[Block] = [Table(columns, tuple(rows))]
    if summed:
        missing = sorted(summed.items())
        lines = (f"{metric}: {reason}, {count} times" for (metric, reason), count in missing)
        blocks += [Paragraph("Not measured:"), Bullets(tuple(lines))]
    return ReportSection(
        "Metrics",
        tuple(blocks),
        about="Distance: root mean square of mean score − expected score, over the severities of a mode.",
        on=_HTML,
    )
