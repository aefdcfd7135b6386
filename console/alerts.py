"""Alerts: the page, the file, and `/api/alerts/ID` with the verdicts and traces behind an alert.

The verdicts behind an alert are those of its cell since the change seems to have begun, read from the log.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Final

from litestar import Response, get
from litestar.exceptions import NotFoundException

from evenkeel.console import links
from evenkeel.console.api import json_response
from evenkeel.console.baselines import LISTED
from evenkeel.console.downloads import Table, as_records
from evenkeel.console.heatmap import retired_models
from evenkeel.console.rendering import Page, PathText, live_handlers
from evenkeel.core import figures, rewordings
from evenkeel.core.cells import CellKey
from evenkeel.monitor.changes.markdown import finding_lines
from evenkeel.monitor.incidents import verdicts_behind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from litestar.handlers import HTTPRouteHandler

    from evenkeel.console.rendering import Renderer
    from evenkeel.console.sources import ConsoleSources
    from evenkeel.core.cells import CellReport, DriftReport
    from evenkeel.monitor.changes.report import ChangeReport
    from evenkeel.stores.monitor_state import AlertEvent
    from evenkeel.stores.verdict_log import LoggedApproval


EXPLAINS_S: Final = 7 * 86_400.0
"""A change explains an alert of its route that was raised at most so long after it."""

SHOWN: Final = 60
"""Alerts of either list on the page; the download has all."""

_NEWS_S: Final = 86_400.0
"""So long a change of the answers is an alert, as it is for the rules of Prometheus."""

_SLACK_S: Final = 60.0
"""The first verdict after a change and the one that raises an alert may be scored in either order."""

RUNBOOK: Final = "EvenkeelIncident"
_KINDS: Final = frozenset(("excess", "drift", "change"))
DRIFTED: Final = {"risen": "more often than they did", "fallen": "less often than they did"}
_MOVES: Final = "Answers change under"


@dataclass(frozen=True, slots=True)
class Alert:
    """One alert, firing or over. Times are in Unix seconds."""

    kind: str
    """"excess", "drift" or "change"."""
    what: str
    """A whole sentence without its stop."""
    route: str
    value: str
    """What was measured against what is allowed."""
    since: float | None
    """None if its raising is no longer in the history."""
    until: float | None = None
    """None while it fires."""
    change: ChangeReport | None = None
    """The change that came before it, or that it is about."""
    model: str = ""
    """"" for all models of the route."""
    perturbation: str = ""
    retired: bool = False
    """Whether the model has stopped answering on this route."""
    clients: str = ""
    """Whose trials are behind it; "" if that is not known."""

    def lasts(self, now: float) -> str:
        """How long it has been firing, or fired; "" if that is not known."""
        if self.since is None:
            return ""
        return (
            figures.lasting(now - self.since)
            if self.until is None
            else figures.duration(self.until - self.since)
        )

    @property
    def evidence(self) -> str:
        """What is behind it: the trials, or the report on a change that nobody announced."""
        return "report" if self.kind == "change" and self.change and self.change.silent else "trials"

    @property
    def evidence_href(self) -> str:
        """Where that is."""
        if self.change and self.evidence == "report":
            return links.change_link(self.change.id)
        if self.kind == "change" and self.change:
            return links.trials_link(change=self.change.id, side="after", rating="shifted")
        return links.trials_link(
            route=self.route, model=self.model, perturbation=self.perturbation, rating="shifted"
        )

    @property
    def runbook(self) -> str:
        """Name of the page that says what to do about it."""
        return RUNBOOK

    @property
    def runbook_href(self) -> str:
        """What to do about it."""
        return links.runbook_link(self.runbook)


def alerts_page(
    reports: Sequence[CellReport],
    events: Sequence[AlertEvent],
    changes: Sequence[ChangeReport],
    now: float,
    approved: Sequence[LoggedApproval] = (),
) -> Page:
    """Alerts of all kinds in two lists, `firing` and `past`, newest first.

    Args:
        reports: one per cell, in any order.
        events: raised and resolved alerts, newest first.
        changes: newest first.
        now: Unix time in seconds.
        approved: baselines, newest first.
    """
    retired = retired_models(reports)

    def of_cell(
        kind: str, begins: str, key: CellKey, value: str, since: float | None, until: float | None = None
    ) -> Alert:
        behind = (one.clients for one in events if one.at == since and _is_of(one, key, kind))
        return Alert(
            kind=kind,
            what=f"{begins} {rewordings.phrase(key.perturbation)}",
            route=key.route,
            value=value,
            since=since,
            until=until,
            change=explanation(changes, key.route, since),
            model=key.model,
            perturbation=key.perturbation,
            retired=(key.route, key.model) in retired,
            clients=figures.clients(next(behind, {})),
        )

    firing = [
        *(
            of_cell("excess", _MOVES, one.key, _excess(one), raised_at(one.key, events))
            for one in alerting(reports)
        ),
        *(
            of_cell(
                "drift", _shifts(drift.state), one.key, _drift(drift), raised_at(one.key, events, "drift")
            )
            for one in reports
            if (drift := one.drift) is not None and drift.state in DRIFTED
        ),
        *_changed(changes, open_changes(events), now),
    ]
    past = [
        _change_over(event, events[place + 1 :], changes)
        if event.what == "change"
        else of_cell(*_over(event, events[place + 1 :]), event.at)
        for place, event in enumerate(events)
        if event.kind == "resolved"
    ]
    count = len(firing)
    return Page(
        f"▲ {count} firing · Alerts · evenkeel" if firing else "Alerts · evenkeel",
        alert=any(report.alert for report in reports),
        announcement=f"{figures.count(count, 'alert')} firing" if firing else "",
        firing=firing,
        past=past,
        approved=approved,
        shown=SHOWN,
    )


def explanation(changes: Sequence[ChangeReport], route: str, raised_at: float | None) -> ChangeReport | None:
    """The newest change of a route before an alert was raised there; None if there was none lately."""
    if raised_at is None:
        return None
    before = (one for one in changes if route in one.routes and -_SLACK_S <= raised_at - one.at <= EXPLAINS_S)
    return next(before, None)


def alerting(reports: Sequence[CellReport]) -> list[CellReport]:
    """The cells that alert, the largest excess first."""
    found = [report for report in reports if report.alert]
    return sorted(found, key=lambda report: -(report.excess.value if report.excess else 0.0))


def _is_of(event: AlertEvent, key: CellKey, what: str) -> bool:
    return event.what == what and (event.route, event.model, event.perturbation) == key.parts


def raised_at(key: CellKey, events: Sequence[AlertEvent], what: str = "excess") -> float | None:
    """When a cell's alert was raised; None if that is no longer in the history."""
    for event in events:
        if _is_of(event, key, what):
            return event.at if event.kind == "raised" else None
    return None


def open_changes(events: Sequence[AlertEvent]) -> list[AlertEvent]:
    """The changes that nobody announced and that are not over, the latest event of each, newest first.

    Args:
        events: raised and resolved alerts, newest first.
    """
    latest: dict[str, AlertEvent] = {}
    for event in events:
        if event.what == "change":
            latest.setdefault(event.change, event)
    return [event for event in latest.values() if event.kind == "raised"]


def _changed(changes: Sequence[ChangeReport], open_: Sequence[AlertEvent], now: float) -> list[Alert]:
    """Changes of the answers that are news, and those that nobody announced as long as they are open."""
    alarming = {event.change for event in open_}
    shown = [one for one in changes if any(one.is_called(change) for change in alarming)]
    known = {one.id for one in shown}
    stated = [one for one in changes if one.id not in known and (one.silent is None or one.silent.found)]
    shown += [one for one in _newest(stated) if one.silent is None and _matters(one, now)]
    found = [_of_change(one) for one in shown]
    # The report may be gone from the list of the latest changes while the alert is still up.
    lost = [event for event in open_ if not any(one.is_called(event.change) for one in shown)]
    return found + [
        Alert("change", _moved(event), event.route, event.summary.rstrip("."), event.at, model=event.model)
        for event in lost
    ]


def _moved(event: AlertEvent) -> str:
    """What an event of a change says, as a sentence without its stop."""
    said = "may answer differently" if event.measure == "traits" else "answers differently"
    return f"{event.model or 'The model'} {said}"


def _change_over(event: AlertEvent, earlier: Sequence[AlertEvent], changes: Sequence[ChangeReport]) -> Alert:
    """A change that nobody announced and that is over."""
    raised = next((one for one in reversed(earlier) if one.change == event.change), None)
    return Alert(
        "change",
        _moved(raised or event).replace(" answers ", " answered ").replace("may answer", "may have answered"),
        event.route,
        event.summary.rstrip("."),
        raised.at if raised is not None else None,
        until=event.at,
        change=next((one for one in changes if one.is_called(event.change)), None),
        model=event.model,
    )


def _matters(change: ChangeReport, now: float) -> bool:
    return change.severity != "" and now - change.at <= _NEWS_S


def _newest(changes: Sequence[ChangeReport]) -> list[ChangeReport]:
    found: dict[str, ChangeReport] = {}
    for change in changes:
        for route in change.routes:
            found.setdefault(route, change)
    return list({change.id: change for change in found.values()}.values())


def _shifts(state: str) -> str:
    return f"Answers shift {DRIFTED.get(state, 'differently')}, under"


def _excess(report: CellReport) -> str:
    measured, allowed = figures.points_text(report.excess, 0), figures.number(report.threshold * 100)
    return f"{measured} points above noise, allowed {allowed}, {report.trials:,} trials"


def _drift(drift: DriftReport) -> str:
    line = figures.percent(drift.upper if drift.state == "risen" else drift.lower)
    made = "first" if drift.provisional else "approved"
    return f"{figures.percent(drift.baseline)} in the {made} {drift.trials:,} trials, now beyond {line}"


def _of_change(change: ChangeReport) -> Alert:
    value = " ".join(finding_lines(change)).rstrip(".")
    what = f"{change.said[0].upper()}{change.said[1:]} since the last change"
    return Alert("change", what, change.route, value, change.at, change=change)


def _over(event: AlertEvent, earlier: Sequence[AlertEvent]) -> tuple[str, str, CellKey, str, float | None]:
    """Kind, words, cell, figure and time of the raising of a resolved alert."""
    key = CellKey(event.route, event.model, event.perturbation)
    raised = next(
        (one for one in earlier if _is_of(one, key, event.what)),
        None,
    )
    says = _shifts(raised.direction if raised else "") if event.what == "drift" else _MOVES
    excess = None if raised is None else raised.excess
    return (
        event.what if event.what in _KINDS else "excess",
        says,
        key,
        "" if excess is None else f"{figures.number(excess * 100)} points above noise when it was raised",
        raised.at if raised is not None and raised.kind == "raised" else None,
    )


EVENTS_READ: Final = 400
"""Newest events that the page and its download look at."""


def alerts_table(page: Page) -> Table:
    """All of them for a file, those that fire first."""
    return Table.of(
        (*page.firing, *page.past),
        ("state", lambda one: "firing" if one.until is None else "over"),
        "kind",
        "what",
        "route",
        "model",
        "since",
        "until",
        ("measured", lambda one: figures.plain(one.value)),
        "clients",
        ("change", lambda one: one.change.coincided if one.change else None),
        ("runbook", lambda one: one.runbook),
    )


def alerts_of(sources: ConsoleSources) -> Page:
    """The page as it is now."""
    changes = sources.change_reports() if sources.change_reports else ()
    now, events = sources.clock(), sources.monitor_store.events(EVENTS_READ)
    return alerts_page(sources.reports(), events, changes, now, sources.log.approvals()[: -LISTED - 1 : -1])


def alert_handlers(sources: ConsoleSources, renderer: Renderer) -> list[HTTPRouteHandler]:
    """`/alerts` and its live part."""
    return live_handlers("/alerts", "_alerts.html", lambda _: alerts_of(sources), renderer)


_EVIDENCE: Final = (
    "id",
    "exchange_id",
    "scored_at",
    "rating",
    "baseline_rating",
    "shifted",
    "baseline_shifted",
    "trace_id",
)
_EVENTS_READ = 10_000
"""As many as the stores keep."""


def alert_evidence_handlers(sources: ConsoleSources) -> list[HTTPRouteHandler]:
    """`/api/alerts/ID`, with 404 for an alert that is not known (any more)."""

    @get("/api/alerts/{event:str}", sync_to_thread=True, needs="viewer")
    def alert(event: PathText) -> Response[bytes]:
        found = next((one for one in sources.monitor_store.events(_EVENTS_READ) if one.id == event), None)
        if found is None:
            raise NotFoundException(f'There is no alert "{event}", or no longer.')
        behind = [one.verdict for one in verdicts_behind(sources.log, found)]
        return json_response({"alert": asdict(found), "verdicts": as_records(Table.of(behind, *_EVIDENCE))})

    return [alert]
