"""The page of what people have done, and the same as JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Final

from litestar import Response, get
from litestar.params import QueryParameter

from evenkeel.console import links
from evenkeel.console.access import visitor_of
from evenkeel.console.api import json_response
from evenkeel.console.downloads import Table
from evenkeel.console.rendering import Head, live_handlers
from evenkeel.core import figures
from evenkeel.stores.audit_log import KNOWN_BY, MOST_READ

if TYPE_CHECKING:
    from collections.abc import Callable

    from litestar.handlers import HTTPRouteHandler

    from evenkeel.console.access import Visitor
    from evenkeel.console.rendering import AnyRequest, Renderer
    from evenkeel.console.sources import ConsoleSources
    from evenkeel.stores.audit_log import Action, ActionLog, What

SHOWN: Final = 200
"""Actions on the page; the download has more."""

Limit = Annotated[int, QueryParameter(ge=1, le=MOST_READ)]

_DONE: Final[dict[What, str]] = {
    "golden_approved": "approved the golden",
    "golden_retired": "retired the golden",
    "golden_unretired": "put back the golden",
    "goldens_imported": "imported goldens from",
    "label_given": "labelled the verdict",
    "label_withdrawn": "took back a label of the verdict",
    "baseline_approved": "approved baselines of the route",
}
_ADDRESS: Final[dict[str, Callable[[str], str]]] = {
    "golden": links.golden_link,
    "label": links.verdict_link,
    "baseline": links.baselines_link,
}


@dataclass(frozen=True, slots=True)
class ActionLine:
    """One action."""

    at: str
    at_iso: str
    at_exact: str
    by: str
    known: str
    checked: bool
    """Whether the name is more than what somebody typed."""
    done: str
    subject: str
    href: str
    """"" without a page of its own."""
    detail: str


@dataclass(frozen=True, slots=True)
class ActionsPage:
    """The whole page."""

    head: Head
    visitor: Visitor
    lines: tuple[ActionLine, ...]
    shown: int = SHOWN


def actions_page(sources: ConsoleSources, actions: ActionLog, visitor: Visitor) -> ActionsPage:
    """What was done last, the newest first, and who is looking."""
    now = sources.clock()
    return ActionsPage(
        Head("Actions · evenkeel", alert=any(report.alert for report in sources.reports())),
        visitor,
        tuple(_line(action, now) for action in actions.latest(SHOWN)),
    )


def actions_table(actions: ActionLog) -> Table:
    """The newest thousand, newest first, for a file."""
    columns = ("at", "by", "known_by", "what", "subject", "detail")
    found = actions.latest(MOST_READ)
    return Table(
        columns, [(one.at, one.by, one.known_by, one.what, one.subject, one.detail) for one in found]
    )


def action_handlers(
    sources: ConsoleSources, actions: ActionLog, renderer: Renderer
) -> list[HTTPRouteHandler]:
    """`/actions` with its live part, and `/api/actions`."""

    def page(request: AnyRequest) -> ActionsPage:
        return actions_page(sources, actions, visitor_of(request))

    @get("/api/actions", sync_to_thread=True)
    def listed(limit: Limit = 100) -> Response[bytes]:
        """The newest actions, newest first."""
        return json_response({"actions": [asdict(one) for one in actions.latest(limit)]})

    return [*live_handlers("/actions", "_actions.html", page, renderer), listed]


def _line(action: Action, now: float) -> ActionLine:
    address = _ADDRESS.get(action.what.partition("_")[0])
    return ActionLine(
        at=figures.moment(action.at, now),
        at_iso=figures.iso(action.at),
        at_exact=figures.moment_exact(action.at),
        by=action.by,
        known=KNOWN_BY.get(action.known_by, action.known_by),
        checked=action.known_by in {"token", "proxy"},
        done=_DONE.get(action.what, action.what),
        subject=action.subject,
        href=address(action.subject) if address else "",
        detail=action.detail,
    )
