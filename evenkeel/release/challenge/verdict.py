"""The decision about a challenger: may switch, must not, or not yet, for the whole traffic and for parts.

Half of either error probability belongs to the whole traffic, the other half is divided among at most
twenty segments. So all statements about one challenger together are wrong with the stated probability at
most, at all times of looking.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Final, NamedTuple

from evenkeel.monitor.detect.decision import SwitchMeasure, decide, more_needed, rated_mean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.core.cells import Estimate
    from evenkeel.core.challenge import ChallengePair
    from evenkeel.monitor.detect.decision import Answer

ERROR_RATE: Final = 0.05
"""Probability with which "must not" is ever said falsely, and with which "may switch" is."""
SEGMENT_SHARE: Final = 0.05
"""Smallest share of the pairs at which a segment is watched by itself."""
SEGMENT_LIMIT: Final = 0.2
"""Net losses in a segment, in [0, 2], that must be ruled out before the whole may switch."""
MOST_SEGMENTS: Final = 20
# Fewest pairs at which a segment is watched. Few, because from then on it can hold the whole back.
_FEWEST: Final = 10
# A segment with this share of the pairs is nearly all of the traffic, and has nothing to add.
_WHOLE_SHARE: Final = 0.95
# Pairs beyond which "about N more" would be no help.
_MOST_MORE: Final = 100_000
_DIMENSIONS: Final = ("client", "task", "language", "length", "prompt_version")

WORSE: Final = "worse"
FRAGILE: Final = "fragile"
UNUSABLE: Final = "unusable"


@dataclass(frozen=True, slots=True)
class SegmentFigures:
    """Net losses in one segment of the traffic, and in the rest."""

    dimension: str
    name: str
    share: float
    """Share of all pairs, in (0, 1]."""
    worse: Estimate
    """Net losses in it, in [−2, 2]."""
    rest: Estimate
    """Net losses in the rest of the traffic."""

    @property
    def title(self) -> str:
        """Name for people, such as "language de"."""
        return f"{self.dimension.replace('_', ' ')} {self.name}"

    def holds(self, pair: ChallengePair) -> bool:
        """Return whether a pair belongs to it."""
        return str(getattr(pair, self.dimension)) == self.name


class OpenOutcome(NamedTuple):
    """A measure, or a segment, that is not known yet."""

    name: str
    more_pairs: int | None
    """Further pairs until it may be known, if its mean stays; None if nobody can say."""
    is_harmful: bool
    """True if its mean is above the margin, so that the switch will be forbidden if it stays."""


@dataclass(frozen=True, slots=True)
class ChallengeDecision:
    """Decision whether the candidate may take over, and how far it is."""

    answer: Answer
    because: tuple[str, ...]
    """Names of the measures and titles of the segments that forbid it or are not known yet; "judge" if there
    is none, "length" if the judge prefers a length and the lengths differ; () if it may."""
    may_for: SegmentFigures | None = None
    """Segment in which it must not, while it may for the rest of the traffic; None if there is none."""
    open: tuple[OpenOutcome, ...] = ()
    """Every measure and segment in `because` that is not known yet."""

    @property
    def more_pairs(self) -> int | None:
        """Further pairs until it may be settled, if all means stay; None if nobody can say."""
        harmful = [outcome.more_pairs for outcome in self.open if outcome.is_harmful and outcome.more_pairs]
        if harmful:
            # One harm is enough.
            return min(harmful)
        most = 0
        for outcome in self.open:
            if outcome.more_pairs is None:
                return None
            most = max(most, outcome.more_pairs)
        return most or None


def watched_segments(losses: Sequence[tuple[ChallengePair, float | None]]) -> tuple[SegmentFigures, ...]:
    """Return the segments that are large enough to be looked at by themselves.

    Args:
        losses: Pairs and their net losses, None if nobody could rate one, oldest first. A segment is chosen
            by its size alone and for good, so that looking at it costs no more than its share of the error
            rates.
    """
    seen: Counter[tuple[str, str]] = Counter()
    chosen: list[tuple[str, str]] = []
    for number, (pair, _) in enumerate(losses, start=1):
        # In the order of time, and for good: a segment chosen by its losses would be looked at too often.
        for dimension in _DIMENSIONS:
            segment = (dimension, str(getattr(pair, dimension)))
            seen[segment] += 1
            count = seen[segment]
            large = count >= max(_FEWEST, SEGMENT_SHARE * number)
            if segment[1] and large and segment not in chosen and len(chosen) < MOST_SEGMENTS:
                chosen.append(segment)
    rate = ERROR_RATE / 2 / MOST_SEGMENTS
    segments = []
    for dimension, name in chosen:
        share = seen[dimension, name] / len(losses)
        if share >= _WHOLE_SHARE:
            continue
        inside: list[float | None] = []
        outside: list[float | None] = []
        for pair, loss in losses:
            if str(getattr(pair, dimension)) == name:
                inside.append(loss)
            else:
                outside.append(loss)
        worse = rated_mean(inside, high=2.0, alpha=rate)
        rest = rated_mean(outside, high=2.0, alpha=rate)
        if worse is not None and rest is not None:
            segments.append(SegmentFigures(dimension, name, share, worse, rest))
    return tuple(segments)


def whole_rates(measures: int) -> tuple[float, float]:
    """Return the error probabilities of the lower and the upper ends of the whole traffic's measures."""
    # A false "must not" may come from any measure; for a false "may switch" one particular end has to miss.
    return ERROR_RATE / 2 / measures, ERROR_RATE / 2


def decided(
    measures: Sequence[SwitchMeasure],
    segments: Sequence[SegmentFigures],
    pairs: int,
    *,
    judge: bool,
    length: bool,
) -> ChallengeDecision:
    """Return the decision.

    Args:
        measures: Of the whole traffic; the first is the rate of net losses.
        segments: See `watched_segments`.
        pairs: Number of pairs so far.
        judge: Whether there is a judge; without one "may switch" is never said.
        length: Whether the judge is shown to prefer a length by which the two models differ.
    """
    whole = decide(measures)
    margin = measures[0].margin
    harmed = [segment for segment in segments if segment.worse.lower > margin]
    spared: list[SegmentFigures] = []
    # The rest of the traffic may switch only if nothing else speaks against it.
    if decide(measures[1:]).answer == "may_switch":
        spared = [segment for segment in harmed if segment.rest.upper < margin]
    # A judge that looks at length cannot be asked; what needs no judge may still forbid the switch.
    if length and (judge or whole.answer != "must_not"):
        return ChallengeDecision("not_yet", ("length",))
    if whole.answer == "must_not" or harmed:
        because = (whole.because if whole.answer == "must_not" else ()) + _titles(harmed)
        return ChallengeDecision(
            "must_not", because, may_for=min(spared, key=attrgetter("share"), default=None)
        )
    open_segments = [segment for segment in segments if segment.worse.upper >= SEGMENT_LIMIT]
    because = whole.because + _titles(open_segments)
    if not judge:
        return ChallengeDecision("not_yet", ("judge",))
    if not because:
        return ChallengeDecision("may_switch", ())
    outcomes: list[OpenOutcome] = []
    for measure in measures:
        if measure.name in whole.because:
            outcomes.append(_open_outcome(measure.name, measure.mean, measure.margin, pairs))
    for segment in open_segments:
        outcomes.append(_open_outcome(segment.title, segment.worse, SEGMENT_LIMIT, pairs))
    return ChallengeDecision("not_yet", because, open=tuple(outcomes))


def _titles(segments: Sequence[SegmentFigures]) -> tuple[str, ...]:
    return tuple(segment.title for segment in segments)


def _open_outcome(name: str, mean: Estimate | None, margin: float, pairs: int) -> OpenOutcome:
    if mean is None:
        return OpenOutcome(name, None, is_harmful=False)
    # Some measures and all segments have an observation in every few pairs only, and that stays so.
    more = more_needed(mean, margin, pairs)
    known = more is not None and more <= _MOST_MORE
    return OpenOutcome(name, more if known else None, is_harmful=mean.value > margin)
