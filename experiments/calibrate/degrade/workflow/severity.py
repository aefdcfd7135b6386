"""The parts that degradations of workflows have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkeel.experiments.calibrate.degrade.severity import units_touched
from evenkeel.metrics.workflow.workflow import Edge, WorkflowError, neighbours, workflow

if TYPE_CHECKING:
    from evenkeel.metrics.workflow.workflow import Workflow


def arranged_with(given: Workflow, severity: float, *, left: int) -> tuple[Workflow, int]:
    """The workflow in canonical order, and how many of its steps are to be changed.

    Args:
        given: What is degraded.
        severity: Share of the steps.
        left: How many steps must be left over.

    Raises:
        WorkflowError: "not_degradable": there are too few steps.
    """
    touched = units_touched(len(given.steps), severity)
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
