"""Pages about goldens and `/api/goldens`: the list, a golden with its history, and changes to goldens."""

from __future__ import annotations

import json
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple

from litestar import Response, Router, get, post
from litestar.exceptions import HTTPException, NotFoundException
from litestar.params import FromQuery, QueryParameter, RawBody

from evenkeel.console import diffs, links
from evenkeel.console.access import Recorder, form_token, json_only, own_pages_only, signed, visitor_of
from evenkeel.console.api import json_object, json_response
from evenkeel.console.downloads import Table
from evenkeel.console.questions import question_runs, question_spans
from evenkeel.console.rendering import AnyRequest, Form, Page, PathText, QueryText, see_other
from evenkeel.console.trial import FilterLink, answer_text
from evenkeel.core.text import one_line, visible
from evenkeel.release.gate.clusters import clusters
from evenkeel.release.gate.plan import Scenario, cell_sentence, noise_of, sentence
from evenkeel.release.goldens.candidates import golden_of
from evenkeel.release.goldens.files import golden_lines, read_goldens
from evenkeel.release.goldens.prompts import prompt_text
from evenkeel.stores.audit_log import MOST_READ
from evenkeel.stores.goldens import GoldenError, key_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from litestar.types import ControllerRouterHandler

    from evenkeel.console.diffs import Run, SideBySide
    from evenkeel.console.rendering import Renderer
    from evenkeel.console.sources import ConsoleSources, GoldenSources
    from evenkeel.stores.audit_log import Action, What
    from evenkeel.stores.changes import GoldenRun
    from evenkeel.stores.goldens import Entry, Golden, GoldenStore


SHOWN = 200
"""Most goldens on the list."""
_EXCERPT_CHARS = 200
_QUESTION_CHARS = 240
_ALIKE = 3
"""Prompts needed to recognize a template; fewer may begin alike by chance."""
_PAGE_CHARS = 60_000
_CONTEXT_WORDS = 12
_MOST_NOISE: Final = 0.8
"""Noise floor above which a gate detects nothing."""
_MOST_VERSIONS = 20
"""Versions of a golden whose differences are shown on a page."""


def golden_list(
    sources: ConsoleSources, store: GoldenStore, route: str | None, task: str | None, *, retired: bool
) -> Page:
    """Build the list of goldens of a route and task, with retired ones if wanted, and links to narrow it."""
    found = store.select(route=route, task=task, active=not retired, limit=SHOWN + 1)
    labels = store.labels()
    runs = sources.goldens.last_runs() if sources.goldens else {}
    show = "all" if retired else None

    def choices(name: str, chosen: str | None, options: Iterable[tuple[str, str | None]]) -> list[FilterLink]:
        parts = {"route": route, "task": task, "show": show}
        return [
            FilterLink(label, links.goldens_link(**parts | {name: value}), chosen == value)
            for label, value in options
        ]

    return Page(
        "Goldens · evenkeel",
        goldens=found[:SHOWN],
        filters=[
            ("show", choices("show", show, [("in use", None), ("retired too", "all")])),
            ("route", choices("route", route, _any_of(one for one, _ in labels))),
            ("task", choices("task", task, _any_of(one for _, one in labels if one is not None))),
        ],
        narrowed=route is not None or task is not None,
        outlook=_outlook(sources, [golden for golden in found if golden.retired_at is None], route),
        more=len(found) > SHOWN,
        shown=SHOWN,
        question=_questions(found),
        answer=lambda golden: one_line(answer_text(golden.answer), _EXCERPT_CHARS),
        rating=partial(last_rating, runs),
    )


def _questions(goldens: Sequence[Golden]) -> Callable[[Golden], str]:
    """Return a function that returns a golden's question, without lines that its version's prompts share."""
    prompts: dict[tuple[str, str | None], set[str]] = {}
    for golden in goldens:
        prompts.setdefault((golden.route, golden.prompt_version), set()).add(prompt_text(golden.request))
    shared = {kind: _shared_lines(*some) for kind, some in prompts.items() if len(some) >= _ALIKE}

    def question(golden: Golden) -> str:
        prompt = prompt_text(golden.request)
        start = shared.get((golden.route, golden.prompt_version), 0)
        parts = (prompt[max(start, span.start) : span.end] for span in question_spans(prompt, ()))
        return one_line(" … ".join(parts), _QUESTION_CHARS)

    return question


def _shared_lines(first: str, *others: str) -> int:
    """Return the length in characters of the whole lines with which all of these texts begin."""
    shared = min(diffs.difference(first, other).start for other in others)
    return first.rfind("\n", 0, shared) + 1


class Rated(NamedTuple):
    """The rating of a golden's answer in the last run of its goldens."""

    said: str
    at: float
    """Unix time in seconds."""
    model: str
    changed: bool
    """True if the answer differed from the approved one."""


def last_rating(runs: Mapping[str, GoldenRun], golden: Golden) -> Rated | None:
    """Return the last rating of a golden's version; None if the last run of its route did not ask it."""
    run = runs.get(golden.route)
    key = key_of(golden.id, golden.version)
    found = next((one for one in run.results if one.golden == key), None) if run else None
    if run is None or found is None:
        return None
    if not found.breaches:
        return Rated(f"not rated: {found.failure.replace('_', ' ')}", run.at, run.model, changed=False)
    breached = [name.replace("_", " ") for name, breach in found.breaches.items() if breach]
    return Rated(", ".join(breached) or "as approved", run.at, run.model, changed=bool(breached))


def _outlook(sources: ConsoleSources, goldens: Sequence[Golden], route: str | None) -> str:
    """Describe what a gate over these goldens and a live cell can detect at today's noise; "" if unknown."""
    reports = sources.reports()
    noise = noise_of(reports, route)
    if not goldens or noise is None or noise > _MOST_NOISE:
        return ""
    # Rounded, so that the cached simulation is used for a while.
    noise = round(noise, 2)
    said = sentence(Scenario(noise), len(goldens), len(set(clusters(goldens).values())))
    limited = (
        report for report in reports if report.detection.threshold > 0 and route in {None, report.key.route}
    )
    cell = next(limited, None)
    if cell is None:
        return said
    level = round(10**cell.detection.alarm_log10)
    return f"{said} {cell_sentence(noise, limit=cell.detection.threshold, level=level)}"


def _any_of(names: Iterable[str]) -> list[tuple[str, str | None]]:
    return [("all", None), *((name, name) for name in sorted(set(names)))]


class VersionView(NamedTuple):
    """A version of a golden, and its differences from the version before."""

    golden: Golden
    prompt: tuple[Run, ...] = ()
    """The prompt with changes since the version before; empty if it is the same."""
    answers: SideBySide | None = None
    """The answers of the version before and this one; None if they are the same."""
    first: bool = False


def golden_page(
    history: Sequence[Golden],
    trail: Sequence[Entry],
    actions: Sequence[Action] = (),
    rating: Rated | None = None,
) -> Page:
    """Build the page of a golden.

    Args:
        history: all versions, oldest first, at least one.
        trail: changes to the golden, oldest first.
        actions: entries of the audit log, in any order.
        rating: its last rating, None if there is none.
    """
    newest = history[-1]
    prompt = prompt_text(newest.request)
    spans = question_spans(prompt, ())
    question = question_runs(prompt, prompt, spans, max_chars=_PAGE_CHARS)
    known = {(one.by, one.at): one.known_by for one in actions if one.what.startswith("golden")}
    kept = history[-_MOST_VERSIONS:]
    before = [None, *history][-len(kept) - 1 : -1]
    versions = [_version(old, new) for old, new in zip(before, kept, strict=True)]
    return Page(
        f"{newest.id} · evenkeel",
        golden=newest,
        question=question,
        request=visible((newest.request or "")[:_PAGE_CHARS]),
        rating=rating,
        answer=_plain(answer_text(newest.answer)),
        versions=versions[::-1],
        older=len(history) - len(kept),
        trail=[(entry, known.get((entry.by, entry.at))) for entry in reversed(trail)],
    )


def _version(old: Golden | None, new: Golden) -> VersionView:
    if old is None:
        return VersionView(new, first=True)
    was, now = prompt_text(old.request), prompt_text(new.request)
    said, says = answer_text(old.answer), answer_text(new.answer)
    return VersionView(
        new,
        diffs.inline(was, now, context_words=_CONTEXT_WORDS, max_chars=_PAGE_CHARS) if was != now else (),
        diffs.side_by_side(said, says, max_chars=_PAGE_CHARS) if said != says else None,
    )


def _plain(text: str) -> tuple[Run, ...]:
    return diffs.inline(text, text, context_words=0, max_chars=_PAGE_CHARS)


CHANGES = ("exchange", "golden", "retire", "unretire")
"""Fields that say what to change; a request has exactly one of them."""
_TEXTS = ("exchange", "retire", "unretire", "by", "name", "note")


def change(sources: GoldenSources, asked: Mapping[str, Any], at: float) -> Golden:
    """Apply a change and return the golden in its new state.

    Args:
        sources: stores of goldens and exchanges.
        asked: `by` (who does it) and one of `exchange` (id of an archived exchange to approve, with an
            optional `name` and `note`), `golden` (an object as a line of a file, to approve), `retire` and
            `unretire` (id of a golden).
        at: Unix time in seconds.

    Raises: GoldenError that says what is missing or wrong.
    """
    what = _checked(asked)
    by = asked["by"].strip()
    at = round(at, 3)
    match what:
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


_DONE: Final[Mapping[str, What]] = {"retire": "golden_retired", "unretire": "golden_unretired"}


def _changed(
    sources: ConsoleSources, goldens: GoldenSources, request: AnyRequest, asked: Mapping[str, Any]
) -> Golden:
    """Do what a visitor asks for, under their name, and put that on record. Raises: GoldenError."""
    visitor, at = visitor_of(request), sources.clock()
    asked = signed(visitor, asked)
    golden = change(goldens, asked, at)
    what: What = next((what for name, what in _DONE.items() if asked.get(name)), "golden_approved")
    detail = f"version {golden.version}, route {golden.route}"
    Recorder(sources.actions)(visitor, asked["by"].strip(), what, golden.id, at=at, detail=detail)
    return golden


def _checked(asked: Mapping[str, Any]) -> str:
    """Return the name of the requested change."""
    for name in asked:
        if name not in ("golden", *_TEXTS):
            raise GoldenError(f'"{name}" is unknown; known are golden, {", ".join(_TEXTS)}')
    for name in _TEXTS:
        if not isinstance(asked.get(name, ""), str):
            raise GoldenError(f'"{name}" is not text')
    if not asked.get("by", "").strip():
        raise GoldenError("it must be on record who does this: say your name")
    given = [name for name in CHANGES if asked.get(name)]
    if len(given) != 1:
        raise GoldenError(f"say what to do: exactly one of {', '.join(CHANGES)}")
    return given[0]


def golden_handlers(
    sources: ConsoleSources, goldens: GoldenSources, renderer: Renderer
) -> list[ControllerRouterHandler]:
    """Handlers of GET `/goldens` (takes `route`, `task`, `show`) and `/goldens/{id}`, POST `/goldens`."""

    @get("/", sync_to_thread=True, needs="viewer")
    def listed(
        request: AnyRequest, route: QueryText = None, task: QueryText = None, show: QueryText = None
    ) -> Response[bytes]:
        return renderer.response(
            "goldens.html",
            page=golden_list(sources, goldens.store, route or None, task or None, retired=show == "all"),
            token=form_token(request),
            visitor=visitor_of(request),
        )

    # The path type also takes ids that hold a slash.
    @get("/goldens/{golden_id:path}", sync_to_thread=True, needs="viewer")
    def one(request: AnyRequest, golden_id: PathText) -> Response[bytes]:
        name = golden_id.removeprefix("/")
        history = goldens.store.history(name)
        if not history:
            return renderer.not_found("Golden not found", "There is no golden of this id.")
        actions = sources.actions.latest(MOST_READ) if sources.actions else ()
        return renderer.response(
            "golden.html",
            page=golden_page(
                history,
                goldens.store.trail(name),
                actions,
                last_rating(goldens.last_runs(), history[-1]),
            ),
            token=form_token(request),
            visitor=visitor_of(request),
        )

    @post("/", sync_to_thread=True, guards=[own_pages_only], needs="approver")
    def changed(request: AnyRequest, data: Form) -> Response[bytes]:
        asked = {name: value for name, value in data.items() if name != "_csrf_token"}
        try:
            golden = _changed(sources, goldens, request, asked)
        except GoldenError as error:
            raise HTTPException(f"Nothing was changed: {error}.", status_code=400) from error
        return see_other(links.golden_link(golden.id))

    # A router, because Litestar would wrap the first of two handlers of one path twice.
    return [Router("/goldens", route_handlers=[listed, changed]), one]


MOST = 10_000

Limit = Annotated[int, QueryParameter(ge=1, le=MOST)]


def golden_api_handlers(sources: ConsoleSources, goldens: GoldenSources) -> list[ControllerRouterHandler]:
    """Handlers of GET `/api/goldens` and `/api/goldens/{id}`, POST `/api/goldens`."""

    @get("/", sync_to_thread=True, needs="viewer")
    def listed(
        *,
        route: QueryText = None,
        task: QueryText = None,
        retired: FromQuery[bool] = False,
        limit: Limit = 500,
    ) -> Response[bytes]:
        """Return goldens in their newest version, last approved first, as in an exported file."""
        found = goldens.store.select(route=route or None, task=task or None, active=not retired, limit=limit)
        return json_response({"goldens": _records(found)})

    # The path type also takes ids that hold a slash.
    @get("/api/goldens/{golden_id:path}", sync_to_thread=True, needs="viewer")
    def one(golden_id: PathText) -> Response[bytes]:
        """Return all versions of a golden, oldest first, and the record of what was done to it."""
        name = golden_id.removeprefix("/")
        history = goldens.store.history(name)
        if not history:
            raise NotFoundException(detail="There is no golden of this id.")
        trail = [asdict(entry) for entry in goldens.store.trail(name)]
        return json_response({"versions": _records(history), "trail": trail})

    @post("/", sync_to_thread=True, guards=[own_pages_only, json_only], needs="approver")
    def changed(request: AnyRequest, body: RawBody) -> Response[bytes]:
        """Apply a change, which has the fields that `change` takes."""
        try:
            golden = _changed(sources, goldens, request, json_object(body))
        except GoldenError as error:
            raise HTTPException(str(error), status_code=400) from error
        return json_response({"golden": _records([golden])[0]})

    # A router, because Litestar would wrap the first of two handlers of one path twice.
    return [Router("/api/goldens", route_handlers=[listed, changed]), one]


def _records(goldens: tuple[Golden, ...] | list[Golden]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in golden_lines(goldens)]


def goldens_table(store: GoldenStore, route: str | None = None) -> Table:
    """Build a table of goldens with their approvals, including retired ones; no prompts and no answers."""
    return Table.of(
        store.select(route=route, active=False),
        "id",
        "version",
        "route",
        "task",
        "model",
        "prompt_version",
        "note",
        "approved_by",
        "approved_at",
        "retired_by",
        "retired_at",
    )
