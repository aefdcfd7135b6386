"""The admin API: the content of the pages as JSON, and probes for Prometheus, load balancers and Kubernetes.

Ratios are in [0, 1], times in Unix seconds.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec
from litestar import Litestar, MediaType, Response, get
from litestar.exceptions import HTTPException, NotFoundException
from litestar.params import QueryParameter

from evenkeel.console.access import allowed
from evenkeel.console.rendering import PathText  # noqa: TC001 - litestar reads the annotations
from evenkeel.core.cells import CellReport
from evenkeel.core.figures import judged_by
from evenkeel.monitor.incidents import verdicts_behind
from evenkeel.monitor.notify import event_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from litestar.handlers import HTTPRouteHandler

    from evenkeel.console.sources import ConsoleSources
    from evenkeel.core.cells import RollupReport


MAX_VERDICTS = 500
# Alert events to read, which are as many as the stores keep.
_EVENTS_READ: Final = 10_000

Limit = Annotated[int, QueryParameter(ge=1, le=MAX_VERDICTS)]


def api_handlers(sources: ConsoleSources) -> list[HTTPRouteHandler]:
    """Handlers of `/api/cells`, `rollups`, `changes`, `alerts` and `pipeline`."""
    scoring = scored_by(sources)

    @get("/api/cells", sync_to_thread=True, needs="viewer")
    def cells() -> Response[bytes]:
        now = sources.clock()
        return json_response({"cells": [_reported(report, now) for report in sources.reports()], **scoring})

    @get("/api/rollups", sync_to_thread=True, needs="viewer")
    def rollups() -> Response[bytes]:
        now = sources.clock()
        return json_response({"rollups": [_reported(report, now) for report in sources.rollups()], **scoring})

    @get("/api/changes", sync_to_thread=True, needs="viewer")
    def changes() -> Response[bytes]:
        reports = sources.change_reports()
        return json_response(
            {
                "routes": [asdict(route) for route in sources.changes()],
                "changes": [asdict(report) for report in reports],
                **scoring,
            }
        )

    @get("/api/alerts", sync_to_thread=True, needs="viewer")
    def alerts(limit: Limit = 100) -> Response[bytes]:
        return json_response({**_alerts(sources, limit), **scoring})

    @get("/api/alerts/{event:str}", sync_to_thread=True, needs="viewer")
    def alert(event: PathText) -> Response[bytes]:
        """Return an alert with the verdicts of its cell since the change seems to have begun."""
        for stored in sources.monitor_store.events(_EVENTS_READ):
            if stored.id == event:
                behind = []
                for trial in verdicts_behind(sources.log, stored):
                    behind.append(trial.verdict)
                return json_response(
                    {"alert": event_json(stored), "verdicts": msgspec.to_builtins(behind), **scoring}
                )
        raise NotFoundException(f'There is no alert "{event}", or no longer.')

    @get("/api/pipeline", sync_to_thread=True, needs="viewer")
    def pipeline() -> Response[bytes]:
        return json_response(asdict(sources.pipeline()))

    return [cells, rollups, changes, alerts, alert, pipeline]


def _alerts(sources: ConsoleSources, limit: int) -> dict[str, Any]:
    now = sources.clock()
    raised, drifting = [], []
    for report in sources.reports():
        if report.detection.alert:
            raised.append(_reported(report, now))
        if report.detection.drift and report.detection.drift.state != "level":
            drifting.append(_reported(report, now))
    events = list(map(event_json, sources.monitor_store.events(limit)))
    return {"active": raised, "drifting": drifting, "events": events}


def scored_by(sources: ConsoleSources) -> dict[str, str]:
    """Return the member of a response that names the judge, or says what cannot be seen without one."""
    return {"scoring": judged_by(sources.judge.model if sources.judge else "")}


def json_response(body: Any, status_code: int = 200) -> Response[bytes]:
    """Return the body as strict JSON: numbers that are not finite become null.

    Written in ASCII, so that half a surrogate pair in a model's answer survives as its escape.
    """
    return Response(
        json.dumps(_strict(body), allow_nan=False, separators=(",", ":")).encode("ascii"),
        status_code=status_code,
        media_type=MediaType.JSON,
    )


def json_object(body: bytes) -> dict[str, Any]:
    """Parse a body as a JSON object. Raises: HTTPException if it is not one."""
    try:
        parsed = json.loads(body)
    except (ValueError, RecursionError):
        parsed = None
    if not isinstance(parsed, dict):
        raise HTTPException("The body is not a JSON object.", status_code=400)
    return parsed


def _reported(report: CellReport | RollupReport, now: float) -> dict[str, Any]:
    """Merge a report with its key and with the age of its latest rating in seconds."""
    flat = msgspec.to_builtins(report.flat() if isinstance(report, CellReport) else report)
    flat.pop("revision", None)  # counts updates of the monitor, which says nothing to a reader
    last = report.last_scored_at
    return {**flat.pop("key", {}), **flat, "stale_s": None if last is None else max(0.0, now - last)}


def _strict(value: Any) -> Any:
    # JSON knows neither NaN nor Infinity, and many parsers end at them.
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): _strict(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_strict(item) for item in value]
    return value


_FORWARDS: Final = (
    "This process forwards and samples requests. Whether their answers are measured is known to the worker "
    "and the monitor: ask /readyz there."
)

EXPOSITION_TYPE = "text/plain; version=0.0.4"
"""Content type of metrics, to which the framework adds the charset."""


def create_probes(
    exposition: Callable[[], bytes], ready: Callable[[], dict[str, str]] | None, judge: str
) -> Litestar:
    """Build an application with only the probes, for a process without a console; see `probe_handlers`."""
    handlers = probe_handlers(exposition, ready, judge)
    return Litestar(handlers, guards=[allowed], openapi_config=None, logging_config=None)


def probe_handlers(
    exposition: Callable[[], bytes], ready: Callable[[], dict[str, str]] | None, judge: str
) -> list[HTTPRouteHandler]:
    """Handlers of `/metrics`, `/healthz` (200 while serving) and `/readyz` (503 with what is missing).

    Args:
        exposition: the metrics in the Prometheus text format 0.0.4.
        ready: {} when ready, else part → what is wrong and what to do. None for a process that only forwards:
            it is always ready, since nothing that is not measured may keep requests from being forwarded.
        judge: model of the judge; "" without one.
    """
    rated = judged_by(judge)

    @get("/metrics", sync_to_thread=True, needs="scraper")
    def metrics() -> Response[bytes]:
        return Response(exposition(), media_type=EXPOSITION_TYPE)

    # On the event loop, not in a thread: health must not wait for threads that wait for a store.
    @get("/healthz", sync_to_thread=False, needs="nobody")
    def healthz() -> Response[bytes]:
        return Response(b"ok\n", media_type=MediaType.TEXT)

    # In a thread: what is missing may be known to a store that does not answer.
    @get("/readyz", sync_to_thread=True, needs="nobody")
    def readyz() -> Response[bytes]:
        if ready is None:
            return json_response({"status": "ready", "missing": {}, "measuring": _FORWARDS})
        missing = ready()
        if missing:
            return json_response({"status": "not ready", "missing": missing, "scoring": rated}, 503)
        return json_response({"status": "ready", "missing": {}, "scoring": rated})

    return [metrics, healthz, readyz]
