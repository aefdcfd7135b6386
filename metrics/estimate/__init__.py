"""Rates with intervals that hold at any time of looking.

`proportion` (one rate), `excess` (difference of two paired rates), `bounded_mean` (a mean of bounded
observations), `outcome` (what one trial says), `counts` (a cell's running counts, and the estimates
that follow from them), `exchanges` (rates over several cells) and `windows` (sliding ones). Everything
here is a function of counts, so an estimate can be recomputed from the verdict log by anyone.
"""

from metrics.estimate.bounded_mean import bounded_mean
from metrics.estimate.counts import CellEstimates, Counts
from metrics.estimate.excess import paired_excess
from metrics.estimate.exchanges import ExchangeTally, rollup_estimates
from metrics.estimate.outcome import OUTCOMES, Outcome, outcome_of
from metrics.estimate.proportion import proportion
from metrics.estimate.windows import Occurrences, Windows

__all__ = [
    "OUTCOMES",
    "CellEstimates",
    "Counts",
    "ExchangeTally",
    "Occurrences",
    "Outcome",
    "Windows",
    "bounded_mean",
    "outcome_of",
    "paired_excess",
    "proportion",
    "rollup_estimates",
]
