"""The Litestar application: pages, API and probes behind one set of security headers."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from litestar import Litestar, Request, Response, get
from litestar.config.compression import CompressionConfig
from litestar.exceptions import HTTPException, NotFoundException, PermissionDeniedException

from evenkeel.console.access import allowed, csrf_config
from evenkeel.console.api import api_handlers, json_response, probe_handlers
from evenkeel.console.calibration import calibration_handlers
from evenkeel.console.challengers import challenger_handlers
from evenkeel.console.changes import change_handlers
from evenkeel.console.documents import document_handler
from evenkeel.console.goldens import golden_handlers
from evenkeel.console.incidents import incident_handlers
from evenkeel.console.judge import judge_handler
from evenkeel.console.labels import feedback_handlers
from evenkeel.console.now import now_handlers
from evenkeel.console.pipeline import pipeline_handlers
from evenkeel.console.rendering import Assets, PathText, Place, Renderer
from evenkeel.console.routes import reference_handler, route_handlers
from evenkeel.console.runs import run_handler
from evenkeel.console.setup import setup_handlers
from evenkeel.console.situation import Situation
from evenkeel.console.spend import spend_handlers
from evenkeel.console.trial import trial_handlers
from evenkeel.console.trials import trial_list_handlers
from evenkeel.stores.sealing import SealError

if TYPE_CHECKING:
    from collections.abc import Callable

    from litestar.handlers import HTTPRouteHandler
    from litestar.types import Message, Scope

    from evenkeel.console.sources import ConsoleSources
    from evenkeel.monitor.measuring import Measuring


CONTENT_SECURITY_POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)

SECURITY_HEADERS: Final = (
    (b"content-security-policy", CONTENT_SECURITY_POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
)
"""Headers of every response."""

_KEEP_FOR_GOOD = "public, max-age=31536000, immutable"

_NO_PAGE = "There is no page at this address, or what it showed is no longer stored."

_OLD_FORM = "The form was not sent from a page of this console, or the page had been open too long."


# Entries of the navigation; pages of routes are reached from Now.
_PLACES: Final = (
    Place("Now", {"/": "Now", "/incidents": "Incidents"}),
    Place("Trials", {"/trials": "Trials"}),
    Place("Releases", {"/goldens": "Goldens", "/runs": "Gates and checks", "/challengers": "Challengers"}),
    Place(
        "System",
        {
            "/judge": "Judge",
            "/calibration": "Limits",
            "/pipeline": "Pipeline",
            "/spend": "Cost",
            "/setup": "Set up",
        },
    ),
)
_FAULT: Final = 500
_log = logging.getLogger("evenkeel.console")


def create_app(sources: ConsoleSources) -> Litestar:
    """Build the console as an ASGI application, to be served at the root of a port.

    It keeps no state: goldens, labels, decisions on incidents and the audit log go to their
    stores, where reference prompts can be deleted, too. All sources may block: they are called in worker
    threads, several at a time. Its pages show prompts and answers, so whoever serves it on other than
    loopback must put authentication in front.
    """
    assets = Assets()
    situation = Situation(sources.monitor_store, sources.reports)
    # Pages share the cells that were read last; programs get what is measured now.
    measured, sources = sources, replace(sources, reports=situation.cells)
    renderer = Renderer(
        assets,
        sources.clock,
        _PLACES,
        open_incidents=situation.count,
        signs_in=sources.signs_in,
        has_judge=sources.judge is not None,
    )
    return Litestar(
        route_handlers=[
            *now_handlers(sources, situation, renderer),
            *incident_handlers(sources, situation, renderer),
            *route_handlers(sources, situation, renderer),
            run_handler(sources, renderer),
            *challenger_handlers(sources, renderer),
            *trial_list_handlers(sources, renderer),
            *trial_handlers(sources, renderer),
            *feedback_handlers(sources, renderer),
            *api_handlers(measured),
            *change_handlers(sources, situation, renderer),
            reference_handler(sources),
            judge_handler(sources, renderer),
            *calibration_handlers(sources, renderer),
            *pipeline_handlers(sources, renderer),
            *spend_handlers(sources, renderer),
            *setup_handlers(sources, renderer),
            document_handler(renderer),
            *golden_handlers(sources, renderer),
            *probe_handlers(
                sources.exposition,
                lambda: sources.measuring().problems(),
                sources.judge.model if sources.judge else "",
            ),
            _static_handler(assets),
        ],
        guards=[allowed],
        before_send=[_add_headers],
        csrf_config=csrf_config(),
        exception_handlers={Exception: _error_handler(renderer, sources.measuring)},
        compression_config=CompressionConfig(backend="gzip", gzip_compress_level=4, minimum_size=2048),
        openapi_config=None,  # its documentation page loads scripts from elsewhere
        logging_config=None,  # the process that serves the console has configured logging
        debug=False,
    )


def _static_handler(assets: Assets) -> HTTPRouteHandler:
    @get("/static/{name:str}", sync_to_thread=False, needs="nobody")
    def static(name: PathText) -> Response[bytes]:
        asset = assets.get(name)
        if asset is None:
            raise NotFoundException(detail="There is no such file.")
        content, media_type = asset
        return Response(content, media_type=media_type, headers={"cache-control": _KEEP_FOR_GOOD})

    return static


async def _add_headers(message: Message, _scope: Scope) -> None:
    """Add the security headers to every response, including errors of the router."""
    if message["type"] != "http.response.start":
        return
    headers = list(message.get("headers", []))
    headers.extend(SECURITY_HEADERS)
    if not any(name.lower() == b"cache-control" for name, _ in headers):
        # Only static files may be kept: prompts and answers do not belong in a browser's cache.
        headers.append((b"cache-control", b"no-store"))
    message["headers"] = headers


_TITLES: Final = {
    400: "That did not work",
    403: "Not allowed",
    404: "Not found",
    500: "This page cannot be shown",
    503: "Not readable",
}


def _error_handler(renderer: Renderer, measuring: Callable[[], Measuring]) -> Any:
    def handle(request: Request[Any, Any, Any], error: Exception) -> Response[bytes]:
        """Answer an error with a page for people, or JSON for programs; only the log has details."""
        title = ""
        if isinstance(error, HTTPException):
            status_code, text = error.status_code, str(error.detail)
            # The router's own words; a handler that finds nothing says what it looked for.
            if isinstance(error, NotFoundException) and not error.extra and text == "Not Found":
                text = _NO_PAGE
            if isinstance(error, PermissionDeniedException):
                if text.startswith("CSRF"):
                    text = _OLD_FORM
                text = f"{text.rstrip('.')}. Nothing was changed; reload the page and try again."
        elif isinstance(error, SealError):
            status_code, text = 503, f"This cannot be shown: {error}."
        elif away := measuring().cause("queue"):
            # No page can be shown without the store, and its traceback would be in the log every two seconds.
            _log.error("console: %r cannot be shown: %s", request.scope["path"], away.said)
            status_code, title = 503, "Held up"
            text = f"{away.sentence} No page can be shown until then. Requests are still forwarded."
        else:
            _log.error("console: %r failed", request.scope["path"], exc_info=error)
            status_code = 500
            text = (
                f"The console could not read its sources ({type(error).__name__}). Reload the page; if that "
                "does not help, check that the store can be reached: the log says why it failed. "
                "Requests are still forwarded."
            )
        # Programs and health checks read JSON, whatever failed.
        if request.scope["path"].startswith(("/api/", "/readyz")):
            return json_response({"error": {"message": text, "status": status_code}}, status_code)
        sentence: dict[str, Any] = {
            "title": title or _TITLES.get(status_code, f"Error {status_code}"),
            "text": text,
            "sent": request.method == "POST",
        }
        if status_code >= _FAULT:
            sentence["open_incidents"] = 0  # reading their number may be what failed
        return renderer.response("message.html", status_code, **sentence)

    return handle
