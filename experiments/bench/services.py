"""Judge, scorer and rewriter of a run, as its settings name them.

What a rewriter cannot do is remembered as well as what it did.
"""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Final

from evenkeel.core.languages import language_of
from evenkeel.experiments.kit.asking import Service
from evenkeel.experiments.kit.cost import PayeeBudget
from evenkeel.llm.client import Endpoint
from evenkeel.metrics.heuristic import HeuristicRater
from evenkeel.metrics.judge import Judge
from evenkeel.metrics.quality.bundles import Bundle
from evenkeel.metrics.scoring import TwoStageScorer, heuristic_scorer, judge_scorer
from evenkeel.metrics.tasks import Task
from evenkeel.shadow.rewriter import FLAWS, JudgedMeaning, Rejection, Rewriter, cache_key
from evenkeel.stores.sqlite.cache import SqliteCache, SqliteRulings

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AsyncExitStack

    from evenkeel.core.budget import CallBudget
    from evenkeel.experiments.kit.cost import Costs
    from evenkeel.llm.price import Prices
    from evenkeel.runtime.instruments import Encoder
    from evenkeel.settings import Settings
    from evenkeel.shadow.perturbations import RewriteTask
    from evenkeel.stores.sqlite.database import Database


KEPT: Final = 10_000_000
"""Texts and rulings that a journal keeps: all of them."""


class OnceRewritten:
    """A rewriter whose rejections outlive the process; accepted texts are in its own cache."""

    def __init__(
        self,
        rewriter: Rewriter,
        database: Database,
        ledger: Costs,
        purse: CallBudget,
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
            if outcome.reason in FLAWS:
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


def judge_of(settings: Settings, database: Database, prices: Prices) -> Judge | None:
    """The judge, whose rulings the journal keeps; None if none is named."""
    chosen = settings.judge
    if chosen is None:
        return None
    endpoint = Endpoint(
        base_url=chosen.base_url,
        model=chosen.model,
        api_key=_key(chosen.api_key_env),
        timeout_s=chosen.timeout_s,
        concurrency=chosen.concurrency,
        price=prices.usd,
        reply_tokens=chosen.reply_tokens,
    )
    return Judge(endpoint, cache=SqliteRulings(database, kept=KEPT), repairs=1)


def scorer_of(
    settings: Settings, judge: Judge | None, meaning: Encoder, bundles: Mapping[Task, Bundle]
) -> TwoStageScorer:
    """The judge rates every pair that is not equal; without one, cheap metrics do."""
    if judge is None:
        rater = HeuristicRater(meaning.embeddings, meaning.cutoffs, language_of=language_of)
        return heuristic_scorer(rater, bundles=bundles)
    assert settings.judge is not None
    return judge_scorer(
        judge, votes=settings.judge.votes, swap_share=settings.judge.swap_share, bundles=bundles
    )


def judge_watch(settings: Settings) -> Service | None:
    """Ends the run if the judge never answers; None without a judge."""
    judge = settings.judge
    if judge is None:
        return None
    return Service(
        f"the judge {judge.model} at {judge.base_url}", variable=judge.api_key_env, option="--judge"
    )


def rewriter_of(
    settings: Settings,
    judge: Judge | None,
    database: Database,
    prices: Prices,
    ledger: Costs,
    stack: AsyncExitStack,
) -> OnceRewritten | None:
    """The rewriter, whose texts the journal keeps; None if none is named.

    Args:
        settings: Name it.
        judge: Checks that a text still means the same, unless the settings say not to; may be None.
        database: The journal.
        prices: Of models.
        ledger: Who pays, and the limit.
        stack: Closes its connections.
    """
    wanted = settings.rewriter
    if wanted is None:
        return None
    purse = PayeeBudget(ledger)
    meaning = JudgedMeaning(judge, purse) if judge and wanted.check_meaning is not False else None

    def endpoint(model: str) -> Endpoint:
        return Endpoint(
            base_url=wanted.base_url,
            model=model,
            api_key=_key(wanted.api_key_env),
            timeout_s=wanted.timeout_s,
            concurrency=wanted.concurrency,
            price=prices.usd,
        )

    rewriter = Rewriter(
        endpoint(wanted.model),
        cache=SqliteCache(database, "rewrites", "rewrite", kept=KEPT),
        stronger=endpoint(wanted.stronger_model) if wanted.stronger_model else None,
        equal_meaning=meaning,
        headroom_tokens=wanted.headroom_tokens,
    )
    stack.push_async_callback(rewriter.close)
    name = f"{wanted.model}\n{wanted.stronger_model or ''}"
    watch = Service(
        f"the rewriter {wanted.model} at {wanted.base_url}", variable=wanted.api_key_env, option="--rewriter"
    )
    return OnceRewritten(rewriter, database, ledger, purse, watch, name=name)


def without_slots(bundles: Mapping[Task, Bundle]) -> dict[Task, Bundle]:
    """Slots are measured against the entities that are known to be right, not against another answer."""
    changed = Bundle(bundles[Task.SLOT_FILLING].similarity)
    return {**bundles, Task.SLOT_FILLING: changed}


def _key(variable: str) -> str:
    return os.environ.get(variable) or ""
