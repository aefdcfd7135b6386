"""Who scores: a judge if one is set, else the cheap metrics."""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING

from evenkeel.judge_health import JudgeHealth
from metrics.judge import Breaker, Judge
from metrics.scoring import cheap_scorer, judge_scorer
from metrics.similarity import EmbeddingsUnavailableError, load_embeddings

if TYPE_CHECKING:
    from evenkeel.settings import Settings
    from metrics.scoring import TwoStageScorer
    from metrics.similarity import Embeddings
    from shadow.spend import Prices

log = logging.getLogger("evenkeel")


def make_judge(settings: Settings, prices: Prices) -> tuple[Judge | None, JudgeHealth]:
    """The judge the settings name, if any, and the watch over it."""
    chosen = settings.judge
    breaker = Breaker()
    if chosen is None:
        return None, JudgeHealth(None, breaker, "")
    judge = Judge(
        base_url=chosen.base_url,
        model=chosen.model,
        api_key=os.environ.get(chosen.api_key_env) or "",
        timeout_s=chosen.timeout_s,
        concurrency=chosen.concurrency,
        breaker=breaker,
        price=prices.usd,
    )
    return judge, JudgeHealth(judge, breaker, chosen.api_key_env)


def make_scorer(settings: Settings, judge: Judge | None) -> TwoStageScorer:
    """Scores by the judge, else by cheap metrics. Loading embeddings takes seconds."""
    return judge_scorer(judge) if judge else cheap_scorer(_embeddings(settings))


def _embeddings(settings: Settings) -> Embeddings | None:
    wanted = settings.scoring.embeddings
    if wanted is False:
        return None
    try:
        return load_embeddings()
    except EmbeddingsUnavailableError as error:
        if wanted:
            log.warning("no sentence embeddings: %s; scoring goes on without them", error)
        return None
