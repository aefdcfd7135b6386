"""The page about cost: the day's spend against the budgets, by route and by purpose."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evenkeel.console.rendering import Page, live_handlers
from evenkeel.core import figures
from evenkeel.core.budget import NOTHING, Budget, Spend
from evenkeel.core.challenge import CHALLENGERS

if TYPE_CHECKING:
    from litestar.handlers import HTTPRouteHandler

    from evenkeel.console.rendering import Renderer
    from evenkeel.console.sources import ConsoleSources, PipelineView

PURPOSES: Final[dict[str, str]] = {
    "replay": "replays of sampled requests",
    "golden": "goldens asked again",
    "reference": "reference prompts asked again",
    "judge": "the judge",
    "rewriter": "the rewriter",
    "challenge": "challengers",
    "lost": "set aside by processes that were killed",
}


def spend_text(spent: Spend, budget: Budget) -> str:
    """Say how much of which limits is spent: "$0.20 of $10.00, 12,000 tokens"."""
    dollars, tokens = figures.usd(spent.usd), f"{spent.tokens:,} tokens"
    if budget.usd_per_day is not None:
        dollars += f" of {figures.usd(budget.usd_per_day)}"
    if budget.tokens_per_day is not None:
        tokens += f" of {budget.tokens_per_day:,}"
    return f"{dollars}, {tokens}"


def spent_of_all(view: PipelineView) -> str:
    """Say how much of the common budgets is spent today."""
    spent = spend_text(Spend(view.tokens_today, view.usd_today), Budget(view.budget_tokens, view.budget_usd))
    limited = view.budget_tokens is not None or view.budget_usd is not None
    return spent if limited else f"{spent}, no limit set"


def spent_by(sources: ConsoleSources) -> tuple[dict[str, Spend], dict[str, Spend]]:
    """Return the spend of this UTC day by route and by purpose, the largest first."""
    routes = {}
    for flow in sources.pipeline().routes:
        routes[flow.route] = NOTHING
    purposes: dict[str, Spend] = {}
    for (route, purpose), spend in sources.spent().items():
        purposes[purpose] = purposes.get(purpose, NOTHING).plus(spend)
        # What belongs to no route is shown by its purpose.
        if route not in ("", CHALLENGERS):
            routes[route] = routes.get(route, NOTHING).plus(spend)
    return _largest_first(routes), _largest_first(purposes)


def _largest_first(amounts: dict[str, Spend]) -> dict[str, Spend]:
    # Self-hosted models cost no dollars; their tokens still say where the work goes.
    return dict(sorted(amounts.items(), key=lambda item: (-item[1].usd, -item[1].tokens, item[0])))


def spend_handlers(sources: ConsoleSources, renderer: Renderer) -> list[HTTPRouteHandler]:
    """Handlers of `/spend` and its live part."""

    def page(_: object) -> Page:
        routes, purposes = spent_by(sources)
        limited = {}
        for route, budget in sources.budgets.items():
            limited[route] = spend_text(routes.get(route, NOTHING), budget)
        return Page(
            "Cost · evenkeel",
            total=spent_of_all(sources.pipeline()),
            routes=routes,
            purposes=purposes,
            limited=limited,
            words=PURPOSES,
        )

    return live_handlers("/spend", "_spend.html", page, renderer)
