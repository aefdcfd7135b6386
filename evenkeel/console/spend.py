"""The page about cost: the day's spend against the budgets, by route and by purpose."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from evenkeel.console.rendering import Page, live_handlers
from evenkeel.core import figures
from evenkeel.core.budget import NOTHING, Budget, Spend, total

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from litestar.handlers import HTTPRouteHandler

    from evenkeel.console.rendering import Renderer
    from evenkeel.console.sources import ConsoleSources, PipelineView
    from evenkeel.core.budget import SpendKind
    from evenkeel.stores.verdict_log import VerdictLog

PURPOSES: Final[dict[str, str]] = {
    "replay": "replays of sampled requests",
    "golden": "goldens asked again",
    "reference": "reference prompts asked again",
    "judge": "the judge",
    "rewriter": "the rewriter",
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
    return meters(Spend(view.tokens_today, view.usd_today), Budget(view.budget_tokens, view.budget_usd))


def spend_lines(sources: ConsoleSources) -> tuple[list[SpendLine], list[SpendLine]]:
    """Return the day's spend by route and by purpose."""
    routes = dict.fromkeys((flow.route for flow in sources.pipeline().routes), NOTHING)
    purposes = dict.fromkeys((name for name in PURPOSES if name != "lost"), NOTHING)
    for (route, purpose), spend in spent_today(sources).items():
        routes[route] = routes.get(route, NOTHING).plus(spend)
        purposes[purpose] = purposes.get(purpose, NOTHING).plus(spend)
    routes.pop("", None)
    return _lines(routes, sources.budgets), _lines(purposes, {})


def route_meters(sources: ConsoleSources, route: str) -> tuple[Meter, ...]:
    """Return today's spend of a route against its limits; () if it is not known."""
    if sources.ledger is None:
        return ()
    spent = total(spend for (name, _), spend in spent_today(sources).items() if name == route)
    return meters(spent, sources.budgets.get(route, Budget()))


def meters(spent: Spend, budget: Budget, *, limited: bool = False) -> tuple[Meter, ...]:
    """Compare today's spend with the limits in dollars and tokens; `limited` leaves out what has no limit."""
    dollars, tokens = budget.usd_per_day, budget.tokens_per_day
    meters_shown = (
        (figures.usd(spent.usd), spent.usd, dollars, figures.usd(dollars or 0)),
        (f"{spent.tokens:,} tokens", spent.tokens, tokens, f"{tokens or 0:,.0f}"),
    )
    return tuple(
        Meter(f"{text} today, no limit set", None)
        if limit is None
        else Meter(_against(text, words, over=amount > limit), min(1.0, amount / limit) if limit > 0 else 1.0)
        for text, amount, limit, words in meters_shown
        if limit is not None or not limited
    )


def _against(text: str, limit: str, *, over: bool) -> str:
    return f"{text} today, over the limit of {limit}" if over else f"{text} of {limit} today"


def _lines(amounts: Mapping[str, Spend], budgets: Mapping[str, Budget]) -> list[SpendLine]:
    whole = total(amounts.values())
    lines = []
    for name, spent in sorted(amounts.items(), key=lambda item: (-item[1].usd, -item[1].tokens, item[0])):
        part, all_of_it = (spent.usd, whole.usd) if whole.usd else (spent.tokens, whole.tokens)
        own = meters(spent, budgets.get(name, Budget()), limited=True)
        lines.append(SpendLine(name, spent, part / all_of_it if all_of_it else None, own))
    return lines


class Delay(NamedTuple):
    """A change of one rewording: the share of answers it moves, before and after, and trials until found."""

    before: float
    after: float
    trials: int


DELAYS: Final = (Delay(0.05, 0.15, 178), Delay(0.20, 0.30, 412), Delay(0.50, 0.60, 601))
"""Mean trials until drift is found after 2,000 trials without a change (docs/research/detection.md,
"How soon")."""
_RECENT: Final = 300
_FEWEST: Final = 30
_DAY_S: Final = 86_400


class SpendPace(NamedTuple):
    """The number of trials of a route per day, and their cost."""

    route: str
    rewordings: int
    per_day: float
    """Trials of rewordings per day."""
    usd_each: float
    """US dollars of a trial, including its share of the control."""

    def found_after_s(self, delay: Delay) -> float:
        """Return the seconds until the change is detected, with trials spread evenly over the rewordings."""
        return delay.trials * self.rewordings / self.per_day * _DAY_S

    def usd(self, delay: Delay) -> float:
        """Return the cost in US dollars of the trials until the regression is detected."""
        return delay.trials * self.rewordings * self.usd_each


def paces(log: VerdictLog, routes: Iterable[str], now: float) -> list[SpendPace]:
    """Return the pace of each route, from its verdicts of the last day; routes with too few are left out."""
    paces_shown = []
    for route in routes:
        recent = [verdict for verdict in log.latest(_RECENT, route=route) if verdict.scored_at > now - _DAY_S]
        trials = [verdict for verdict in recent if not (verdict.is_control or verdict.is_contrast)]
        if len(trials) < _FEWEST:
            continue
        lasted_s = max(1.0, now - recent[-1].scored_at)
        cost = sum(verdict.cost.usd for verdict in recent) / len(trials)
        rewordings = len({verdict.perturbation for verdict in trials})
        paces_shown.append(SpendPace(route, rewordings, len(trials) / lasted_s * _DAY_S, cost))
    return paces_shown


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
            paces=paces(sources.log, (flow.route for flow in view.routes), sources.clock()),
            delays=DELAYS,
        )

    return live_handlers("/spend", "_spend.html", page, renderer)
