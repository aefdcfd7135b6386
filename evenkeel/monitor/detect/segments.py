"""Segments of a cell's traffic: a client, a prompt version, a task, a language, a tool.

A model that fails one client in twenty hardly moves the mean of all. So each segment that people can name has
an e-detector of its own against a higher limit (20 points above the cell's), and the evidence is their
average: an average of e-detectors is an e-detector whatever they share. The number of places is fixed, so
that a segment that appears later needs no other level than the first.

**The promise.** A segment with a twentieth of the cell's trials, of which nine in ten come to move, is found
within about 2,600 of the cell's trials (368 to 2,575 in 24 simulated logs: `docs/research/detection.md`).

A value that has more than half of the trials is no segment: the cell itself watches it. Each dimension has
sixteen places; one that has not been seen for a thousand trials gives its place to a new value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from msgspec import Struct, field

from evenkeel.monitor.detect.e_detector import BlockLimit, DetectorRun, EDetector, bets_against

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Dimension = Literal["client", "prompt_version", "task", "language", "tool"]
DIMENSIONS: Final[tuple[Dimension, ...]] = ("client", "prompt_version", "task", "language", "tool")
PLACES: Final = 16
"""Values of a dimension that are watched."""
# Trials of the cell without a value after which its place is free.
_IDLE: Final = 1_000
# Share of the trials above which a value is no segment.
_LARGEST: Final = 0.5
# Trials from which on a share is known.
_FEWEST: Final = 20
# Factor on a trial's weight for each later trial of the cell: shares are those of about the latest 1,000.
_KEPT: Final = 1 - 1 / 1000


class SegmentName(NamedTuple):
    """Name of a segment."""

    dimension: Dimension
    value: str

    def __str__(self) -> str:
        return f"{self.dimension.replace('_', ' ')} {self.value}"


class TrafficSegment(Struct, dict=True):
    """Trials of one segment, and the evidence that they are over the limit."""

    line: float
    wealth: list[float] = field(default_factory=list)
    """Wealth of the detector's gamblers; empty before the first bet."""
    run: DetectorRun = field(default_factory=DetectorRun)
    differences: dict[float, int] = field(default_factory=dict)
    """Pairs by how much more the variant moved than its resend."""
    weight: float = 0.0
    """Weight of the trials in shares, as of `last`."""
    last: int = 0
    """Number of its last trial among the cell's."""

    def __post_init__(self) -> None:
        self.detector = EDetector(bets_against(self.line), self.wealth or None)

    def bet(self, difference: float, weight: float, effect: float) -> None:
        """Take a difference as evidence."""
        self.detector.update(difference, weight, effect)
        self.wealth = self.detector.wealth
        self.run.update(difference, difference - self.line, weight)

    def scale(self, factor: float) -> None:
        """Take evidence away by a factor of at most 1."""
        self.detector.scale(factor)
        self.wealth = self.detector.wealth

    def forget_evidence(self) -> None:
        """Let the evidence start again from nothing; counts stay."""
        self.wealth, self.run = [], DetectorRun()
        self.detector = EDetector(bets_against(self.line))

    @property
    def trials(self) -> int:
        """Pairs of the segment."""
        return sum(self.differences.values())

    def share_weight(self, now: int) -> float:
        """Return its weight in the latest trials, with `now` trials in the cell."""
        return float(self.weight * _KEPT ** (now - self.last))


class Segments(Struct):
    """Segments of one cell whose mean difference may be above a line, in bounded memory. Not thread-safe."""

    line: float
    trials: int = 0
    places: dict[str, dict[str, TrafficSegment]] = field(default_factory=dict)
    """Segments that have a place, by dimension and value."""
    limit: BlockLimit = field(default_factory=BlockLimit)

    def named(self) -> Iterator[tuple[SegmentName, TrafficSegment]]:
        """Yield the segments that have a place, with their names."""
        for dimension in DIMENSIONS:
            for value, segment in self.places.get(dimension, {}).items():
                yield SegmentName(dimension, value), segment

    def find(self, name: SegmentName | None) -> TrafficSegment | None:
        """Return a segment by its name; None if it has no place."""
        return None if name is None else self.places.get(name.dimension, {}).get(name.value)

    @property
    def evidence(self) -> float:
        """Average evidence of all places that a segment is over the limit."""
        total = 0.0
        for segments in self.places.values():
            for segment in segments.values():
                total += segment.detector.evidence
        return total / (PLACES * len(DIMENSIONS))

    def observe(
        self, names: Mapping[Dimension, str], difference: float | None, weight: float, effect: float
    ) -> list[SegmentName]:
        """Take the next trial of the cell; return the segments with a place that it belongs to.

        Args:
            names: Value of the trial in each dimension that is known.
            difference: How much more the variant moved than its resend; None if that is not known.
            weight: Weight of the trial, in (0, 1].
            effect: Design effect of the cell.
        """
        self.trials += 1
        observed_segments = []
        for dimension, value in names.items():
            segment = self.places.get(dimension, {}).get(value) or self._place(dimension, value)
            if segment is None:
                continue
            observed_segments.append(SegmentName(dimension, value))
            segment.weight = segment.share_weight(self.trials) + 1
            segment.last = self.trials
            if difference is None:
                continue
            # Before this trial is counted: whether it is bet on must not depend on it.
            if self.trials > _FEWEST and segment.trials <= _LARGEST * self.trials:
                segment.bet(difference, weight, effect)
            # A key is the same number before and after a restart: JSON would keep 1 and 1.0 apart.
            key = float(difference)
            segment.differences[key] = segment.differences.get(key, 0) + 1
        factor = self.limit.excess(self.evidence)
        if factor < 1:
            for _, segment in self.named():
                segment.scale(factor)
        return observed_segments

    def _place(self, dimension: Dimension, value: str) -> TrafficSegment | None:
        others = self.places.setdefault(dimension, {})
        if len(others) >= PLACES:
            idlest = min(others, key=lambda other: others[other].last)
            if self.trials - others[idlest].last < _IDLE:
                return None
            # Its evidence goes with it: a gambler who has left wins nothing more, which keeps the promise.
            del others[idlest]
        segment = others[value] = TrafficSegment(self.line)
        return segment

    def leading(self) -> SegmentName | None:
        """Return the segment with most evidence; None without any."""
        leading, most = None, -1.0
        for name, segment in self.named():
            if segment.detector.evidence > most:
                leading, most = name, segment.detector.evidence
        return leading

    def forget_evidence(self) -> None:
        """Let the evidence start again from nothing; counts stay."""
        self.limit = BlockLimit()
        for _, segment in self.named():
            segment.forget_evidence()

    def move_line(self, line: float) -> None:
        """Watch another line: what was evidence against the former one says nothing."""
        if line == self.line:
            return
        self.line = line
        for _, segment in self.named():
            segment.line = line
        self.forget_evidence()

    def shares(self, dimension: Dimension) -> dict[str, float]:
        """Return the share of each value in about the latest 1,000 trials, the largest first."""
        weights = {}
        for value, segment in self.places.get(dimension, {}).items():
            weights[value] = segment.share_weight(self.trials)
        total = sum(weights.values())
        ordered = sorted(weights.items(), key=lambda item: (-item[1], item[0]))
        shares = {}
        for value, weight in ordered:
            shares[value] = weight / total
        return shares
