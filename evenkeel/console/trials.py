"""The list of trials and its form, filtered by the address; as page, file and JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec
from litestar import Response, get

from evenkeel.console import links
from evenkeel.console.api import json_response
from evenkeel.console.downloads import DownloadTable
from evenkeel.console.questions import question
from evenkeel.console.rendering import AnyRequest, FilterLink, Page, see_other
from evenkeel.console.trial import TrialView, texts_of
from evenkeel.console.trial_search import (
    CONTROLS,
    RATINGS,
    SIDES,
    TrialFilter,
    TrialPage,
    badness,
    narrowed,
    search,
)
from evenkeel.core import figures, rewordings
from evenkeel.core.text import one_line
from evenkeel.monitor.incidents import IncidentBoard, verdicts_behind
from evenkeel.monitor.notify.notices import headline

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from litestar.handlers import HTTPRouteHandler

    from evenkeel.console.downloads import Column
    from evenkeel.console.rendering import Renderer
    from evenkeel.console.sources import ConsoleSources
    from evenkeel.monitor.changes.report import ChangeReport
    from evenkeel.monitor.incidents import Incident
    from evenkeel.stores.verdict_log import LoggedVerdict, VerdictLog

RANKED: Final = 1_000
"""Trials among which the worst come first."""
MOST_ROWS: Final = 10_000
"""Trials in a file."""
_API_ROWS: Final = 50
# Trials on a page.
_ROWS: Final = 40
# Incidents and changes to choose from.
_LISTED: Final = 30
_EXCERPT: Final = 220
# Digits of a position in the log; more would not fit the store's 64 bits.
_LONGEST_PLACE: Final = 18
# Labels of the filter's parts that differ from their names in the address.
_NAMES: Final = {
    "perturbation": "rewording",
    "prompt_version": "prompt version",
    "rating": "outcome",
    "side": "side of the change",
    "since": "from",
    "until": "to",
}


class SearchField(NamedTuple):
    """A list to choose from; the first entry, "any", is not among the options."""

    name: str
    label: str
    value: str
    options: Mapping[str, str]
    """Labels by value."""


def filter_fields(
    sources: ConsoleSources, chosen: TrialFilter, incidents: Sequence[Incident], now: float
) -> list[SearchField]:
    """Return the lists of the form, with the known cells, changes and incidents as entries."""
    keys = [report.key for report in sources.reports()]
    routes, models = sorted({key.route for key in keys}), sorted({key.model for key in keys})
    kinds = sorted({key.perturbation for key in keys}, key=rewordings.position)
    options = {
        "route": {name: name for name in routes},
        "model": {name: name for name in models},
        "perturbation": {kind: rewordings.label(kind) for kind in kinds},
        "rating": {value: words for value, (words, _) in RATINGS.items()},
        "control": CONTROLS,
        "incident": {incident.id: _incident(incident, now) for incident in incidents[:_LISTED]},
        "change": {change.id: _change(change, now) for change in _changes(sources)[:_LISTED]},
        "side": SIDES if chosen.change else {},
    }
    fields = []
    for name, choices in options.items():
        value: str = getattr(chosen, name)
        # A value that is not known is from an old link, or of something that is over.
        listed = {**choices, value: value} if value and value not in choices else choices
        if listed:
            label = _NAMES.get(name, name)
            fields.append(SearchField(name, f"{label[:1].upper()}{label[1:]}", value, listed))
    return fields


def _change(change: ChangeReport, now: float) -> str:
    return f"{change.route}, {figures.moment(change.at, now)}: {change.coincided}"


def _incident(incident: Incident, now: float) -> str:
    return f"{', '.join(incident.routes)}, {figures.moment(incident.opened_at, now)}: {headline(incident)}"


def _chips(chosen: TrialFilter, fields: Iterable[SearchField]) -> list[FilterLink]:
    """Return the filters in effect, each with the link that removes it."""
    words = {field.name: field.options for field in fields}
    chips = []
    for name, value in chosen.parts().items():
        if value and name != "order":
            # The side belongs to the change and goes with it.
            undone = {name: ""} | ({"side": ""} if name == "change" else {})
            label = words.get(name, {}).get(value, value.replace("T", " "))
            href = links.trials_link(**chosen.parts(**undone))
            chips.append(FilterLink(f"{_NAMES.get(name, name)}: {label}", href, active=True))
    return chips


class TrialRow(NamedTuple):
    """A trial as a row of the list."""

    offset: int
    view: TrialView
    question: str
    """The user's own words in one line, or the reason why they are not shown."""


def trial_rows(log: VerdictLog, trials: Sequence[LoggedVerdict]) -> list[TrialRow]:
    """Return the trials with their questions."""
    rows = []
    for trial in trials:
        evidence, missing = texts_of(log, trial.verdict.id)
        asked = question(evidence.prompt, evidence.asked) if evidence else missing
        rows.append(TrialRow(trial.offset, TrialView(trial.verdict), one_line(asked, _EXCERPT)))
    return rows


def trials_page(
    sources: ConsoleSources, chosen: TrialFilter, before: int | None, incidents: Sequence[Incident]
) -> Page:
    """Build the page of the trials that match a filter: the worst of the newest thousand, or the newest."""
    now, worst = sources.clock(), not chosen.order
    narrow = narrowed(chosen, _changes(sources), incidents, lambda one: _began(sources, one), worst=worst)
    page = search(sources.log, narrow, most=RANKED if worst else _ROWS, before=before)
    shown = page.trials
    # "Worst first" ranks a bounded number of trials, so it is one page; "newest first" pages through all.
    if worst:
        shown = tuple(sorted(shown, key=lambda one: (badness(one.verdict), -one.offset))[:_ROWS])
    fields, parts = filter_fields(sources, chosen, incidents, now), chosen.parts()
    query = links.query(**parts)
    older = {"before": str(page.older)} if page.older and not worst else {}
    return Page(
        "Trials · evenkeel",
        chosen=chosen,
        fields=fields,
        chips=_chips(chosen, fields),
        rows=trial_rows(sources.log, shown),
        orders=[
            FilterLink("worst first", links.trials_link(**chosen.parts(order="")), worst),
            FilterLink("newest first", links.trials_link(**chosen.parts(order="newest")), not worst),
        ],
        ranked=len(page.trials) if worst else 0,
        first=before is None,
        start_href=links.trials_link(**parts),
        next_href=links.trials_link(**parts | older) if older else "",
        newest_href=links.trials_link(**chosen.parts(order="newest")),
        query=f"?{query}" if query else "",
        narrowed=any(value for name, value in parts.items() if name != "order"),
        unknown=narrow is None,
        empty=not sources.log.latest(1),
        labels=sources.labels is not None,
    )


def trial_list_handlers(sources: ConsoleSources, renderer: Renderer) -> list[HTTPRouteHandler]:
    """Handlers of `/trials` and `/api/trials`; both take the parts of `TrialFilter`, and `before`."""
    board = IncidentBoard(sources.monitor_store)

    @get("/trials", sync_to_thread=True, needs="viewer")
    def page(request: AnyRequest) -> Response[bytes]:
        query = request.query_params
        chosen, before = TrialFilter.of(query), _place(query)
        if any(not value for value in query.values()):  # a form without script sends every field
            return see_other(links.trials_link(**chosen.parts()))
        shown = trials_page(sources, chosen, before, board.all())
        return renderer.response("trials.html", page=shown)

    @get("/api/trials", sync_to_thread=True, needs="viewer")
    def api(request: AnyRequest) -> Response[bytes]:
        """Return trials, newest first regardless of `order`."""
        page = _found(sources, request.query_params, _API_ROWS)
        trials = msgspec.to_builtins([trial.verdict for trial in page.trials])
        return json_response({"trials": trials, "before": page.older})

    return [page, api]


def trials_table(sources: ConsoleSources, query: Mapping[str, str]) -> DownloadTable:
    """Build a table of the newest trials that match a filter, at most 10,000."""
    page = _found(sources, query, MOST_ROWS)
    return DownloadTable.of((trial.verdict for trial in page.trials), *_COLUMNS)


def _found(sources: ConsoleSources, query: Mapping[str, Any], most: int) -> TrialPage:
    incidents = IncidentBoard(sources.monitor_store).all()
    narrow = narrowed(TrialFilter.of(query), _changes(sources), incidents, lambda one: _began(sources, one))
    return search(sources.log, narrow, most=most, before=_place(query))


def _quality(verdict: Any) -> str | None:
    if verdict.quality_changed is None:
        return None
    direction: str | None = verdict.direction
    return direction if verdict.quality_changed else "same"


_COLUMNS: Final[tuple[Column, ...]] = (
    "id",
    ("exchange", lambda verdict: verdict.exchange_id),
    "scored_at",
    "route",
    "model",
    "perturbation",
    "severity",
    ("task", lambda verdict: verdict.origin.task),
    ("format", lambda verdict: verdict.wanted.format),
    ("language", lambda verdict: verdict.wanted.language or verdict.origin.prompt_language),
    "rating",
    "unsure",
    "similarity",
    ("control_rating", lambda verdict: verdict.control.rating),
    ("control_similarity", lambda verdict: verdict.control.similarity),
    ("free_rating", lambda verdict: verdict.free.rating),
    ("free_similarity", lambda verdict: verdict.free.similarity),
    ("invalid", lambda verdict: " ".join(verdict.invalid)),
    ("quality", _quality),
    ("failure", lambda verdict: verdict.failure.reason if verdict.failure else None),
    ("explanation", lambda verdict: verdict.scoring.explanation),
    ("scorer", lambda verdict: verdict.scoring.scorer),
    ("judge", lambda verdict: verdict.scoring.judge_model),
    ("rated_by", lambda verdict: verdict.scoring.rated_by),
    ("prompt_version", lambda verdict: verdict.origin.prompt_version),
    ("replay_s", lambda verdict: verdict.cost.replay_s),
    ("tokens", lambda verdict: verdict.cost.tokens),
    ("cost_usd", lambda verdict: verdict.cost.usd),
    ("trace_id", lambda verdict: verdict.trace_id or None),
)


def _changes(sources: ConsoleSources) -> tuple[ChangeReport, ...]:
    return tuple(sources.change_reports()) if sources.change_reports else ()


def _began(sources: ConsoleSources, incident: Incident) -> float:
    """Return the start of an incident: the time of its change, else of the first trial behind its alerts."""
    called = (change for change in _changes(sources) if incident.change and change.is_called(incident.change))
    change = next(called, None)
    if change is not None:
        return change.at
    times = [mark.at for mark in incident.marks]
    for part in incident.parts:
        times += [time for time in (part.raised.after, part.raised.since) if time]
    if not times:
        # Without a known change, the trials behind the alerts are all that says when it began.
        for part in incident.parts:
            times += [trial.verdict.scored_at for trial in verdicts_behind(sources.log, part.raised)]
    return min(times, default=incident.opened_at)


def _place(query: Mapping[str, Any]) -> int | None:
    """Return the position in the log that a query asks to go on from."""
    text = str(query.get("before", ""))
    return max(1, int(text)) if text.isascii() and text.isdigit() and len(text) <= _LONGEST_PLACE else None
