"""Alerts as programs see them: the file, and `/api/alerts/ID` with the verdicts and traces behind an alert.

People see incidents, of which alerts are parts (`incidents`). The verdicts behind an alert are those of its
cell since the change seems to have begun, read from the log.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from litestar import Response, get
from litestar.exceptions import NotFoundException

from evenkeel.console.api import json_response
from evenkeel.console.downloads import Table, as_records
from evenkeel.console.rendering import PathText  # noqa: TC001 - litestar reads the annotations
from evenkeel.core import figures
from evenkeel.monitor.incidents import verdicts_behind
from evenkeel.monitor.notify import event_json, summary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from litestar.handlers import HTTPRouteHandler

    from evenkeel.console.downloads import Value
    from evenkeel.console.sources import ConsoleSources
    from evenkeel.monitor.incidents import Incident
    from evenkeel.stores.monitor_state import AlertEvent


class _Row(NamedTuple):
    incident: Incident
    raised: AlertEvent
    over: AlertEvent | None


def alerts_table(incidents: Iterable[Incident]) -> Table:
    """Build a table of the alerts of all incidents, active ones first."""
    rows = [_Row(one, part.raised, part.over) for one in incidents for part in one.parts]

    def column(name: str) -> tuple[str, Callable[[_Row], Value]]:
        return name, lambda row: getattr(row.raised, name)

    return Table.of(
        sorted(rows, key=lambda row: row.over is not None),
        ("state", lambda row: "up" if row.over is None else "over"),
        ("incident", lambda row: row.incident.id),
        *map(column, ("what", "route", "model", "perturbation", "measure", "value", "limit")),
        ("since", lambda row: row.raised.at),
        ("until", lambda row: None if row.over is None else row.over.at),
        ("reason", lambda row: None if row.over is None else row.over.reason),
        ("clients", lambda row: figures.plain(figures.clients(row.raised.clients))),
        ("change", lambda row: row.raised.change),
        ("summary", lambda row: figures.plain(summary(row.raised))),
    )


_EVIDENCE: Final = (
    "id",
    "exchange_id",
    "scored_at",
    "rating",
    ("control_rating", lambda verdict: verdict.control.rating),
    "shifted",
    ("control_shifted", lambda verdict: verdict.control.shifted),
    "trace_id",
)
_EVENTS_READ = 10_000
"""Alert events to read, which are as many as the stores keep."""


def alert_evidence_handlers(sources: ConsoleSources) -> list[HTTPRouteHandler]:
    """Handler of `/api/alerts/ID`, with 404 for an alert that is unknown or no longer stored."""

    @get("/api/alerts/{event:str}", sync_to_thread=True, needs="viewer")
    def alert(event: PathText) -> Response[bytes]:
        found = next((one for one in sources.monitor_store.events(_EVENTS_READ) if one.id == event), None)
        if found is None:
            raise NotFoundException(f'There is no alert "{event}", or no longer.')
        behind = [one.verdict for one in verdicts_behind(sources.log, found)]
        return json_response(
            {"alert": event_json(found), "verdicts": as_records(Table.of(behind, *_EVIDENCE))}
        )

    return [alert]
