"""The cost of a run: estimated in advance, then added up by payee and stopped at a limit."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Final

from evenkeel.core.figures import listing, number, usd

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.core.budget import Spend

JUDGE: Final = "the judge"
REWRITER: Final = "the rewriter"


@dataclass(frozen=True, slots=True)
class CostEstimate:
    """Calls ahead, and what they may cost. As text it is the question before anything is spent."""

    asked: str
    """Description such as "120 calls to gpt-4.1"."""
    spend: Spend
    """The cost, without calls to unpriced models."""
    remembered: int = 0
    """Answers that need not be asked for."""
    ceiling: bool = True
    """True if it cannot cost more; else it is a rule of thumb."""
    unpriced: Sequence[str] = ()
    """Models among those asked that have no known price."""

    def __str__(self) -> str:
        how = "at most" if self.ceiling else "about"
        price = price_ahead(how, self.spend.usd, self.unpriced)
        remembered = f" ({number(self.remembered)} remembered)" if self.remembered else ""
        return f"{self.asked}{remembered}, {how} {number(self.spend.tokens)} tokens, {price}"


def price_ahead(how: str, dollars: float, unpriced: Sequence[str]) -> str:
    """Return what calls may cost, and the models whose calls no limit in dollars counts."""
    price = f"{how} {usd(dollars)}, " if dollars else ""
    if unpriced:
        names = [name or "a model without a name" for name in unpriced]
        return (
            f"{price}without a known price of {listing(names)}, whose calls no limit in dollars counts "
            f"(--price {unpriced[0] or '*'}=IN/OUT gives it)"
        )
    return price.removesuffix(", ") or "free"


class BudgetUsedUpError(Exception):
    """The calls of this run have cost what they may. The message says how much."""


@dataclass(slots=True)
class Account:
    """Account of a model, the judge or the rewriter."""

    calls: int = 0
    """Calls made in this run; always 0 for the judge."""
    remembered: int = 0
    """Answers that an earlier run had asked for."""
    failed: int = 0
    tokens: int = 0
    """All together."""
    prompt_tokens: int = 0
    """Prompt tokens among them, where the two are known."""
    completion_tokens: int = 0
    usd: float = 0.0
    """0 for a model without a price."""
    remembered_tokens: int = 0
    remembered_usd: float = 0.0
    """Earlier cost of the remembered answers."""

    def book(self, spend: Spend) -> None:
        """Add what a call has cost."""
        self.tokens += spend.tokens
        self.usd += spend.usd

    def remember(self, spend: Spend) -> None:
        """Count an answer that an earlier run had paid for."""
        self.remembered += 1
        self.remembered_tokens += spend.tokens
        self.remembered_usd += spend.usd


@dataclass(slots=True)
class Costs:
    """The accounts of a run by payee, and the limit of all together."""

    most_usd: float | None = None
    accounts: dict[str, Account] = field(default_factory=dict)

    def of(self, payee: str) -> Account:
        """The account of a model by its name in the tables, of `JUDGE` or of `REWRITER`."""
        return self.accounts.setdefault(payee, Account())

    @property
    def usd(self) -> float:
        """Spent in this run."""
        return self.total.usd

    @property
    def total(self) -> Account:
        """The sum of all accounts."""
        total = Account()
        for account in self.accounts.values():
            for figure in fields(Account):
                amount = getattr(total, figure.name) + getattr(account, figure.name)
                setattr(total, figure.name, amount)
        return total

    def check(self) -> None:
        """Raise BudgetUsedUpError once the limit is reached."""
        if self.most_usd is not None and self.usd >= self.most_usd:
            raise BudgetUsedUpError(f"{usd(self.usd)} is spent, as much as --max-usd allows")


class RewriterBudget:
    """The rewriter's part of the budget, set aside call by call: what `evenkeel.shadow.rewriter` asks for."""

    def __init__(self, costs: Costs) -> None:
        self._costs = costs
        self._set_aside = 0.0

    def reserve(self, estimate: Spend) -> bool:
        """Set aside what one call may cost; False, setting nothing aside, if that is too much."""
        most = self._costs.most_usd
        # Calls under way count with their estimates, or several at once would pass the limit together.
        if most is not None and self._costs.usd + self._set_aside + estimate.usd > most:
            return False
        self._set_aside += estimate.usd
        return True

    def settle(self, estimate: Spend, spent: Spend) -> None:
        """Release what was set aside and book what was spent."""
        self._set_aside -= estimate.usd
        account = self._costs.of(REWRITER)
        account.calls += 1
        account.book(spent)
