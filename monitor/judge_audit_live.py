"""The light form for production: a few judged pairs are judged again, and the counts kept."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from evenkeel.core.verdict import Failure
from evenkeel.monitor.estimate import paired_excess, proportion

if TYPE_CHECKING:
    from random import Random

    from evenkeel.core.cells import Estimate
    from evenkeel.core.pair import Pair
    from evenkeel.metrics.similarity.protocol import Rater

_MOST_REASONS = 32
_OTHER_REASON = "other"


@dataclass(frozen=True, slots=True)
class Recheck:
    """A pair judged three times: at first, the same again, and with its sides swapped."""

    first: int
    """On the scale 1–3."""
    again: int | Failure
    swapped: int | Failure
    tokens: int = 0
    """Spent on the two additional ratings."""
    cost_usd: float = 0.0


async def recheck(pair: Pair, first: int, judge: Rater) -> Recheck:
    """Judge a pair twice more.

    Args:
        pair: as it was judged at first.
        first: that rating. It must be the judge's own, not one of the cheap metrics.
        judge: the same judge.
    """
    again = await judge.rate(pair)
    swapped = await judge.rate(replace(pair, reference=pair.candidate, candidate=pair.reference))
    return Recheck(
        first,
        again.outcome,
        swapped.outcome,
        again.tokens + swapped.tokens,
        again.cost_usd + swapped.cost_usd,
    )


@dataclass(frozen=True, slots=True)
class LiveReport:
    """The judge against itself. Estimates are confidence sequences; None below the minimum count."""

    noise: Estimate | None
    """P(another rating for the same pair once more): what any judged rate contains of mere chance."""
    swap_consistency: Estimate | None
    """P(the same rating with the sides swapped). Contains the noise."""
    position_effect: Estimate | None
    """P(changed by swapping) − P(changed by asking again), paired, in [−1, 1]: what the order adds."""
    rechecks: int
    """Pairs judged again, with whatever outcome."""
    failures: dict[str, int]
    """Second ratings that failed, by reason."""
    tokens: int
    cost_usd: float


@dataclass(slots=True)
class LiveAudit:
    """Running counts of a judge's rechecks. Not thread-safe; survives a restart as JSON."""

    rechecks: int = 0
    same_again: int = 0
    other_again: int = 0
    same_swapped: int = 0
    other_swapped: int = 0
    only_swapped: int = 0
    """Pairs that changed by swapping but not by asking again."""
    only_again: int = 0
    both_or_neither: int = 0
    failures: dict[str, int] = field(default_factory=dict)
    tokens: int = 0
    cost_usd: float = 0.0

    @staticmethod
    def picks(share: float, rng: Random) -> bool:
        """Whether a pair just judged shall be judged again.

        Args:
            share: of the judged pairs, in [0, 1]. 0.02 costs four per cent more judge calls.
            rng: seeded by the caller, e.g. from the exchange's id, so that a replay picks the same.
        """
        return rng.random() < share

    def add(self, outcome: Recheck) -> None:
        """Count a recheck."""
        self.rechecks += 1
        self.tokens += outcome.tokens
        self.cost_usd += outcome.cost_usd
        again = self._changed(outcome.first, outcome.again)
        swapped = self._changed(outcome.first, outcome.swapped)
        if again is not None:
            self.other_again += again
            self.same_again += not again
        if swapped is not None:
            self.other_swapped += swapped
            self.same_swapped += not swapped
        if again is None or swapped is None:
            return
        if again == swapped:
            self.both_or_neither += 1
        elif swapped:
            self.only_swapped += 1
        else:
            self.only_again += 1

    def _changed(self, first: int, then: int | Failure) -> bool | None:
        if isinstance(then, Failure):
            known = then.reason in self.failures or len(self.failures) < _MOST_REASONS
            reason = then.reason if known else _OTHER_REASON
            self.failures[reason] = self.failures.get(reason, 0) + 1
            return None
        return then != first

    def report(self, *, alpha: float = 0.05, min_rechecks: int = 20) -> LiveReport:
        """What the counts say.

        Args:
            alpha: each interval misses the truth at some time with at most this probability.
            min_rechecks: an estimate with fewer observations is None.
        """

        def rate(count: int, n: int) -> Estimate | None:
            return proportion(count, n, alpha=alpha) if n >= max(min_rechecks, 1) else None

        paired = self.only_swapped + self.only_again + self.both_or_neither
        return LiveReport(
            noise=rate(self.other_again, self.same_again + self.other_again),
            swap_consistency=rate(self.same_swapped, self.same_swapped + self.other_swapped),
            position_effect=paired_excess(
                self.only_swapped, self.only_again, self.both_or_neither, alpha=alpha
            )
            if paired >= max(min_rechecks, 1)
            else None,
            rechecks=self.rechecks,
            failures=dict(self.failures),
            tokens=self.tokens,
            cost_usd=self.cost_usd,
        )

    def to_json(self) -> dict[str, Any]:
        """The counts as JSON values."""
        return asdict(self)

    @classmethod
    def from_json(cls, raw: dict[str, Any]) -> LiveAudit:
        """Read what `to_json` wrote."""
        return cls(**raw)
