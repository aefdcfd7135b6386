"""`/api/alerts/ID`: an alert with the verdicts and traces behind it."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from litestar import Response, get
from litestar.exceptions import NotFoundException
from litestar.params import FromPath

from evenkeel.console.api import json_response
from evenkeel.monitor.evidence import verdicts_behind

if TYPE_CHECKING:
    from litestar.handlers import HTTPRouteHandler

    from evenkeel.console.sources import ConsoleSources
    from evenkeel.stores.verdict_log import LoggedVerdict

EventId = FromPath[str]
_EVENTS_READ = 10_000
"""As many as the stores keep."""


def alert_evidence_handlers(sources: ConsoleSources) -> list[HTTPRouteHandler]:
    """`/api/alerts/ID`, with 404 for an alert that is not known (any more)."""

    @get("/api/alerts/{event:str}", sync_to_thread=True)
    def alert(event: EventId) -> Response[bytes]:
        found = next((one for one in sources.monitor_store.events(_EVENTS_READ) if one.id == event), None)
        if found is None:
            raise NotFoundException(f'There is no alert "{event}", or no longer.')
        behind = verdicts_behind(sources.log, found)
        return json_response({"alert": asdict(found), "verdicts": [_shown(one) for one in behind]})

    return [alert]


def _shown(logged: LoggedVerdict) -> dict[str, Any]:
    verdict = logged.verdict
    return {
        "id": verdict.id,
        "exchange_id": verdict.exchange_id,
        "scored_at": verdict.scored_at,
        "rating": verdict.rating,
        "baseline_rating": verdict.baseline_rating,
        "shifted": verdict.shifted,
        "baseline_shifted": verdict.baseline_shifted,
        "trace_id": verdict.trace_id,
    }
