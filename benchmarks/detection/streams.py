"""What a cell observes: independent draws from few values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

RATES: Final = (0.05, 0.1, 0.2, 0.3, 0.5)
SHIFTS: Final = (0.05, 0.1, 0.15, 0.2, 0.3)


@dataclass(frozen=True, slots=True)
class Stream:
    """A distribution on few values."""

    values: tuple[float, ...]
    chances: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Of an observation."""
        return sum(value * chance for value, chance in zip(self.values, self.chances, strict=True))

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> NDArray[np.intp]:
        """Numbers of values."""
        edges = np.cumsum(self.chances[:-1])
        drawn = rng.random(shape)
        index: NDArray[np.intp] = (drawn >= edges[0]).astype(np.intp)
        for edge in edges[1:]:
            index += drawn >= edge
        return index


def rate(chance: float) -> Stream:
    """Something that happens or not."""
    return Stream((0.0, 1.0), (1 - chance, chance))


def difference(baseline: float, excess: float) -> Stream:
    """Paired differences: the resend shifts at the baseline rate, the variant more often, independently."""
    variant = baseline + excess
    plus, minus = variant * (1 - baseline), baseline * (1 - variant)
    return Stream((0.0, 1.0, -1.0), (1 - plus - minus, plus, minus))


def scores(mean: float, spread: float) -> Stream:
    """Scores in [0, 1]: a beta distribution of that mean and standard deviation, in 101 steps.

    The mean of the steps is then moved to the one asked for, by moving a little weight to an end.
    """
    size = mean * (1 - mean) / spread**2 - 1
    values = np.linspace(0, 1, 101)
    inner = values[1:-1]
    logs = (mean * size - 1) * np.log(inner) + ((1 - mean) * size - 1) * np.log(1 - inner)
    chances = np.zeros(101)
    chances[1:-1] = np.exp(logs - logs.max())
    chances /= chances.sum()
    have = float(values @ chances)
    end, weight = (-1, (mean - have) / (1 - have)) if have < mean else (0, (have - mean) / have)
    chances *= 1 - weight
    chances[end] += weight
    return Stream(tuple(values), tuple(chances))
