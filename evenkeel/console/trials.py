"""The list of trials and its form, filtered by the address, as page and JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec
from litestar import Response, get

from evenkeel.console import links
from evenkeel.console.api import Limit, json_response, scored_by
from evenkeel.console.rendering import AnyRequest, FilterLink, Page, see_other
from evenkeel.console.trial import TrialView, question, texts_of
from evenkeel.core import rewordings
from evenkeel.core.text import one_line
from evenkeel.stores.trial_index import Narrow

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from litestar.handlers import HTTPRouteHandler

    from evenkeel.console.rendering import Renderer
    from evenkeel.console.sources import ConsoleSources
    from evenkeel.core.verdict import Verdict
    from evenkeel.stores.verdict_log import LoggedVerdict, VerdictLog


RATINGS: Final[Mapping[str, tuple[str, Mapping[str, str | tuple[int | None, ...]]]]] = {
    "shifted": ("changed", {"rating": (1, 2)}),
    "1": ("1 different message", {"rating": (1,)}),
    "2": ("2 some details differ", {"rating": (2,)}),
    "3": ("3 same content", {"rating": (3,)}),
    "unsure": ("unsure", {"state": "unsure"}),
    "failed": ("not rated", {"state": "failed"}),
}
"""Choices in words, and the columns that they mean."""
CONTROLS: Final = {"held": "held", "changed": "changed as well", "none": "no rated control"}
"""Labels for the outcome of the control."""
ORDERS: Final = {"newest": "newest first"}
"""Orders of the list besides the default, worst first."""
# Ratings of trials that changed or are unclear, among which are the worst.
_OPEN: Final = (1, 2, None)
_CHOICES: Final = {"rating": RATINGS, "control": CONTROLS, "order": ORDERS}
# Characters of a value; longer ones are cut.
_LONGEST: Final = 300


@dataclass(frozen=True, slots=True)
class TrialFilter:
    """Everything that can be chosen, as text; "" = anything."""

    route: str = ""
    model: str = ""
    perturbation: str = ""
    rating: str = ""
    """A key of `RATINGS`."""
    control: str = ""
    """A key of `CONTROLS`."""
    client: str = ""
    """Name of the client that sent the original."""
    prompt_version: str = ""
    since: str = ""
    """Time in UTC, "2026-08-12T14:20"."""
    until: str = ""
    order: str = ""
    """A key of `ORDERS`; "" = the worst first."""

    @classmethod
    def of(cls, query: Mapping[str, Any]) -> TrialFilter:
        """Read the values of a query string; an unknown value of a fixed choice counts as not set."""
        values = {}
        for each in fields(cls):
            values[each.name] = str(query.get(each.name, "")).strip()[:_LONGEST]
        for name, choices in _CHOICES.items():
            if values[name] not in choices:
                values[name] = ""
        for name in ("since", "until"):
            if unix_time(values[name]) is None:
                values[name] = ""
        return cls(**values)

    def parts(self, **changes: str) -> dict[str, str | None]:
        """Return the values that are set, with `changes` applied, as parts of a link."""
        return {name: value or None for name, value in (asdict(self) | changes).items()}

    def narrow(self, *, worst: bool = False) -> Narrow:
        """Return criteria for the log's own search.

        With `worst`, trials whose answers held are left out unless a rating is chosen.
        """
        plain = ("route", "model", "perturbation", "client", "prompt_version", "control")
        values: dict[str, Any] = {}
        for name in plain:
            values[name] = getattr(self, name) or None
        if self.rating:
            values |= RATINGS[self.rating][1]
        elif worst:
            values["rating"] = _OPEN
        return replace(Narrow.by(**values), since=unix_time(self.since), until=unix_time(self.until))


def unix_time(text: str) -> float | None:
    """Return the Unix seconds of a time in ISO 8601, in UTC without an offset; None if it is none."""
    try:
        moment = datetime.fromisoformat(text)
        seconds = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None
    return seconds if seconds >= 0 else None


def badness(verdict: Verdict) -> tuple[int, bool, float, bool]:
    """Return a sort key that puts the worst trials first.

    First come trials whose control held and whose answer changed, the largest change first, better answers
    after the others; then trials for which that is unclear; last the counter-examples, in which the control
    changed as well or the answer held.
    """
    moved, control = verdict.shifted, verdict.control.shifted
    if verdict.is_control or verdict.is_contrast:  # the answer to another question has to move
        tier = 6
    elif moved:
        tier = {False: 0, None: 1, True: 4}[control]
    elif verdict.unsure:
        tier = 2
    else:
        tier = 3 if verdict.failure else 5
    # A judge that gave no grade still gave a rating; unrated trials come last in their tier.
    grade = verdict.grade
    if grade is None:
        grade = 1.0 if verdict.rating is None else (verdict.rating - 1) / 2
    direction = verdict.direction
    return tier, direction == "better", grade, direction != "worse"


SCANNED: Final = 50_000
"""Verdicts read for one page."""
# Steps grow: a common outcome is found at once, a rare one without many reads.
_FIRST_STEP: Final = 100
_LONGEST_STEP: Final = 1_000


@dataclass(frozen=True, slots=True)
class TrialPage:
    """Trials, newest first."""

    trials: tuple[LoggedVerdict, ...]
    older: int | None
    """Position from which to continue, as `before`; None if the start of the log was reached."""


def search(log: VerdictLog, narrow: Narrow, *, most: int, before: int | None = None) -> TrialPage:
    """Return at most `most` trials that match, the newest before a place in the log; None = its end.

    SQLite finds them by an index (`stores.trial_index`). Redis has none: there a page reads at most `SCANNED`
    verdicts, and the next page goes on from there.
    """
    verdicts: list[LoggedVerdict] = []
    at, looked_at, step = before, 0, _FIRST_STEP
    while at != 0 and len(verdicts) < most and looked_at < SCANNED:
        stretch = log.read_before(at, min(step, SCANNED - looked_at), narrow)
        step = min(_LONGEST_STEP, 4 * step)
        at, looked_at = stretch.reached, looked_at + stretch.looked_at
        verdicts += stretch.verdicts
    # The last step may find more than asked for: the next page begins with what is cut off.
    if len(verdicts) > most:
        verdicts = verdicts[:most]
        at = verdicts[-1].offset
    return TrialPage(tuple(verdicts), at or None)


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
            FilterLink("worst first", links.list_link("trials", **chosen.parts(order="")), worst),
            FilterLink("newest first", links.list_link("trials", **chosen.parts(order="newest")), not worst),
        ],
        ranked=len(page.trials) if worst else 0,
        first=before is None,
        start_href=links.list_link("trials", **parts),
        next_href=links.list_link("trials", **parts | older) if older else "",
        newest_href=links.list_link("trials", **chosen.parts(order="newest")),
        narrowed={name: value for name, value in parts.items() if value and name != "order"},
        empty=not sources.log.latest(1),
    )


def trial_list_handlers(sources: ConsoleSources, renderer: Renderer) -> list[HTTPRouteHandler]:
    """Handlers of `/trials` and `/api/trials`; both take the parts of `TrialFilter`, and `before`."""

    @get("/trials", sync_to_thread=True, needs="viewer")
    def page(request: AnyRequest) -> Response[bytes]:
        query = request.query_params
        chosen, before = TrialFilter.of(query), _place(query)
        # Addresses are passed on, so they hold nothing that means nothing.
        if any(not value for value in query.values()):  # a form without script sends every field
            return see_other(links.list_link("trials", **chosen.parts()))
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
