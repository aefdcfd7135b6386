"""Several metrics as one score: the mean of their ranks, or a logistic fit on half of the pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from benchmarks.metrics.ranking import ranks

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

    from numpy.typing import NDArray

_RIDGE: Final = 1e-2
"""Keeps weights of metrics that say the same from growing against each other."""
_STEPS: Final = 30


def mean_of_ranks(columns: Sequence[Sequence[float]]) -> list[float]:
    """The mean of each pair's ranks among all pairs, in [0, 1]. Nothing is fitted."""
    found: list[float] = np.mean([ranks(column) for column in columns], axis=0).tolist()
    return found


@dataclass(frozen=True, slots=True)
class Fit:
    """A logistic curve over standardised scores."""

    means: NDArray[np.float64]
    spreads: NDArray[np.float64]
    weights: NDArray[np.float64]
    """The first is the intercept, then one for each metric, per standard deviation."""

    def predict(self, columns: Sequence[Sequence[float]]) -> list[float]:
        """Expected similarity of each pair, in (0, 1)."""
        found: list[float] = _curve(_design(columns, self.means, self.spreads) @ self.weights).tolist()
        return found


def fit(columns: Sequence[Sequence[float]], truth: Sequence[float]) -> Fit:
    """Fit to a truth in [0, 1] by Newton's method, with a slight ridge.

    Deterministic. A constant column gets the weight 0.
    """
    scores = np.asarray(columns, dtype=float)
    means, spreads = scores.mean(axis=1), scores.std(axis=1)
    spreads[spreads == 0] = np.inf
    design = _design(columns, means, spreads)
    wanted, weights = np.asarray(truth, dtype=float), np.zeros(design.shape[1])
    ridge = _RIDGE * len(wanted) * np.eye(design.shape[1])
    ridge[0, 0] = 0.0
    for _ in range(_STEPS):
        now = _curve(design @ weights)
        slope = design.T @ (wanted - now) - ridge @ weights
        bend = (design * (now * (1 - now))[:, None]).T @ design + ridge
        step = np.linalg.solve(bend, slope)
        weights = weights + step
        if np.abs(step).max() < 1e-9:  # noqa: PLR2004 - converged
            break
    return Fit(means, spreads, weights)


def _design(
    columns: Sequence[Sequence[float]], means: NDArray[np.float64], spreads: NDArray[np.float64]
) -> NDArray[np.float64]:
    scores = (np.asarray(columns, dtype=float) - means[:, None]) / spreads[:, None]
    return np.vstack([np.ones(scores.shape[1]), scores]).T


def _curve(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(1 / (1 + np.exp(-values)), dtype=np.float64)


def halves(count: int, rng: random.Random) -> tuple[list[int], list[int]]:
    """The places of two random halves, each in order."""
    places = rng.sample(range(count), count)
    return sorted(places[: count // 2]), sorted(places[count // 2 :])


def held_out(
    columns: Sequence[Sequence[float]], truth: Sequence[float], fitted: Sequence[int], told: Sequence[int]
) -> list[float]:
    """What a fit on some pairs expects of others, in the order of `told`."""
    curve = fit([_at(column, fitted) for column in columns], _at(truth, fitted))
    return curve.predict([_at(column, told) for column in columns])


def _at(values: Sequence[float], places: Sequence[int]) -> list[float]:
    return [values[place] for place in places]
