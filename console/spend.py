"""The day's spend against the budgets, by route and by purpose."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from evenkeel.console import links
from evenkeel.console.downloads import Table
from evenkeel.core import figures

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenkeel.console.sources import Amount, PipelineView, Share, Spending

_Place: TypeAlias = tuple[str | None, str | None]
"""A route and a purpose; None = all of them."""

_PURPOSES: Final = {
    "replay": "replays of sampled requests",
    "golden": "goldens asked again",
    "judge": "the judge",
    "rewriter": "the rewriter",
}


@dataclass(frozen=True, slots=True)
class Meter:
    """A budget and how much of it is used. `share` in [0, 1]; None without a limit."""

    text: str
    share: float | None


@dataclass(frozen=True, slots=True)
class SpendLine:
    """One route, or one purpose."""

    name: str
    href: str
    """"" for a purpose."""
    usd: str
    tokens: str
    share: str
    """Of the day's dollars; of its tokens if nothing has a price."""
    meters: tuple[Meter, ...]
    """The limits it has of its own."""


@dataclass(frozen=True, slots=True)
class SplitCell:
    """What one route, or all, have cost for one purpose, or for all. "" twice for nothing."""

    usd: str
    tokens: str


@dataclass(frozen=True, slots=True)
class SplitRow:
    """One route, or the sum of them."""

    name: str
    href: str
    """"" for the sum."""
    cells: tuple[SplitCell, ...]
    """One for each purpose, then their sum."""


@dataclass(frozen=True, slots=True)
class Split:
    """Spend by route and purpose, with sums both ways."""

    purposes: tuple[str, ...]
    """In words, in the order of the cells."""
    rows: tuple[SplitRow, ...]
    """The last one is the sum of the routes."""


@dataclass(frozen=True, slots=True)
class SpendPart:
    """Spend as the page shows it."""

    total: tuple[Meter, ...]
    routes: tuple[SpendLine, ...]
    purposes: tuple[SpendLine, ...]
    split: Split | None = None
    """None while there is nothing to split."""


def spend_part(view: PipelineView, spending: Spending | None) -> SpendPart:
    """The day's totals against the common budgets, and where they went."""
    total = (
        meter(figures.usd(view.usd_today), view.usd_today, view.budget_usd, money=True),
        meter(f"{view.tokens_today:,} tokens", view.tokens_today, view.budget_tokens, money=False),
    )
    if spending is None:
        return SpendPart(total, (), ())
    return SpendPart(
        total,
        _lines(spending.routes, linked=True),
        _lines(spending.purposes, linked=False),
        _split(spending.shares),
    )


def route_meters(spending: Spending | None, route: str) -> tuple[Meter, ...]:
    """What one route has cost today; () if that is not known."""
    for amount in spending.routes if spending else ():
        if amount.name == route:
            return (
                meter(figures.usd(amount.usd), amount.usd, amount.budget_usd, money=True),
                meter(f"{amount.tokens:,} tokens", amount.tokens, amount.budget_tokens, money=False),
            )
    return ()


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


def meter(spent_text: str, spent: float, budget: float | None, *, money: bool) -> Meter:
    """What was spent today, of which limit."""
    if budget is None:
        return Meter(f"{spent_text} today, no limit set", None)
    limit = figures.usd(budget) if money else f"{budget:,.0f}"
    return Meter(f"{spent_text} of {limit} today", min(1.0, spent / budget) if budget > 0 else 1.0)


def _lines(amounts: Sequence[Amount], *, linked: bool) -> tuple[SpendLine, ...]:
    dollars = sum(one.usd for one in amounts)
    tokens = sum(one.tokens for one in amounts)
    lines = []
    for one in sorted(amounts, key=lambda amount: (-amount.usd, -amount.tokens, amount.name)):
        part, whole = (one.usd, dollars) if dollars else (one.tokens, tokens)
        own = (
            (one.usd, one.budget_usd, figures.usd(one.usd), True),
            (one.tokens, one.budget_tokens, f"{one.tokens:,} tokens", False),
        )
        lines.append(
            SpendLine(
                name=one.name if linked else _PURPOSES.get(one.name, one.name),
                href=links.route_link(one.name) if linked else "",
                usd=figures.usd(one.usd),
                tokens=f"{one.tokens:,}",
                share=figures.percent(part / whole) if whole else "–",
                meters=tuple(
                    meter(text, spent, budget, money=money)
                    for spent, budget, text, money in own
                    if budget is not None
                ),
            )
        )
    return tuple(lines)


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
    order = (*_PURPOSES, None)

    def place(one: _Place) -> tuple[bool, float, int, str, int]:
        tokens, usd = sums[one[0], None]
        return one[0] is None, -usd, -tokens, one[0] or "", order.index(one[1])

    return sorted(sums, key=place)


def _split(shares: Sequence[Share]) -> Split | None:
    if not shares:
        return None
    sums = _sums(shares)
    purposes = [purpose for purpose in _PURPOSES if (None, purpose) in sums]
    routes = [route for route, purpose in _places(sums) if purpose is None]
    return Split(
        tuple(_PURPOSES[purpose] for purpose in purposes),
        tuple(
            SplitRow(
                "all routes" if route is None else route,
                "" if route is None else links.route_link(route),
                tuple(_cell(sums.get((route, purpose))) for purpose in (*purposes, None)),
            )
            for route in routes
        ),
    )


def _cell(spent: tuple[int, float] | None) -> SplitCell:
    return SplitCell("", "") if spent is None else SplitCell(figures.usd(spent[1]), f"{spent[0]:,}")
