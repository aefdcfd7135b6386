"""Rates with intervals that hold at any time of looking.

`proportion` (one rate), `excess` (difference of two paired rates) and `counts` (a cell's running
counts, and the estimates that follow from them). Everything here is a function of counts, so an
estimate can be recomputed from the verdict log by anyone.
"""

from metrics.estimate.counts import CellEstimates, Counts
from metrics.estimate.excess import paired_excess
from metrics.estimate.proportion import proportion

__all__ = ["CellEstimates", "Counts", "paired_excess", "proportion"]
