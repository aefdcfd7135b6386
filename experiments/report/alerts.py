"""Which alerts were up in a period, from the events that raised and resolved them."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from evenkeel.experiments.report.outcome import Alert

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from evenkeel.experiments.report.period import Period
    from evenkeel.stores.protocols import AlertEvent


def alerts_of(events: Iterable[AlertEvent], period: Period, route: str | None = None) -> tuple[Alert, ...]:
    """The alerts that were up at some time of the period, the newest first.

    Args:
        events: Of all times, in any order; the same one may occur twice.
        period: From when to when.
        route: Only of this one; None for all.
    """
    cells: dict[tuple[str, str, str, str], dict[str, AlertEvent]] = defaultdict(dict)
    for event in events:
        if route is None or event.route == route:
            cells[event.route, event.model, event.perturbation, event.what][event.id] = event
    found = [
        alert
        for cell in cells.values()
        for alert in _paired(sorted(cell.values(), key=lambda event: (event.at, event.offset)))
        if (alert.raised_at is None or alert.raised_at < period.until)
        and (alert.resolved_at is None or alert.resolved_at >= period.since)
    ]
    closed = [_as_of(alert, period.until) for alert in found]
    return tuple(
        sorted(closed, key=lambda one: (-_time(one), one.route, one.model, one.perturbation, one.what))
    )


def _paired(events: list[AlertEvent]) -> Iterator[Alert]:
    raised: AlertEvent | None = None
    for event in events:
        if event.kind == "raised":
            raised = raised or event
        else:
            yield _alert(raised, event)
            raised = None
    if raised is not None:
        yield _alert(raised, None)


def _alert(raised: AlertEvent | None, resolved: AlertEvent | None) -> Alert:
    one = raised or resolved
    assert one is not None
    return Alert(
        one.route,
        one.model,
        one.perturbation,
        one.what,
        raised.at if raised else None,
        resolved.at if resolved else None,
        one.summary,
    )


def _as_of(alert: Alert, until: float) -> Alert:
    """The alert as it stood at the end of the period."""
    if alert.resolved_at is None or alert.resolved_at < until:
        return alert
    return Alert(
        alert.route, alert.model, alert.perturbation, alert.what, alert.raised_at, None, alert.summary
    )


def _time(alert: Alert) -> float:
    return alert.raised_at if alert.raised_at is not None else alert.resolved_at or 0.0
