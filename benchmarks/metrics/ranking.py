"""How well scores follow a truth: Spearman's correlation, area under the ROC curve, and their errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import rankdata

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

    from numpy.typing import NDArray

_RESAMPLES = 200


def ranks(values: Sequence[float]) -> NDArray[np.float64]:
    """Ranks from 0 to 1, ties averaged."""
    found = np.asarray(rankdata(np.asarray(values, dtype=float)), dtype=np.float64)
    return (found - 1) / max(1, len(found) - 1)


def spearman(values: Sequence[float], truth: Sequence[float]) -> float | None:
    """Rank correlation in [−1, 1]; None if one side is constant."""
    left, right = ranks(values), ranks(truth)
    if len(left) < 2 or left.std() == 0 or right.std() == 0:  # noqa: PLR2004 - no correlation of one pair
        return None
    return float(np.corrcoef(left, right)[0, 1])


def area(close: Sequence[float], far: Sequence[float]) -> float | None:
    """Probability that one of `close` scores above one of `far`, ties counted half; None without both."""
    return float(_wins(close, far).mean()) if close and far else None


def area_error(close: Sequence[float], far: Sequence[float], rng: random.Random) -> float:
    """Half the width of the 95 % interval of `area`, by 200 resamples of the pairs."""
    wins = _wins(close, far)
    found = [
        float(_drawn(len(close), rng) @ wins @ _drawn(len(far), rng)) / wins.size for _ in range(_RESAMPLES)
    ]
    low, high = np.quantile(found, (0.025, 0.975))
    return float(high - low) / 2


def _wins(close: Sequence[float], far: Sequence[float]) -> NDArray[np.float64]:
    """1 where a score of `close` is above one of `far`, a half where they are equal."""
    left, right = np.asarray(close, dtype=float)[:, None], np.asarray(far, dtype=float)[None, :]
    return np.asarray((left > right) + (left == right) / 2, dtype=np.float64)


def _drawn(count: int, rng: random.Random) -> NDArray[np.float64]:
    """How often each of so many is drawn in as many draws."""
    drawn = rng.choices(range(count), k=count)
    return np.bincount(drawn, minlength=count).astype(np.float64)


def spearman_gain(
    values: Sequence[float], beside: Sequence[float], truth: Sequence[float], rng: random.Random
) -> tuple[float, float]:
    """The 95 % interval of how much better `values` follow the truth than `beside`, by 200 resamples."""
    places, gains = range(len(truth)), []
    for _ in range(_RESAMPLES):
        drawn = rng.choices(places, k=len(places))
        mine, other = (
            spearman([side[i] for i in drawn], [truth[i] for i in drawn]) or 0.0 for side in (values, beside)
        )
        gains.append(mine - other)
    low, high = np.quantile(gains, (0.025, 0.975))
    return float(low), float(high)
