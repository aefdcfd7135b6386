"""Endpoints for Prometheus, load balancers and Kubernetes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from litestar import Litestar, MediaType, Response, get

from evenkeel.console.access import allowed
from evenkeel.console.api import json_response
from evenkeel.core.figures import judged_by

if TYPE_CHECKING:
    from collections.abc import Callable

    from litestar.handlers import HTTPRouteHandler

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
