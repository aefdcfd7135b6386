"""The pipeline line: where the exchanges went, how far scoring is behind, what it costs."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenkeel.console import links
from evenkeel.console.untried import untried_lines
from evenkeel.core import figures

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkeel.console.sources import PipelineView, RouteFlow
    from evenkeel.console.untried import UntriedLine


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
