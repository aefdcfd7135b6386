"""Judge, scorer and rewriter of a run, as its settings name them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from evenkeel.core.languages import language_of
from evenkeel.experiments.bench.rewriting import KEPT, OnceRewritten
from evenkeel.experiments.bench.spending import RewriterPurse
from evenkeel.experiments.bench.stopping import Service
from evenkeel.metrics.judge import Judge, SqliteJudgeCache
from evenkeel.metrics.quality.bundles import Bundle
from evenkeel.metrics.scoring import TwoStageScorer, cheap_scorer, judge_scorer
from evenkeel.metrics.similarity.cheap import CheapRater
from evenkeel.metrics.tasks import Task
from evenkeel.shadow.rewriter import JudgedMeaning, Rewriter, SqliteRewriteCache

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AsyncExitStack

    from evenkeel.experiments.bench.spending import Ledger
    from evenkeel.llm.budget import Prices
    from evenkeel.runtime.encoders import Encoder
    from evenkeel.settings import Settings
    from evenkeel.stores.sqlite import Database


def judge_of(settings: Settings, database: Database, prices: Prices) -> Judge | None:
    """The judge, whose rulings the journal keeps; None if none is named."""
    chosen = settings.judge
    if chosen is None:
        return None
    return Judge(
        base_url=chosen.base_url,
        model=chosen.model,
        api_key=_key(chosen.api_key_env),
        timeout_s=chosen.timeout_s,
        concurrency=chosen.concurrency,
        price=prices.usd,
        cache=SqliteJudgeCache(database, kept=KEPT),
        reply_tokens=chosen.reply_tokens,
        repairs=1,
    )


def scorer_of(
    settings: Settings, judge: Judge | None, meaning: Encoder, bundles: Mapping[Task, Bundle]
) -> TwoStageScorer:
    """The judge rates every pair that is not equal; without one, cheap metrics do."""
    if judge is None:
        rater = CheapRater(meaning.embeddings, meaning.cutoffs, language_of=language_of)
        return cheap_scorer(rater, bundles=bundles)
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
    ledger: Ledger,
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
    purse = RewriterPurse(ledger)
    meaning = JudgedMeaning(judge, purse) if judge and wanted.check_meaning is not False else None
    rewriter = Rewriter.connect(
        base_url=wanted.base_url,
        model=wanted.model,
        stronger_model=wanted.stronger_model,
        api_key=_key(wanted.api_key_env),
        timeout_s=wanted.timeout_s,
        concurrency=wanted.concurrency,
        headroom_tokens=wanted.headroom_tokens,
        price=prices.usd,
        cache=SqliteRewriteCache(database, kept=KEPT),
        equal_meaning=meaning,
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
