"""Goldens as their pages show them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenkeel.console import diffs, links
from evenkeel.console.verdicts import FilterLink, answer_text
from evenkeel.core import figures
from evenkeel.experiments.goldens.prompts import asked
from evenkeel.stores.audit_log import KNOWN_BY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.console.diffs import Run, SideBySide
    from evenkeel.console.sources import GoldenSources
    from evenkeel.stores.audit_log import Action
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


@dataclass(frozen=True, slots=True)
class Approval:
    """What the page of a trial offers for its exchange."""

    exchange_id: str
    archived: bool
    """Whether the exchange is still there to be approved."""
    empty: bool
    """Whether its answer says nothing, so that it cannot be approved."""
    golden_href: str
    """The golden that it is under its own id already, "" if it is none."""


def approval(sources: GoldenSources, exchange_id: str) -> Approval:
    """Whether a trial's exchange can be approved, or has been."""
    exchange = sources.archive.find(exchange_id)
    answer = exchange.answer if exchange else None
    known = sources.store.find(exchange_id) is not None
    return Approval(
        exchange_id,
        archived=exchange is not None,
        empty=answer is not None and not answer.text and not answer.tool_calls,
        golden_href=links.golden_link(exchange_id) if known else "",
    )


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
        prompt=_plain(asked(newest.request)),
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
    was, now_asked = asked(old.request), asked(new.request)
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
        prompt=_excerpt(asked(golden.request).rpartition("\n\nuser: ")[2].removeprefix("user: ")),
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
