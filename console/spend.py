"""The day's spend against the budgets, by route and by purpose."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from console import figures, links
from console.downloads import Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from console.sources import Amount, PipelineView, Spending

_PURPOSES: Final = {
    "replay": "replays of sampled requests",
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
class SpendPart:
    """Spend as the page shows it."""

    total: tuple[Meter, ...]
    routes: tuple[SpendLine, ...]
    purposes: tuple[SpendLine, ...]


def spend_part(view: PipelineView, spending: Spending | None) -> SpendPart:
    """The day's totals against the common budgets, and where they went."""
    total = (
        meter(figures.usd(view.usd_today), view.usd_today, view.budget_usd, money=True),
        meter(f"{view.tokens_today:,} tokens", view.tokens_today, view.budget_tokens, money=False),
    )
    if spending is None:
        return SpendPart(total, (), ())
    return SpendPart(total, _lines(spending.routes, linked=True), _lines(spending.purposes, linked=False))


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
