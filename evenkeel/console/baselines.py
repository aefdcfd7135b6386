"""Approval of the baselines of cells that drift. Only figures that were shown can be approved."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets
from typing import TYPE_CHECKING, Any, Final

from litestar import Response, Router, get, post
from litestar.exceptions import HTTPException
from litestar.params import FromQuery  # noqa: TC002 - litestar reads the annotations

from evenkeel.console import links
from evenkeel.console.access import Recorder, form_token, own_pages_only, signed, visitor_of
from evenkeel.console.rendering import AnyRequest, Form, Page, QueryText, see_other
from evenkeel.core import figures
from evenkeel.core.approval import Approval, ApprovalError, ApprovedCell, approvable
from evenkeel.core.records import from_json, to_json
from evenkeel.stores.audit_log import is_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from litestar.types import ControllerRouterHandler

    from evenkeel.console.rendering import Renderer
    from evenkeel.console.sources import ConsoleSources

OFFERED_S: Final = 900.0
"""Seconds after being shown in which an offer can be approved."""
_LISTED: Final = 10
"""Approvals of a route on the page, newest first."""
_SKIPPED_SHOWN: Final = 5


class Offers:
    """Makes and reads offers: the cells shown on a page, signed so that only this process can create them."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def make(self, route: str, cells: Sequence[ApprovedCell], at: float) -> str:
        """Return an offer of the cells as they were at a time, in Unix seconds."""
        draft = Approval.of(route, cells, by="-", at=at)
        body = base64.urlsafe_b64encode(to_json(draft).encode()).decode()
        return f"{body}.{self._mark(body)}"

    def read(self, offer: str, now: float) -> Approval:
        """Return an offer as an approval without a name.

        Raises: ApprovalError if the offer is not from this process, or is older than `OFFERED_S`.
        """
        body, _, mark = offer.rpartition(".")
        if not hmac.compare_digest(mark.encode(), self._mark(body).encode()):
            raise ApprovalError("this was not offered here, or evenkeel has been started since")
        try:
            found = from_json(base64.urlsafe_b64decode(body), Approval)
        except (binascii.Error, ValueError) as error:
            raise ApprovalError("this was not offered here") from error
        if not 0 <= now - found.at <= OFFERED_S:
            raise ApprovalError("this was shown too long ago")
        return found

    def _mark(self, body: str) -> str:
        return hmac.new(self._key, body.encode(), hashlib.sha256).hexdigest()


def baselines_page(sources: ConsoleSources, asked: Mapping[str, str | None], offers: Offers) -> Page | None:
    """Build the page of baselines that can be approved; None for a route without cells.

    Args:
        sources: reports and the log.
        asked: `route`, and `model`, `perturbation`, or `approved` (the id of what has been).
        offers: makes the offer that the form sends.
    """
    route, model, perturbation = asked["route"] or "", asked["model"], asked["perturbation"]
    reports = sources.reports()
    known = {(one.key.model, one.key.perturbation): one for one in reports if one.key.route == route}
    if not known:
        return None
    past = [one for one in sources.log.approvals()[::-1] if one.approval.route == route]
    done = next((one.approval for one in past if one.approval.id == asked["approved"]), None)
    if done is None:
        ready, short = approvable(reports, route, model=model, perturbation=perturbation)
    else:
        ready, short = list(done.cells), []
    return Page(
        f"Baselines of {route} · evenkeel",
        route=route,
        narrowed=bool(model or perturbation),
        rows=[(cell, known.get((cell.model, cell.perturbation))) for cell in ready],
        short=short,
        skipped_shown=_SKIPPED_SHOWN,
        # The form sends it to approve exactly this; "" if there is nothing to approve.
        offer=offers.make(route, ready, round(sources.clock(), 3)) if ready and done is None else "",
        approved=done,
        past=past[:_LISTED],
    )


def baseline_handlers(sources: ConsoleSources, renderer: Renderer) -> list[ControllerRouterHandler]:
    """GET `/baselines` (takes `route`, `model`, `perturbation`, `approved`), POST `/baselines`."""
    offers = Offers(secrets.token_bytes(32))
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
        page = baselines_page(sources, {**asked, "approved": approved}, offers)
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
            approval = _approval(sources, offers.read(data.get("offer", ""), now), asked)
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


def _approval(sources: ConsoleSources, offered: Approval, asked: Mapping[str, Any]) -> Approval:
    """Return the approval of an offer under a person's name.

    Raises: ApprovalError if there is no name, or the route has changed since the offer was made.
    """
    by = asked.get("by", "").strip()
    if not is_name(by):
        raise ApprovalError("say your name")
    ready, _ = approvable(sources.reports(), offered.route)
    trials = {(cell.model, cell.perturbation): cell.n for cell in ready}
    # A change resets the count, but a busy route soon has as many trials again.
    changed = any(trials.get((cell.model, cell.perturbation), 0) < cell.n for cell in offered.cells) or any(
        mark.at > offered.at for one in sources.changes() if one.route == offered.route for mark in one.latest
    )
    if changed:
        raise ApprovalError("the route has changed since this was shown")
    if any(_replaces(one.approval, offered) for one in sources.log.approvals()):
        raise ApprovalError("newer figures of these cells have been approved since this was shown")
    return Approval.of(offered.route, offered.cells, by=by, at=offered.at, note=asked.get("note", ""))


def _replaces(approval: Approval, offered: Approval) -> bool:
    """Return whether an approval holds newer figures of an offered cell."""
    if approval.route != offered.route or approval.at <= offered.at:
        return False
    cells = {(cell.model, cell.perturbation) for cell in approval.cells}
    return any((cell.model, cell.perturbation) in cells for cell in offered.cells)
