"""Segments of a cell's traffic: a client, a prompt version, a task, a language, a tool.

A model that fails one client in twenty hardly moves the mean of all. So each segment that people can name has
an e-detector of its own against a higher limit (20 points above the cell's), and the evidence is their
average: an average of e-detectors is an e-detector whatever they share. The number of places is fixed, so
that a segment that appears later needs no other level than the first.

**The promise.** A segment with a twentieth of the cell's trials, of which nine in ten come to move, is found
within about 2,100 of the cell's trials (372 to 2,082 in four simulated logs: `docs/research/detection.md`).

A value that has more than half of the trials is no segment: the cell itself watches it. Each dimension has
sixteen places; one that has not been seen for a thousand trials gives its place to a new value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from evenkeel.monitor.detect.e_detector import BlockLimit, DetectorRun, EDetector, bets_against

if TYPE_CHECKING:
    from collections.abc import Mapping

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


class TrafficSegment:
    """Trials of one segment, and the evidence that they are over the limit."""

    __slots__ = ("detector", "differences", "last", "run", "weight")

    def __init__(self, line: float) -> None:
        self.detector = EDetector(bets_against(line))
        self.run = DetectorRun()
        self.differences: dict[float, int] = {}
        """Pairs by how much more the variant moved than its resend."""
        self.weight = 0.0
        """Weight of the trials in shares, as of `last`."""
        self.last = 0
        """Number of its last trial among the cell's."""

    @property
    def trials(self) -> int:
        """Pairs of the segment."""
        return sum(self.differences.values())

    def share_weight(self, now: int) -> float:
        """Return its weight in the latest trials, with `now` trials in the cell."""
        return float(self.weight * _KEPT ** (now - self.last))


class Segments:
    """Segments of one cell, in bounded memory. Not thread-safe."""

    __slots__ = ("_limit", "_line", "_places", "trials")

    def __init__(self, line: float) -> None:
        """Watch for segments whose mean difference is above `line`."""
        self._line = line
        self._places: dict[SegmentName, TrafficSegment] = {}
        self._limit = BlockLimit()
        self.trials = 0

    @property
    def places(self) -> Mapping[SegmentName, TrafficSegment]:
        """Segments that have a place."""
        return self._places

    @property
    def evidence(self) -> float:
        """Average evidence of all places that a segment is over the limit."""
        total = 0.0
        for segment in self._places.values():
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
            name = SegmentName(dimension, value)
            segment = self._places.get(name) or self._place(name)
            if segment is None:
                continue
            observed_segments.append(name)
            segment.weight = segment.share_weight(self.trials) + 1
            segment.last = self.trials
            if difference is None:
                continue
            # Before this trial is counted: whether it is bet on must not depend on it.
            if self.trials > _FEWEST and segment.trials <= _LARGEST * self.trials:
                segment.detector.update(difference, weight, effect)
                segment.run.update(difference, difference - self._line, weight)
            segment.differences[difference] = segment.differences.get(difference, 0) + 1
        factor = self._limit.excess(self.evidence)
        if factor < 1:
            for segment in self._places.values():
                segment.detector.scale(factor)
        return observed_segments

    def _place(self, name: SegmentName) -> TrafficSegment | None:
        """Return a new segment if its dimension has a place for it."""
        others = [other for other in self._places if other.dimension == name.dimension]
        if len(others) >= PLACES:
            idlest = min(others, key=lambda other: self._places[other].last)
            if self.trials - self._places[idlest].last < _IDLE:
                return None
            del self._places[idlest]
        segment = self._places[name] = TrafficSegment(self._line)
        return segment

    def leading(self) -> SegmentName | None:
        """Return the segment with most evidence; None without any."""
        if not self._places:
            return None
        return max(self._places, key=lambda name: self._places[name].detector.evidence)

    def forget_evidence(self) -> None:
        """Let the evidence start again from nothing; counts stay."""
        self._limit = BlockLimit()
        for segment in self._places.values():
            segment.detector, segment.run = EDetector(bets_against(self._line)), DetectorRun()

    def shares(self, dimension: Dimension) -> dict[str, float]:
        """Return the share of each value in about the latest 1,000 trials, the largest first."""
        weights = {}
        for name, segment in self._places.items():
            if name.dimension == dimension:
                weights[name.value] = segment.share_weight(self.trials)
        total = sum(weights.values())
        ordered = sorted(weights.items(), key=lambda item: (-item[1], item[0]))
        return {value: weight / total for value, weight in ordered}

    def to_json(self) -> list[Any]:
        """Return the state as JSON values; floats survive exactly."""
        segments_json = []
        for name, segment in self._places.items():
            run = segment.run
            differences = [[value, count] for value, count in segment.differences.items()]
            totals = [run.trials, run.total, run.drift, run.weight]
            wealth = segment.detector.wealth if segment.detector.evidence else []
            segments_json.append([*name, wealth, totals, differences, segment.weight, segment.last])
        return [self.trials, self._limit.to_json(), self._line, segments_json]

    @classmethod
    def from_json(cls, raw: list[Any], line: float) -> Segments:
        """Read what `to_json` wrote; evidence under another limit starts again."""
        segments = cls(line)
        segments.trials, limit, written, segments_json = raw
        for dimension, value, wealth, run, differences, weight, last in segments_json:
            segment = segments._places[SegmentName(dimension, value)] = TrafficSegment(line)
            segment.differences = dict(map(tuple, differences))
            segment.weight, segment.last = weight, last
            if written == line:
                segment.run = DetectorRun(*run)
                if len(wealth) == len(segment.detector.wealth):
                    segment.detector = EDetector(segment.detector.bets, wealth)
        if written == line:
            segments._limit = BlockLimit.from_json(limit)
        return segments
