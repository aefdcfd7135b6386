"""The trial explorer and its form: every trial there is, narrowed by its address; as page, files and JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from litestar import MediaType, Request, Response, get

from evenkeel.console import links, wording
from evenkeel.console.api import json_response
from evenkeel.console.downloads import Table
from evenkeel.console.rendering import Head, KnownTag, tagged
from evenkeel.console.trial import quality_row
from evenkeel.console.trial_search import Found, Labelled, Limits, TrialFilter, each_page, search
from evenkeel.core import figures, rewordings
from evenkeel.monitor.changes.report import SAID
from evenkeel.stores.labels import CountedLabels

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from litestar.handlers import HTTPRouteHandler

    from evenkeel.console.rendering import Renderer
    from evenkeel.console.sources import ConsoleSources
    from evenkeel.console.trial import QualityRow
    from evenkeel.core.cells import CellReport
    from evenkeel.core.verdict import Verdict
    from evenkeel.monitor.changes.report import ChangeReport
    from evenkeel.stores.labels import Label
    from evenkeel.stores.verdict_log import LoggedVerdict


_RATINGS: Final = (
    ("shifted", "moved (1 or 2)"),
    ("1", "1 different message"),
    ("2", "2 some details differ"),
    ("3", "3 same content"),
    ("failed", "not rated"),
)
_OUTCOMES: Final = (
    ("excess", "moved, and the resend did not"),
    ("noise", "the resend moved as well"),
    ("worse", "quality worse"),
    ("better", "quality better"),
    ("mixed", "quality mixed"),
    ("unchanged", "moved, quality the same"),
)
_LABELS: Final = (("disputed", "people disagree"), ("any", "labelled"), ("none", "not labelled"))
_SIDES: Final = (("after", "after it"), ("before", "before it"))
_MORE: Final = ("format", "language", "task", "reason", "change", "side", "since", "until", "labels")
"""Fields that are folded away until one of them is used."""
_NAMES: Final = {"text": "text", "side": "side of the change", "labels": "people"}
_CHANGES: Final = 30


@dataclass(frozen=True, slots=True)
class Option:
    """One entry of a list to choose from."""

    value: str
    label: str


@dataclass(frozen=True, slots=True)
class Field:
    """A list to choose from; the first entry, "any", is not among the options."""

    name: str
    label: str
    value: str
    options: tuple[Option, ...]


@dataclass(frozen=True, slots=True)
class Chip:
    """A choice that is in effect, with the link that undoes it."""

    text: str
    href: str


@dataclass(frozen=True, slots=True)
class FilterForm:
    """All fields with their values."""

    fields: tuple[Field, ...]
    more: tuple[Field, ...]
    task: str
    reason: str
    since: str
    until: str
    text: str
    opened: bool
    """Whether a folded field is used."""
    chips: tuple[Chip, ...]


def filter_form(
    chosen: TrialFilter,
    reports: Sequence[CellReport],
    changes: Sequence[ChangeReport],
    now: float,
    *,
    labels: bool,
) -> FilterForm:
    """The form, with what the cells know as entries of its lists."""
    keys = [report.key for report in reports]
    perturbations = {key.perturbation for key in keys}
    kinds = _kinds(perturbations)
    fields = (
        _field(chosen, "route", "Route", _plain(key.route for key in keys)),
        _field(chosen, "model", "Model", _plain(key.model for key in keys)),
        _field(
            chosen,
            "category",
            "Category",
            _plain({rewordings.category(one).name for one in perturbations}, _rank),
        ),
        _field(chosen, "perturbation", "Change made", _perturbations(perturbations)),
        _field(chosen, "rating", "Rating", _options(_RATINGS)),
        _field(chosen, "outcome", "Outcome", _options(_OUTCOMES)),
    )
    more = [
        _field(chosen, "format", "Format asked for", _plain(kinds("format"))),
        _field(chosen, "language", "Language", _plain(kinds("language", "languages"))),
    ]
    if changes or chosen.change:
        listed = tuple(Option(one.id, _change(one, now)) for one in changes[:_CHANGES])
        more += [
            _field(chosen, "change", "Change of the route", listed),
            _field(chosen, "side", "Side of that change", _options(_SIDES)),
        ]
    if labels:
        more.append(_field(chosen, "labels", "People say", _options(_LABELS)))
    return FilterForm(
        fields,
        tuple(more),
        chosen.task,
        chosen.reason,
        chosen.since,
        chosen.until,
        chosen.text,
        opened=any(getattr(chosen, name) for name in _MORE),
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
        options = (*options, Option(value, value))  # of a link from elsewhere, or of what is over
    return Field(name, label, value, options)


def _plain(values: Iterable[str], rank: Callable[[str], Any] | None = None) -> tuple[Option, ...]:
    return tuple(Option(value, value) for value in sorted(set(values), key=rank) if value)


def _rank(category: str) -> tuple[int, str]:
    return rewordings.position(category)[:2]


def _perturbations(perturbations: Iterable[str]) -> tuple[Option, ...]:
    ordered = sorted(perturbations, key=rewordings.position)
    return tuple(Option(name, rewordings.label(name)) for name in ordered)


def _options(pairs: Sequence[tuple[str, str]]) -> tuple[Option, ...]:
    return tuple(Option(value, label) for value, label in pairs)


def _change(change: ChangeReport, now: float) -> str:
    return f"{change.route}, {figures.moment(change.at, now)}: {SAID[change.cause]}"


def _chips(chosen: TrialFilter, fields: Sequence[Field]) -> tuple[Chip, ...]:
    words = {
        (field.name, option.value): option.label
        for field in fields
        for option in field.options
        if option.value
    }
    found = []
    for name, value in chosen.parts().items():
        if value:
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
"""Digits of a place in the log; more would not fit the store's 64 bits."""
_LIVE_SCAN: Final = 2_000
"""A page that took more reading than this is not kept fresh."""
_EXCERPT: Final = 160

AnyRequest = Request[Any, Any, Any]


@dataclass(frozen=True, slots=True)
class TrialRow:
    """One trial of the list."""

    element_id: str
    href: str
    at: str
    at_iso: str
    at_exact: str
    rating: int | None
    rating_words: str
    perturbation: str
    severity: str
    quality: tuple[QualityRow, ...]
    """Metrics that changed."""
    noisy: bool
    """Whether the identical resend of the same exchange moved too."""
    failure: str
    reason_href: str
    """Trials that failed for the same reason."""
    route: str
    model: str
    excerpt: str
    people: str
    """What people say of it: "", "agreed" or "disputed"."""


@dataclass(frozen=True, slots=True)
class TrialsPage:
    """What the explorer shows."""

    head: Head
    chosen: TrialFilter
    form: FilterForm
    rows: tuple[TrialRow, ...]
    first: bool
    """Whether these are the newest."""
    older_href: str
    """"" if there is nothing older."""
    newest_href: str
    query: str
    """The choice as "?…", "" for everything."""
    unknown_change: bool
    cut_short: bool
    looked_at: str
    reached: str
    """Time of the oldest verdict read."""
    live: bool
    labels: bool
    """Whether people can say what they think of a verdict."""


def trials_page(
    sources: ConsoleSources, chosen: TrialFilter, before: int | None, labelled: Labelled
) -> TrialsPage:
    """The newest trials of a choice before a place in the log."""
    now = sources.clock()
    changes = _changes(sources)
    narrowed = chosen.beside(changes)
    found = _find(sources, narrowed, labelled, before, Limits())
    query = links.overview_query(**chosen.parts())
    return TrialsPage(
        head=Head("Trials · evenkeel"),
        chosen=chosen,
        form=filter_form(chosen, sources.reports(), changes, now, labels=sources.labels is not None),
        rows=tuple(_row(one, chosen, labelled, now) for one in found.trials),
        first=before is None,
        older_href=links.trials_link(**chosen.parts(), before=str(found.older)) if found.older else "",
        newest_href=links.trials_link(**chosen.parts()),
        query=f"?{query}" if query else "",
        unknown_change=narrowed is None,
        cut_short=found.older is not None and not found.full,
        looked_at=f"{found.looked_at:,}",
        reached="" if found.reached_s is None else figures.moment_exact(found.reached_s),
        live=before is None and narrowed is not None and not chosen.text and found.looked_at <= _LIVE_SCAN,
        labels=sources.labels is not None,
    )


def trial_explorer_handlers(sources: ConsoleSources, renderer: Renderer) -> list[HTTPRouteHandler]:
    """`/trials`, its live part, and `/api/trials`; all take the parts of `TrialFilter`, and `before`."""
    counted = CountedLabels(sources.labels)

    @get("/trials", sync_to_thread=True)
    def page(request: AnyRequest) -> Response[bytes]:
        query = request.query_params
        chosen, before = TrialFilter.of(query), _before(query)
        if any(not value for value in query.values()):  # a form without script sends every field
            place = {} if before is None else {"before": str(before)}
            return Response(
                b"",
                status_code=303,
                headers={"location": links.trials_link(**chosen.parts(), **place)},
            )
        shown = trials_page(sources, chosen, before, _labelled(counted()))
        return Response(renderer.page("trials.html", page=shown, here="/trials"), media_type=MediaType.HTML)

    @get("/fragments/trials", sync_to_thread=True)
    def fragment(request: AnyRequest, known: KnownTag = None) -> Response[bytes]:
        chosen = TrialFilter.of(request.query_params)
        return tagged(
            renderer.page("_trials.html", page=trials_page(sources, chosen, None, _labelled(counted()))),
            known,
        )

    @get("/api/trials", sync_to_thread=True)
    def api(request: AnyRequest) -> Response[bytes]:
        chosen = TrialFilter.of(request.query_params)
        before = _before(request.query_params)
        found = _find(sources, chosen.beside(_changes(sources)), _labelled(counted()), before, Limits())
        return json_response(
            {
                "trials": [asdict(one.verdict) for one in found.trials],
                "before": found.older,
                "looked_at": found.looked_at,
            }
        )

    return [page, fragment, api]


def trials_table(sources: ConsoleSources, query: Mapping[str, str]) -> Table:
    """At most 10,000 trials of a choice, the newest first, for a file."""
    narrowed = TrialFilter.of(query).beside(_changes(sources))
    labelled = _labelled(CountedLabels(sources.labels)())
    pages = each_page(
        lambda before, wanted: _find(sources, narrowed, labelled, before, Limits(shown=wanted)),
        most=MOST_ROWS,
        scanned=MOST_SCANNED,
    )
    return Table(_COLUMNS, [_cells(one.verdict) for one in pages])


_COLUMNS: Final = (
    "id",
    "exchange",
    "scored_at",
    "route",
    "model",
    "perturbation",
    "severity",
    "task",
    "format",
    "language",
    "rating",
    "baseline_rating",
    "quality",
    "failure",
    "explanation",
    "scorer",
    "judge",
    "rated_by",
    "prompt_version",
    "replay_s",
    "tokens",
    "cost_usd",
    "trace_id",
)


def _cells(verdict: Verdict) -> tuple[str | int | float | bool | None, ...]:
    changed = verdict.quality_changed
    return (
        verdict.id,
        verdict.exchange_id,
        verdict.scored_at,
        verdict.route,
        verdict.model,
        verdict.perturbation,
        verdict.severity,
        verdict.task,
        verdict.wanted_format,
        verdict.wanted_language or verdict.prompt_language,
        verdict.rating,
        verdict.baseline_rating,
        verdict.direction if changed else None if changed is None else "same",
        verdict.failure.reason if verdict.failure else None,
        verdict.explanation,
        verdict.scorer,
        verdict.judge_model,
        verdict.rated_by,
        verdict.prompt_version,
        verdict.replay_s,
        verdict.tokens,
        verdict.cost_usd,
        verdict.trace_id or None,
    )


def _find(
    sources: ConsoleSources,
    narrowed: TrialFilter | None,
    labelled: Labelled,
    before: int | None,
    limits: Limits,
) -> Found:
    if narrowed is None:
        return Found((), None, 0, None, full=False)
    return search(sources.log, narrowed, before=before, labelled=labelled, limits=limits)


def _changes(sources: ConsoleSources) -> tuple[ChangeReport, ...]:
    return tuple(sources.change_reports()) if sources.change_reports else ()


def _labelled(labels: Iterable[Label]) -> Labelled:
    agrees: dict[str, bool | None] = {}
    for label in labels:
        known = agrees.get(label.verdict_id)
        # One person who says otherwise disputes a verdict.
        agrees[label.verdict_id] = label.agrees if known is None else known and label.agrees is not False
    return Labelled(agrees)


def _before(query: Mapping[str, Any]) -> int | None:
    text = str(query.get("before", ""))
    return max(1, int(text)) if text.isascii() and text.isdigit() and len(text) <= _LONGEST_PLACE else None


def _row(one: LoggedVerdict, chosen: TrialFilter, labelled: Labelled, now: float) -> TrialRow:
    verdict = one.verdict
    failure = verdict.failure
    agrees = labelled.agrees.get(verdict.id)
    labelled_here = verdict.id in labelled.agrees
    return TrialRow(
        element_id=f"t-{one.offset}",
        href=links.verdict_link(verdict.id),
        at=figures.moment(verdict.scored_at, now),
        at_iso=figures.iso(verdict.scored_at),
        at_exact=figures.moment_exact(verdict.scored_at),
        rating=verdict.rating,
        rating_words=wording.RATINGS.get(verdict.rating, "not rated") if verdict.rating else "not rated",
        perturbation=rewordings.label(verdict.perturbation),
        severity=figures.number(verdict.severity, 1)
        if rewordings.category(verdict.perturbation).graded
        else "",
        quality=tuple(quality_row(score) for score in verdict.quality if score.changed),
        noisy=bool(verdict.shifted and verdict.baseline_shifted),
        failure=f"{failure.metric}: {failure.reason.replace('_', ' ')}" if failure else "",
        reason_href=links.trials_link(**chosen.parts(reason=failure.reason)) if failure else "",
        route=verdict.route,
        model=verdict.model,
        excerpt=_excerpt(verdict.explanation or (failure.detail if failure else "")),
        people="" if not labelled_here else "disputed" if agrees is False else "agreed",
    )


def _excerpt(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _EXCERPT else f"{line[:_EXCERPT]}…"
