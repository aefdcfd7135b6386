"""A maker of trials over a log, a scorer and a replayer, wired as the worker does it."""

from evenkeel.llm.price import Prices
from evenkeel.shadow.observer import NOBODY
from evenkeel.shadow.quoted_replays import QuotedReplays
from evenkeel.shadow.trial_log import TrialLog
from evenkeel.shadow.trial_maker import TrialMaker
from evenkeel.stores.counters import Tally


def trial_maker(
    log,
    scorer,
    replayer,
    costs,
    target,
    *,
    prices=None,
    tally=None,
    clock=lambda: 1000.0,
    observer=NOBODY,
    **others,
):
    """A maker of trials; `others` are further arguments of its own."""
    tally = tally or Tally()
    replays = QuotedReplays(replayer, prices or Prices(), target, tally=tally, observer=observer)
    return TrialMaker(
        TrialLog(log, scorer.scorer, clock=clock),
        scorer,
        replays,
        costs,
        tally=tally,
        **others,
    )
