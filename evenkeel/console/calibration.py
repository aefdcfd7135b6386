"""The page about limits: those in effect, and approved baselines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evenkeel.console.rendering import Page, live_handlers
from evenkeel.monitor.estimate import CONDITION

if TYPE_CHECKING:
    from litestar.handlers import HTTPRouteHandler

    from evenkeel.console.rendering import Renderer
    from evenkeel.console.sources import ConsoleSources
    from evenkeel.monitor.detect import Limit

# Approved baselines on the page, newest first.
_APPROVALS: Final = 60


def calibration_page(sources: ConsoleSources) -> Page:
    """Build the page of limits in effect: calibrated ones where a route has them, else the defaults."""
    return Page(
        "Limits · evenkeel",
        approved=sources.log.approvals()[: -_APPROVALS - 1 : -1],
        thresholds=sources.thresholds,
        condition=CONDITION,
        limits=_limits(sources),
    )


def calibration_handlers(sources: ConsoleSources, renderer: Renderer) -> list[HTTPRouteHandler]:
    """Handlers of `/calibration` and its live part."""
    return live_handlers("/calibration", "_calibration.html", lambda _: calibration_page(sources), renderer)


def _limits(sources: ConsoleSources) -> dict[tuple[tuple[str, Limit], ...], list[str]]:
    """Return the routes that are set or have trials, by their limits: pairs of a name and a value."""
    # Routes with equal limits share the rows of the table; mostly all of them do.
    shared: dict[tuple[tuple[str, Limit], ...], list[str]] = {}
    routes = {setup.route for setup in sources.setup} | {report.key.route for report in sources.reports()}
    for route in sorted(routes):
        limits = []
        for measure, limit in sources.thresholds.limits_of(route).items():
            limits.append((measure.value, limit))
        limits.append(("drift", sources.thresholds.tolerance_of(route)))
        shared.setdefault(tuple(limits), []).append(route)
    return shared
