"""Pages about goldens and `/api/goldens`: the list, a golden with its history, and changes to goldens."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple

from litestar import Response, Router, get, post
from litestar.exceptions import HTTPException, NotFoundException
from litestar.params import FromQuery, QueryParameter, RawBody
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
from evenkeel.console.api import json_object, json_response
from evenkeel.console.rendering import AnyRequest, FilterLink, Form, Page, PathText, QueryText, see_other
from evenkeel.console.trial import plain, question
from evenkeel.core.records import from_plain
from evenkeel.core.text import one_line, visible
from evenkeel.release.goldens.candidates import golden_of, prompt_text
from evenkeel.release.goldens.files import golden_row, read_goldens
from evenkeel.release.kit.arguments import InputError
from evenkeel.stores.goldens import GoldenError, key_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from litestar.types import ControllerRouterHandler

    from evenkeel.console.rendering import Renderer
    from evenkeel.console.sources import ConsoleSources
    from evenkeel.stores.audit_log import What
    from evenkeel.stores.changes import GoldenRun
    from evenkeel.stores.goldens import Golden


ROWS: Final = 40
"""Goldens on a page of the list."""
MOST: Final = 10_000
"""Goldens that are listed at most."""
_ANSWER_CHARS: Final = 160
_QUESTION_CHARS: Final = 220
# Browsers get slow with longer texts.
_PAGE_CHARS: Final = 60_000


def golden_list(sources: ConsoleSources, chosen: Mapping[str, str | None], number: int) -> Page:
    """Build page `number` of the list, from 1, with links to narrow it.

    `chosen` holds `route`, `task`, and `show` ("all" shows retired ones, too).
    """
    goldens_listed = sources.goldens.select(
        route=chosen["route"], task=chosen["task"], active=chosen["show"] != "all", limit=MOST
    )
    # The store has no paging, so pages are cut here; there are a few thousand goldens at most.
    start = (number - 1) * ROWS
    routes, tasks = {}, {}
    for route, task in sorted(sources.goldens.labels()):
        routes[route] = route
        if task:
            tasks[task] = task
    choices: dict[str, dict[str, str | None]] = {
        "show": {"in use": None, "retired too": "all"},
        "route": {"all": None, **routes},
        "task": {"all": None, **tasks},
    }
    filters: dict[str, list[FilterLink]] = {}
    for name, options in choices.items():
        # A link for each value of a filter; the other filters stay as they are chosen.
        filters[name] = []
        for label, value in options.items():
            href = links.list_link("goldens", **{**chosen, name: value})
            filters[name].append(FilterLink(label, href, chosen[name] == value))
    further = (
        links.list_link("goldens", **chosen, page=str(number + 1))
        if len(goldens_listed) > start + ROWS
        else ""
    )
    return Page(
        "Goldens · evenkeel",
        rows=goldens_listed[start : start + ROWS],
        start=start,
        count=len(goldens_listed),
        filters=filters,
        narrowed=bool(chosen["route"] or chosen["task"]),
        start_href=links.list_link("goldens", **chosen) if start else "",
        next_href=further,
        question=lambda golden: one_line(question(prompt_text(golden.request)), _QUESTION_CHARS),
        answer=lambda golden: one_line(golden.answer.shown, _ANSWER_CHARS),
        rating=partial(last_rating, sources.golden_runs()),
    )


class GoldenRating(NamedTuple):
    """The rating of a golden's answer in the last run of its route's goldens."""

    said: str
    at: float
    """Unix time in seconds."""
    model: str
    changed: bool
    """True if the answer differed from the approved one."""


def last_rating(runs: Mapping[str, GoldenRun], golden: Golden) -> GoldenRating | None:
    """Return the last rating of a golden's version; None if the last run of its route left it out."""
    run = runs.get(golden.route)
    if run is None:
        return None
    key = key_of(golden.id, golden.version)
    result = next((result for result in run.results if result.golden == key), None)
    if result is None:
        return None
    breached = []
    for name, breach in result.breaches.items():
        if breach:
            breached.append(name.replace("_", " "))
    said = ", ".join(breached) or "as approved"
    # No breach is known where the call or its scoring failed.
    if not result.breaches:
        said = f"not rated: {result.failure.replace('_', ' ')}"
    return GoldenRating(said, run.at, run.model, changed=bool(breached))


class _Change(Struct, kw_only=True, forbid_unknown_fields=True):
    """A change that somebody asks for: exactly one of the first four fields."""

    exchange: str = ""
    """Id of an archived exchange to approve, with an optional `name` and `note`."""
    golden: dict[str, Any] | None = None
    """Fields as in a line of a file, to approve."""
    retire: str = ""
    unretire: str = ""
    by: str = ""
    name: str = ""
    note: str = ""


def _apply(sources: ConsoleSources, wanted: _Change, at: float) -> tuple[What, Golden]:
    """Apply a change. Return what was done, and the golden in its new state.

    Raises: GoldenError or InputError that says what is missing or wrong.
    """
    by = wanted.by.strip()
    if not by:
        raise GoldenError("it must be on record who does this: say your name")
    if sum(map(bool, (wanted.exchange, wanted.golden, wanted.retire, wanted.unretire))) != 1:
        raise GoldenError("say what to do: exactly one of exchange, golden, retire, unretire")
    if wanted.retire:
        return "golden_retired", sources.goldens.retire(wanted.retire, by=by, at=at)
    if wanted.unretire:
        return "golden_unretired", sources.goldens.unretire(wanted.unretire, by=by)
    if wanted.golden:
        (golden,) = read_goldens([json.dumps(wanted.golden)], "golden")
    else:
        exchange = sources.archive.find(wanted.exchange)
        if exchange is None:
            raise GoldenError(
                f"exchange {wanted.exchange!r} is not in the archive (it may have been removed); "
                "approve a newer one"
            )
        golden = golden_of(exchange, name=wanted.name, note=wanted.note)
    return "golden_approved", sources.goldens.approve(golden, by=by, at=at)


def _changed(sources: ConsoleSources, request: AnyRequest, asked: Mapping[str, Any]) -> Golden:
    """Do what a visitor asks for, under their name, and put that on record.

    Raises: HTTPException that says what is missing or wrong.
    """
    # As the audit log writes times, so that the two can be matched.
    visitor, at = visitor_of(request), round(sources.clock(), 3)
    asked = signed(visitor, asked)
    try:
        wanted = from_plain(asked, _Change)
        what, golden = _apply(sources, wanted, at)
    except (GoldenError, InputError, ValidationError) as error:
        raise HTTPException(f"Nothing was changed: {error}.", status_code=400) from error
    detail = f"version {golden.version}, route {golden.route}"
    record(sources.actions, visitor, wanted.by.strip(), what, golden.id, at=at, detail=detail)
    return golden


PageNumber = Annotated[int, QueryParameter(ge=1, le=1_000)]
Limit = Annotated[int, QueryParameter(ge=1, le=MOST)]


def golden_handlers(sources: ConsoleSources, renderer: Renderer) -> list[ControllerRouterHandler]:
    """Handlers of GET `/goldens` (`route`, `task`, `show`, `page`) and `/goldens/{id}`, POST `/goldens`.

    The same is under `/api`, where the list is narrowed by `route`, `task`, `retired` and `limit`.
    """

    def history_of(golden_id: str) -> Sequence[Golden]:
        history = sources.goldens.history(golden_id.removeprefix("/"))
        if not history:
            raise NotFoundException(detail="There is no golden of this id.")
        return history

    @get("/", sync_to_thread=True, needs="viewer")
    def listed(
        route: QueryText = None,
        task: QueryText = None,
        show: QueryText = None,
        page: PageNumber = 1,
    ) -> Response[bytes]:
        chosen = {"route": route or None, "task": task or None, "show": show or None}
        return renderer.response("goldens.html", page=golden_list(sources, chosen, page))

    # The path type also takes ids that hold a slash.
    @get("/goldens/{golden_id:path}", sync_to_thread=True, needs="viewer")
    def one(request: AnyRequest, golden_id: PathText) -> Response[bytes]:
        history = history_of(golden_id)
        newest = history[-1]
        return renderer.response(
            "golden.html",
            golden=newest,
            question=plain(question(prompt_text(newest.request))),
            request=visible((newest.request or "")[:_PAGE_CHARS]),
            rating=last_rating(sources.golden_runs(), newest),
            answer=plain(newest.answer.shown),
            versions=history[::-1],
            token=form_token(request),
            visitor=visitor_of(request),
        )

    @post("/", sync_to_thread=True, guards=[own_pages_only], needs="approver")
    def changed(request: AnyRequest, data: Form) -> Response[bytes]:
        return see_other(links.page_link("goldens", _changed(sources, request, fields_of(data)).id))

    @get("/", sync_to_thread=True, needs="viewer")
    def listed_by_api(
        *,
        route: QueryText = None,
        task: QueryText = None,
        retired: FromQuery[bool] = False,
        limit: Limit = 500,
    ) -> Response[bytes]:
        """Return goldens in their newest version, last approved first, as in an exported file."""
        goldens_listed = sources.goldens.select(
            route=route or None, task=task or None, active=not retired, limit=limit
        )
        return json_response({"goldens": [golden_row(golden) for golden in goldens_listed]})

    @get("/api/goldens/{golden_id:path}", sync_to_thread=True, needs="viewer")
    def one_by_api(golden_id: PathText) -> Response[bytes]:
        """Return all versions of a golden, oldest first."""
        versions = list(map(golden_row, history_of(golden_id)))
        return json_response({"versions": versions})

    @post("/", sync_to_thread=True, guards=[own_pages_only, json_only], needs="approver")
    def changed_by_api(request: AnyRequest, body: RawBody) -> Response[bytes]:
        """Apply a change, which has the fields of `_Change`."""
        return json_response({"golden": golden_row(_changed(sources, request, json_object(body)))})

    # Routers, because Litestar would wrap the first of two handlers of one path twice.
    return [
        Router("/goldens", route_handlers=[listed, changed]),
        Router("/api/goldens", route_handlers=[listed_by_api, changed_by_api]),
        one,
        one_by_api,
    ]
