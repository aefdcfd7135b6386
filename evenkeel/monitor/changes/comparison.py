"""Comparison of the traffic before and after a change, the basis of a change report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from evenkeel.core.cells import Estimate
from evenkeel.core.together import together_count
from evenkeel.core.verdict import BASELINE
from evenkeel.monitor.estimate import Counts, proportion

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from evenkeel.monitor.changes.record import ChangeTally


@dataclass(frozen=True, slots=True)
class Sides:
    """Estimates of one figure before and after a change; None where there are too few observations."""

    before: Estimate | None
    after: Estimate | None

    @property
    def difference(self) -> Estimate | None:
        """Difference after minus before, in [−1, 1]; None if either estimate is missing.

        If both intervals contain their true values, this one contains the true difference.
        """
        before, after = self.before, self.after
        if before is None or after is None:
            return None
        lower, upper = after.lower - before.upper, after.upper - before.lower
        return Estimate(after.value - before.value, lower, upper, min(before.n, after.n))

    @property
    def moved(self) -> bool:
        """True if the two intervals do not overlap."""
        return self.difference is not None and (self.difference.lower > 0 or self.difference.upper < 0)

    @property
    def rose(self) -> bool:
        """True if the figure rose by more than its uncertainty."""
        return self.difference is not None and self.difference.lower > 0


# A comparison counts as measured if the half width of its interval, in shares, is at most this.
_TELLING: Final = 0.3
# Total variation distance from which on two sides count as different traffic. With a hundred exchanges,
# chance alone reaches 0.15.
_OTHER_TRAFFIC: Final = 0.3
# Fewest exchanges of a side that show what its traffic is like.
_FEWEST_EXCHANGES: Final = 100


def shifted_traits(before: ChangeTally, after: ChangeTally) -> dict[str, str]:
    """Return the traits of prompts whose values differ between the two sides, each in a few words.

    A trait differs if the total variation distance of the two sides is at least 0.3.
    """
    shifted: dict[str, str] = {}
    if min(before.exchanges, after.exchanges) < _FEWEST_EXCHANGES:
        return shifted
    for trait in sorted(before.traits.keys() & after.traits.keys()):
        old, new = before.traits[trait], after.traits[trait]
        moves = {}
        for value in old.keys() | new.keys():
            moves[value] = _share_of(value, new) - _share_of(value, old)
        if sum(abs(move) for move in moves.values()) / 2 >= _OTHER_TRAFFIC:
            value = max(moves, key=lambda value: (abs(moves[value]), value))
            shares = f"{_share_of(value, old):.0%} → {_share_of(value, new):.0%}"
            shifted[trait] = f"{trait} {value} in {shares} of the exchanges"
    return shifted


def _share_of(value: str, counts: Mapping[str, int]) -> float:
    return counts.get(value, 0) / sum(counts.values())


@dataclass(frozen=True, slots=True)
class CellSides:
    """Figures of one perturbation before and after, over all models."""

    perturbation: str
    content_delta: Sides
    excess: Sides
    """Excess over the resend; None on both sides for the resend itself."""
    robustness: Sides
    worse: Sides
    """Share of the trials whose answer is worse in quality than the original's, invalid answers included."""
    invalid: Sides
    """Share of the trials whose answer ignores the format or language asked for."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Comparison of all figures before and after a change."""

    exchanges_before: int
    exchanges_after: int
    pooled: Sides
    """Content delta over all single rewordings. Each rewording has the same weight on both sides, however
    often it was tried. Every exchange counts as one observation, because its trials are not independent of
    each other."""
    cells: tuple[CellSides, ...]
    """Cells by name, the resend first."""

    @property
    def control(self) -> CellSides | None:
        """The identical resend."""
        return next((cell for cell in self.cells if cell.perturbation == BASELINE), None)

    @property
    def rewordings(self) -> tuple[CellSides, ...]:
        """Cells of all perturbations but the resend."""
        cells: list[CellSides] = []
        for cell in self.cells:
            if cell.perturbation != BASELINE:
                cells.append(cell)
        return tuple(cells)

    @property
    def measured(self) -> bool:
        """True if any cell is precise enough for a difference of 30 points to show."""
        differences = (cell.content_delta.difference for cell in self.cells)
        for sides in differences:
            if sides is not None and sides.upper - sides.lower <= 2 * _TELLING:
                return True
        return False


# Probability that an interval ever misses the truth; as for cells, so that a figure has one interval.
_ALPHA: Final = 0.05


def compare(before: ChangeTally, after: ChangeTally, *, min_trials: int = 30) -> Comparison:
    """Compare the two sides of a change.

    Args:
        before: Traffic before it.
        after: Traffic since.
        min_trials: Fewest observations for an estimate.
    """
    names = sorted(before.cells.keys() | after.cells.keys(), key=lambda name: (name != BASELINE, name))
    return Comparison(
        exchanges_before=before.exchanges,
        exchanges_after=after.exchanges,
        pooled=_pooled(before, after, max(1, min_trials)),
        cells=tuple(_cell(name, before, after, min_trials) for name in names),
    )


def _pooled(before: ChangeTally, after: ChangeTally, min_exchanges: int) -> Sides:
    """Pool the share of shifts over the perturbations that both sides have, with equal weights on both.

    Trials of one exchange depend on each other, so each exchange counts as one observation in [0, 1]; the
    interval of a rate is valid for means of such observations too. Fewer count where the
    weights do not match the trials of each perturbation (Kish's effective sample size).
    """
    old, new = _single_rewordings(before), _single_rewordings(after)
    weights: dict[str, float] = {}
    for name in old.keys() & new.keys():
        trials = old[name].content_trials, new[name].content_trials
        if all(trials):
            weights[name] = trials[0] * trials[1] / sum(trials)
    total = sum(weights.values())
    if not total:
        return Sides(None, None)

    def share(counts: dict[str, Counts], exchanges: int) -> Estimate | None:
        value = spread = 0.0
        for name in sorted(weights):
            weight, trials = weights[name] / total, counts[name].content_trials
            value += weight * counts[name].shifted / trials
            spread += weight * weight / trials
        n = min(round(1 / spread), max(1, exchanges))
        effect = max(counts[name].effect for name in weights)
        return proportion(round(value * n), n, alpha=_ALPHA, min_trials=min_exchanges, effect=effect)

    return Sides(share(old, before.exchanges), share(new, after.exchanges))


def _single_rewordings(tally: ChangeTally) -> dict[str, Counts]:
    counts = {}
    for name in tally.cells:
        if name != BASELINE and together_count(name) == 1:
            counts[name] = tally.counts(name)
    return counts


def _cell(name: str, before: ChangeTally, after: ChangeTally, min_trials: int) -> CellSides:
    both = zip(_figures(name, before, min_trials), _figures(name, after, min_trials), strict=True)
    return CellSides(name, *(Sides(*estimates) for estimates in both))


def _figures(name: str, tally: ChangeTally, min_trials: int) -> Iterator[Estimate | None]:
    """Yield the figures of a cell on one side, in the order of `CellSides`."""
    counts, shown = tally.counts(name), tally.shown_limits.get(name)
    yield counts.content_delta(alpha=_ALPHA, min_trials=min_trials)
    is_control = name == BASELINE
    yield None if is_control else counts.excess(alpha=_ALPHA, min_trials=min_trials, shown=shown)
    yield counts.robustness(alpha=_ALPHA, min_trials=min_trials)
    rated = counts.trials - counts.shifted + counts.quality_scored
    for hits, trials in ((counts.qualities["worse"], rated), (tally.invalid.get(name, 0), counts.trials)):
        yield proportion(hits, trials, alpha=_ALPHA, min_trials=min_trials, effect=counts.effect)
