"""Approval of the baselines of cells that drift: the present level of a route, or of one of its cells."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from litestar import Response, Router, get, post
from litestar.exceptions import HTTPException
from litestar.params import FromQuery  # noqa: TC002 - litestar reads the annotations

from evenkeel.console import links
from evenkeel.console.access import Recorder, form_token, own_pages_only, signed, visitor_of
from evenkeel.console.rendering import AnyRequest, Form, Page, QueryText, see_other
from evenkeel.core import figures
from evenkeel.core.approval import Approval, ApprovalError, approvable
from evenkeel.stores.audit_log import is_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from litestar.types import ControllerRouterHandler

    from evenkeel.console.rendering import Renderer
    from evenkeel.console.sources import ConsoleSources

# Seconds for which a page that was opened can be approved.
_FRESH_S: Final = 900.0
# Approvals of a route on the page, newest first.
_LISTED: Final = 10
_SKIPPED_SHOWN: Final = 5


def baselines_page(sources: ConsoleSources, asked: Mapping[str, str | None]) -> Page | None:
    """Build the page of baselines that can be approved; None for a route without cells.

    Args:
        sources: reports and the log.
        asked: `route`, and `model`, `perturbation`, or `approved` (the id of what has been).
    """
    route, model, perturbation = asked["route"] or "", asked["model"], asked["perturbation"]
    reports = sources.reports()
    report_by_cell = {}
    for report in reports:
        if report.key.route == route:
            report_by_cell[report.key.model, report.key.perturbation] = report
    if not report_by_cell:
        return None
    past = [approval for approval in sources.log.approvals()[::-1] if approval.approval.route == route]
    done = next((approval.approval for approval in past if approval.approval.id == asked["approved"]), None)
    if done is None:
        ready, short = approvable(reports, route, model=model, perturbation=perturbation)
    else:
        ready, short = list(done.cells), []
    return Page(
        f"Baselines of {route} · evenkeel",
        route=route,
        asked={"route": route, "model": model or "", "perturbation": perturbation or ""},
        narrowed=bool(model or perturbation),
        rows=[(cell, report_by_cell.get((cell.model, cell.perturbation))) for cell in ready],
        short=short,
        skipped_shown=_SKIPPED_SHOWN,
        seen_at=round(sources.clock(), 3),
        approved=done,
        past=past[:_LISTED],
    )


def baseline_handlers(sources: ConsoleSources, renderer: Renderer) -> list[ControllerRouterHandler]:
    """GET `/baselines` (takes `route`, `model`, `perturbation`, `approved`), POST `/baselines`."""
    record = Recorder(sources.actions)

    @get("/", sync_to_thread=True, needs="viewer")
    def shown(
        request: AnyRequest,
        route: FromQuery[str] = "",
        model: QueryText = None,
        perturbation: QueryText = None,
        approved: QueryText = None,
    ) -> Response[bytes]:
        asked = {"route": route, "model": model or None, "perturbation": perturbation or None}
        page = baselines_page(sources, {**asked, "approved": approved})
        if page is None:
            return renderer.not_found("No such cells", "No trial of this route has been scored.")
        return renderer.response(
            "baselines.html", page=page, token=form_token(request), visitor=visitor_of(request)
        )

    @post("/", sync_to_thread=True, guards=[own_pages_only], needs="approver")
    def approved(request: AnyRequest, data: Form) -> Response[bytes]:
        visitor, now = visitor_of(request), sources.clock()
        asked = signed(visitor, data)
        try:
            approval = _approval(sources, asked, now)
        except ApprovalError as error:
            raise HTTPException(
                f"Nothing was approved: {error}. Open the page anew and look again.", status_code=400
            ) from error
        # A form that is sent twice makes the same entry of the log.
        if sources.log.note(approval):
            cells = f"{figures.count(len(approval.cells), 'cell')}, approval {approval.id}"
            record(visitor, approval.by, "baseline_approved", approval.route, at=now, detail=cells)
        return see_other(links.baselines_link(approval.route, approved=approval.id))

    # A router, because Litestar would wrap the first of two handlers of one path twice.
    return [Router("/baselines", route_handlers=[shown, approved])]


def _approval(sources: ConsoleSources, asked: Mapping[str, Any], now: float) -> Approval:
    """Return the approval of the present level under a person's name.

    Raises: ApprovalError if there is no name, or if what was shown is old or has changed since.
    """
    by, route = asked.get("by", "").strip(), asked.get("route", "")
    if not is_name(by):
        raise ApprovalError("say your name")
    try:
        seen_at = float(asked.get("seen_at", ""))
    except ValueError:
        seen_at = math.nan
    # People approve what they saw, so it must still be what is there.
    if not 0 <= now - seen_at <= _FRESH_S:
        raise ApprovalError("this was shown too long ago")
    marks = [mark for changes in sources.changes() if changes.route == route for mark in changes.latest]
    if any(mark.at > seen_at for mark in marks):
        raise ApprovalError("the route has changed since this was shown")
    narrowed = {name: asked.get(name) or None for name in ("model", "perturbation")}
    ready, _ = approvable(sources.reports(), route, **narrowed)
    if not ready:
        raise ApprovalError("there is nothing to approve")
    return Approval.of(route, ready, by=by, at=seen_at, note=asked.get("note", ""))
