"""Thresholds: below which score a candidate is no longer as good as its golden.

A threshold is conformal: the k-th smallest of the scores that clusters of goldens have when mildly
degraded, with k = ⌊rate · (n + 1)⌋ for n clusters. If one more cluster is drawn as these were, its score is
below with that probability at most, whatever the distribution. A cluster counts with its worst golden, so
the same holds for each golden of it.

Source: Vovk, Gammerman, Shafer 2005, "Algorithmic learning in a random world".
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING, Final

import numpy as np

from evenkeel.core.verdict import Failure
from evenkeel.lab.calibrate.calibration import BootstrapFigure, Placement, Threshold
from evenkeel.lab.calibrate.resampling import CONFIDENCE, means, measured, rounded

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenkeel.lab.calibrate.calibration import LimitedBy

METRIC = "calibration_threshold"
VERSION = 2

# Goldens. With fewer, misses and the gap to moderate damage are unknown.
_FEWEST = 20
# A threshold lies this much below a score, so that rounding cannot flag the score itself.
_GRAIN: Final = 1e-6
# 0.29 · 100 is a little less than 29 in binary floats; the floor of it must be 29.
_SLACK: Final = 1e-9

PUBLISHED: Final = Placement(false_alerts=0.25, level=0.3)
"""Gives back the operating points of WorkflowPerturb (Table 1) to within 0.01 from its means and
deviations: flag what looks 30 % degraded, but never more than a quarter of the mild candidates."""


def threshold(
    mild: NDArray[np.float64],
    moderate: NDArray[np.float64],
    drawn: NDArray[np.float64],
    placement: Placement,
    clusters: NDArray[np.int64] | None = None,
) -> Threshold | Failure:
    """Place a threshold.

    It is the conformal one, but not above the stated level or the mean mild score. It may lie below the mean
    moderate score: then the misses are many, and the stated false alerts hold. Flagging compares strictly, so
    scores that equal the threshold pass; it is put a little below the score it stands for, so that rounding
    cannot turn the two round.

    The shares of false alerts and misses are out of the bag: each resample's threshold is tried on the
    goldens that the resample lacks, so they say what to expect on goldens not seen yet.
    Their intervals are at least as wide as Wilson's for as many clusters as were measured.

    Args:
        mild: scores of the mild candidates, one for each golden, NaN where not measured.
        moderate: scores of the moderate ones, in the same order of goldens.
        drawn: resamples of the goldens, shape (times, goldens); those of a cluster are drawn together.
        placement: the rule.
        clusters: the number of each golden's cluster, from 0; None = each golden is one.

    Returns: a threshold, or a failure: "too_few_goldens", or "not_separable" if the mean mild score is
        not above the mean moderate one with a confidence of 95 %.
    """
    if clusters is None:
        clusters = np.arange(len(mild))
    both = int(min((~np.isnan(mild)).sum(), (~np.isnan(moderate)).sum()))
    if both < _FEWEST:
        detail = f"{both} goldens were measured, {_FEWEST} are needed."
        return Failure(METRIC, VERSION, "too_few_goldens", detail)
    worst = _Worst.of(mild, clusters)
    n, wanted = len(worst.scores), ceil(1 / placement.false_alerts - _SLACK) - 1
    if n < wanted:
        rate = placement.false_alerts
        detail = f"{n} independent goldens were measured, a rate of {rate:g} takes {wanted}."
        return Failure(METRIC, VERSION, "too_few_goldens", detail)
    whole = np.ones((1, len(mild)))
    mild_means, moderate_means = means(mild, drawn), means(moderate, drawn)
    gaps = mild_means - moderate_means
    gap = measured(float(np.nanmean(mild) - np.nanmean(moderate)), gaps, n)
    if gap.lower <= 0:
        detail = f"Mild scores are above moderate ones by {gap.value:.3f} [{gap.lower:.3f}, {gap.upper:.3f}]."
        return Failure(METRIC, VERSION, "not_separable", detail)
    free = float(worst.conformal(whole, placement.false_alerts)[0])
    floor, roof = float(np.nanmean(moderate)), float(np.nanmean(mild))
    value = float(_placed(free, floor, roof, placement))
    values = _placed(worst.conformal(drawn, placement.false_alerts), moderate_means, mild_means, placement)
    interval = measured(value, values, n)
    unseen = drawn == 0
    alerts = _shares(mild[None, :] < values[:, None], unseen & ~np.isnan(mild))
    missed = _shares(moderate[None, :] >= values[:, None], unseen & ~np.isnan(moderate))
    return Threshold(
        value=interval.value,
        lower=interval.lower,
        upper=interval.upper,
        false_alerts=_rate(alerts, n),
        misses=_rate(missed, n),
        mild_mean=rounded(roof),
        moderate_mean=rounded(floor),
        limited_by=_limit(free, floor, roof, placement),
    )


@dataclass(frozen=True, slots=True)
class _Worst:
    """The worst score of each cluster that has one, ascending."""

    scores: NDArray[np.float64]
    members: NDArray[np.int64]
    """Place of a golden of each cluster, whose weight is the cluster's."""

    @classmethod
    def of(cls, scores: NDArray[np.float64], clusters: NDArray[np.int64]) -> _Worst:
        scored = np.flatnonzero(~np.isnan(scores))
        order = scored[np.argsort(scores[scored], kind="stable")]
        _, first = np.unique(clusters[order], return_index=True)
        members = order[np.sort(first)]
        return cls(scores[members], members)

    def conformal(self, weights: NDArray[np.float64], rate: float) -> NDArray[np.float64]:
        """Return for each resample the ⌊rate · (n + 1)⌋-th smallest score; NaN where that is none."""
        below = np.cumsum(weights[:, self.members], axis=1)
        wanted = np.floor(rate * (below[:, -1:] + 1) + _SLACK)
        thresholds = self.scores[np.argmax(below >= wanted, axis=1)]
        placed: NDArray[np.float64] = np.where(wanted[:, 0] >= 1, thresholds, np.nan)
        return placed


def _placed(
    free: NDArray[np.float64] | float,
    floor: NDArray[np.float64] | float,
    roof: NDArray[np.float64] | float,
    placement: Placement,
) -> NDArray[np.float64]:
    # The band holds up the level, never the false alerts: what is stated of these must hold.
    level = np.inf if placement.level is None else np.maximum(1 - placement.level, floor)
    placed = np.minimum(np.minimum(free, level), roof)
    grained: NDArray[np.float64] = np.round(np.floor((placed - _SLACK) / _GRAIN) * _GRAIN, 6)
    return grained


def _limit(free: float, floor: float, roof: float, placement: Placement) -> LimitedBy:
    level = np.inf if placement.level is None else 1 - placement.level
    if min(free, level) > roof or level < floor < free:
        return "band"
    return "level" if level < free else "false_alerts"


def _rate(shares: NDArray[np.float64], n: int) -> BootstrapFigure:
    """Mean share over the resamples, with the wider of its percentile and its Wilson interval.

    The percentiles alone would claim that what never happened among these goldens cannot happen.
    """
    figure = measured(float(np.nanmean(shares)), shares, n)
    z = NormalDist().inv_cdf(0.5 + CONFIDENCE / 2)
    centre = (figure.value + z * z / (2 * n)) / (1 + z * z / n)
    reach = z / (1 + z * z / n) * sqrt(figure.value * (1 - figure.value) / n + z * z / (4 * n * n))
    low, high = rounded(max(0.0, centre - reach)), rounded(min(1.0, centre + reach))
    return BootstrapFigure(figure.value, min(figure.lower, low), max(figure.upper, high), n)


def _shares(flagged: NDArray[np.bool_], counted: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Share of the counted goldens that are flagged, for each resample; NaN where none is counted."""
    n = counted.sum(axis=1)
    hits = (flagged & counted).sum(axis=1)
    shares: NDArray[np.float64] = np.divide(hits, n, out=np.full(len(n), np.nan), where=n > 0)
    return shares
