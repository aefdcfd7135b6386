"""The list of trials and its form, filtered by the address; as page, files and JSON."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec
from litestar import Response, get

from evenkeel.console import diffs, links
from evenkeel.console.api import json_response
from evenkeel.console.downloads import Table
from evenkeel.console.questions import question_runs, question_spans
from evenkeel.console.rendering import AnyRequest, Page, see_other
from evenkeel.console.trial import FilterLink, TrialView, answer_text, texts_of
from evenkeel.console.trial_search import (
    CONTROLS,
    LABELS,
    OUTCOMES,
    RANKED,
    RATINGS,
    SIDES,
    Found,
    Labelled,
    Limits,
    TrialFilter,
    badness,
    each_page,
    narrowed,
    search,
)
from evenkeel.core import figures, rewordings
from evenkeel.core.text import one_line
from evenkeel.monitor.incidents import IncidentBoard, verdicts_behind
from evenkeel.monitor.notify.notices import headline
from evenkeel.stores.labels import CountedLabels
from evenkeel.stores.trial_index import Narrow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from litestar.handlers import HTTPRouteHandler

    from evenkeel.console.diffs import Run, SideBySide
    from evenkeel.console.downloads import Column
    from evenkeel.console.rendering import Renderer
    from evenkeel.console.sources import ConsoleSources
    from evenkeel.core.cells import CellReport
    from evenkeel.core.verdict import Verdict
    from evenkeel.monitor.changes.report import ChangeReport
    from evenkeel.monitor.incidents import Incident
    from evenkeel.stores.labels import Label
    from evenkeel.stores.verdict_log import LoggedVerdict, VerdictLog


_CHANGES: Final = 30
_NAMES: Final = {
    "perturbation": "rewording",
    "prompt_version": "prompt version",
    "rating": "outcome",
    "outcome": "quality",
    "side": "side of the change",
    "labels": "people",
    "since": "from",
    "until": "to",
}
"""Labels of the filter's parts that differ from their names in the address."""


class Option(NamedTuple):
    """An entry of a list to choose from."""

    value: str
    label: str


class Field(NamedTuple):
    """A list to choose from; the first entry, "any", is not among the options."""

    name: str
    label: str
    value: str
    options: tuple[Option, ...]


class Chip(NamedTuple):
    """A filter in effect, with the link that removes it."""

    text: str
    href: str


class FilterForm(NamedTuple):
    """The lists to choose from, and the filters in effect."""

    fields: tuple[Field, ...]
    more: tuple[Field, ...]
    opened: bool
    """True if a folded field has a value."""
    chips: tuple[Chip, ...]


def filter_form(
    chosen: TrialFilter,
    reports: Sequence[CellReport],
    changes: Sequence[ChangeReport],
    incidents: Sequence[Incident],
    now: float,
    *,
    labels: bool,
) -> FilterForm:
    """Build the form; its lists have the known cells, changes and incidents as entries."""
    keys = [report.key for report in reports]
    perturbations = {key.perturbation for key in keys}
    kinds = _kinds(perturbations)
    fields = [
        _field(chosen, "route", "Route", _plain(key.route for key in keys)),
        _field(chosen, "model", "Model", _plain(key.model for key in keys)),
        _field(chosen, "perturbation", "Rewording", _perturbations(perturbations)),
        _field(
            chosen, "rating", "Outcome", _options({value: words for value, (words, _) in RATINGS.items()})
        ),
        _field(chosen, "control", "Control", _options(CONTROLS)),
    ]
    if incidents or chosen.incident:
        listed = tuple(Option(one.id, _incident(one, now)) for one in incidents[:_CHANGES])
        fields.append(_field(chosen, "incident", "Incident", listed))
    more = [
        _field(
            chosen,
            "category",
            "Category of rewordings",
            _plain({rewordings.category(one).name for one in perturbations}, _rank),
        ),
        _field(chosen, "outcome", "Quality of a changed answer", _options(OUTCOMES)),
        _field(chosen, "format", "Format asked for", _plain(kinds("format"))),
        _field(chosen, "language", "Language", _plain(kinds("language", "languages"))),
    ]
    if changes or chosen.change:
        listed = tuple(Option(one.id, _change(one, now)) for one in changes[:_CHANGES])
        more += [
            _field(chosen, "change", "Change of the route", listed),
            _field(chosen, "side", "Side of that change", _options(SIDES)),
        ]
    if labels:
        more.append(_field(chosen, "labels", "People say", _options(LABELS)))
    shown = {"text", "order", *(field.name for field in fields)}
    return FilterForm(
        tuple(fields),
        tuple(more),
        opened=any(value for name, value in chosen.parts().items() if name not in shown),
        chips=_chips(chosen, (*fields, *more)),
    )


def _kinds(perturbations: Iterable[str]) -> Callable[..., tuple[str, ...]]:
    """The names behind the dot of those that ask for something, by what they ask for."""
    named = sorted(perturbations, key=rewordings.position)
    return lambda *asked: tuple(
        name.partition(".")[2] for name in named if rewordings.category(name).asks_for in asked
    )


def _field(chosen: TrialFilter, name: str, label: str, options: tuple[Option, ...]) -> Field:
    value: str = getattr(chosen, name)
    if value and value not in {option.value for option in options}:
        options = (*options, Option(value, value))  # from an old link, or of something that is over
    return Field(name, label, value, options)


def _plain(values: Iterable[str], rank: Callable[[str], Any] | None = None) -> tuple[Option, ...]:
    return tuple(Option(value, value) for value in sorted(set(values), key=rank) if value)


def _rank(category: str) -> tuple[int, str]:
    return rewordings.position(category)[:2]


def _perturbations(perturbations: Iterable[str]) -> tuple[Option, ...]:
    ordered = sorted(perturbations, key=rewordings.position)
    return tuple(Option(name, rewordings.label(name)) for name in ordered)


def _options(choices: Mapping[str, str]) -> tuple[Option, ...]:
    return tuple(Option(*choice) for choice in choices.items())


def _change(change: ChangeReport, now: float) -> str:
    return f"{change.route}, {figures.moment(change.at, now)}: {change.coincided}"


def _incident(incident: Incident, now: float) -> str:
    return f"{', '.join(incident.routes)}, {figures.moment(incident.opened_at, now)}: {headline(incident)}"


def _chips(chosen: TrialFilter, fields: Sequence[Field]) -> tuple[Chip, ...]:
    words = {
        (field.name, option.value): option.label
        for field in fields
        for option in field.options
        if option.value
    }
    found = []
    for name, value in chosen.parts().items():
        if value and name != "order":
            undone = {name: ""} | ({"side": ""} if name == "change" else {})
            said = words.get((name, value), value.replace("T", " ") if name in {"since", "until"} else value)
            label = f"{_NAMES.get(name, name)}: {said}"
            found.append(Chip(label, links.trials_link(**chosen.parts(**undone))))
    return tuple(found)


MOST_ROWS: Final = 10_000
"""Trials in a file."""
MOST_SCANNED: Final = 400_000
"""Verdicts read for a file."""
_LONGEST_PLACE: Final = 18
"""Digits of a position in the log; more would not fit the store's 64 bits."""
_EXCERPT: Final = 160
_ROWS: Final = 20
"""Trials on a page."""
_QUESTION_CHARS: Final = 340
_ANSWER_CHARS: Final = 300


class TrialRow(NamedTuple):
    """A trial as a row of the list."""

    offset: int
    view: TrialView
    question: tuple[Run, ...] = ()
    """Question in the prompt, without the template and with its rewording marked."""
    answers: SideBySide | None = None
    """Answers, shortened to where they differ; None if they are not stored."""
    no_candidate: bool = False
    """True if the replay gave no answer."""
    missing: str = ""
    """Reason why there are no texts, "" if there are."""


def trial_rows(log: VerdictLog, trials: Sequence[LoggedVerdict]) -> list[TrialRow]:
    """Return the trials with their texts."""
    rows = []
    for one in trials:
        evidence, missing = texts_of(log, one.verdict.id)
        if evidence is None:
            rows.append(TrialRow(one.offset, TrialView(one.verdict), missing=missing))
            continue
        spans = question_spans(evidence.prompt, evidence.asked)
        answers = answer_text(evidence.reference), answer_text(evidence.candidate)
        rows.append(
            TrialRow(
                one.offset,
                TrialView(one.verdict),
                question_runs(evidence.prompt, evidence.variant, spans, max_chars=_QUESTION_CHARS),
                diffs.excerpt(*answers, max_chars=_ANSWER_CHARS),
                evidence.candidate is None,
            )
        )
    return rows


class Listing(NamedTuple):
    """A page of the list."""

    trials: tuple[LoggedVerdict, ...]
    next: dict[str, str]
    """Query parameters of the next page besides the filter; empty if there is no next page."""
    found: Found
    """Result of the search behind the page."""


def listing(wanted: _Search, before: int | None, page: int) -> Listing:
    """Return a page of trials, by default the worst first.

    The worst come from the newest 1,000 trials that changed or are unclear; after these follow the trials
    whose answers held, newest first.

    Args:
        wanted: the search, with its order.
        before: only trials before this place in the log; None = from the newest.
        page: number of the page, from 1, where the worst come first.
    """
    chosen = wanted.chosen
    if chosen.order:
        found = wanted.find(before, Limits(_ROWS))
        return Listing(found.trials, {"before": str(found.older)} if found.older else {}, found)
    found = wanted.find(before, Limits(RANKED), chosen.rating or "open")
    ranked = sorted(found.trials, key=lambda one: (badness(one.verdict), -one.offset))
    rows = tuple(ranked[(page - 1) * _ROWS : page * _ROWS])
    place = {} if before is None else {"before": str(before)}
    if len(ranked) > page * _ROWS:
        return Listing(rows, {**place, "page": str(page + 1)}, found)
    if found.older:
        return Listing(rows, {"before": str(found.older)}, found)
    if chosen.rating:
        return Listing(rows, {}, found)
    held = wanted.find(before, Limits(_ROWS - len(rows)), "3") if len(rows) < _ROWS else None
    if held is None:
        return Listing(rows, {**place, "rating": "3", "order": "newest"}, found)
    rest = {"before": str(held.older), "rating": "3", "order": "newest"} if held.older else {}
    return Listing((*rows, *held.trials), rest, found)


def trials_page(
    sources: ConsoleSources, wanted: _Search, query: Mapping[str, Any], incidents: Sequence[Incident]
) -> Page:
    """Build the page of the trials that match a filter.

    Args:
        sources: sources of the console.
        wanted: the search.
        query: query of the address, for the position in the list.
        incidents: all stored incidents.
    """
    chosen = wanted.chosen
    now, before, number = sources.clock(), _whole(query, "before"), _whole(query, "page") or 1
    found = listing(wanted, before, number)
    query_text = links.query(**chosen.parts())
    parts = chosen.parts()
    first = before is None and number == 1
    return Page(
        "Trials · evenkeel",
        chosen=chosen,
        form=filter_form(
            chosen, sources.reports(), _changes(sources), incidents, now, labels=sources.labels is not None
        ),
        rows=trial_rows(sources.log, found.trials),
        agrees=wanted.labelled.agrees,
        excerpt=lambda text: one_line(text, _EXCERPT),
        orders=[
            FilterLink("worst first", links.trials_link(**chosen.parts(order="")), not chosen.order),
            FilterLink("newest first", links.trials_link(**chosen.parts(order="newest")), bool(chosen.order)),
        ],
        first=first,
        start_href=links.trials_link(**parts),
        next_href=links.trials_link(**parts | found.next) if found.next else "",
        query=f"?{query_text}" if query_text else "",
        narrowed=any(value for name, value in parts.items() if name != "order"),
        unknown=wanted.narrow is None,
        cut_short=found.found.older is not None and not found.found.full,
        looked_at=found.found.looked_at,
        reached_s=found.found.reached_s,
        ranked=len(found.found.trials),
        labels=sources.labels is not None,
    )


def trial_list_handlers(sources: ConsoleSources, renderer: Renderer) -> list[HTTPRouteHandler]:
    """Handlers of `/trials` and `/api/trials`; both take the parts of `TrialFilter`, and `before`."""
    counted, board = CountedLabels(sources.labels), IncidentBoard(sources.monitor_store)

    @get("/trials", sync_to_thread=True, needs="viewer")
    def page(request: AnyRequest) -> Response[bytes]:
        query = request.query_params
        chosen = TrialFilter.of(query)
        if any(not value for value in query.values()):  # a form without script sends every field
            place = {name: str(at) for name in ("before", "page") if (at := _whole(query, name))}
            return see_other(links.trials_link(**chosen.parts(), **place))
        incidents = board.all()
        wanted = _Search.of(sources, chosen, counted(), incidents)
        return renderer.response("trials.html", page=trials_page(sources, wanted, query, incidents))

    @get("/api/trials", sync_to_thread=True, needs="viewer")
    def api(request: AnyRequest) -> Response[bytes]:
        """Return trials, newest first regardless of `order`."""
        chosen = TrialFilter.of(request.query_params)
        wanted = _Search.of(sources, chosen, counted(), board.all())
        found = wanted.find(_whole(request.query_params, "before"), Limits())
        return json_response(
            {
                "trials": msgspec.to_builtins([trial.verdict for trial in found.trials]),
                "before": found.older,
                "looked_at": found.looked_at,
            }
        )

    return [page, api]


def trials_table(sources: ConsoleSources, query: Mapping[str, str]) -> Table:
    """Build a table of the newest trials that match a filter, at most 10,000."""
    incidents = IncidentBoard(sources.monitor_store).all()
    wanted = _Search.of(sources, TrialFilter.of(query), CountedLabels(sources.labels)(), incidents)
    pages = each_page(
        lambda before, left: wanted.find(before, Limits(shown=left)), most=MOST_ROWS, scanned=MOST_SCANNED
    )
    return Table.of((one.verdict for one in pages), *_COLUMNS)


def _quality(verdict: Verdict) -> str | None:
    if verdict.quality_changed is None:
        return None
    return verdict.direction if verdict.quality_changed else "same"


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


class _Search(NamedTuple):
    """A search of a log by a filter."""

    log: VerdictLog
    chosen: TrialFilter
    narrow: Narrow | None
    """None if its change or its incident is no longer known: then nothing is found."""
    labelled: Labelled

    @classmethod
    def of(
        cls,
        sources: ConsoleSources,
        chosen: TrialFilter,
        labels: Iterable[Label],
        incidents: Sequence[Incident],
    ) -> _Search:
        """Build the search for a filter."""
        changes = _changes(sources)
        narrow = narrowed(chosen, changes, incidents, lambda incident: _began(sources.log, incident, changes))
        return cls(sources.log, chosen, narrow, _labelled(labels))

    def find(self, before: int | None, limits: Limits, rating: str = "") -> Found:
        """Return the newest trials that match, with another rating if one is given."""
        narrow = self.narrow
        if narrow is None:
            return Found((), None, 0, None, full=False)
        if rating:
            kept = tuple(each for each in narrow.allowed if each[0] not in {"rating", "state"})
            narrow = replace(narrow, allowed=(*kept, *Narrow.by(**RATINGS[rating][1]).allowed))
        chosen = self.chosen
        return search(
            self.log,
            narrow,
            text=chosen.text,
            labels=chosen.labels,
            labelled=self.labelled,
            before=before,
            limits=limits,
        )


def _changes(sources: ConsoleSources) -> tuple[ChangeReport, ...]:
    return tuple(sources.change_reports()) if sources.change_reports else ()


def _began(log: VerdictLog, incident: Incident, changes: Sequence[ChangeReport]) -> float:
    """Return the start of an incident: the time of its change, else of the first trial behind its alerts."""
    change = next((one for one in changes if incident.change and one.is_called(incident.change)), None)
    if change is not None:
        return change.at
    times = [mark.at for mark in incident.marks] + [
        time for part in incident.parts for time in (part.raised.after, part.raised.since) if time
    ]
    if not times:
        behind = (verdicts_behind(log, part.raised) for part in incident.parts)
        times = [one.verdict.scored_at for trials in behind for one in trials]
    return min(times, default=incident.opened_at)


def _labelled(labels: Iterable[Label]) -> Labelled:
    agrees: dict[str, bool | None] = {}
    for label in labels:
        known = agrees.get(label.verdict_id)
        # A single person who disagrees disputes a verdict.
        agrees[label.verdict_id] = label.agrees if known is None else known and label.agrees is not False
    return Labelled(agrees)


def _whole(query: Mapping[str, Any], name: str) -> int | None:
    text = str(query.get(name, ""))
    return max(1, int(text)) if text.isascii() and text.isdigit() and len(text) <= _LONGEST_PLACE else None
