"""Alerts as a page and as a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evenkeel.console.alerts import RUNBOOKS, AlertsPage, alerts_page
from evenkeel.console.baselines import approval_lines
from evenkeel.console.downloads import Table
from evenkeel.console.live import live_handlers
from evenkeel.core import figures

if TYPE_CHECKING:
    from litestar.handlers import HTTPRouteHandler

    from evenkeel.console.rendering import Renderer
    from evenkeel.console.sources import ConsoleSources

EVENTS_READ: Final = 400
"""Newest events that the page and its download look at."""


def alerts_table(page: AlertsPage) -> Table:
    """All of them for a file, those that fire first."""
    columns = ("state", "kind", "what", "route", "model", "since", "until", "measured", "change", "runbook")
    return Table(
        columns,
        [
            (
                "firing" if place < len(page.firing) else "over",
                alert.kind,
                alert.what,
                alert.route,
                alert.model,
                alert.since_s,
                alert.until_s,
                figures.plain(alert.value),
                alert.explanation.text if alert.explanation else None,
                RUNBOOKS[alert.kind],
            )
            for place, alert in enumerate((*page.firing, *page.past))
        ],
    )


def alerts_of(sources: ConsoleSources) -> AlertsPage:
    """The page as it is now."""
    changes = sources.change_reports() if sources.change_reports else ()
    now, events = sources.clock(), sources.monitor_store.events(EVENTS_READ)
    return alerts_page(sources.reports(), events, changes, now, approval_lines(sources.log.approvals(), now))


def alert_handlers(sources: ConsoleSources, renderer: Renderer) -> list[HTTPRouteHandler]:
    """`/alerts` and its live part."""
    return live_handlers("/alerts", "_alerts.html", lambda _: alerts_of(sources), renderer)
