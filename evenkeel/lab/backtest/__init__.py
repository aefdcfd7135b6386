"""Backtests: verdicts of the past through the very fold and detectors that run live.

What alerts would there have been, when, and what would other limits, run lengths or shares of traffic have
done? `log` reads verdicts from JSON lines, `run` folds them under one variant of the settings or several at
once, `sweep` says what varies, and `report` writes what was found: a summary, JSON and a page with plots.

    from evenkeel.lab.backtest import backtest, read_log

    found = backtest(read_log("verdicts.jsonl"))
    print(len(found.raised), found.trials_between_alerts)
"""

from evenkeel.lab.backtest.log import LogError, read_lines, read_log, read_store
from evenkeel.lab.backtest.run import Backtest, SettingsVariant, Snapshot, backtest
from evenkeel.lab.backtest.sweep import grid, sweep

__all__ = [
    "Backtest",
    "LogError",
    "SettingsVariant",
    "Snapshot",
    "backtest",
    "grid",
    "read_lines",
    "read_log",
    "read_store",
    "sweep",
]
