"""Incidents and changes as a list, one incident with all that decides what to do, and the same as JSON."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from litestar import Response, Router, get, post
from litestar.exceptions import HTTPException, NotFoundException
from litestar.params import RawBody  # noqa: TC002 - litestar reads the annotations
from msgspec import Struct, ValidationError

from evenkeel.console import links
from evenkeel.console.access import (
    fields_of,
    form_token,
    json_only,
    own_pages_only,
    record,
    signed,
    visitor_of,
)
from evenkeel.console.api import Limit, json_object, json_response, scored_by
from evenkeel.console.changes import change_of, effect_words, incident_of
from evenkeel.console.chart import incident_trend
from evenkeel.console.pipeline import stuck
from evenkeel.console.rendering import AnyRequest, Form, Page, PathText, live_handlers, see_other
from evenkeel.console.trial import TrialView, exhibit_in_full
from evenkeel.core import figures
from evenkeel.core.cells import OTHER_MODEL
from evenkeel.core.incidents import DECIDED, Decision, DecisionError
from evenkeel.core.records import from_plain
from evenkeel.core.together import by_themselves
from evenkeel.monitor.changes import kinds
from evenkeel.monitor.estimate import CONDITION
from evenkeel.monitor.incidents import cases_of, worst_trials
from evenkeel.monitor.notify import incident_json
from evenkeel.monitor.notify.notices import current_line, headline, held_back
from evenkeel.stores.verdict_log import readable_evidence

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from litestar.types import ControllerRouterHandler

    from evenkeel.console.rendering import Renderer
    from evenkeel.console.situation import Situation
    from evenkeel.console.sources import ConsoleSources
    from evenkeel.core.verdict import Verdict
    from evenkeel.monitor.changes.comparison import Sides
    from evenkeel.monitor.changes.report import ChangeReport
    from evenkeel.monitor.incidents import Incident, Part
    from evenkeel.monitor.notify import Contact, Writer
    from evenkeel.monitor.notify.notices import Notice
    from evenkeel.stores.verdict_log import VerdictLog

# Incidents and changes on a page.
_SHOWN: Final = 60
DECISIONS: Final = {
    "acknowledged": "Acknowledge",
    "rolled_back": "Resolve: rolled back",
    "accepted": "Resolve: accepted as the new baseline",
    "false_alarm": "Resolve: false alarm",
}
"""Labels of the buttons."""
# Changes that can be undone by naming the former model.
_MODELS: Final = frozenset((kinds.MODEL, kinds.REQUESTED_MODEL))


class IncidentLine(NamedTuple):
    """An incident with the message about it and the next step."""

    incident: Incident
    notice: Notice
    """Message about it: what happened, or that the incident is over."""
    step: str
    """Next step to take; "" once the incident is over."""
    routes: tuple[Incident, ...] = ()
    """Incidents of each route, if one cause affects several routes."""


def case_lines(going: Iterable[Incident], writer: Writer) -> list[IncidentLine]:
    """Describe open incidents, the latest first; incidents with a common cause share a line."""
    cases = {}
    for case in cases_of(going).values():
        cases[case.id] = case
    lines = []
    for case in sorted(cases.values(), key=lambda case: -case.members[-1].opened_at):
        routes = case.members if len(case.members) > 1 else ()
        lines.append(_line(case.whole, writer)._replace(routes=routes))
    return lines


def incident_lines(incidents: Iterable[Incident], writer: Writer) -> list[IncidentLine]:
    """Describe each incident."""
    lines = []
    for incident in incidents:
        lines.append(_line(incident, writer))
    return lines


def _line(incident: Incident, writer: Writer) -> IncidentLine:
    over = incident.state == "resolved"
    # The page says what a first message would say, so that both read alike.
    notice = writer.notice(incident, "resolved" if over else "opened", 1)
    step = "" if over else next_step(incident, notice.contact)
    return IncidentLine(incident, notice, step)


def next_step(incident: Incident, contact: Contact) -> str:
    """Return the next step if the answers are worse, as a sentence or a command."""
    if contact.rollback:
        return f"Roll back: {contact.rollback}"
    for mark in incident.stated:
        if mark.kind in _MODELS and mark.before:
            return f"If the answers are worse, go back to {mark.before}."
    if incident.stated:
        named = figures.listing(sorted({kinds.NAMES[mark.kind] for mark in incident.stated}))
        return f"If the answers are worse, undo the change: {named}."
    if incident.from_the_start:
        return "Read the worst trials. Accept the incident if they are good enough, else change the prompt."
    return "If the answers are worse, pin the model's version or ask the provider."


def _worst(incident: Incident) -> Part | None:
    """Return the alert of a cell that is furthest beyond its limit."""
    # Once all alerts are over, the page still shows the one that was worst.
    cells = []
    for part in incident.up or incident.parts:
        if part.raised.perturbation:
            cells.append(part)
    single = by_themselves(cells, lambda part: part.raised.perturbation)
    return max(
        single, key=lambda part: (part.raised.what == "excess", part.raised.value or 0.0), default=None
    )


class _DecisionRequest(Struct, kw_only=True, forbid_unknown_fields=True):
    """A decision that somebody asks for; a misspelt member would lose what they meant to record."""

    decided: str = ""
    by: str = ""
    note: str = ""


def _decide(
    sources: ConsoleSources, request: AnyRequest, incident: Incident, asked: Mapping[str, Any]
) -> Decision:
    """Record a decision. Raises: HTTPException."""
    visitor = visitor_of(request)
    try:
        wanted = from_plain(signed(visitor, asked), _DecisionRequest)
        decision = Decision.of(
            incident.id,
            wanted.decided,
            route=incident.routes[0],
            by=wanted.by,
            at=sources.clock(),
            note=wanted.note,
        )
    except ValidationError as error:
        said = f'say what is decided: {{"decided": one of {", ".join(DECIDED)}, "note": "…"}}'
        raise HTTPException(said, status_code=400) from error
    except DecisionError as error:
        raise HTTPException(str(error), status_code=400) from error
    # An entry of the verdict log, so that every monitor takes it at the same place.
    sources.log.note(decision)
    record(
        sources.actions,
        visitor,
        decision.by,
        "incident_decided",
        incident.id,
        at=decision.at,
        detail=": ".join(filter(None, (decision.decided.replace("_", " "), decision.note))),
    )
    return decision


def _sides(change: ChangeReport | None, incident: Incident) -> Sides | None:
    """Points above noise under the worst rewording before the change and since; None if not both known."""
    worst = _worst(incident)
    if change is None or worst is None:
        return None
    for cell in change.comparison.cells:
        if cell.perturbation == worst.raised.perturbation and cell.excess.before and cell.excess.after:
            return cell.excess
    return None


def _trials_href(incident: Incident, worst: Part, change: ChangeReport | None) -> str:
    """Address of the trials of the worst cell, from the change on until the incident was closed."""
    raised = worst.raised
    since = change.at if change else raised.after or raised.since or incident.opened_at
    # "other" stands for many models: it is no trial's model.
    model = {} if raised.model == OTHER_MODEL else {"model": raised.model}
    return links.trials_between(
        raised.route, since, incident.closed_at, perturbation=raised.perturbation, **model
    )


def incident_page(
    sources: ConsoleSources, situation: Situation, incident: Incident, request: AnyRequest
) -> Page:
    """Everything about one incident."""
    over = incident.state == "resolved"
    cells = situation.cells()
    line = _line(incident, sources.writer)
    change = change_of(sources, incident.change) if incident.change else None
    worst, measuring = _worst(incident), sources.measuring()
    # A cell with a noise floor, which all cells of the model share.
    floors = []
    for cell in cells:
        if cell.key.route in incident.routes and cell.key.model == incident.model and cell.noise_floor:
            floors.append(cell)
    # What is over is decided: another decision would reopen a question that nobody asks.
    decisions = {} if over else dict(DECISIONS)
    if incident.state != "open":
        decisions.pop("acknowledged", None)  # once is enough
    return Page(
        f"{figures.listing(incident.routes)} · Incident · evenkeel",
        announcement=line.notice.headline,
        line=line,
        incident=incident,
        opened=headline(incident),
        worst=worst,
        sides=_sides(change, incident),
        trend=incident_trend(incident, worst, cells, sources.monitor_store, sources.clock()),
        cell=floors[0] if floors else None,
        thresholds=sources.thresholds,
        condition=CONDITION,
        judge=sources.judge,
        judge_trouble=measuring.cause("judge", "judge_key"),
        behind=stuck(sources.pipeline(), measuring) or " ".join(held_back(measuring.thinned, incident)),
        change=change,
        trials_href=_trials_href(incident, worst, change) if worst else "",
        trials=_shown(sources.log, worst_trials(sources.log, incident)),
        decisions=decisions,
        noted="decided" in request.query_params,
        token=form_token(request),
        visitor=visitor_of(request),
    )


def _shown(log: VerdictLog, verdicts: Sequence[Verdict]) -> list[TrialView]:
    views = []
    for verdict in verdicts:
        evidence = readable_evidence(log, verdict.id)
        views.append(TrialView(verdict, exhibit_in_full(evidence) if evidence else None))
    return views


def incident_list(sources: ConsoleSources, situation: Situation, request: AnyRequest) -> Page:
    """Build the page of incidents and changes: open ones, then those that are over, newest first."""
    writer = sources.writer
    going = situation.going()
    incidents = situation.board.all()
    calmer, past = [], []
    for incident in incidents:
        if incident.state == "resolved":
            past.append(incident)
        elif incident not in going:  # answers became steadier, which pages nobody
            calmer.append(incident)
    older = older_than(past, request.query_params.get("before", ""))
    changes = sources.change_reports()[:_SHOWN]
    effects = {}
    for change in changes:
        effects[change.id] = effect_words(change, incident_of(change, incidents))
    return Page(
        "Incidents · evenkeel",
        announcement=" ".join(headline(incident) for incident in going),
        going=incident_lines(going, writer),
        acknowledged=sum(incident.state == "acknowledged" for incident in going),
        calmer=incident_lines(calmer, writer),
        past=incident_lines(older[:_SHOWN], writer),
        more=len(older[_SHOWN:]),
        false_alarms=sum(incident.ending == "false_alarm" for incident in past),
        count=len(past),
        changes=changes,
        effects=effects,
    )


def _narrowed(incidents: Iterable[Incident], state: str | None, route: str | None) -> list[Incident]:
    chosen = []
    for incident in incidents:
        if state in {None, "", incident.state} and (not route or route in incident.routes):
            chosen.append(incident)
    return chosen


def incident_handlers(
    sources: ConsoleSources, situation: Situation, renderer: Renderer
) -> list[ControllerRouterHandler]:
    """Handlers of GET `/incidents`, GET and POST `/incidents/{id}`, and the same under `/api`."""
    board, writer = situation.board, sources.writer

    def known(incident: str) -> Incident:
        incident_found = board.find(incident)
        if incident_found is None:
            raise NotFoundException(detail="There is no incident of this id, or it is no longer kept.")
        return incident_found

    def view(request: AnyRequest) -> Page:
        return incident_page(sources, situation, known(request.path_params["incident"]), request)

    @post("/incidents/{incident:str}", sync_to_thread=True, guards=[own_pages_only], needs="approver")
    def decided(request: AnyRequest, incident: PathText, data: Form) -> Response[bytes]:
        decision = _decide(sources, request, known(incident), fields_of(data))
        return see_other(f"{links.page_link('incidents', decision.incident)}?decided=1")

    @get("/", sync_to_thread=True, needs="viewer")
    def listed(request: AnyRequest, limit: Limit = 100) -> Response[bytes]:
        """Return incidents, newest first; `state` (open, acknowledged, resolved) and `route` narrow the list.

        `count` is the number of incidents, `next` the value of `before` for the following ones.
        """
        query = request.query_params
        incidents = _narrowed(board.all(), query.get("state"), query.get("route"))
        older = older_than(incidents, query.get("before", ""))
        shown = older[:limit]
        plain = []
        for incident in shown:
            plain.append({**incident_json(incident), "headline": current_line(incident)})
        return json_response(
            {
                "incidents": plain,
                "count": len(incidents),
                **scored_by(sources),
                "next": shown[-1].id if len(older) > limit else None,
            }
        )

    @get("/{incident:str}", sync_to_thread=True, needs="viewer")
    def given(incident: PathText) -> Response[bytes]:
        """Return an incident with its facts and the ids of its worst trials."""
        incident_found = known(incident)
        line = _line(incident_found, writer)
        worst = []
        for verdict in worst_trials(sources.log, incident_found):
            worst.append(verdict.id)
        shown = {
            **incident_json(incident_found),
            "headline": line.notice.headline,
            "facts": list(line.notice.facts),
            "next_step": line.step,
            "worst_trials": worst,
        }
        return json_response({"incident": shown, **scored_by(sources)})

    @post("/{incident:str}", sync_to_thread=True, guards=[own_pages_only, json_only], needs="approver")
    def decided_by_api(request: AnyRequest, incident: PathText, body: RawBody) -> Response[bytes]:
        """Record a decision such as `{"decided": "acknowledged", "note": "…"}`.

        It takes effect once the monitor has read it.
        """
        decision = _decide(sources, request, known(incident), json_object(body))
        return json_response({"incident": decision.incident, "decided": decision.decided, "by": decision.by})

    pages = [
        *live_handlers("/incidents", "_incidents.html", partial(incident_list, sources, situation), renderer),
        *live_handlers("/incidents/{incident:str}", "_incident.html", view, renderer),
        decided,
    ]
    return [
        Router("/", route_handlers=pages),
        Router("/api/incidents", route_handlers=[listed, given, decided_by_api]),
    ]


def older_than(incidents: Sequence[Incident], before: str) -> Sequence[Incident]:
    """Return the incidents after the one with this id in the list; all of them if it is not in the list."""
    for index, incident in enumerate(incidents):
        if incident.id == before:
            return incidents[index + 1 :]
    return incidents
