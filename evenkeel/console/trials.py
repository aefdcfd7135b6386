"""The list of trials and its form, filtered by the address, as page and JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec
from litestar import Response, get

from evenkeel.console import links
from evenkeel.console.api import Limit, json_response, scored_by
from evenkeel.console.questions import question
from evenkeel.console.rendering import AnyRequest, FilterLink, Page, see_other
from evenkeel.console.trial import TrialView, texts_of
from evenkeel.console.trial_search import CONTROLS, RATINGS, TrialFilter, badness, search
from evenkeel.core import rewordings
from evenkeel.core.text import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from litestar.handlers import HTTPRouteHandler

    from evenkeel.console.rendering import Renderer
    from evenkeel.console.sources import ConsoleSources
    from evenkeel.stores.verdict_log import LoggedVerdict, VerdictLog

RANKED: Final = 1_000
"""Trials among which the worst come first."""
# Trials on a page.
_ROWS: Final = 40
_EXCERPT: Final = 220
# Digits of a position in the log; more would not fit the store's 64 bits.
_LONGEST_PLACE: Final = 18


def filter_options(sources: ConsoleSources, chosen: TrialFilter) -> dict[str, dict[str, str]]:
    """Return the entries of the form's lists, with the names of the known cells: labels by value."""
    routes, models, kinds = set(), set(), set()
    for report in sources.reports():
        routes.add(report.key.route)
        models.add(report.key.model)
        kinds.add(report.key.perturbation)
    options = {
        "route": {route: route for route in sorted(routes)},
        "model": {model: model for model in sorted(models)},
        "perturbation": {kind: rewordings.label(kind) for kind in sorted(kinds, key=rewordings.position)},
        "rating": {value: words for value, (words, _) in RATINGS.items()},
        "control": dict(CONTROLS),
    }
    for name, entries in options.items():
        # A value that is not known is from an old link, or of something that is over.
        if value := getattr(chosen, name):
            entries.setdefault(value, value)
    return options


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


def trials_page(sources: ConsoleSources, chosen: TrialFilter, before: int | None) -> Page:
    """Build the page of the trials that match a filter: the worst of the newest thousand, or the newest."""
    worst = not chosen.order
    page = search(sources.log, chosen.narrow(worst=worst), most=RANKED if worst else _ROWS, before=before)
    shown = page.trials
    # "Worst first" ranks a bounded number of trials, so it is one page; "newest first" pages through all.
    if worst:
        shown = tuple(sorted(shown, key=lambda row: (badness(row.verdict), -row.offset))[:_ROWS])
    parts = chosen.parts()
    older = {"before": str(page.older)} if page.older and not worst else {}
    return Page(
        "Trials · evenkeel",
        chosen=chosen,
        options=filter_options(sources, chosen),
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
        narrowed={name: value for name, value in parts.items() if value and name != "order"},
        empty=not sources.log.latest(1),
        labels=sources.labels is not None,
    )


def trial_list_handlers(sources: ConsoleSources, renderer: Renderer) -> list[HTTPRouteHandler]:
    """Handlers of `/trials` and `/api/trials`; both take the parts of `TrialFilter`, and `before`."""

    @get("/trials", sync_to_thread=True, needs="viewer")
    def page(request: AnyRequest) -> Response[bytes]:
        query = request.query_params
        chosen, before = TrialFilter.of(query), _place(query)
        # Addresses are passed on, so they hold nothing that means nothing.
        if any(not value for value in query.values()):  # a form without script sends every field
            return see_other(links.trials_link(**chosen.parts()))
        shown = trials_page(sources, chosen, before)
        return renderer.response("trials.html", page=shown)

    @get("/api/trials", sync_to_thread=True, needs="viewer")
    def api(request: AnyRequest, limit: Limit = 50) -> Response[bytes]:
        """Return trials, newest first regardless of `order`."""
        query = request.query_params
        page = search(sources.log, TrialFilter.of(query).narrow(), most=limit, before=_place(query))
        trials = msgspec.to_builtins([trial.verdict for trial in page.trials])
        return json_response({"trials": trials, "before": page.older, **scored_by(sources)})

    return [page, api]


def _place(query: Mapping[str, Any]) -> int | None:
    """Return the position in the log that a query asks to go on from."""
    text = str(query.get("before", ""))
    return max(1, int(text)) if text.isascii() and text.isdigit() and len(text) <= _LONGEST_PLACE else None
