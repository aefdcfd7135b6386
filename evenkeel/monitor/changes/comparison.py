"""Comparison of the traffic before and after a change, the basis of a change report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from evenkeel.core.together import together_count
from evenkeel.core.verdict import BASELINE
from evenkeel.monitor.changes.record import LENGTH, distance
from evenkeel.monitor.estimate import Counts, proportion

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenkeel.core.cells import Estimate
    from evenkeel.monitor.changes.record import ChangeTally

_SHOWN_VALUES: Final = 8


@dataclass(frozen=True, slots=True)
class Difference:
    """Difference after minus before, in [−1, 1], with its interval."""

    value: float
    lower: float
    upper: float

    @property
    def moved(self) -> bool:
        """True if the interval excludes 0."""
        return self.lower > 0 or self.upper < 0


@dataclass(frozen=True, slots=True)
class Sides:
    """Estimates of one figure before and after a change; None where there are too few observations."""

    before: Estimate | None
    after: Estimate | None

    @property
    def difference(self) -> Difference | None:
        """Difference after minus before; None if either estimate is missing.

        The interval covers the difference whenever both intervals cover their truth.
        """
        before, after = self.before, self.after
        if before is None or after is None:
            return None
        return Difference(after.value - before.value, after.lower - before.upper, after.upper - before.lower)

    @property
    def distance(self) -> float:
        """Absolute difference between the two sides, in [0, 1]; 0 if either estimate is missing."""
        return abs(self.difference.value) if self.difference is not None else 0.0

    @property
    def moved(self) -> bool:
        """True if the two intervals do not overlap."""
        return self.difference is not None and self.difference.moved

    @property
    def rose(self) -> bool:
        """True if the figure rose by more than its uncertainty."""
        return self.difference is not None and self.difference.lower > 0

    @property
    def fell(self) -> bool:
        """True if the figure fell by more than its uncertainty."""
        return self.difference is not None and self.difference.upper < 0


_TELLING: Final = 0.3
UNMEASURED: Final = Sides(None, None)


@dataclass(frozen=True, slots=True)
class CellSides:
    """Figures of one perturbation before and after, over all models."""

    perturbation: str
    content_delta: Sides
    excess: Sides
    """Excess over the resend; `UNMEASURED` for the resend itself."""
    robustness: Sides
    worse: Sides = UNMEASURED
    """Share of the trials whose answer is worse in quality than the original's, invalid answers included."""
    invalid: Sides = UNMEASURED
    """Share of the trials whose answer ignores the format or language asked for."""


@dataclass(frozen=True, slots=True)
class TraitSides:
    """Distribution of exchanges over the values of a trait; shares are in [0, 1]."""

    trait: str
    shares: tuple[tuple[str, float, float], ...]
    """Most frequent values, each with its share before and after."""
    distance: float
    """Total variation distance in [0, 1]: the share of exchanges that differs."""


@dataclass(frozen=True, slots=True)
class ShareSides:
    """Share of answers with at least a given length, or at least a given similarity, before and after."""

    trait: str
    least: str
    """Lower end of the class, for people: "at least 362 characters", "at least 75%"."""
    share: Sides


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
    traits: tuple[TraitSides, ...]
    answers: tuple[ShareSides, ...] = ()
    """Lengths of answers and their similarity by heuristics, without any judge. Only classes known on both
    sides are listed."""

    @property
    def control(self) -> CellSides | None:
        """The identical resend."""
        return next((cell for cell in self.cells if cell.perturbation == BASELINE), None)

    @property
    def rewordings(self) -> tuple[CellSides, ...]:
        """Cells of all perturbations but the resend."""
        return tuple(cell for cell in self.cells if cell.perturbation != BASELINE)

    @property
    def measured(self) -> bool:
        """True if any cell is precise enough for a difference of 30 points to show."""
        found = (cell.content_delta.difference for cell in self.cells)
        return any(sides is not None and sides.upper - sides.lower <= 2 * _TELLING for sides in found)


def compare(
    before: ChangeTally, after: ChangeTally, *, alpha: float = 0.05, min_trials: int = 30
) -> Comparison:
    """Compare the two sides of a change.

    Args:
        before: Traffic before it.
        after: Traffic since.
        alpha: Probability with which any of the intervals of one figure (content delta, say) over all
            perturbations together may ever miss the truth; so also that one of them is said to have moved
            though it did not.
        min_trials: Fewest observations for an estimate.
    """
    names = sorted(before.cells.keys() | after.cells.keys(), key=lambda name: (name != BASELINE, name))
    level = alpha / max(1, 2 * len(names))
    return Comparison(
        exchanges_before=before.exchanges,
        exchanges_after=after.exchanges,
        pooled=_pooled(before, after, alpha / 2, min_trials),
        cells=tuple(_cell(name, before, after, level, min_trials) for name in names),
        traits=tuple(
            _trait(name, before, after) for name in sorted(before.traits.keys() & after.traits.keys())
        ),
        answers=_answers(before, after, alpha, min_trials),
    )


class _Part(NamedTuple):
    """Count of hits among the observations of one perturbation."""

    hits: int
    n: int


# Parts by perturbation, and the number of exchanges.
_Parts: TypeAlias = tuple[dict[str, _Part], int]


def _shares(before: _Parts, after: _Parts, alpha: float, min_trials: int) -> Sides:
    """Pool the share of hits over the perturbations that both sides have, with equal weights on both.

    The mean over an exchange is one observation in [0, 1]; the interval of a rate covers the mean of such
    observations too, since its evidence is convex in each of them. So shares are scaled down to one
    observation an exchange; fewer, where a perturbation has other parts of the two sides.

    Args:
        before: Parts before the change.
        after: Parts since the change.
        alpha: Probability with which either interval may ever miss the truth.
        min_trials: Fewest exchanges for an estimate.
    """
    old, new = before[0], after[0]
    both = [name for name in old if old[name].n and name in new and new[name].n]
    part = {name: old[name].n * new[name].n / (old[name].n + new[name].n) for name in both}
    total = sum(part.values())

    def share(parts: dict[str, _Part], exchanges: int) -> Estimate | None:
        if not total:
            return None
        effective = 1 / sum((part[name] / total) ** 2 / parts[name].n for name in both)
        n = min(round(effective), max(1, exchanges))
        value = sum(part[name] / total * parts[name].hits / parts[name].n for name in both)
        return proportion(round(value * n), n, alpha=alpha, min_trials=min_trials)

    return Sides(share(*before), share(*after))


def _pooled(before: ChangeTally, after: ChangeTally, alpha: float, min_trials: int) -> Sides:
    def side(tally: ChangeTally) -> _Parts:
        names = (name for name in tally.cells if name != BASELINE and together_count(name) == 1)
        counts = {name: tally.counts(name) for name in names}
        return {
            name: _Part(shifts.shifted, shifts.trials) for name, shifts in counts.items()
        }, tally.exchanges

    return _shares(side(before), side(after), alpha, max(1, min_trials))


def _cell(name: str, before: ChangeTally, after: ChangeTally, alpha: float, min_trials: int) -> CellSides:
    both = [tally.counts(name) for tally in (before, after)]

    def sides(figure: Callable[..., Estimate | None]) -> Sides:
        return Sides(*(figure(counts, alpha=alpha, min_trials=min_trials) for counts in both))

    def rate(found: list[tuple[int, int]]) -> Sides:
        return Sides(*(proportion(*sides, alpha=alpha, min_trials=min_trials) for sides in found))

    return CellSides(
        name,
        sides(Counts.content_delta),
        sides(Counts.excess) if name != BASELINE else UNMEASURED,
        sides(Counts.robustness),
        rate(
            [
                (counts.qualities["worse"], counts.trials - counts.shifted + counts.quality_scored)
                for counts in both
            ]
        ),
        rate([(tally.invalid[name], tally.counts(name).trials) for tally in (before, after)]),
    )


def _answers(
    before: ChangeTally, after: ChangeTally, alpha: float, min_trials: int
) -> tuple[ShareSides, ...]:
    """Return the shares of answers in each class; several trials of an exchange count as one observation."""
    # What all are above says nothing.
    known = [
        (trait, edge)
        for trait in sorted(before.answers.keys() & after.answers.keys())
        for edge in sorted({float(step) for tally in (before, after) for step in _steps(tally, trait)})[1:]
    ]
    level = alpha / max(1, 2 * len(known))

    def side(tally: ChangeTally, trait: str, edge: float) -> _Parts:
        parts = {
            name: _Part(sum(n for step, n in steps.items() if float(step) >= edge), steps.total())
            for name, steps in tally.answers[trait].items()
            if together_count(name) == 1
        }
        return parts, tally.exchanges

    found = (
        ShareSides(
            trait,
            f"at least {edge:,.0f} characters" if trait == LENGTH else f"at least {edge:.1%}",
            _shares(side(before, trait, edge), side(after, trait, edge), level, min_trials),
        )
        for trait, edge in known
    )
    return tuple(sides for sides in found if sides.share.difference is not None)


def _steps(tally: ChangeTally, trait: str) -> set[str]:
    """Return the lower ends of the classes into which the answers' values of a trait fall."""
    return {step for steps in tally.answers[trait].values() for step in steps}


def _trait(name: str, before: ChangeTally, after: ChangeTally) -> TraitSides:
    old, new = before.traits[name], after.traits[name]
    n_old, n_new = max(1, old.total()), max(1, new.total())
    rows = [
        (value, old.get(value, 0) / n_old, new.get(value, 0) / n_new)
        for value in sorted(old.keys() | new.keys())
    ]
    rows.sort(key=lambda row: (-max(row[1:]), row[0]))
    return TraitSides(name, tuple(rows[:_SHOWN_VALUES]), distance(old, new))
