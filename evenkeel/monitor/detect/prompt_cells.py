"""Cells of like prompts: the kinds of question a route is asked, found from sketches of its prompts.

Answers are compared within a cell only, so that other questions are not taken for another model. Cells follow
the traffic slowly: they are found anew every 150 prompts from a sample of the last thousand or so.
"""

from __future__ import annotations

import base64
import math
import zlib
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.floating[Any]]

DIMENSIONS: Final = 32
"""Of a sketch."""
_LARGEST: Final = 127
_RECENT: Final = 200
"""Prompts among which repeats are counted."""
_REPEATS: Final = 3
"""So many near-equal prompts of the last ones are admitted."""
_NEAR: Final = 0.985
"""Cosine of near-equal prompts, where different ones are usually less like each other."""
_EQUAL: Final = 0.9995
"""Cosine of prompts that are near-equal however like each other different ones are."""
_OFTEN: Final = 0.9
"""Of pairs in a cell, which are less like each other than near-equal prompts are."""
_SAMPLE: Final = 300
_SLOWNESS: Final = 4
"""Every so many prompts one of the sample is replaced: it spans some 1,200."""
_GOLDEN: Final = 0.6180339887498949
_FIRST: Final = 60
"""Prompts from which cells are first found."""
_EACH: Final = 150
_MOST: Final = 10
"""Cells."""
_FEWEST: Final = 6
"""Prompts of the sample in a cell that has its own limits."""
_CANDIDATES: Final = 24
_ROUNDS: Final = 6
_ODD: Final = 0.05
"""Share of a cell's prompts that are too far from its middle to be compared."""
_UNLIKE: Final = 0.2
"""Share of a cell's pairs that are too unlike each other."""
_LEAST_SHARE: Final = 0.02
_TINY: Final = np.float32(1e-6)


def packed(values: NDArray[Any]) -> str:
    """An array as text."""
    return base64.b64encode(zlib.compress(values.tobytes())).decode()


def unpacked(written: str, kind: type[Any]) -> NDArray[Any]:
    """Read what `packed` wrote."""
    return np.frombuffer(zlib.decompress(base64.b64decode(written)), dtype=kind).copy()


class Sketch(NamedTuple):
    """A sketch of a prompt."""

    written: NDArray[np.int8]
    direction: Floats
    """The same of length one; zeros for an empty one."""

    @classmethod
    def of(cls, numbers: Sequence[int]) -> Sketch | None:
        """From so many numbers in [-127, 127]; None from others."""
        if len(numbers) != DIMENSIONS or not max(numbers) <= _LARGEST >= -min(numbers):
            return None
        written = np.array(numbers, dtype=np.int8)
        return cls(written, _direction(written))


def _direction(written: NDArray[np.int8]) -> Floats:
    found = written.astype(np.float32)
    return found / np.float32(math.sqrt(float(found @ found)) or 1.0)


class Sketches:
    """Sketches of prompts in so many places, each with its owner or free."""

    def __init__(self, places: int) -> None:
        self._written = np.zeros((places, DIMENSIONS), dtype=np.int8)
        self.directions: Floats = np.zeros((places, DIMENSIONS), dtype=np.float32)
        self.owners: NDArray[np.int64] = np.full(places, -1, dtype=np.int64)

    @property
    def count(self) -> int:
        """Places in use."""
        return int(np.count_nonzero(self.owners >= 0))

    def free_place(self) -> int | None:
        """A place that is free, None if all are in use."""
        place = int(np.argmin(self.owners))
        return place if self.owners[place] < 0 else None

    def put(self, place: int, sketch: Sketch, owner: int) -> None:
        """Fill a place."""
        self._written[place] = sketch.written
        self.directions[place] = sketch.direction
        self.owners[place] = owner

    def free(self, place: int) -> None:
        """Give a place back."""
        self.owners[place] = -1

    def disown(self, owner: int) -> None:
        """Give all places of an owner back."""
        self.owners[self.owners == owner] = -1

    def to_json(self) -> list[Any]:
        """As JSON values."""
        return [packed(self._written), self.owners.tolist()]

    def read(self, raw: list[Any]) -> None:
        """Take what `to_json` wrote."""
        self._written = unpacked(raw[0], np.int8).reshape(self._written.shape)
        self.directions = np.array([_direction(one) for one in self._written])
        self.owners = np.array(raw[1], dtype=np.int64)


class PromptCells:
    """The cells of a test's prompts. What it says of a prompt follows from prompts alone."""

    def __init__(self) -> None:
        """Begin without cells."""
        self._seen = 0
        self._recent = Sketches(_RECENT)
        self._sample = Sketches(_SAMPLE)
        self._middles: Floats = np.zeros((0, DIMENSIONS), dtype=np.float32)
        self._limits: Floats = np.zeros((3, 0), dtype=np.float32)
        """By cell: cosine to the middle below which a prompt is odd, cosine below which a pair is unlike, and
        above which two prompts are near-equal."""
        self._shares: dict[tuple[int, int], float] = {}
        self.found = 0
        """How often cells were found."""

    def __len__(self) -> int:
        return len(self._middles)

    def is_repeat(self, sketch: Sketch, group: int) -> bool:
        """Take a prompt. Returns: whether there were enough near-equal ones among the last of its group."""
        self._seen += 1
        place = self._seen % _RECENT
        self._recent.free(place)
        cell = self.cell(sketch)
        near = _NEAR if cell < 0 else self._limits[2, cell]
        likeness = self._recent.directions @ sketch.direction
        if np.count_nonzero((likeness > near) & (self._recent.owners == group)) >= _REPEATS:
            return True
        self._recent.put(place, sketch, group)
        self._learn(sketch, group)
        return False

    def cell(self, sketch: Sketch) -> int:
        """The cell of a prompt; -1 while there are none."""
        return int((self._middles @ sketch.direction).argmax()) if len(self._middles) else -1

    def cells(self, directions: Floats) -> NDArray[np.int64]:
        """The same for many, by their directions. Valid until `found` changes."""
        if not len(self._middles):
            return np.full(len(directions), -1, dtype=np.int64)
        found: NDArray[np.int64] = np.argmax(directions @ self._middles.T, axis=1)
        return found

    def is_odd(self, sketch: Sketch, cell: int) -> bool:
        """Whether a prompt is too unlike its cell to be compared."""
        return bool(self._middles[cell] @ sketch.direction < self._limits[0, cell])

    def least_likeness(self, cell: int) -> float:
        """The cosine below which two prompts of a cell are too unlike each other."""
        return float(self._limits[1, cell])

    def share(self, group: int, cell: int) -> float:
        """Share of the traffic that a group has in a cell."""
        return self._shares.get((group, cell), _LEAST_SHARE)

    def disown(self, group: int) -> None:
        """Forget the prompts of a group."""
        self._recent.disown(group)
        self._sample.disown(group)

    def _learn(self, sketch: Sketch, group: int) -> None:
        place = self._sample.free_place()
        if place is None and self._seen % _SLOWNESS == 0:
            place = int(self._seen // _SLOWNESS * _GOLDEN * _SAMPLE) % _SAMPLE
        if place is not None:
            self._sample.put(place, sketch, group)
        if self._seen % _EACH == 0 or not len(self._middles):
            self._find()

    def _find(self) -> None:
        """Find the cells anew."""
        used = self._sample.owners >= 0
        prompts, owners = self._sample.directions[used], self._sample.owners[used]
        if len(prompts) < _FIRST:
            return
        self._middles = _middles(prompts, min(_MOST, len(prompts) // 10))
        likeness = prompts @ self._middles.T
        cells = likeness.argmax(axis=1)
        nearest = likeness.max(axis=1)
        usual = _quantile(nearest, _ODD)
        self._limits = np.empty((3, len(self._middles)), dtype=np.float32)
        for cell in range(len(self._middles)):
            those = np.flatnonzero(cells == cell)
            if len(those) < _FEWEST:
                self._limits[:, cell] = usual, usual, _NEAR
                continue
            pairs = (prompts[those] @ prompts[those].T)[np.triu_indices(len(those), 1)]
            near = min(max(_quantile(pairs, _OFTEN), _NEAR), _EQUAL)
            self._limits[:, cell] = _quantile(nearest[those], _ODD), _quantile(pairs, _UNLIKE), near
        self.found += 1
        counts: dict[tuple[int, int], int] = {}
        for key in zip(owners.tolist(), cells.tolist(), strict=True):
            counts[key] = counts.get(key, 0) + 1
        self._shares = {key: max(count / len(prompts), _LEAST_SHARE) for key, count in counts.items()}

    def to_json(self) -> list[Any]:
        """As JSON values; everything survives exactly."""
        return [
            self._seen,
            self.found,
            self._recent.to_json(),
            self._sample.to_json(),
            packed(self._middles),
            packed(self._limits),
            [[*key, share] for key, share in self._shares.items()],
        ]

    def read(self, raw: list[Any]) -> None:
        """Take what `to_json` wrote."""
        self._seen, self.found, recent, sample, middles, limits, shares = raw
        self._recent.read(recent)
        self._sample.read(sample)
        self._middles = unpacked(middles, np.float32).reshape(-1, DIMENSIONS)
        self._limits = unpacked(limits, np.float32).reshape(3, -1)
        self._shares = {(group, cell): share for group, cell, share in shares}


def _middles(prompts: Floats, count: int) -> Floats:
    """Spherical k-means, begun with the prompts that lower the sum of distances most."""
    candidates = prompts[:: max(1, len(prompts) // _CANDIDATES)]
    distances = 1 - prompts @ candidates.T
    chosen = [int(np.argmin(distances.sum(axis=0)))]
    best = distances[:, chosen[0]]
    while len(chosen) < count:
        sums = np.minimum(best[:, None], distances).sum(axis=0)
        chosen.append(int(np.argmin(sums)))
        best = np.minimum(best, distances[:, chosen[-1]])
    middles = candidates[chosen].copy()
    for _ in range(_ROUNDS):
        nearest = (prompts @ middles.T).argmax(axis=1)
        sums = (nearest == np.arange(count)[:, None]).astype(np.float32) @ prompts
        lengths = np.sqrt((sums**2).sum(axis=1, keepdims=True))
        middles = np.where(lengths > 0, sums / np.maximum(lengths, _TINY), middles)
    return middles


def _quantile(values: Floats, share: float) -> float:
    place = int(share * (len(values) - 1))
    return float(np.partition(values, place)[place])
