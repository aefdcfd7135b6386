"""The ledger of a run: what each payee was asked for and what that cost, and the limit of all together."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from evenkeel.core.budget import Spend

JUDGE: Final = "the judge"


REWRITER: Final = "the rewriter"


class BudgetUsedUpError(Exception):
    """The calls of this run have cost what they may."""


@dataclass(slots=True)
class Account:
    """One model, the judge or the rewriter."""

    calls: int = 0
    """Made in this run. Of the judge they are not counted."""
    remembered: int = 0
    """Answers that an earlier run had asked for."""
    failed: int = 0
    tokens: int = 0
    usd: float = 0.0
    """0 for a model without a price."""
    remembered_tokens: int = 0
    remembered_usd: float = 0.0
    """What the remembered answers had cost."""


@dataclass(slots=True)
class Ledger:
    """All accounts, and the limit of all together."""

    most_usd: float | None = None
    accounts: dict[str, Account] = field(default_factory=dict)

    def of(self, payee: str) -> Account:
        """The account of a model by its name in the tables, of `JUDGE` or of `REWRITER`."""
        return self.accounts.setdefault(payee, Account())

    def expenses(self) -> dict[str, Spend]:
        """Spent in this run, by payee."""
        return {payee: Spend(one.tokens, one.usd) for payee, one in self.accounts.items()}

    @property
    def usd(self) -> float:
        """Spent in this run."""
        return sum(one.usd for one in self.accounts.values())

    @property
    def tokens(self) -> int:
        """The same in tokens."""
        return sum(one.tokens for one in self.accounts.values())

    @property
    def calls(self) -> int:
        """Made in this run, the judge's and the rewriter's aside."""
        return sum(one.calls for one in self.accounts.values())

    @property
    def remembered(self) -> int:
        """Answers taken from the journal."""
        return sum(one.remembered for one in self.accounts.values())

    @property
    def failed(self) -> int:
        """Calls without an answer."""
        return sum(one.failed for one in self.accounts.values())

    def check(self) -> None:
        """Raise BudgetUsedUpError once the limit is reached."""
        if self.most_usd is not None and self.usd >= self.most_usd:
            raise BudgetUsedUpError


class RewriterPurse:
    """The rewriter's money, in the form that it asks for."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._set_aside = 0.0

    def reserve(self, estimate: Spend) -> bool:
        """Set aside what one call may cost; False, setting nothing aside, if that is too much."""
        most = self._ledger.most_usd
        if most is not None and self._ledger.usd + self._set_aside + estimate.usd > most:
            return False
        self._set_aside += estimate.usd
        return True

    def settle(self, estimate: Spend, spent: Spend) -> None:
        """Release what was set aside and book what was spent."""
        self._set_aside -= estimate.usd
        account = self._ledger.of(REWRITER)
        account.calls += 1
        account.tokens += spent.tokens
        account.usd += spent.usd
