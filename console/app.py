"""The Litestar application: pages, API and probes behind one set of security headers."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from litestar import Litestar, MediaType, Request, Response, get
from litestar.config.compression import CompressionConfig
from litestar.exceptions import HTTPException, NotFoundException, PermissionDeniedException
from litestar.params import FromPath

from evenkeel.console.actions import action_handlers
from evenkeel.console.alert_evidence import alert_evidence_handlers
from evenkeel.console.alerts_view import alert_handlers
from evenkeel.console.api import api_handlers, json_response
from evenkeel.console.assets import Assets
from evenkeel.console.baselines import baseline_handlers
from evenkeel.console.calibration import calibration_handlers
from evenkeel.console.changes import change_handlers
from evenkeel.console.downloads import download_handlers
from evenkeel.console.feedback import feedback_handlers
from evenkeel.console.goldens import golden_handlers
from evenkeel.console.goldens_api import golden_api_handlers
from evenkeel.console.judge import PlotReader, judge_handlers
from evenkeel.console.navigation import (
    ACTIONS,
    ALERTS,
    CALIBRATION,
    CHANGES,
    GOLDENS,
    JUDGE,
    OVERVIEW,
    PIPELINE,
    SETTINGS,
    TRIALS,
)
from evenkeel.console.overview import overview_handlers
from evenkeel.console.pipeline_page import pipeline_handlers
from evenkeel.console.probes import probe_handlers
from evenkeel.console.rendering import Renderer
from evenkeel.console.routes import route_handlers
from evenkeel.console.settings_view import document_handlers, settings_handlers
from evenkeel.console.tables import tables
from evenkeel.console.trial import trial_handlers
from evenkeel.console.trials import trial_explorer_handlers
from evenkeel.console.writing import csrf_config
from evenkeel.stores.sealing import SealError

if TYPE_CHECKING:
    from litestar.handlers import HTTPRouteHandler
    from litestar.types import Message, Scope

    from evenkeel.console.sources import ConsoleSources

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)

_SECURITY_HEADERS = (
    (b"content-security-policy", CONTENT_SECURITY_POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
)

_KEEP_FOR_GOOD = "public, max-age=31536000, immutable"

_NO_PAGE = "There is no page at this address. What it was about may no longer be kept."

_OLD_FORM = "The form was not sent from a page of this console, or its page had been open for too long."

FileName = FromPath[str]

_log = logging.getLogger("evenkeel.console")


def create_app(sources: ConsoleSources) -> Litestar:
    """The console over the given sources, an ASGI application to be served at the root of a port.

    It keeps no state; goldens and labels are the only things that it changes, in their stores. All sources
    may block: they are called in worker threads, several at a time.
    Its pages show prompts and answers, so whoever serves it on other than loopback must put
    authentication in front.
    """
    assets = Assets()
    goldens = sources.goldens
    labels = sources.labels
    actions = sources.actions
    reports = sources.change_reports
    settings, documents = sources.settings, sources.documents
    pages = (
        OVERVIEW,
        TRIALS,
        ALERTS,
        *((CHANGES,) if reports else ()),
        *((GOLDENS,) if goldens else ()),
        JUDGE,
        CALIBRATION,
        PIPELINE,
        *((SETTINGS,) if settings else ()),
        *((ACTIONS,) if actions else ()),
    )
    renderer = Renderer(assets, pages, documents=documents is not None)
    plots = PlotReader(sources)
    return Litestar(
        route_handlers=[
            *overview_handlers(sources, renderer),
            *route_handlers(sources, renderer),
            *alert_handlers(sources, renderer),
            *baseline_handlers(sources, renderer),
            *trial_explorer_handlers(sources, renderer),
            *trial_handlers(sources, renderer),
            *(feedback_handlers(sources, labels, renderer) if labels else ()),
            *api_handlers(sources),
            *alert_evidence_handlers(sources),
            *(change_handlers(reports, sources.clock, renderer) if reports else ()),
            *judge_handlers(sources, renderer, plots),
            *calibration_handlers(sources, renderer),
            *pipeline_handlers(sources, renderer),
            *(settings_handlers(sources, settings, renderer) if settings else ()),
            *(action_handlers(sources, actions, renderer) if actions else ()),
            *(document_handlers(documents, renderer) if documents else ()),
            *download_handlers(tables(sources, plots)),
            *(golden_handlers(sources, goldens, renderer) if goldens else ()),
            *(golden_api_handlers(sources, goldens) if goldens else ()),
            *probe_handlers(sources.exposition, sources.ready),
            _static_handler(assets),
        ],
        before_send=[_add_headers],
        csrf_config=csrf_config(),
        exception_handlers={Exception: _error_handler(renderer)},
        compression_config=CompressionConfig(backend="gzip", gzip_compress_level=4, minimum_size=2048),
        openapi_config=None,  # its documentation page loads scripts from elsewhere
        logging_config=None,  # the process that serves the console has set logging up
        debug=False,
    )


def _static_handler(assets: Assets) -> HTTPRouteHandler:
    @get("/static/{name:str}", sync_to_thread=False)
    def static(name: FileName) -> Response[bytes]:
        asset = assets.get(name)
        if asset is None:
            raise NotFoundException(detail="There is no such file.")
        return Response(asset.content, media_type=asset.media_type, headers={"cache-control": _KEEP_FOR_GOOD})

    return static


async def _add_headers(message: Message, _scope: Scope) -> None:
    """Put the security headers on every response, errors of the router included."""
    if message["type"] != "http.response.start":
        return
    headers = list(message.get("headers", []))
    headers.extend(_SECURITY_HEADERS)
    if not any(name.lower() == b"cache-control" for name, _ in headers):
        # Prompts and answers do not belong into a browser's cache.
        headers.append((b"cache-control", b"no-store"))
    message["headers"] = headers


def _error_handler(renderer: Renderer) -> Any:
    def handle(request: Request[Any, Any, Any], error: Exception) -> Response[bytes]:
        """A page for people, JSON for machines; details of a fault go to the log only."""
        if isinstance(error, HTTPException):
            status_code, text = error.status_code, str(error.detail)
            if isinstance(error, NotFoundException) and not error.extra and text == "Not Found":
                text = _NO_PAGE
            if isinstance(error, PermissionDeniedException):
                if text.startswith("CSRF"):
                    text = _OLD_FORM
                text = f"{text.rstrip('.')}. Nothing was changed; open the page anew and try again."
        elif isinstance(error, SealError):
            status_code, text = 503, f"This cannot be shown: {error}."
        else:
            _log.error("console: %r failed", request.scope["path"], exc_info=error)
            status_code = 500
            text = (
                f"The console could not read its sources ({type(error).__name__}); the log of the process "
                "that serves it says more. Forwarding does not depend on the console."
            )
        if request.scope["path"].startswith(("/api/", "/readyz")):
            return json_response({"error": {"message": text, "status": status_code}}, status_code)
        sent = request.method == "POST"
        content = renderer.page("message.html", title=f"Error {status_code}", text=text, sent=sent)
        return Response(content, status_code=status_code, media_type=MediaType.HTML)

    return handle
