"""The trial explorer and its form: every trial there is, narrowed by its address; as page, files and JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from litestar import Response, get

from evenkeel.console import links
from evenkeel.console.api import json_response
from evenkeel.console.downloads import Table
from evenkeel.console.rendering import AnyRequest, KnownTag, Page, see_other, tagged
from evenkeel.console.trial import TrialView
from evenkeel.console.trial_search import (
    LABELS,
    OUTCOMES,
    RATINGS,
    SIDES,
    Found,
    Labelled,
    Limits,
    TrialFilter,
    each_page,
    search,
)
from evenkeel.core import figures, rewordings
from evenkeel.core.text import one_line
from evenkeel.stores.labels import CountedLabels

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from litestar.handlers import HTTPRouteHandler

    from evenkeel.console.downloads import Column
    from evenkeel.console.rendering import Renderer
    from evenkeel.console.sources import ConsoleSources
    from evenkeel.core.cells import CellReport
    from evenkeel.core.verdict import Verdict
    from evenkeel.monitor.changes.report import ChangeReport
    from evenkeel.stores.labels import Label


_MORE: Final = ("format", "language", "task", "reason", "change", "side", "since", "until", "labels")
"""Fields that are folded away until one of them is used."""
_NAMES: Final = {"text": "text", "side": "side of the change", "labels": "people"}
_CHANGES: Final = 30


class Option(NamedTuple):
    """One entry of a list to choose from."""

    value: str
    label: str


class Field(NamedTuple):
    """A list to choose from; the first entry, "any", is not among the options."""

    name: str
    label: str
    value: str
    options: tuple[Option, ...]


class Chip(NamedTuple):
    """A choice that is in effect, with the link that undoes it."""

    text: str
    href: str


class FilterForm(NamedTuple):
    """The lists to choose from, and what is chosen."""

    fields: tuple[Field, ...]
    more: tuple[Field, ...]
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
        _field(chosen, "perturbation", "Rewording", _perturbations(perturbations)),
        _field(chosen, "rating", "Rating", _options(RATINGS)),
        _field(chosen, "outcome", "Outcome", _options(OUTCOMES)),
    )
    more = [
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
    return FilterForm(
        fields,
        tuple(more),
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


def _options(choices: Mapping[str, str | tuple[str, object]]) -> tuple[Option, ...]:
    said = {value: words if isinstance(words, str) else words[0] for value, words in choices.items()}
    return tuple(Option(*one) for one in said.items())


def _change(change: ChangeReport, now: float) -> str:
    return f"{change.route}, {figures.moment(change.at, now)}: {change.coincided}"


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


def trials_page(sources: ConsoleSources, chosen: TrialFilter, before: int | None, labelled: Labelled) -> Page:
    """The newest trials of a choice before a place in the log."""
    now = sources.clock()
    changes = _changes(sources)
    narrowed = chosen.beside(changes)
    found = _find(sources, narrowed, labelled, before, Limits())
    query = links.query(**chosen.parts())
    return Page(
        "Trials · evenkeel",
        chosen=chosen,
        form=filter_form(chosen, sources.reports(), changes, now, labels=sources.labels is not None),
        trials=[(one.offset, TrialView(one.verdict)) for one in found.trials],
        agrees=labelled.agrees,
        one_line=lambda text: one_line(text, _EXCERPT),
        first=before is None,
        older_href=links.trials_link(**chosen.parts(), before=str(found.older)) if found.older else "",
        query=f"?{query}" if query else "",
        unknown_change=narrowed is None,
        cut_short=found.older is not None and not found.full,
        looked_at=found.looked_at,
        reached_s=found.reached_s,
        live=before is None and narrowed is not None and not chosen.text and found.looked_at <= _LIVE_SCAN,
        labels=sources.labels is not None,
    )


def trial_explorer_handlers(sources: ConsoleSources, renderer: Renderer) -> list[HTTPRouteHandler]:
    """`/trials`, its live part, and `/api/trials`; all take the parts of `TrialFilter`, and `before`."""
    counted = CountedLabels(sources.labels)

    @get("/trials", sync_to_thread=True, needs="viewer")
    def page(request: AnyRequest) -> Response[bytes]:
        query = request.query_params
        chosen, before = TrialFilter.of(query), _before(query)
        if any(not value for value in query.values()):  # a form without script sends every field
            place = {} if before is None else {"before": str(before)}
            return see_other(links.trials_link(**chosen.parts(), **place))
        return renderer.response(
            "trials.html", page=trials_page(sources, chosen, before, _labelled(counted()))
        )

    @get("/fragments/trials", sync_to_thread=True, needs="viewer")
    def fragment(request: AnyRequest, known: KnownTag = None) -> Response[bytes]:
        chosen = TrialFilter.of(request.query_params)
        return tagged(
            renderer.page("_trials.html", page=trials_page(sources, chosen, None, _labelled(counted()))),
            known,
        )

    @get("/api/trials", sync_to_thread=True, needs="viewer")
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
    "task",
    ("format", lambda verdict: verdict.wanted_format),
    ("language", lambda verdict: verdict.wanted_language or verdict.prompt_language),
    "rating",
    "unsure",
    "similarity",
    "baseline_rating",
    "baseline_similarity",
    "free_rating",
    "free_similarity",
    ("invalid", lambda verdict: " ".join(verdict.invalid)),
    ("quality", _quality),
    ("failure", lambda verdict: verdict.failure.reason if verdict.failure else None),
    "explanation",
    "scorer",
    ("judge", lambda verdict: verdict.judge_model),
    "rated_by",
    "prompt_version",
    "replay_s",
    "tokens",
    "cost_usd",
    ("trace_id", lambda verdict: verdict.trace_id or None),
)


def verdicts_table(verdicts: Sequence[Verdict]) -> Table:
    """The newest verdicts for a file, newest first; no prompts and no answers."""
    return Table.of(
        verdicts,
        "id",
        "exchange_id",
        "scored_at",
        "route",
        "model",
        "perturbation",
        "severity",
        "scorer",
        "rating",
        "baseline_rating",
        "direction",
        ("failure", lambda verdict: verdict.failure.reason if verdict.failure else None),
        "explanation",
        "task",
        "prompt_version",
        "replay_s",
        "tokens",
        "cost_usd",
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
