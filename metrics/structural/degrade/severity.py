"""How many steps a share of a workflow is, and the parts that degradations have in common."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING, Final

from metrics.structural.workflow import Edge, WorkflowError, neighbours, workflow

if TYPE_CHECKING:
    from metrics.structural.workflow import Workflow

SEVERITIES: Final = (0.1, 0.3, 0.5)
"""Shares of the steps at which the paper measures."""


def steps_touched(size: int, severity: float) -> int:
    """Steps that a severity changes in a workflow of `size` steps: max(1, ⌈size · severity⌉).

    Counted in decimals: 10 % of 70 steps are 7, where binary floats make 8 of it.

    Raises: ValueError for a severity outside (0, 1].
    Source: appendix A of WorkflowPerturb.
    """
    if not 0 < severity <= 1:
        raise ValueError(f"a severity is a share in (0, 1], not {severity}")
    return max(1, ceil(size * Fraction(Decimal(str(severity)))))


def arranged_with(given: Workflow, severity: float, *, left: int) -> tuple[Workflow, int]:
    """The workflow in canonical order, and how many of its steps are to be changed.

    Args:
        given: What is degraded.
        severity: Share of the steps.
        left: How many steps must be left over.

    Raises:
        WorkflowError: "not_degradable": there are too few steps.
    """
    touched = steps_touched(len(given.steps), severity)
    if len(given.steps) < touched + left:
        detail = f"{touched} of {len(given.steps)} steps cannot be changed with {left} left over"
        raise WorkflowError("not_degradable", detail)
    return given.arranged(), touched


def without(given: Workflow, gone: set[int]) -> Workflow:
    """The workflow without some steps; what came before one of them now comes before what came after."""
    before, after = ([set(ends) for ends in side] for side in neighbours(len(given.steps), given.edges))
    for index in given.order:
        if index not in gone:
            continue
        for earlier in before[index]:
            after[earlier].discard(index)
            after[earlier] |= after[index]
        for later in after[index]:
            before[later].discard(index)
            before[later] |= before[index]
    kept = [index for index in range(len(given.steps)) if index not in gone]
    place = {index: rank for rank, index in enumerate(kept)}
    return workflow(
        (given.steps[index] for index in kept),
        (Edge(place[index], place[later]) for index in kept for later in after[index]),
    )
