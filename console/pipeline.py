"""The pipeline: where exchanges go and get lost, how far scoring is behind, what waits, and what it costs."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from litestar import MediaType, Request, Response, get
from litestar.exceptions import NotFoundException
from litestar.params import FromPath

from evenkeel.console import links
from evenkeel.console.downloads import Table
from evenkeel.console.rendering import Head, live_handlers
from evenkeel.console.spend import SpendPart, spend_part
from evenkeel.console.status import STUCK_AFTER_S
from evenkeel.console.untried import reason_in_words, untried_lines
from evenkeel.core import figures

if TYPE_CHECKING:
    from collections.abc import Mapping

    from litestar.handlers import HTTPRouteHandler

    from evenkeel.console.rendering import Renderer
    from evenkeel.console.sources import ConsoleSources, DeadExchange, DeadLetter, PipelineView
    from evenkeel.console.untried import UntriedLine
    from evenkeel.stores.counters import RouteFlow


@dataclass(frozen=True, slots=True)
class Stage:
    """One station on the way, with its count and the share of the station before."""

    name: str
    count: str
    share: str
    """"" for the first station or when the one before is empty."""


@dataclass(frozen=True, slots=True)
class RouteLine:
    """The counts of one route."""

    route: str
    href: str
    eligible: str
    sampled: str
    queued: str
    scored: str
    skipped: str


@dataclass(frozen=True, slots=True)
class Spend:
    """What was spent of a budget. `share` in [0, 1], None without a budget."""

    text: str
    share: float | None


@dataclass(frozen=True, slots=True)
class PipelineLine:
    """The bottom of the page."""

    stages: tuple[Stage, ...]
    skipped: str
    lag: str
    dead: int
    spend: tuple[Spend, ...]
    scorer: str
    routes: tuple[RouteLine, ...]
    untried: tuple[UntriedLine, ...]


def pipeline_line(view: PipelineView) -> PipelineLine:
    """Sum the routes and put queue and spend into words."""
    eligible = sum(flow.eligible for flow in view.routes)
    sampled = sum(flow.sampled for flow in view.routes)
    queued = sum(flow.queued for flow in view.routes)
    scored = sum(flow.scored for flow in view.routes)
    skipped: Counter[str] = Counter()
    for flow in view.routes:
        skipped.update(flow.skipped)
    return PipelineLine(
        stages=(
            Stage("eligible", f"{eligible:,}", ""),
            Stage("sampled", f"{sampled:,}", _share(sampled, eligible)),
            Stage("queued", f"{queued:,}", _share(queued, sampled)),
            Stage("scored", f"{scored:,}", _share(scored, queued)),
            Stage("skipped", f"{skipped.total():,}", _share(skipped.total(), sampled)),
        ),
        skipped=_reasons(skipped),
        lag=_lag(view),
        dead=view.dead,
        spend=_spend(view),
        scorer=f"judge {view.judge}".strip() if view.scorer == "judge" else "cheap metrics, no judge",
        routes=tuple(_route_line(flow) for flow in view.routes),
        untried=untried_lines(view.untried),
    )


def _share(part: int, whole: int) -> str:
    return figures.percent(part / whole) if whole else ""


def _reasons(skipped: Mapping[str, int]) -> str:
    ordered = sorted(skipped.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{count:,} {reason.replace('_', ' ')}" for reason, count in ordered if count)


def _lag(view: PipelineView) -> str:
    if not view.waiting and not view.leased:
        return "empty, scoring is up to date"
    return (
        f"{view.waiting:,} waiting, {view.leased:,} in work, "
        f"the oldest since {figures.duration(view.oldest_s)}"
    )


def _spend(view: PipelineView) -> tuple[Spend, ...]:
    dollars, tokens = figures.usd(view.usd_today), f"{view.tokens_today:,} tokens"
    return (
        Spend(f"{dollars} of {figures.usd(view.budget_usd)} today", _used(view.usd_today, view.budget_usd))
        if view.budget_usd is not None
        else Spend(f"{dollars} today, no limit set", None),
        Spend(f"{tokens} of {view.budget_tokens:,} today", _used(view.tokens_today, view.budget_tokens))
        if view.budget_tokens is not None
        else Spend(f"{tokens} today, no limit set", None),
    )


def _used(spent: float, budget: float) -> float:
    return min(1.0, spent / budget) if budget > 0 else 1.0


def _route_line(flow: RouteFlow) -> RouteLine:
    return RouteLine(
        flow.route,
        links.route_link(flow.route),
        f"{flow.eligible:,}",
        f"{flow.sampled:,}",
        f"{flow.queued:,}",
        f"{flow.scored:,}",
        _reasons(flow.skipped) or "none",
    )


DEAD_SHOWN: Final = 50
DEAD_IN_FILE: Final = 1000
_BODY_CHARS: Final = 20_000

_DROPPED: Final = {
    "budget": "the day's budget is spent",
    "queue_full": "the hand-off was full: more is sampled than can be stored",
    "store_full": "the queue was full: more is sampled than is scored",
    "store_error": "the queue could not be written",
    "too_large": "request or answer is too large",
    "client_left": "the client left before the answer was whole",
    "truncated": "the upstream cut the answer off",
    "status": "the upstream's answer was no success",
    "replay": "it was itself a replay",
}
ExchangeId = FromPath[str]


@dataclass(frozen=True, slots=True)
class SkipLine:
    """Why exchanges of a route were not scored."""

    route: str
    reason: str
    count: str


@dataclass(frozen=True, slots=True)
class DeadLine:
    """One dead letter."""

    id: str
    href: str
    reason: str
    at: str
    at_iso: str
    at_exact: str


@dataclass(frozen=True, slots=True)
class PipelinePage:
    """The whole page."""

    head: Head
    line: PipelineLine
    view: PipelineView
    skips: tuple[SkipLine, ...]
    dead: tuple[DeadLine, ...]
    dead_more: int
    """Dead letters that are not listed."""
    dead_known: bool
    """Whether they can be listed at all."""
    spend: SpendPart
    stuck: str
    """What is wrong with the queue, "" if nothing is."""


def pipeline_page(sources: ConsoleSources) -> PipelinePage:
    """Read queue, counters and spend once."""
    view, now = sources.pipeline(), sources.clock()
    letters = sources.dead_letters.latest(DEAD_SHOWN) if sources.dead_letters else ()
    return PipelinePage(
        head=Head("Pipeline · evenkeel", alert=any(report.alert for report in sources.reports())),
        line=pipeline_line(view),
        view=view,
        skips=skip_lines(view),
        dead=tuple(_dead_line(letter, now) for letter in letters),
        dead_more=max(0, view.dead - len(letters)),
        dead_known=sources.dead_letters is not None,
        spend=spend_part(view, sources.spending() if sources.spending else None),
        stuck=_stuck(view),
    )


def skip_lines(view: PipelineView) -> tuple[SkipLine, ...]:
    """Every reason of every route, the most frequent first."""
    found = [
        (count, flow.route, reason) for flow in view.routes for reason, count in flow.skipped.items() if count
    ]
    found.sort(key=lambda one: (-one[0], one[1], one[2]))
    return tuple(SkipLine(route, skipped_because(reason), f"{count:,}") for count, route, reason in found)


def skipped_because(reason: str) -> str:
    """A reason for people."""
    return _DROPPED.get(reason) or reason_in_words(reason)


def flow_table(view: PipelineView) -> Table:
    """Exchanges of each route by stage, for a file."""
    columns = ("route", "eligible", "sampled", "queued", "scored", "skipped")
    return Table(
        columns,
        [
            (flow.route, flow.eligible, flow.sampled, flow.queued, flow.scored, sum(flow.skipped.values()))
            for flow in view.routes
        ],
    )


def skips_table(view: PipelineView) -> Table:
    """Exchanges and trials that were not made, by reason, for a file."""
    rows: list[tuple[str, str, str | None, str, int | None]] = [
        ("exchange", flow.route, None, reason, count)
        for flow in view.routes
        for reason, count in sorted(flow.skipped.items())
    ]
    rows += [("trial", one.route, one.perturbation, one.reason, one.count) for one in view.untried]
    return Table(("of", "route", "perturbation", "reason", "count"), rows)


def dead_table(sources: ConsoleSources) -> Table:
    """The newest dead letters for a file; no bodies."""
    letters = sources.dead_letters.latest(DEAD_IN_FILE) if sources.dead_letters else ()
    return Table(("id", "reason", "at"), [(letter.id, letter.reason, letter.at) for letter in letters])


def pipeline_handlers(sources: ConsoleSources, renderer: Renderer) -> list[HTTPRouteHandler]:
    """`/pipeline` with its live part, and `/pipeline/dead/{id}` where dead letters can be read."""
    found = live_handlers("/pipeline", "_pipeline_page.html", lambda _: pipeline_page(sources), renderer)
    letters = sources.dead_letters
    if letters is None:
        return found

    # The path type also takes ids that hold a slash.
    @get("/pipeline/dead/{exchange_id:path}", sync_to_thread=True)
    def dead(request: Request[Any, Any, Any], exchange_id: ExchangeId) -> Response[bytes]:
        del request
        name = exchange_id.removeprefix("/")
        exchange = letters.find(name)
        if exchange is None:
            raise NotFoundException(detail="There is no dead letter of this id, or it is no longer kept.")
        reason = next((one.reason for one in letters.latest(DEAD_IN_FILE) if one.id == name), "")
        content = renderer.page(
            "dead_letter.html", id=name, exchange=exchange, reason=reason, **_bodies(exchange)
        )
        return Response(content, media_type=MediaType.HTML)

    return [*found, dead]


def _bodies(exchange: DeadExchange) -> dict[str, str]:
    return {
        "received": figures.moment_exact(exchange.received_at),
        "took": f"{exchange.duration_s:.1f} s",
        "request": _cut(exchange.request),
        "response": _cut(exchange.response),
    }


def _cut(text: str) -> str:
    if len(text) <= _BODY_CHARS:
        return text
    return f"{text[:_BODY_CHARS]}… ({len(text) - _BODY_CHARS:,} more characters)"


def _dead_line(letter: DeadLetter, now: float) -> DeadLine:
    return DeadLine(
        letter.id,
        links.dead_letter_link(letter.id),
        letter.reason.replace("_", " "),
        figures.moment(letter.at, now),
        figures.iso(letter.at),
        figures.moment_exact(letter.at),
    )


def _stuck(view: PipelineView) -> str:
    if view.oldest_s <= STUCK_AFTER_S:
        return ""
    return (
        f"Scoring is behind: the oldest exchange has waited {figures.duration(view.oldest_s)}. "
        "Check that the worker runs and that the budget is not spent."
    )
