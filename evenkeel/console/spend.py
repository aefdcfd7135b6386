"""The page about cost: the day's spend against the budgets, by route and by purpose."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from evenkeel.console.rendering import Page, live_handlers
from evenkeel.core import figures
from evenkeel.core.budget import NOTHING, Budget, Spend, total
from evenkeel.core.challenge import CHALLENGERS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from litestar.handlers import HTTPRouteHandler

    from evenkeel.console.rendering import Renderer
    from evenkeel.console.sources import ConsoleSources, PipelineView
    from evenkeel.core.budget import SpendKind

PURPOSES: Final[dict[str, str]] = {
    "replay": "replays of sampled requests",
    "golden": "goldens asked again",
    "reference": "reference prompts asked again",
    "judge": "the judge",
    "rewriter": "the rewriter",
    "challenge": "challengers",
    "lost": "set aside by processes that were killed",
}


class Meter(NamedTuple):
    """A budget and the used share of it, in [0, 1]; None without a limit."""

    text: str
    share: float | None


class SpendLine(NamedTuple):
    """A route or a purpose, with its spend."""

    name: str
    spent: Spend
    share: float | None
    """Share of the day's dollars, in [0, 1]; of its tokens if nothing has a price. None if both are zero."""
    meters: tuple[Meter, ...]
    """Limits of this route."""


def spent_today(sources: ConsoleSources) -> Mapping[tuple[str, SpendKind], Spend]:
    """Return the spend of this UTC day by route and purpose. Blocks on the cost tracker."""
    return sources.ledger.by_route_and_kind() if sources.ledger else {}


def total_meters(view: PipelineView) -> tuple[Meter, ...]:
    """Compare the day's totals with the common budgets."""
    totals = meters(Spend(view.tokens_today, view.usd_today), Budget(view.budget_tokens, view.budget_usd))
    if all(meter.share is None for meter in totals):
        return (*totals, Meter("no limit set", None))
    return totals


def spend_lines(sources: ConsoleSources) -> tuple[list[SpendLine], list[SpendLine]]:
    """Return the day's spend by route and by purpose."""
    routes = {}
    for flow in sources.pipeline().routes:
        routes[flow.route] = NOTHING
    purposes = dict.fromkeys(PURPOSES, NOTHING)
    # What few have is shown only if there is any.
    del purposes["challenge"], purposes["lost"]
    for (route, purpose), spend in spent_today(sources).items():
        routes[route] = routes.get(route, NOTHING).plus(spend)
        purposes[purpose] = purposes.get(purpose, NOTHING).plus(spend)
    # What belongs to no route is shown by its purpose.
    routes.pop("", None)
    routes.pop(CHALLENGERS, None)
    whole = total(purposes.values())
    return _lines(routes, whole, sources.budgets), _lines(purposes, whole, {})


def route_meters(sources: ConsoleSources, route: str) -> tuple[Meter, ...]:
    """Return today's spend of a route against its limits; () if it is not known."""
    if sources.ledger is None:
        return ()
    spent = NOTHING
    for (name, _), spend in spent_today(sources).items():
        if name == route:
            spent = spent.plus(spend)
    return meters(spent, sources.budgets.get(route, Budget()))


def meters(spent: Spend, budget: Budget, *, limited: bool = False) -> tuple[Meter, ...]:
    """Compare today's spend with the limits in dollars and tokens; `limited` leaves out what has no limit."""
    dollars, tokens = budget.usd_per_day, budget.tokens_per_day
    compared = []
    if dollars is not None or not limited:
        compared.append(_meter(figures.usd(spent.usd), spent.usd, dollars, figures.usd(dollars or 0)))
    if tokens is not None or not limited:
        compared.append(_meter(f"{spent.tokens:,} tokens", spent.tokens, tokens, f"{tokens or 0:,.0f}"))
    return tuple(compared)


def _meter(text: str, amount: float, limit: float | None, limit_text: str) -> Meter:
    if limit is None:
        return Meter(text, None)
    if amount > limit:
        return Meter(f"{text}, over the limit of {limit_text}", 1.0)
    # A limit of 0 is used up from the start.
    return Meter(f"{text} of {limit_text}", amount / limit if limit else 1.0)


def _lines(amounts: Mapping[str, Spend], whole: Spend, budgets: Mapping[str, Budget]) -> list[SpendLine]:
    lines = []
    for name, spent in sorted(amounts.items(), key=lambda item: (-item[1].usd, -item[1].tokens, item[0])):
        # Self-hosted models cost no dollars; their tokens still say where the work goes.
        part, all_of_it = (spent.usd, whole.usd) if whole.usd else (spent.tokens, whole.tokens)
        own = meters(spent, budgets.get(name, Budget()), limited=True)
        lines.append(SpendLine(name, spent, part / all_of_it if all_of_it else None, own))
    return lines


def spend_handlers(sources: ConsoleSources, renderer: Renderer) -> list[HTTPRouteHandler]:
    """Handlers of `/spend` and its live part."""

    def page(_: object) -> Page:
        view, (routes, purposes) = sources.pipeline(), spend_lines(sources)
        return Page(
            "Cost · evenkeel",
            total=total_meters(view),
            routes=routes,
            purposes=purposes,
            words=PURPOSES,
        )

    return live_handlers("/spend", "_spend.html", page, renderer)
