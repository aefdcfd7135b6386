"""The audit log: actions as text for the page and as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Final

from litestar import Response, get
from litestar.params import QueryParameter

from evenkeel.console import links
from evenkeel.console.api import json_response
from evenkeel.stores.audit_log import MOST_READ

if TYPE_CHECKING:
    from collections.abc import Callable

    from litestar.handlers import HTTPRouteHandler

    from evenkeel.stores.audit_log import Action, ActionLog, What

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


def action_handler(actions: ActionLog) -> HTTPRouteHandler:
    """Handler of `/api/actions`."""

    @get("/api/actions", sync_to_thread=True, needs="admin")
    def listed(limit: Limit = 100) -> Response[bytes]:
        """Return the newest actions, newest first."""
        return json_response({"actions": [asdict(action) for action in actions.latest(limit)]})

    return listed
