"""The pages about incidents: the list, and one of them with its worst trials; decisions; the same as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from litestar import Response, Router, get, post
from litestar.exceptions import HTTPException, NotFoundException
from litestar.params import RawBody  # noqa: TC002 - litestar reads the annotations

from evenkeel.console import links
from evenkeel.console.access import (
    Recorder,
    form_token,
    json_only,
    own_pages_only,
    signed,
    visitor_of,
)
from evenkeel.console.api import json_object, json_response
from evenkeel.console.rendering import AnyRequest, Form, PathText, QueryText, see_other
from evenkeel.console.trial import TrialView, exhibit_in_full
from evenkeel.core.incidents import DECIDED, Decision, DecisionError
from evenkeel.monitor.incidents import IncidentBoard, worst_trials
from evenkeel.monitor.notify.notices import headline, over_line
from evenkeel.stores.verdict_log import readable_evidence

if TYPE_CHECKING:
    from collections.abc import Mapping

    from litestar.types import ControllerRouterHandler

    from evenkeel.console.rendering import Renderer
    from evenkeel.console.sources import ConsoleSources
    from evenkeel.core.verdict import Verdict
    from evenkeel.monitor.changes.report import ChangeReport
    from evenkeel.monitor.incidents import Incident
    from evenkeel.monitor.notify import Writer

_SHOWN: Final = 60
DECISIONS: Final = {
    "acknowledged": "Acknowledge: I am on it",
    "rolled_back": "Rolled back",
    "accepted": "Accept the answers as the new baseline",
    "false_alarm": "False alarm",
}
"""On buttons."""


class IncidentLine(NamedTuple):
    """An incident and the sentence that says what happened."""

    incident: Incident
    said: str

    @classmethod
    def of(cls, incident: Incident) -> IncidentLine:
        """What happened, or that it is over."""
        said = over_line(incident) if incident.state == "resolved" else headline(incident)
        return cls(incident, said)


def _decide(
    sources: ConsoleSources, request: AnyRequest, incident: Incident, asked: Mapping[str, Any]
) -> Decision:
    """Note a decision, on record. Raises: HTTPException."""
    visitor = visitor_of(request)
    said = signed(visitor, asked)
    texts = {name: said.get(name, "") for name in ("decided", "by", "note")}
    if set(said) - set(texts) or not all(isinstance(one, str) for one in texts.values()):
        raise HTTPException(
            f'say what is decided: {{"decided": one of {", ".join(DECIDED)}, "note": "…"}}',
            status_code=400,
        )
    try:
        decision = Decision.of(
            incident.id,
            texts["decided"],
            route=incident.routes[0],
            by=texts["by"],
            at=sources.clock(),
            note=texts["note"],
        )
    except DecisionError as error:
        raise HTTPException(str(error), status_code=400) from error
    sources.log.note(decision)
    Recorder(sources.actions)(
        visitor,
        decision.by,
        "incident_decided",
        incident.id,
        at=decision.at,
        detail=": ".join(part for part in (decision.decided.replace("_", " "), decision.note) if part),
    )
    return decision


def _change_of(sources: ConsoleSources, incident: Incident) -> ChangeReport | None:
    reports = sources.change_reports() if sources.change_reports else ()
    return next((one for one in reports if incident.change and one.is_called(incident.change)), None)


def incident_handlers(
    sources: ConsoleSources, writer: Writer, renderer: Renderer
) -> list[ControllerRouterHandler]:
    """GET `/incidents`, GET and POST `/incidents/{id}`, and the same under `/api`."""
    board = IncidentBoard(sources.monitor_store)

    def known(incident: str) -> Incident:
        found = board.find(incident)
        if found is None:
            raise NotFoundException(detail="There is no incident of this id, or it is no longer kept.")
        return found

    def shown(verdict: Verdict) -> TrialView:
        evidence = readable_evidence(sources.log, verdict.id)
        return TrialView(verdict, exhibit_in_full(evidence) if evidence else None)

    @get("/", sync_to_thread=True, needs="viewer")
    def page() -> Response[bytes]:
        lines = [IncidentLine.of(incident) for incident in board.all()]
        return renderer.response(
            "incidents.html",
            going=[one for one in lines if one.incident.state != "resolved"],
            past=[one for one in lines if one.incident.state == "resolved"],
            shown=_SHOWN,
        )

    @get("/{incident:str}", sync_to_thread=True, needs="viewer")
    def one(request: AnyRequest, incident: PathText, decided: QueryText = None) -> Response[bytes]:
        found = known(incident)
        over = found.state == "resolved"
        return renderer.response(
            "incident.html",
            incident=found,
            notice=writer.notice(found, "resolved" if over else "opened", 1),
            opened=headline(found),
            change=_change_of(sources, found),
            trials=[shown(verdict) for verdict in worst_trials(sources.log, found)],
            decisions={} if over else DECISIONS,
            noted=decided is not None,
            token=form_token(request),
            visitor=visitor_of(request),
        )

    @post("/{incident:str}", sync_to_thread=True, guards=[own_pages_only], needs="approver")
    def decided(request: AnyRequest, incident: PathText, data: Form) -> Response[bytes]:
        asked = {name: value for name, value in data.items() if name != "_csrf_token"}
        decision = _decide(sources, request, known(incident), asked)
        return see_other(f"{links.incident_link(decision.incident)}?decided=1")

    @get("/", sync_to_thread=True, needs="viewer")
    def listed(request: AnyRequest) -> Response[bytes]:
        """Newest first; `state` (open, acknowledged, resolved) and `route` narrow it."""
        state, route = (request.query_params.get(name) for name in ("state", "route"))
        found = [
            incident
            for incident in board.all()
            if state in {None, "", incident.state} and (not route or route in incident.routes)
        ]
        return json_response(
            {"incidents": [{**one.to_json(), "headline": IncidentLine.of(one).said} for one in found]}
        )

    @get("/{incident:str}", sync_to_thread=True, needs="viewer")
    def given(incident: PathText) -> Response[bytes]:
        """One incident with its facts, and the ids of its worst trials."""
        found = known(incident)
        over = found.state == "resolved"
        notice = writer.notice(found, "resolved" if over else "opened", 1)
        worst = [verdict.id for verdict in worst_trials(sources.log, found)]
        said = {"headline": notice.headline, "facts": list(notice.facts), "worst_trials": worst}
        return json_response({"incident": {**found.to_json(), **said}})

    @post("/{incident:str}", sync_to_thread=True, guards=[own_pages_only, json_only], needs="approver")
    def decided_by_api(request: AnyRequest, incident: PathText, body: RawBody) -> Response[bytes]:
        """`{"decided": "acknowledged", "note": "…"}`; takes effect once the monitor has read it."""
        decision = _decide(sources, request, known(incident), json_object(body))
        return json_response({"incident": decision.incident, "decided": decision.decided, "by": decision.by})

    return [
        Router("/incidents", route_handlers=[page, one, decided]),
        Router("/api/incidents", route_handlers=[listed, given, decided_by_api]),
    ]
