"""The page about the calibration: which metric watches what, from which score on, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from evenkeel.console import wording
from evenkeel.console.downloads import Table, Value
from evenkeel.console.forest import Bar, Interval, Span, bar
from evenkeel.console.rendering import Head, live_handlers
from evenkeel.core import figures
from evenkeel.core.geometry import Tick, shortened
from evenkeel.experiments.calibrate.calibration import bands_in_force

if TYPE_CHECKING:
    from litestar.handlers import HTTPRouteHandler

    from evenkeel.console.rendering import Renderer
    from evenkeel.console.sources import CalibrationInForce, ConsoleSources, Thresholds
    from evenkeel.experiments.calibrate.calibration import Calibration, Role
    from evenkeel.experiments.calibrate.resampling import Measured

_WHOLE: Final = Span(0.0, 1.0)
_CELL_WIDTH, _CELL_HEIGHT, _NAME_WIDTH = 108, 34, 190
_LABEL_CHARS: Final = 19
_STEPS: Final = (0.1, 0.3, 0.55, 0.8, 1.1)
"""Sensitivities at which the colour changes."""


@dataclass(frozen=True, slots=True)
class HeatCell:
    """One sensitivity, in user units."""

    x: float
    y: float
    step: int
    """Colour, 0 (none) to 5 (steep)."""
    text: str
    about: str


@dataclass(frozen=True, slots=True)
class Heatmap:
    """Sensitivities, metrics down and failure modes across."""

    width: float
    height: float
    cells: tuple[HeatCell, ...]
    rows: tuple[Tick, ...]
    columns: tuple[Tick, ...]


@dataclass(frozen=True, slots=True)
class RoleLine:
    """One metric's part in watching a failure mode, or why nothing watches it."""

    mode: str
    harmless: bool
    part: str
    """"primary" or "secondary", "" if nothing watches the mode."""
    metric: str
    family: str
    sensitivity: str
    specificity: str
    stability: str
    threshold: str
    threshold_bar: Bar | None
    false_alerts: str
    misses: str
    why_not: str


@dataclass(frozen=True, slots=True)
class BandLine:
    """One band of the cascade."""

    answers: str
    metric: str
    same_from: str
    other_below: str


@dataclass(frozen=True, slots=True)
class MetricLine:
    """What a metric costs."""

    name: str
    family: str
    version: int
    cost: str
    time: str


@dataclass(frozen=True, slots=True)
class CalibrationPage:
    """The whole page."""

    head: Head
    force: CalibrationInForce | None
    thresholds: Thresholds | None
    confidence: str
    mild: str
    moderate: str
    false_alerts: str
    roles: tuple[RoleLine, ...]
    heatmap: Heatmap | None
    metrics: tuple[MetricLine, ...]
    bands: tuple[BandLine, ...]
    bands_source: str
    bands_calibrated: bool
    bands_agreement: str
    judged: bool
    """Whether there is a judge, in whose place bands could decide."""


def calibration_page(sources: ConsoleSources) -> CalibrationPage:
    """What is in force: the calibration if there is one, the careful defaults if not."""
    force = sources.calibration
    found = force.calibration if force else None
    bands = bands_in_force(found)
    placement = found.placement if found else None
    return CalibrationPage(
        head=Head("Calibration · evenkeel", alert=any(report.alert for report in sources.reports())),
        force=force,
        thresholds=sources.thresholds,
        confidence=figures.percent(found.confidence) if found else "",
        mild=figures.percent(placement.mild) if placement else "",
        moderate=figures.percent(placement.moderate) if placement else "",
        false_alerts=figures.percent(placement.false_alerts) if placement else "",
        roles=tuple(_roles(found)) if found else (),
        heatmap=_heatmap(found) if found else None,
        metrics=tuple(
            MetricLine(
                one.name,
                one.family,
                one.version,
                figures.usd(1000 * one.cost_usd) if one.cost_usd else "free",
                f"{one.time_ms:.2f} ms",
            )
            for one in (found.metrics if found else ())
        ),
        bands=tuple(_bands(found)),
        bands_source=bands.source,
        bands_calibrated=bool(found and found.bands),
        bands_agreement="" if bands.agreement is None else figures.percent(bands.agreement, 1),
        judged=sources.judge is not None,
    )


def calibration_table(force: CalibrationInForce | None) -> Table:
    """Roles and thresholds, for a file."""
    columns = ("mode", "harmless", "part", "metric", "family", "sensitivity", "specificity", "stability")
    limits = ("threshold", "threshold_lower", "threshold_upper", "false_alerts", "misses", "reason")
    rows: list[tuple[Value, ...]] = []
    for mode in force.calibration.modes if force else ():
        for part, role in (("primary", mode.primary), ("secondary", mode.secondary)):
            if role is None:
                continue
            limit = role.threshold
            at: tuple[Value, ...] = (None,) * 5
            if limit is not None:
                at = (limit.value, limit.lower, limit.upper, limit.false_alerts.value, limit.misses.value)
            said = (role.metric, role.family, role.sensitivity, role.specificity, role.stability)
            reason = role.no_threshold.reason if role.no_threshold else None
            rows.append((mode.mode.value, mode.harmless, part, *said, *at, reason))
        if mode.failure is not None:
            rows.append((mode.mode.value, mode.harmless, *(None,) * 11, mode.failure.reason))
    return Table((*columns, *limits), rows)


def calibration_handlers(sources: ConsoleSources, renderer: Renderer) -> list[HTTPRouteHandler]:
    """`/calibration` and its live part."""
    return live_handlers("/calibration", "_calibration.html", lambda _: calibration_page(sources), renderer)


def _roles(found: Calibration) -> list[RoleLine]:
    lines = []
    for mode in found.modes:
        name = mode.mode.value
        roles = [("primary", mode.primary), ("secondary", mode.secondary)]
        lines += [_role(name, part, role, harmless=mode.harmless) for part, role in roles if role]
        if mode.failure is not None:
            why = mode.failure.detail or mode.failure.reason.replace("_", " ")
            lines.append(
                RoleLine(name, mode.harmless, "", "", "", "", "", "", "", None, "", "", why),
            )
    return lines


def _role(mode: str, part: str, role: Role, *, harmless: bool) -> RoleLine:
    limit = role.threshold
    why = ""
    if role.no_threshold is not None:
        why = role.no_threshold.detail or role.no_threshold.reason.replace("_", " ")
    return RoleLine(
        mode=mode,
        harmless=harmless,
        part=part,
        metric=role.metric,
        family=role.family,
        sensitivity=figures.number(role.sensitivity, 2),
        specificity=figures.number(role.specificity, 2),
        stability=figures.percent(role.stability),
        threshold=f"{limit.value:.3f} [{limit.lower:.3f}, {limit.upper:.3f}]" if limit else "",
        threshold_bar=bar(Interval(limit.value, limit.lower, limit.upper), _WHOLE, ends=(0.0, 1.0))
        if limit
        else None,
        false_alerts=_measured(limit.false_alerts) if limit else "",
        misses=_measured(limit.misses) if limit else "",
        why_not=why,
    )


def _measured(share: Measured) -> str:
    low, high = figures.number(share.lower * 100), figures.number(share.upper * 100)
    return f"{figures.percent(share.value)} [{low},\u00a0{high}]\u202f% of {share.n:,}"


def _heatmap(found: Calibration) -> Heatmap:
    modes = [mode.mode for mode in found.modes]

    def cell(i: int, j: int, falls: Measured | None, about: str) -> HeatCell:
        x, y = _NAME_WIDTH + _CELL_WIDTH * j, _CELL_HEIGHT * (i + 1)
        if falls is None:
            return HeatCell(x, y, 0, "–", "not measured")
        step = sum(falls.value >= each for each in _STEPS)
        text = f"{falls.value:.2f}".replace("-", "\u2212")
        return HeatCell(x, y, step, text, f"{about}: [{falls.lower:.2f}, {falls.upper:.2f}], n = {falls.n}")

    return Heatmap(
        width=_NAME_WIDTH + _CELL_WIDTH * len(modes),
        height=_CELL_HEIGHT * (len(found.metrics) + 1),
        cells=tuple(
            cell(i, j, metric.sensitivity.get(mode), f"{metric.name}, {mode.value}")
            for i, metric in enumerate(found.metrics)
            for j, mode in enumerate(modes)
        ),
        rows=tuple(
            Tick(_CELL_HEIGHT * (i + 1.5), shortened(metric.name, _LABEL_CHARS))
            for i, metric in enumerate(found.metrics)
        ),
        columns=tuple(
            Tick(_NAME_WIDTH + _CELL_WIDTH * (j + 0.5), mode.value) for j, mode in enumerate(modes)
        ),
    )


def _bands(found: Calibration | None) -> list[BandLine]:
    bands = bands_in_force(found)
    return [
        BandLine(answers, wording.score_words(band.metric), _end(band.same_from), _end(band.other_below))
        for answers, own in (
            ("free text", bands.text),
            ("data", bands.structured),
            ("tool calls", bands.tool_calls),
        )
        for band in own
    ]


def _end(value: float | None) -> str:
    return "never" if value is None else f"{value:.2f}"
