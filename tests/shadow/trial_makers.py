"""A maker of trials over a log, a scorer and a replayer, wired as the worker does it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenkeel.llm.price import Prices
from evenkeel.shadow.observer import NOBODY
from evenkeel.shadow.quoted_replays import QuotedReplays
from evenkeel.shadow.trial_log import TrialLog
from evenkeel.shadow.trial_maker import TrialMaker
from evenkeel.stores.counters import Tally

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenkeel.core.budget import CostTracker
    from evenkeel.core.exchange import Exchange
    from evenkeel.metrics.scoring import TwoStageScorer
    from evenkeel.shadow.observer import ShadowObserver
    from evenkeel.shadow.replay import Replayer, Target
    from evenkeel.stores.verdict_log import VerdictLog


def trial_maker(
    log: VerdictLog,
    scorer: TwoStageScorer,
    replayer: Replayer,
    costs: CostTracker,
    target: Callable[[Exchange], Target],
    *,
    prices: Prices | None = None,
    tally: Tally | None = None,
    clock: Callable[[], float] = lambda: 1000.0,
    observer: ShadowObserver = NOBODY,
    **others: Any,
) -> TrialMaker:
    """A maker of trials; `others` are further arguments of its own."""
    tally = tally or Tally()
    replays = QuotedReplays(replayer, prices or Prices(), target, tally=tally, observer=observer)
    return TrialMaker(
        TrialLog(log, scorer.scorer, clock=clock),
        scorer,
        replays,
        costs,
        tally=tally,
        observer=observer,
        **others,
    )
