"""The traffic before a change held against that after it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from evenkeel.core.verdict import BASELINE
from evenkeel.monitor.estimate import proportion

if TYPE_CHECKING:
    from evenkeel.core.cells import Estimate
    from evenkeel.monitor.changes.tally import Tally

_SHOWN_VALUES: Final = 8


@dataclass(frozen=True, slots=True)
class Sides:
    """One figure before and after; None where there are too few observations."""

    before: Estimate | None
    after: Estimate | None

    @property
    def moved(self) -> bool:
        """Whether the intervals have no value in common."""
        if self.before is None or self.after is None:
            return False
        return self.before.upper < self.after.lower or self.after.upper < self.before.lower

    @property
    def rose(self) -> bool:
        """Whether it moved up."""
        return (
            self.moved
            and self.after is not None
            and self.before is not None
            and (self.after.lower > self.before.upper)
        )


@dataclass(frozen=True, slots=True)
class CellSides:
    """A perturbation before and after, whatever the model."""

    perturbation: str
    content_delta: Sides
    excess: Sides
    """Of the resend both are None."""
    robustness: Sides

    @property
    def worse(self) -> bool:
        """Whether answers shift more often, beyond both intervals."""
        return self.content_delta.rose or self.excess.rose


@dataclass(frozen=True, slots=True)
class TraitSides:
    """How the exchanges spread over the values of a trait: shares in [0, 1]."""

    trait: str
    shares: tuple[tuple[str, float, float], ...]
    """Value, share before, share after; the most frequent ones."""
    distance: float
    """Total variation distance in [0, 1]: the share of exchanges that would have to be others."""


@dataclass(frozen=True, slots=True)
class JudgeSides:
    """What is known of the judge before and after."""

    noise: Sides
    """P(another rating when the same pair is judged again)."""
    swap_consistency: Sides
    agreement: Sides
    """P(the judge says what the bands said)."""

    @property
    def moved(self) -> bool:
        """Whether any of them did."""
        return self.noise.moved or self.swap_consistency.moved or self.agreement.moved


@dataclass(frozen=True, slots=True)
class Comparison:
    """Everything that is compared."""

    exchanges_before: int
    exchanges_after: int
    pooled: Sides
    """Content delta over all perturbations, the resend aside. Every exchange counts once, whatever the number
    of its trials: these are not independent of each other."""
    cells: tuple[CellSides, ...]
    """The resend first, then by name."""
    traits: tuple[TraitSides, ...]
    judge: JudgeSides

    @property
    def worse(self) -> tuple[str, ...]:
        """Perturbations whose answers shift more often than before; the resend is one of them."""
        return tuple(cell.perturbation for cell in self.cells if cell.worse)

    @property
    def moved(self) -> tuple[str, ...]:
        """Perturbations whose answers shift more or less often than before."""
        return tuple(
            cell.perturbation for cell in self.cells if cell.content_delta.moved or cell.excess.moved
        )


def compare(before: Tally, after: Tally, *, alpha: float = 0.05, min_trials: int = 30) -> Comparison:
    """Both sides of a change.

    Args:
        before: Traffic before it.
        after: Traffic since.
        alpha: Probability with which any of the intervals of one figure (content delta, say) over all
            perturbations together may ever miss the truth; so also that one of them is said to have moved
            though it did not.
        min_trials: Nothing is said about fewer observations.
    """
    names = sorted(before.cells.keys() | after.cells.keys(), key=lambda name: (name != BASELINE, name))
    level = alpha / max(1, 2 * len(names))
    return Comparison(
        exchanges_before=before.exchanges,
        exchanges_after=after.exchanges,
        pooled=Sides(
            _pooled(before, alpha / 2, min_trials),
            _pooled(after, alpha / 2, min_trials),
        ),
        cells=tuple(_cell(name, before, after, level, min_trials) for name in names),
        traits=tuple(
            _trait(name, before, after) for name in sorted(before.traits.keys() & after.traits.keys())
        ),
        judge=_judge(before, after, alpha / 2, min_trials),
    )


def _pooled(tally: Tally, alpha: float, min_trials: int) -> Estimate | None:
    """Shifted trials, scaled down to one trial an exchange.

    The mean over an exchange is one observation in [0, 1]; the interval of a rate covers the mean of such
    observations too, since its evidence is convex in each of them.
    """
    counts = [tally.counts(name) for name in tally.cells if name != BASELINE]
    trials, shifted = sum(one.trials for one in counts), sum(one.shifted for one in counts)
    exchanges = min(tally.exchanges, trials)
    if exchanges < max(1, min_trials):
        return None
    return proportion(round(shifted * exchanges / trials), exchanges, alpha=alpha)


def _cell(name: str, before: Tally, after: Tally, alpha: float, min_trials: int) -> CellSides:
    old, new = before.counts(name), after.counts(name)
    pairs = (
        (old.excess(alpha=alpha, min_trials=min_trials), new.excess(alpha=alpha, min_trials=min_trials))
        if name != BASELINE
        else (None, None)
    )
    return CellSides(
        name,
        Sides(
            old.content_delta(alpha=alpha, min_trials=min_trials),
            new.content_delta(alpha=alpha, min_trials=min_trials),
        ),
        Sides(*pairs),
        Sides(
            old.robustness(alpha=alpha, min_trials=min_trials),
            new.robustness(alpha=alpha, min_trials=min_trials),
        ),
    )


def _trait(name: str, before: Tally, after: Tally) -> TraitSides:
    old, new = before.traits[name], after.traits[name]
    n_old, n_new = max(1, old.total()), max(1, new.total())
    rows = [
        (value, old.get(value, 0) / n_old, new.get(value, 0) / n_new)
        for value in sorted(old.keys() | new.keys())
    ]
    distance = sum(abs(was - now) for _, was, now in rows) / 2
    rows.sort(key=lambda row: (-max(row[1:]), row[0]))
    return TraitSides(name, tuple(rows[:_SHOWN_VALUES]), distance)


def _judge(before: Tally, after: Tally, alpha: float, min_trials: int) -> JudgeSides:
    def sides(yes: str, no: str) -> Sides:
        counted = [(getattr(tally.judge, yes), getattr(tally.judge, no)) for tally in (before, after)]
        first, second = (
            proportion(count, count + others, alpha=alpha) if count + others >= min_trials else None
            for count, others in counted
        )
        return Sides(first, second)

    return JudgeSides(
        sides("other_again", "same_again"),
        sides("same_swapped", "other_swapped"),
        sides("agreed", "disagreed"),
    )
