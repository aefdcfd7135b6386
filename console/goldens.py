"""The pages about goldens and `/api/goldens`: the list, one golden with its history, and changes to them."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

from litestar import MediaType, Request, Response, Router, get, post
from litestar.exceptions import HTTPException, NotFoundException
from litestar.params import FromPath, FromQuery, QueryParameter, RawBody, URLEncodedBody

from evenkeel.console import diffs, links
from evenkeel.console.access import Recorder, form_token, json_only, needs, own_pages_only, signed, visitor_of
from evenkeel.console.api import json_response
from evenkeel.console.trial import FilterLink, answer_text
from evenkeel.core import figures
from evenkeel.experiments.goldens.candidates import golden_of
from evenkeel.experiments.goldens.files import golden_lines, read_goldens
from evenkeel.experiments.goldens.prompts import prompt_text
from evenkeel.stores.audit_log import KNOWN_BY, MOST_READ
from evenkeel.stores.goldens import GoldenError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from litestar.types import ControllerRouterHandler

    from evenkeel.console.diffs import Run, SideBySide
    from evenkeel.console.rendering import Renderer
    from evenkeel.console.sources import ConsoleSources, GoldenSources
    from evenkeel.stores.audit_log import Action, What
    from evenkeel.stores.goldens import Entry, Golden, GoldenStore


SHOWN = 200
"""Goldens on the list at most."""
_EXCERPT_CHARS = 160
_PAGE_CHARS = 60_000
_CONTEXT_WORDS = 12
_MOST_VERSIONS = 20
"""Versions whose differences are worked out for one page."""


@dataclass(frozen=True, slots=True)
class Stamp:
    """Who did something when."""

    by: str
    at: str
    at_iso: str
    at_exact: str
    """"" for all three where no time is known."""


@dataclass(frozen=True, slots=True)
class GoldenRow:
    """One golden on the list."""

    id: str
    href: str
    version: int
    route: str
    task: str
    model: str
    prompt_version: str
    note: str
    approved: Stamp
    retired: Stamp | None
    prompt: str
    """The beginning of what was asked last."""
    answer: str
    """The beginning of the approved answer."""


@dataclass(frozen=True, slots=True)
class GoldenList:
    """The list with the links that narrow it."""

    rows: tuple[GoldenRow, ...]
    routes: tuple[FilterLink, ...]
    tasks: tuple[FilterLink, ...]
    states: tuple[FilterLink, ...]
    narrowed: bool
    more: bool
    """Whether there are more than are shown."""
    shown: int


@dataclass(frozen=True, slots=True)
class VersionView:
    """One version and what it changed."""

    row: GoldenRow
    prompt: tuple[Run, ...]
    """The prompt with changes since the version before; empty if it is the same."""
    answers: SideBySide | None
    """The answers of the version before and this one; None if they are the same."""
    first: bool


@dataclass(frozen=True, slots=True)
class TrailLine:
    """One line of the audit trail."""

    deed: str
    version: int
    stamp: Stamp
    model: str
    prompt_version: str
    known: str
    """How the name is known, "" if that is no longer on record."""


@dataclass(frozen=True, slots=True)
class GoldenPage:
    """A golden in its newest version, the versions before it, and its trail."""

    row: GoldenRow
    path: str
    request_known: bool
    prompt: tuple[Run, ...]
    answer: tuple[Run, ...]
    versions: tuple[VersionView, ...]
    """Newest first."""
    older: int
    """Versions that are not shown."""
    trail: tuple[TrailLine, ...]
    """Newest first."""


def golden_list(
    store: GoldenStore, route: str | None, task: str | None, *, retired: bool, now: float
) -> GoldenList:
    """The list of goldens of a route and a task, retired ones too if wanted."""
    found = store.select(route=route, task=task, active=not retired, limit=SHOWN + 1)
    labels = store.labels()
    routes = sorted({one for one, _ in labels})
    tasks = sorted({one for _, one in labels if one is not None})
    show = "all" if retired else None

    def link(label: str, *, active: bool, **changes: str | None) -> FilterLink:
        parts = {"route": route, "task": task, "show": show} | changes
        return FilterLink(label, links.goldens_link(**parts), active)

    return GoldenList(
        rows=tuple(_row(golden, now) for golden in found[:SHOWN]),
        routes=(
            link("all", active=route is None, route=None),
            *(link(name, active=route == name, route=name) for name in routes),
        ),
        tasks=(
            link("all", active=task is None, task=None),
            *(link(name, active=task == name, task=name) for name in tasks),
        ),
        states=(
            link("in use", active=not retired, show=None),
            link("retired too", active=retired, show="all"),
        ),
        narrowed=route is not None or task is not None,
        more=len(found) > SHOWN,
        shown=SHOWN,
    )


def golden_page(
    history: Sequence[Golden], trail: Sequence[Entry], now: float, actions: Sequence[Action] = ()
) -> GoldenPage:
    """The page of one golden.

    Args:
        history: all versions, oldest first, at least one.
        trail: what was done to it, oldest first.
        now: Unix time in seconds.
        actions: what is on record, in any order.
    """
    newest = history[-1]
    known = {
        (one.by, one.at): KNOWN_BY.get(one.known_by, one.known_by)
        for one in actions
        if one.what.startswith("golden")
    }
    kept = history[-_MOST_VERSIONS:]
    before = [None, *history][-len(kept) - 1 : -1]
    versions = [_version(old, new, now) for old, new in zip(before, kept, strict=True)]
    return GoldenPage(
        row=_row(newest, now),
        path=newest.path,
        request_known=newest.request is not None,
        prompt=_plain(prompt_text(newest.request)),
        answer=_plain(answer_text(newest.answer)),
        versions=tuple(reversed(versions)),
        older=len(history) - len(kept),
        trail=tuple(
            TrailLine(
                entry.deed,
                entry.version,
                _stamp(entry.by, entry.at, now),
                entry.model or "",
                entry.prompt_version or "",
                known.get((entry.by, entry.at), ""),
            )
            for entry in reversed(trail)
        ),
    )


def _version(old: Golden | None, new: Golden, now: float) -> VersionView:
    row = _row(new, now)
    if old is None:
        return VersionView(row, (), None, first=True)
    was, now_asked = prompt_text(old.request), prompt_text(new.request)
    said, now_said = answer_text(old.answer), answer_text(new.answer)
    return VersionView(
        row,
        diffs.inline(was, now_asked, context_words=_CONTEXT_WORDS, max_chars=_PAGE_CHARS)
        if was != now_asked
        else (),
        diffs.side_by_side(said, now_said, max_chars=_PAGE_CHARS) if said != now_said else None,
        first=False,
    )


def _row(golden: Golden, now: float) -> GoldenRow:
    retired = golden.retired_at is not None
    return GoldenRow(
        id=golden.id,
        href=links.golden_link(golden.id),
        version=golden.version,
        route=golden.route,
        task=golden.task or "",
        model=golden.model or "",
        prompt_version=golden.prompt_version or "",
        note=golden.note,
        approved=_stamp(golden.approved_by, golden.approved_at, now),
        retired=_stamp(golden.retired_by or "", golden.retired_at, now) if retired else None,
        prompt=_excerpt(prompt_text(golden.request).rpartition("\n\nuser: ")[2].removeprefix("user: ")),
        answer=_excerpt(answer_text(golden.answer)),
    )


def _stamp(by: str, at: float | None, now: float) -> Stamp:
    if at is None:
        return Stamp(by, "", "", "")
    return Stamp(by, figures.moment(at, now), figures.iso(at), figures.moment_exact(at))


def _plain(text: str) -> tuple[Run, ...]:
    return diffs.inline(text, text, context_words=0, max_chars=_PAGE_CHARS)


def _excerpt(text: str) -> str:
    line = " ".join(text[: 4 * _EXCERPT_CHARS].split())
    return line if len(line) <= _EXCERPT_CHARS else f"{line[:_EXCERPT_CHARS]}…"


DEEDS = ("exchange", "golden", "retire", "unretire")
"""What a change is about: exactly one of them."""
_TEXTS = ("exchange", "retire", "unretire", "by", "name", "note")


def change(sources: GoldenSources, asked: Mapping[str, Any], at: float) -> Golden:
    """Do one thing, and return the golden as it is then.

    Args:
        sources: where.
        asked: `by` (who does it) and one of `exchange` (id of an archived exchange to approve, with an
            optional `name` and `note`), `golden` (an object as a line of a file, to approve), `retire` and
            `unretire` (id of a golden).
        at: Unix time in seconds.

    Raises: GoldenError that says what is missing or wrong.
    """
    deed = _checked(asked)
    by = asked["by"].strip()
    at = round(at, 3)
    match deed:
        case "retire":
            return sources.store.retire(asked["retire"], by=by, at=at)
        case "unretire":
            return sources.store.unretire(asked["unretire"], by=by, at=at)
        case "golden":
            (golden,) = read_goldens([json.dumps(asked["golden"])], "golden")
            return sources.store.approve(golden, by=by, at=at)
    exchange = sources.archive.find(asked["exchange"])
    if exchange is None:
        raise GoldenError(
            f"exchange {asked['exchange']!r} is not in the archive, or no longer; approve a newer one"
        )
    golden = golden_of(exchange, name=asked.get("name", ""), note=asked.get("note", ""))
    return sources.store.approve(golden, by=by, at=at)


def done(asked: Mapping[str, Any]) -> What:
    """What `change` has done if it was asked for this, for the record."""
    if asked.get("retire"):
        return "golden_retired"
    return "golden_unretired" if asked.get("unretire") else "golden_approved"


def version_of(golden: Golden) -> str:
    """Which version of a golden, of which route, for the record."""
    return f"version {golden.version}, route {golden.route}"


def _checked(asked: Mapping[str, Any]) -> str:
    """Which of the deeds is asked for."""
    for name in asked:
        if name not in ("golden", *_TEXTS):
            raise GoldenError(f'"{name}" is unknown; known are golden, {", ".join(_TEXTS)}')
    for name in _TEXTS:
        if not isinstance(asked.get(name, ""), str):
            raise GoldenError(f'"{name}" is not text')
    if not asked.get("by", "").strip():
        raise GoldenError("it must be on record who does this: say your name")
    given = [name for name in DEEDS if asked.get(name)]
    if len(given) != 1:
        raise GoldenError(f"say what to do: exactly one of {', '.join(DEEDS)}")
    return given[0]


QueryText = FromQuery[str | None]
GoldenId = FromPath[str]
Form = URLEncodedBody[dict[str, str]]
AnyRequest = Request[Any, Any, Any]


def golden_handlers(
    sources: ConsoleSources, goldens: GoldenSources, renderer: Renderer
) -> list[ControllerRouterHandler]:
    """GET `/goldens` (takes `route`, `task`, `show`) and `/goldens/{id}`, POST `/goldens`."""
    record = Recorder(sources.actions)

    @get("/", sync_to_thread=True)
    def listed(
        request: AnyRequest, route: QueryText = None, task: QueryText = None, show: QueryText = None
    ) -> Response[bytes]:
        content = renderer.page(
            "goldens.html",
            page=golden_list(
                goldens.store, route or None, task or None, retired=show == "all", now=sources.clock()
            ),
            token=form_token(request),
            visitor=visitor_of(request),
        )
        return Response(content, media_type=MediaType.HTML)

    # The path type also takes ids that hold a slash.
    @get("/goldens/{golden_id:path}", sync_to_thread=True)
    def one(request: AnyRequest, golden_id: GoldenId) -> Response[bytes]:
        name = golden_id.removeprefix("/")
        history = goldens.store.history(name)
        if not history:
            content = renderer.page(
                "message.html", title="Golden not found", text="There is no golden of this id."
            )
            return Response(content, status_code=404, media_type=MediaType.HTML)
        content = renderer.page(
            "golden.html",
            golden=golden_page(
                history,
                goldens.store.trail(name),
                sources.clock(),
                sources.actions.latest(MOST_READ) if sources.actions else (),
            ),
            token=form_token(request),
            visitor=visitor_of(request),
        )
        return Response(content, media_type=MediaType.HTML)

    @post("/", sync_to_thread=True, guards=[own_pages_only, needs("approver")])
    def changed(request: AnyRequest, data: Form) -> Response[bytes]:
        visitor = visitor_of(request)
        asked = signed(visitor, {name: value for name, value in data.items() if name != "_csrf_token"})
        at = sources.clock()
        try:
            golden = change(goldens, asked, at)
        except GoldenError as error:
            raise HTTPException(f"Nothing was changed: {error}.", status_code=400) from error
        record(visitor, asked["by"].strip(), done(asked), golden.id, at=at, detail=version_of(golden))
        return Response(b"", status_code=303, headers={"location": links.golden_link(golden.id)})

    # Two handlers of one path: an application that is given them one by one wraps the first one twice.
    return [Router("/goldens", route_handlers=[listed, changed]), one]


MOST = 10_000

Limit = Annotated[int, QueryParameter(ge=1, le=MOST)]


def golden_api_handlers(sources: ConsoleSources, goldens: GoldenSources) -> list[ControllerRouterHandler]:
    """GET `/api/goldens` and `/api/goldens/{id}`, POST `/api/goldens`."""
    record = Recorder(sources.actions)

    @get("/", sync_to_thread=True)
    def listed(
        *,
        route: QueryText = None,
        task: QueryText = None,
        retired: FromQuery[bool] = False,
        limit: Limit = 500,
    ) -> Response[bytes]:
        """Newest versions, the last approved first, each as a line of a file says it."""
        found = goldens.store.select(route=route or None, task=task or None, active=not retired, limit=limit)
        return json_response({"goldens": _records(found)})

    # The path type also takes ids that hold a slash.
    @get("/api/goldens/{golden_id:path}", sync_to_thread=True)
    def one(golden_id: GoldenId) -> Response[bytes]:
        """All versions, oldest first, and what was done to it."""
        name = golden_id.removeprefix("/")
        history = goldens.store.history(name)
        if not history:
            raise NotFoundException(detail="There is no golden of this id.")
        trail = [asdict(entry) for entry in goldens.store.trail(name)]
        return json_response({"versions": _records(history), "trail": trail})

    @post("/", sync_to_thread=True, guards=[own_pages_only, json_only, needs("approver")])
    def changed(request: Request[Any, Any, Any], body: RawBody) -> Response[bytes]:
        """One change, as `golden_changes.change` takes it."""
        try:
            asked = json.loads(body)
        except (ValueError, RecursionError):
            asked = None
        if not isinstance(asked, dict):
            raise HTTPException("The body is not a JSON object.", status_code=400)
        visitor, at = visitor_of(request), sources.clock()
        asked = signed(visitor, asked)
        try:
            golden = change(goldens, asked, at)
        except GoldenError as error:
            raise HTTPException(str(error), status_code=400) from error
        record(visitor, asked["by"].strip(), done(asked), golden.id, at=at, detail=version_of(golden))
        return json_response({"golden": _records([golden])[0]})

    # Two handlers of one path: an application that is given them one by one wraps the first one twice.
    return [Router("/api/goldens", route_handlers=[listed, changed]), one]


def _records(goldens: tuple[Golden, ...] | list[Golden]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in golden_lines(goldens)]
