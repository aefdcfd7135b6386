"""The page about cost: the day's spend against the budgets, by route and by purpose."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from evenkeel.console.downloads import Table
from evenkeel.console.rendering import Page, live_handlers
from evenkeel.console.sources import Amount, Spending
from evenkeel.core import figures
from evenkeel.core.verdict import BASELINE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from litestar.handlers import HTTPRouteHandler

    from evenkeel.console.rendering import Renderer
    from evenkeel.console.sources import ConsoleSources, PipelineView, Share
    from evenkeel.stores.verdict_log import VerdictLog

_Place: TypeAlias = tuple[str | None, str | None]
"""A route and a purpose; None = all of them."""

PURPOSES: Final = {
    "replay": "replays of sampled requests",
    "golden": "goldens asked again",
    "reference": "reference prompts asked again",
    "judge": "the judge",
    "rewriter": "the rewriter",
    "lost": "set aside by processes that were killed",
}


class Meter(NamedTuple):
    """A budget and how much of it is used. `share` in [0, 1]; None without a limit."""

    text: str
    share: float | None


class SpendLine(NamedTuple):
    """One route, or one purpose, with what it has cost."""

    amount: Amount
    share: float | None
    """Of the day's dollars, in [0, 1]; of its tokens if nothing has a price. None without any."""
    meters: tuple[Meter, ...]
    """The limits it has of its own."""


class Split(NamedTuple):
    """Spend by route and purpose, with sums both ways."""

    routes: list[str | None]
    """Those that cost most first; None stands for their sum."""
    purposes: list[str | None]
    sums: Mapping[_Place, tuple[int, float]]
    """Tokens and US dollars."""


class SpendPart(NamedTuple):
    """Spend as the page shows it."""

    total: tuple[Meter, ...]
    routes: list[SpendLine]
    purposes: list[SpendLine]
    split: Split | None
    """None while there is nothing to split."""
    words: Mapping[str, str]
    """Purposes in words."""


def spend_part(view: PipelineView, spending: Spending | None) -> SpendPart:
    """The day's totals against the common budgets, and where they went."""
    spending = spending or Spending((), ())
    whole = Amount("", view.tokens_today, view.usd_today, view.budget_tokens, view.budget_usd)
    split = _split(spending.shares) if spending.shares else None
    return SpendPart(meters(whole), _lines(spending.routes), _lines(spending.purposes), split, PURPOSES)


def route_meters(spending: Spending | None, route: str) -> tuple[Meter, ...]:
    """What one route has cost today; () if that is not known."""
    found = (one for one in (spending.routes if spending else ()) if one.name == route)
    return next(map(meters, found), ())


def spend_table(view: PipelineView, spending: Spending | None) -> Table:
    """All amounts for a file: of everything, by route and by purpose."""
    rows: list[tuple[str, str | None, int, float, int | None, float | None]] = [
        ("all", None, view.tokens_today, view.usd_today, view.budget_tokens, view.budget_usd)
    ]
    for by, amounts in (("route", spending.routes), ("purpose", spending.purposes)) if spending else ():
        rows += [(by, one.name, one.tokens, one.usd, one.budget_tokens, one.budget_usd) for one in amounts]
    return Table(("by", "name", "tokens", "usd", "budget_tokens", "budget_usd"), rows)


def split_table(spending: Spending | None) -> Table:
    """Spend by route and purpose for a file. None stands for all routes, or for all purposes."""
    sums = _sums(spending.shares if spending else ())
    rows = [(*place, *sums[place]) for place in _places(sums)]
    return Table(("route", "purpose", "tokens", "usd"), rows)


def meters(amount: Amount, *, limited: bool = False) -> tuple[Meter, ...]:
    """What was spent today of the limits in dollars and tokens; if `limited`, only where there is a limit."""
    dollars, tokens = amount.budget_usd, amount.budget_tokens
    found = (
        (figures.usd(amount.usd), amount.usd, dollars, figures.usd(dollars or 0)),
        (f"{amount.tokens:,} tokens", amount.tokens, tokens, f"{tokens or 0:,.0f}"),
    )
    return tuple(
        Meter(f"{text} today, no limit set", None)
        if budget is None
        else Meter(
            _against(text, limit, over=spent > budget), min(1.0, spent / budget) if budget > 0 else 1.0
        )
        for text, spent, budget, limit in found
        if budget is not None or not limited
    )


def _against(text: str, limit: str, *, over: bool) -> str:
    return f"{text} today, over the limit of {limit}" if over else f"{text} of {limit} today"


def _lines(amounts: Sequence[Amount]) -> list[SpendLine]:
    dollars, tokens = sum(one.usd for one in amounts), sum(one.tokens for one in amounts)
    lines = []
    for one in sorted(amounts, key=lambda amount: (-amount.usd, -amount.tokens, amount.name)):
        part, whole = (one.usd, dollars) if dollars else (one.tokens, tokens)
        lines.append(SpendLine(one, part / whole if whole else None, meters(one, limited=True)))
    return lines


def _sums(shares: Sequence[Share]) -> dict[_Place, tuple[int, float]]:
    """Tokens and US dollars of each route and purpose, and their sums both ways."""
    sums: dict[_Place, tuple[int, float]] = {(None, None): (0, 0.0)}
    for one in shares:
        for place in ((one.route, one.purpose), (one.route, None), (None, one.purpose), (None, None)):
            tokens, usd = sums.get(place, (0, 0.0))
            sums[place] = tokens + one.tokens, usd + one.usd
    return sums


def _places(sums: Mapping[_Place, tuple[int, float]]) -> list[_Place]:
    """The routes that cost most first, sums last."""
    order = (*PURPOSES, None)

    def place(one: _Place) -> tuple[bool, float, int, str, int]:
        tokens, usd = sums[one[0], None]
        return one[0] is None, -usd, -tokens, one[0] or "", order.index(one[1])

    return sorted(sums, key=place)


def _split(shares: Sequence[Share]) -> Split:
    sums = _sums(shares)
    routes = [route for route, purpose in _places(sums) if purpose is None]
    return Split(routes, [one for one in (*PURPOSES, None) if (None, one) in sums], sums)


class Delay(NamedTuple):
    """A change of one rewording: the share of answers it moves, before and after, and trials until found."""

    before: float
    after: float
    trials: int


DELAYS: Final = (Delay(0.05, 0.15, 106), Delay(0.20, 0.30, 258), Delay(0.50, 0.60, 321))
"""Mean trials until drift is found after 2,000 trials without a change (docs/research/detection.md,
"How soon"), measured by `python -m benchmarks.detection`."""
_RECENT: Final = 300
_FEWEST: Final = 30
_DAY_S: Final = 86_400


class Pace(NamedTuple):
    """What trials of a route cost, and how many there are."""

    route: str
    rewordings: int
    per_day: float
    """Trials of rewordings."""
    usd_each: float
    """Their controls included."""

    def found_after_s(self, delay: Delay) -> float:
        """Seconds until the change is found, with trials spread evenly over the rewordings."""
        return delay.trials * self.rewordings / self.per_day * _DAY_S

    def usd(self, delay: Delay) -> float:
        """What the trials until then cost."""
        return delay.trials * self.rewordings * self.usd_each


def paces(log: VerdictLog, routes: Iterable[str], now: float) -> list[Pace]:
    """The pace of each route, from its latest verdicts of the last day; routes with too few are left out."""
    found = []
    for route in routes:
        recent = [verdict for verdict in log.latest(_RECENT, route=route) if verdict.scored_at > now - _DAY_S]
        trials = [verdict for verdict in recent if verdict.perturbation != BASELINE]
        if len(trials) < _FEWEST:
            continue
        lasted_s = max(1.0, now - recent[-1].scored_at)
        cost = sum(verdict.cost.usd for verdict in recent) / len(trials)
        rewordings = len({verdict.perturbation for verdict in trials})
        found.append(Pace(route, rewordings, len(trials) / lasted_s * _DAY_S, cost))
    return found


def spend_handlers(sources: ConsoleSources, renderer: Renderer) -> list[HTTPRouteHandler]:
    """`/spend` and its live part."""

    def page(_: object) -> Page:
        spending = sources.spending() if sources.spending else None
        view = sources.pipeline()
        return Page(
            "Cost · evenkeel",
            spend=spend_part(view, spending),
            paces=paces(sources.log, (flow.route for flow in view.routes), sources.clock()),
            delays=DELAYS,
        )

    return live_handlers("/spend", "_spend.html", page, renderer)
