"""Permutation test: do the last answers to all references together differ from those before?

Ranks of single answers find a change within a few calls or not at all: soon the new answers are as many as
the old ones among which they are ranked. Here the order decides: of each reference's answers the last ones
count as new, and if nothing has changed any others of them might as well. So the chance that as many others,
drawn from each reference, are as unlike the rest as the new ones are is a p-value, whatever the noise. It
shrinks with every call, also where answers to one prompt differ almost as much among themselves.
"""

from __future__ import annotations

from collections import Counter
from hashlib import blake2b
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from evenkeel.core.sightings import PooledComparison
from evenkeel.shadow.references.ranking import alike, text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from evenkeel.stores.references import KeptAnswer, Reference

EVERY: Final = 24
"""Calls between two looks."""
WINDOWS: Final = (48, 96, 192)
"""Numbers of latest calls that count as new, each compared by itself."""
# Fewest references with old and new answers that a comparison needs.
_FEWEST: Final = 6
# Permutations drawn at once, after which it is decided whether more are worth their time.
_CHUNK: Final = 2_000
# Bounds the time of one test; p-values below its inverse are all the same to an alarm.
_MOST_DRAWS: Final = 2_000_000
# Multiple of the level's inverse. Draws end early once the p-value can no longer fall below it.
_HOPELESS: Final = 10.0
_SAME: Final = 1e-9
_EXAMPLES: Final = 8


class _Sides(NamedTuple):
    """The answers of one reference, the new ones last, and how like each is to each other."""

    reference: Reference
    answers: tuple[KeptAnswer, ...]
    new: int
    alike: NDArray[np.float64]

    @property
    def old(self) -> int:
        return len(self.answers) - self.new

    @property
    def between(self) -> float:
        """Mean likeness of new answers to old ones."""
        return float(self.alike[: self.old, self.old :].mean())

    @property
    def within(self) -> float:
        """Return the mean likeness of the old answers to each other; of the new ones if only one is old."""
        sums, pairs = 0.0, 0
        for side in (self.alike[: self.old, : self.old], self.alike[self.old :, self.old :]):
            sums += float(side.sum() - len(side))
            pairs += len(side) * (len(side) - 1)
            if self.old > 1:
                break
        return sums / pairs

    def gaps(self, labels: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return how much more alike answers are within a side than across, per row of labels (1 = new)."""
        old, new = self.old, self.new
        across = old * new
        same = old * (old - 1) / 2 + new * (new - 1) / 2
        between = ((labels @ self.alike) * (1 - labels)).sum(axis=1)
        every = (self.alike.sum() - len(self.alike)) / 2
        weight = across / (old + new)
        gaps: NDArray[np.float64] = weight * ((every - between) / same - between / across)
        return gaps


def pooled(
    references: Iterable[Reference],
    level: float,
    alike: Callable[[str, str], float] = alike,
) -> PooledComparison | None:
    """Return the most significant comparison of a requested model's references; None if none is possible.

    Its p-value is multiplied by the number of windows, for having been chosen among them, and is fine enough
    for `level`, the evidence at which a change is found. `alike` is symmetric, in [0, 1].
    """
    kept = list(references)
    times = _times_asked(kept)
    comparison: PooledComparison | None = None
    done: set[float] = set()
    for number, window in enumerate(WINDOWS):
        if len(times) < window // 2:
            break
        since = times[max(0, len(times) - window)]
        if since in done:
            break
        done.add(since)
        sides = []
        for reference in kept:
            if (sides_of := _sides(reference, since, alike)) is not None:
                sides.append(sides_of)
        if len(sides) < _FEWEST:
            continue
        p_value = min(1.0, len(WINDOWS) * _p_value(sides, level))
        if comparison is None or p_value < comparison.p_value:
            larger = WINDOWS[min(number + 1, len(WINDOWS) - 1)]
            after = times[max(0, len(times) - larger)]
            comparison = _said(sides, p_value, since, min(after, since))
    return comparison


def _times_asked(references: Iterable[Reference]) -> list[float]:
    times: list[float] = []
    for reference in references:
        for answer in reference.answers:
            if answer.source == "asked":
                times.append(answer.at)
    return sorted(times)


def _sides(reference: Reference, since: float, alike: Callable[[str, str], float]) -> _Sides | None:
    """Return the old and new answers. The original answer counts as neither, as it was asked differently."""
    answers: list[KeptAnswer] = []
    new = 0
    for answer in reference.answers:
        if answer.source != "original":
            answers.append(answer)
            new += answer.source == "asked" and answer.at >= since
    if new == 0 or new == len(answers) or len(answers) < 3:  # noqa: PLR2004 - two of one side, one of the other
        return None
    texts = [text_of(answer.answer) for answer in answers]
    matrix = np.ones((len(texts), len(texts)))
    for index in range(len(texts)):
        for other in range(index):
            matrix[index, other] = matrix[other, index] = alike(texts[other], texts[index])
    return _Sides(reference, tuple(answers), new, matrix)


def _p_value(sides: Sequence[_Sides], level: float) -> float:
    """Return the chance that random answers differ as much as the new ones, roughly if it is not small."""
    seed = blake2b("\0".join(f"{side.reference.id} {side.answers[-1].at!r}" for side in sides).encode())
    rng = np.random.default_rng(int.from_bytes(seed.digest()[:8], "big"))
    labels = []
    for side in sides:
        labels.append(np.array([[0.0] * side.old + [1.0] * side.new]))
    seen = sum(float(side.gaps(label)[0]) for side, label in zip(sides, labels, strict=True)) - _SAME
    draws = int(min(_MOST_DRAWS, max(_CHUNK, 2 * level)))
    extreme = done = 0
    while done < draws:
        count = min(_CHUNK, draws - done)
        extreme += int((_drawn(sides, count, rng) >= seen).sum())
        done += count
        if (1 + extreme) / (1 + draws) > _HOPELESS / level:
            break
    return (1 + extreme) / (1 + done)


def _drawn(sides: Sequence[_Sides], draws: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return sums of the gaps, with the new answers of each reference drawn at random."""
    sums = np.zeros(draws)
    for side in sides:
        order = rng.random((draws, len(side.answers))).argsort(axis=1)
        sums += side.gaps((order >= side.old).astype(np.float64))
    return sums


def _said(sides: Sequence[_Sides], p_value: float, since: float, after: float) -> PooledComparison:
    new: list[KeptAnswer] = []
    for side in sides:
        new += side.answers[side.old :]
    moved = sorted(sides, key=lambda side: (side.between - side.within, side.reference.id))
    models = Counter(answer.model for answer in new)
    fingerprints = Counter(answer.answer.system_fingerprint or "" for answer in new)
    del fingerprints[""]
    return PooledComparison(
        p_value=p_value,
        calls=len(new),
        since=since,
        after=after,
        likeness=float(np.mean([side.between for side in sides])),
        own=float(np.mean([side.within for side in sides])),
        models=_most_common(models),
        fingerprints=_most_common(fingerprints),
        references=tuple(side.reference.id for side in moved[:_EXAMPLES]),
    )


def _most_common(counts: Counter[str]) -> tuple[str, ...]:
    return tuple(name for name, _ in counts.most_common(_EXAMPLES))
