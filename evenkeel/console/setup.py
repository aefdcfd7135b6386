"""The set-up page: what to paste into a client, settings in effect and the audit log."""

from __future__ import annotations

import json
import shlex
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Final, NamedTuple
from urllib.parse import urlsplit

from litestar import Response, get
from litestar.params import QueryParameter

from evenkeel.console import links
from evenkeel.console.access import visitor_of
from evenkeel.console.api import json_response
from evenkeel.console.rendering import AnyRequest  # noqa: TC001 - litestar reads the annotations
from evenkeel.stores.audit_log import MOST_READ

if TYPE_CHECKING:
    from collections.abc import Callable

    from litestar.handlers import HTTPRouteHandler

    from evenkeel.console.rendering import Renderer
    from evenkeel.console.sources import ConsoleSources
    from evenkeel.stores.audit_log import Action, What

_EVERYWHERE: Final = frozenset({"0.0.0.0", "::"})  # noqa: S104 - recognised, not listened on
# Entries of the audit log on the page; the download has all of them.
_ACTIONS: Final = 50


Limit = Annotated[int, QueryParameter(ge=1, le=MOST_READ)]

DONE: Final[dict[What, str]] = {
    "golden_approved": "approved the golden",
    "golden_retired": "retired the golden",
    "golden_unretired": "reinstated the golden",
    "goldens_imported": "imported goldens from",
    "label_given": "labelled the trial",
    "label_withdrawn": "took back a label of the trial",
    "baseline_approved": "approved baselines of the route",
    "references_forgotten": "deleted the reference prompts of the route",
    "incident_decided": "decided about the incident",
    "challenger_started": "started a challenger on",
    "challenger_stopped": "stopped the challenger of",
    "challenger_labelled": "labelled a pair of the challenger of",
}
_ADDRESS: Final[dict[str, Callable[[str], str]]] = {
    "golden": links.golden_link,
    "label": links.verdict_link,
    "baseline": links.route_link,
    "references": links.route_link,
    "incident": links.incident_link,
}


def action_href(action: Action) -> str:
    """Return the address of the page that an action was about, "" if there is none."""
    address = _ADDRESS.get(action.what.partition("_")[0])
    return address(action.subject) if address else ""


class Snippet(NamedTuple):
    """Lines to paste."""

    title: str
    text: str


def snippets(base_url: str, model: str) -> tuple[Snippet, ...]:
    """Lines for the usual clients, with the base URL of a route."""
    hello = {"model": model, "messages": [{"role": "user", "content": "Hello"}]}
    return (
        Snippet(
            "Python, openai",
            f'from openai import OpenAI\n\nclient = OpenAI(base_url="{base_url}")',
        ),
        Snippet(
            "Node, openai",
            f'import OpenAI from "openai";\n\nconst client = new OpenAI({{ baseURL: "{base_url}" }});',
        ),
        Snippet(
            "curl",
            f"curl {base_url}/chat/completions \\\n"
            '  -H "Authorization: Bearer $OPENAI_API_KEY" -H "Content-Type: application/json" \\\n'
            f"  -d {shlex.quote(json.dumps(hello))}",
        ),
        Snippet(
            "LangChain, LiteLLM and others, by environment",
            f"export OPENAI_BASE_URL={base_url}   # openai\n"
            f"export OPENAI_API_BASE={base_url}   # LangChain, LiteLLM, LlamaIndex",
        ),
    )


def _reached(base_url: str, request: AnyRequest) -> str:
    """Return a base URL by which this visitor can reach a data plane that listens on all addresses."""
    # The visitor has reached this host by the name in the address bar, so it leads to the data plane too.
    host = urlsplit(base_url).hostname or ""
    own = request.base_url.hostname
    if host not in _EVERYWHERE or not own:
        return base_url
    return base_url.replace(f"[{host}]" if ":" in host else host, f"[{own}]" if ":" in own else own, 1)


def _latest_model(sources: ConsoleSources, route: str) -> str:
    """Return the model that answered last on a route; "MODEL" before the first trial."""
    own = [report for report in sources.reports() if report.key.route == route]
    return max(own, key=lambda report: report.last_scored_at or 0.0).key.model if own else "MODEL"


def setup_handlers(sources: ConsoleSources, renderer: Renderer) -> list[HTTPRouteHandler]:
    """Handlers of GET `/setup`, and of `/api/actions` if there is an audit log."""

    @get("/setup", sync_to_thread=True, needs="viewer")
    def page(request: AnyRequest) -> Response[bytes]:
        visitor = visitor_of(request)
        admin = visitor.may("admin")
        routes = []
        for setup in sources.setup:
            routes.append(setup._replace(base_url=_reached(setup.base_url, request)))
        return renderer.response(
            "setup.html",
            routes=routes,
            snippets=snippets(routes[0].base_url, _latest_model(sources, routes[0].route)) if routes else (),
            visitor=visitor,
            sections=sources.settings() if sources.settings and admin else None,
            actions=sources.actions.latest(_ACTIONS) if sources.actions and admin else None,
            action_words=DONE,
            action_href=action_href,
        )

    log = sources.actions
    if log is None:
        return [page]

    @get("/api/actions", sync_to_thread=True, needs="admin")
    def actions(limit: Limit = 100) -> Response[bytes]:
        """Return the newest actions, newest first."""
        return json_response({"actions": [asdict(action) for action in log.latest(limit)]})

    return [page, actions]
