"""Thresholds: below which score a candidate is no longer as good as its golden."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING, ClassVar, Final, Literal

import numpy as np
from pydantic import ConfigDict  # noqa: TC002 - read when a file is

from evenkeel.core.verdict import Failure
from evenkeel.experiments.calibrate.resampling import CONFIDENCE, STRICT, Measured, means, measured, rounded

if TYPE_CHECKING:
    from numpy.typing import NDArray

METRIC = "calibration_threshold"
VERSION = 1

_FEWEST = 20
"""Goldens. Below this a quantile is a single candidate's score."""
_GRAIN: Final = 1e-6
_SLACK: Final = 1e-9

LimitedBy = Literal["false_alerts", "level", "band"]


@dataclass(frozen=True, slots=True)
class Placement:
    """Where in the band between mild and moderate a threshold is put."""

    __pydantic_config__: ClassVar[ConfigDict] = STRICT

    false_alerts: float = 0.1
    """Largest share of mildly degraded candidates that may fall below, in (0, 0.5]."""
    level: float | None = None
    """Flag from this degradation on: no threshold above the score 1 − level. None = as early as the
    false alerts allow."""
    mild: float = 0.1
    """Severity that must pass."""
    moderate: float = 0.3
    """Severity that must be flagged."""

    def __post_init__(self) -> None:
        if not 0 < self.false_alerts <= 0.5:  # noqa: PLR2004 - beyond it the band is left upwards
            raise ValueError(f"false_alerts must be in (0, 0.5], not {self.false_alerts}")
        if not 0 < self.mild < self.moderate <= 1:
            raise ValueError(f"mild {self.mild} must lie below moderate {self.moderate}, both in (0, 1]")
        if self.level is not None and not 0 < self.level < 1:
            raise ValueError(f"level must be in (0, 1), not {self.level}")


PUBLISHED: Final = Placement(false_alerts=0.25, level=0.3)
"""Gives back the operating points of WorkflowPerturb (Table 1) to within 0.01 from its means and
deviations: flag what looks 30 % degraded, but never more than a quarter of the mild candidates."""


@dataclass(frozen=True, slots=True)
class Threshold:
    """A score below which a candidate is flagged, and what that costs."""

    __pydantic_config__: ClassVar[ConfigDict] = STRICT

    value: float
    """A candidate is flagged if its score is lower."""
    lower: float
    """Ends of the interval for the threshold itself."""
    upper: float
    false_alerts: Measured
    """Share of mild candidates flagged, on goldens that the threshold was not set on."""
    misses: Measured
    """Share of moderate candidates not flagged, on such goldens."""
    mild_mean: float
    moderate_mean: float
    limited_by: LimitedBy
    """What holds the threshold where it is. "band": it would lie outside the band; if it would lie below,
    the false alerts are above what was asked for, which `false_alerts` shows."""

    def __post_init__(self) -> None:
        if not self.lower <= self.value <= self.upper:
            raise ValueError(f"interval [{self.lower}, {self.upper}] does not hold {self.value}")


def threshold(
    mild: NDArray[np.float64],
    moderate: NDArray[np.float64],
    drawn: NDArray[np.float64],
    placement: Placement,
) -> Threshold | Failure:
    """Place a threshold in the band between mean mild and mean moderate score.

    It is the largest score below which at most the stated share of mild candidates lies, but not above
    the stated level, and inside the band. Flagging compares strictly, so scores that equal the threshold
    pass; it is put a little below the score it stands for, so that rounding cannot turn the two round.

    The shares of false alerts and misses are out of the bag: each resample's threshold is tried on the
    goldens that the resample lacks, so they say what to expect on goldens not seen yet.
    Their intervals are at least as wide as Wilson's for as many goldens as were measured.

    Args:
        mild: scores of the mild candidates, one for each golden, NaN where not measured.
        moderate: scores of the moderate ones, in the same order of goldens.
        drawn: resamples of the goldens, shape (times, goldens).
        placement: the rule.

    Returns: a threshold, or a failure: "too_few_goldens", or "not_separable" if the mean mild score is
        not above the mean moderate one with a confidence of 95 %.
    """
    n = int(min((~np.isnan(mild)).sum(), (~np.isnan(moderate)).sum()))
    wanted = max(_FEWEST, ceil(1 / placement.false_alerts))
    if n < wanted:
        return Failure(METRIC, VERSION, "too_few_goldens", f"{n} goldens were measured, {wanted} are needed.")
    whole = np.ones((1, len(mild)))
    mild_means, moderate_means = means(mild, drawn), means(moderate, drawn)
    gaps = mild_means - moderate_means
    gap = measured(float(np.nanmean(mild) - np.nanmean(moderate)), gaps, n)
    if gap.lower <= 0:
        detail = f"Mild scores are above moderate ones by {gap.value:.3f} [{gap.lower:.3f}, {gap.upper:.3f}]."
        return Failure(METRIC, VERSION, "not_separable", detail)
    free = float(_quantiles(mild, whole, placement.false_alerts)[0])
    floor, roof = float(np.nanmean(moderate)), float(np.nanmean(mild))
    value = float(_placed(free, floor, roof, placement))
    values = _placed(_quantiles(mild, drawn, placement.false_alerts), moderate_means, mild_means, placement)
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


def _quantiles(
    scores: NDArray[np.float64], weights: NDArray[np.float64], share: float
) -> NDArray[np.float64]:
    """For each resample the largest score with at most `share` of the weight strictly below it."""
    known = np.flatnonzero(~np.isnan(scores))
    order = known[np.argsort(scores[known], kind="stable")]
    below = np.cumsum(weights[:, order], axis=1)
    allowed = share * below[:, -1:] + _SLACK
    # First place at which more than the allowed weight is used up; with no weight at all, none is.
    found = scores[order][np.argmax(below > allowed, axis=1)]
    placed: NDArray[np.float64] = np.where(below[:, -1] > 0, found, np.nan)
    return placed


def _placed(
    free: NDArray[np.float64] | float,
    floor: NDArray[np.float64] | float,
    roof: NDArray[np.float64] | float,
    placement: Placement,
) -> NDArray[np.float64]:
    level = np.inf if placement.level is None else 1 - placement.level
    placed = np.minimum(np.maximum(np.minimum(free, level), floor), roof)
    grained: NDArray[np.float64] = np.round(np.floor((placed - _SLACK) / _GRAIN) * _GRAIN, 6)
    return grained


def _limit(free: float, floor: float, roof: float, placement: Placement) -> LimitedBy:
    level = np.inf if placement.level is None else 1 - placement.level
    wanted = min(free, level)
    if not floor <= wanted <= roof:
        return "band"
    return "level" if level < free else "false_alerts"


def _rate(shares: NDArray[np.float64], n: int) -> Measured:
    """Mean share over the resamples, with the wider of its percentile and its Wilson interval.

    The percentiles alone would claim that what never happened among these goldens cannot happen.
    """
    found = measured(float(np.nanmean(shares)), shares, n)
    z = NormalDist().inv_cdf(0.5 + CONFIDENCE / 2)
    centre = (found.value + z * z / (2 * n)) / (1 + z * z / n)
    reach = z / (1 + z * z / n) * sqrt(found.value * (1 - found.value) / n + z * z / (4 * n * n))
    low, high = rounded(max(0.0, centre - reach)), rounded(min(1.0, centre + reach))
    return Measured(found.value, min(found.lower, low), max(found.upper, high), n)


def _shares(flagged: NDArray[np.bool_], counted: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Share of the counted goldens that are flagged, for each resample; NaN where none is counted."""
    n = counted.sum(axis=1)
    hits = (flagged & counted).sum(axis=1)
    shares: NDArray[np.float64] = np.divide(hits, n, out=np.full(len(n), np.nan), where=n > 0)
    return shares
