"""Degradations: known damage to an answer in six failure modes, counted in units."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from evenkeel.lab.calibrate.calibration import FailureMode

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

    from evenkeel.core.pair import Answer
    from evenkeel.metrics.workflow.workflow import Workflow


class NotDegradableError(ValueError):
    """An answer cannot be degraded in this way. `reason` is a word usable as a label."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(detail or reason)
        self.reason = reason
        self.detail = detail


Given = TypeVar("Given", "Answer", "Workflow")
"""Thing that is degraded: an answer, or a workflow by itself."""


Changed = TypeVar("Changed")


@dataclass(frozen=True, slots=True)
class Degradation(Generic[Given]):
    """Does a known damage. Pure: the same generator state gives the same bytes."""

    name: str
    """Short snake_case word, unique within a form: "missing_sentences"."""
    mode: FailureMode
    """The failure that it plays."""
    change: Callable[[Given, float, random.Random], Given] = field(repr=False)
    """Does the damage, see `apply`."""
    version: int = 1
    """Raised whenever the same seed may give another answer than before."""

    def expected(self, severity: float) -> float:
        """Return what an ideal metric gives for it, in [0, 1]: 1 − severity, or 1 if nothing is lost.

        1 − severity is the share that remains, that is still in order, or that still says all. For what is
        added or said twice it is a convention: as much is there too often as would otherwise be missing.
        """
        return 1.0 if self.mode is FailureMode.REWORDED else 1 - severity

    def apply(self, given: Given, severity: float, rng: random.Random) -> Given:
        """The degraded answer: text and tool calls are new, everything else as it was.

        Args:
            given: What is degraded. It has the form that the degradation is for (see `form_of`).
            severity: Share of the units, in (0, 1]; N = max(1, ⌈units · severity⌉) are touched.
            rng: Makes every choice.

        Raises:
            NotDegradableError: So many units cannot be changed in this way, or the answer lacks the form.
            WorkflowError: The same for a workflow by itself: "not_degradable".
            ValueError: A severity outside (0, 1].
        """
        return self.change(given, severity, rng)


SEVERITIES: Final = (0.1, 0.3, 0.5)
"""Shares at which the paper measures."""


def units_touched(size: int, severity: float) -> int:
    """Units that a severity changes among `size`: max(1, ⌈size · severity⌉).

    Counted in decimals: 10 % of 70 units are 7, where binary floats make 8 of it.

    Raises: ValueError for a severity outside (0, 1].
    Source: appendix A of WorkflowPerturb.
    """
    if not 0 < severity <= 1:
        raise ValueError(f"a severity is a share in (0, 1], not {severity}")
    return max(1, ceil(size * Fraction(Decimal(str(severity)))))


def touched_with(size: int, severity: float, *, left: int) -> int:
    """The same, if at least `left` units are left over.

    Raises:
        NotDegradableError: "too_few_units".
        ValueError: A severity outside (0, 1].
    """
    touched = units_touched(size, severity)
    if size < touched + left:
        detail = f"{touched} of {size} units cannot be changed with {left} left over"
        raise NotDegradableError("too_few_units", detail)
    return touched


def changed_units(
    size: int, touched: int, rng: random.Random, change: Callable[[int], Changed | None]
) -> dict[int, Changed]:
    """Return what `touched` of `size` units become, or as many as can be changed.

    Args:
        size: How many units there are.
        touched: How many are changed.
        rng: Chooses them.
        change: What the unit of an index becomes; None if it cannot be changed.
    """
    found: dict[int, Changed] = {}
    for index in rng.sample(range(size), size):
        if len(found) == touched:
            break
        made = change(index)
        if made is not None:
            found[index] = made
    return found


def out_of_order(size: int, moved: int, rng: random.Random) -> list[int]:
    """An order of `size` things of which exactly `moved` must move back to sort it.

    The moved ones are put, the last first, into a gap in which none of them stood before. So they are
    in order neither with each other nor with what now surrounds them, and the longest part that is still in
    order is that of the others.

    Args:
        size: How many things there are.
        moved: In [0, size − 1].
        rng: Chooses the gap and what moves.

    Returns: for each place the index of the thing that stands there now.
    """
    gap = rng.randrange(size + 1)
    # On both sides of the gap stands something that stays.
    staying = {index for index in (gap - 1, gap) if 0 <= index < size}
    if size - len(staying) < moved:
        gap = rng.choice((0, size))
        staying = {0 if gap == 0 else size - 1}
    chosen = set(rng.sample([index for index in range(size) if index not in staying], moved))
    before = [index for index in range(gap) if index not in chosen]
    after = [index for index in range(gap, size) if index not in chosen]
    return [*before, *sorted(chosen, reverse=True), *after]
