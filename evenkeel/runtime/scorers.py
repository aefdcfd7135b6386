"""Who scores: a judge if one is set, else the heuristics."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from evenkeel.core.languages import language_of
from evenkeel.llm.observer import UNOBSERVED
from evenkeel.metrics.heuristic import HeuristicRater
from evenkeel.llm.limits import RateLimits
from evenkeel.metrics.judge import Breaker
from evenkeel.metrics.scoring import heuristic_scorer, judge_scorer
from evenkeel.runtime import choices
from evenkeel.runtime.judge_health import JudgeHealth

if TYPE_CHECKING:
    from evenkeel.llm.observer import CallObserver
    from evenkeel.llm.price import Prices
    from evenkeel.metrics.judge import Judge, JudgeCache
    from evenkeel.metrics.scoring import TwoStageScorer
    from evenkeel.runtime.encoders import Encoder
    from evenkeel.settings import Settings
    from evenkeel.stores.counters import Tally

_REPAIRS = 1
"""A reply that can't be read is asked for once more: endpoints without structured output chat."""


def make_judge(
    settings: Settings, cache: JudgeCache, prices: Prices, observer: CallObserver = UNOBSERVED
) -> tuple[Judge | None, JudgeHealth]:
    """The judge the settings name, if any, and the watch over it; `observer` is told of its calls."""
    chosen = settings.judge
    breaker = Breaker()
    if chosen is None:
        return None, JudgeHealth(None, breaker, "")
    from evenkeel.metrics.judge import Judge  # noqa: PLC0415 - brings the SDK, which only those with a judge need

    judge = Judge(
        base_url=chosen.base_url,
        model=chosen.model,
        api_key=os.environ.get(chosen.api_key_env) or "",
        timeout_s=chosen.timeout_s,
        concurrency=chosen.concurrency,
        breaker=breaker,
        price=prices.usd,
        limits=RateLimits(
            requests_per_minute=chosen.requests_per_minute, tokens_per_minute=chosen.tokens_per_minute
        ),
        cache=cache,
        reply_tokens=chosen.reply_tokens,
        repairs=_REPAIRS,
        observer=observer,
    )
    return judge, JudgeHealth(judge, breaker, chosen.api_key_env)


def make_scorer(settings: Settings, judge: Judge | None, encoder: Encoder, tally: Tally) -> TwoStageScorer:
    """Scores by the judge where one is needed, else by heuristics."""
    bundles = choices.bundles(settings)
    heuristic = HeuristicRater(
        encoder.embeddings,
        encoder.cutoffs,
        language_of=language_of,
        count=lambda failure: tally.add("embeddings_failures", reason=failure.reason),
    )
    if judge is None:
        return heuristic_scorer(heuristic, bundles=bundles)
    chosen = settings.judge
    assert chosen is not None  # who has a judge has its settings
    return judge_scorer(
        judge,
        votes=chosen.votes,
        swap_share=chosen.swap_share,
        recheck_share=chosen.recheck_share,
        heuristic=heuristic if chosen.cascade else None,
        bands=choices.bands(settings),
        audit_share=chosen.audit_share,
        bundles=bundles,
        count=lambda outcome: tally.add("judge_rechecks", outcome=outcome),
    )
