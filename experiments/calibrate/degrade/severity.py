"""How many units a share of an answer is."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from math import ceil
from typing import Final

from evenkeel.experiments.calibrate.degrade.protocol import NotDegradableError

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
