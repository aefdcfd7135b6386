"""The page about limits: those in effect, the calibration behind them, and approved baselines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from evenkeel.console.chart import bar
from evenkeel.console.rendering import Page, live_handlers
from evenkeel.core.geometry import Interval, Range

if TYPE_CHECKING:
    from litestar.handlers import HTTPRouteHandler

    from evenkeel.console.chart import Bar
    from evenkeel.console.rendering import Renderer
    from evenkeel.console.sources import ConsoleSources
    from evenkeel.core.verdict import Failure
    from evenkeel.monitor.detect import Limit
    from evenkeel.release.calibration.calibration import Calibration, ModeResult, Role

_APPROVALS: Final = 60
"""Approved baselines on the page, newest first."""
_WHOLE: Final = Range(0.0, 1.0)
_NAMES: Final = {
    "content": "shifted answers, points above noise",
    "similarity": "loss of similarity, points against the control",
    "quality": "answers that got worse, points above the control",
    "invalid": "invalid answers, percent",
    "drift": "drift, points around the baseline",
}
_STEPS: Final = (0.1, 0.3, 0.55, 0.8, 1.1)
"""Sensitivities at which the color changes."""


class RouteLimits(NamedTuple):
    """Limits shared by some routes, and their origin."""

    routes: tuple[str, ...]
    limits: tuple[tuple[str, Limit], ...]
    """Pairs of a limit's name and its value."""


class RoleLine(NamedTuple):
    """The part of a metric in watching a failure mode, or the reason why no metric watches it."""

    mode: ModeResult
    part: str = ""
    """"primary" or "secondary", "" if nothing watches the mode."""
    role: Role | None = None
    bar: Bar | None = None
    """Threshold of the metric; None without one."""
    why_not: str = ""


def calibration_page(sources: ConsoleSources) -> Page:
    """Build the page of limits in effect: calibrated ones if there is a calibration, else the defaults."""
    force = sources.calibration
    found = force.calibration if force else None
    return Page(
        "Limits · evenkeel",
        approved=sources.log.approvals()[: -_APPROVALS - 1 : -1],
        routes=sorted({one.key.route for one in sources.reports()}),
        force=force,
        thresholds=sources.thresholds,
        limits=_limits(sources),
        proposals=sources.proposals(),
        names=_NAMES,
        roles=_roles(found) if found else (),
        shade=shade,
    )


def shade(sensitivity: float) -> int:
    """Return the color of a sensitivity, from 0 (none) to 5 (steep)."""
    return sum(sensitivity >= each for each in _STEPS)


def calibration_handlers(sources: ConsoleSources, renderer: Renderer) -> list[HTTPRouteHandler]:
    """Handlers of `/calibration` and its live part."""
    return live_handlers("/calibration", "_calibration.html", lambda _: calibration_page(sources), renderer)


def _limits(sources: ConsoleSources) -> list[RouteLimits]:
    """Return the limits in effect, for routes that have trials."""
    if sources.thresholds is None:
        return []
    shared: dict[tuple[tuple[str, Limit], ...], list[str]] = {}
    for route in sorted({report.key.route for report in sources.reports()}):
        limits = [(one.value, limit) for one, limit in sources.thresholds.limits_of(route).items()]
        limits.append(("drift", sources.thresholds.tolerance_of(route)))
        shared.setdefault(tuple(limits), []).append(route)
    return [RouteLimits(tuple(routes), limits) for limits, routes in shared.items()]


def _roles(found: Calibration) -> list[RoleLine]:
    lines = []
    for mode in found.modes:
        for part, role in (("primary", mode.primary), ("secondary", mode.secondary)):
            if role is not None:
                limit = role.threshold
                drawn = (
                    None
                    if limit is None
                    else bar(Interval(limit.value, limit.lower, limit.upper), _WHOLE, ends=(0.0, 1.0))
                )
                lines.append(RoleLine(mode, part, role, drawn, _why(role.no_threshold)))
        if mode.failure is not None:
            lines.append(RoleLine(mode, why_not=_why(mode.failure)))
    return lines


def _why(failure: Failure | None) -> str:
    return (failure.detail or failure.reason.replace("_", " ")) if failure else ""
