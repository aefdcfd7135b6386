"""Rates with intervals that hold at any time of looking.

`bounded_mean` (a mean of bounded observations: a rate, a paired difference, a similarity), `counts` (a cell's
running counts, and the estimates that follow from them), `tool_counts` (changes in tool calls),
and `blocks` (how much dependent trials tell). Everything here is a
function of counts, so an estimate can be recomputed from the verdict log by anyone.
"""

from evenkeel.monitor.estimate.blocks import CONDITION, CellEffects, DesignEffect
from evenkeel.monitor.estimate.bounded_mean import bounded_mean, paired_excess, proportion, weighted_mean
from evenkeel.monitor.estimate.counts import (
    OUTCOMES,
    Counts,
    RatedOutcome,
    outcome_of,
    weight_of,
    weight_sign,
)
from evenkeel.monitor.estimate.tool_counts import ToolCounts

__all__ = [
    "CONDITION",
    "OUTCOMES",
    "CellEffects",
    "Counts",
    "DesignEffect",
    "RatedOutcome",
    "ToolCounts",
    "bounded_mean",
    "outcome_of",
    "paired_excess",
    "proportion",
    "weight_of",
    "weight_sign",
    "weighted_mean",
]
