"""Has texts written anew, once: what a model cannot do is remembered as well as what it did."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, get_args

from evenkeel.shadow.rewriter import Fault, Rejection
from evenkeel.shadow.rewriter.cache import cache_key

if TYPE_CHECKING:
    from evenkeel.experiments.bench.spending import Ledger
    from evenkeel.experiments.bench.stopping import Service
    from evenkeel.shadow.perturbations import RewriteTask
    from evenkeel.shadow.rewriter import Purse, Rewriter
    from evenkeel.stores.sqlite import Database

KEPT: Final = 10_000_000
"""Texts and rulings that a journal keeps: all of them."""
_FAULTS: Final = frozenset(get_args(Fault))


class OnceRewritten:
    """A rewriter whose rejections outlive the process; accepted texts are in its own cache."""

    def __init__(
        self,
        rewriter: Rewriter,
        database: Database,
        ledger: Ledger,
        purse: Purse,
        watch: Service,
        *,
        name: str,
    ) -> None:
        """Wire it.

        Args:
            rewriter: Who rewrites.
            database: The journal.
            ledger: Refuses further calls once too much is spent.
            purse: Who pays.
            watch: Ends the run if the rewriter never answers.
            name: Of the rewriter's models: another one may do better.
        """
        self._rewriter = rewriter
        self._database = database
        self._ledger = ledger
        self._purse = purse
        self._watch = watch
        self._name = name
        database.create(
            "CREATE TABLE IF NOT EXISTS bench_rejections (key TEXT PRIMARY KEY, reason TEXT NOT NULL,"
            " detail TEXT NOT NULL) WITHOUT ROWID"
        )

    async def __call__(self, task: RewriteTask) -> str | Rejection:
        """The text, or why there is none that would do.

        Raises: BudgetUsedUpError; UnusableError if the rewriter never answers.
        """
        key = cache_key(task, self._name)
        row = (
            self._database.connection()
            .execute("SELECT reason, detail FROM bench_rejections WHERE key = ?", (key,))
            .fetchone()
        )
        if row is not None:
            return Rejection(row[0], row[1])
        outcome = await self._rewriter.rewrite(task, self._purse)
        if isinstance(outcome, Rejection):
            self._watch.failed(outcome.reason, outcome.detail)
            if outcome.reason == "budget":
                self._ledger.check()
            if outcome.reason in _FAULTS:
                self._watch.answered()
                await asyncio.to_thread(self._remember, key, outcome)
        else:
            self._watch.answered()
        return outcome

    def _remember(self, key: str, rejection: Rejection) -> None:
        with self._database.write() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO bench_rejections (key, reason, detail) VALUES (?, ?, ?)",
                (key, rejection.reason, rejection.detail),
            )
