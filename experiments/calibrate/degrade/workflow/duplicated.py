"""Duplicated steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from evenkeel.experiments.calibrate.degrade.workflow.severity import arranged_with
from evenkeel.metrics.workflow.workflow import workflow

if TYPE_CHECKING:
    import random

    from evenkeel.metrics.workflow.workflow import Workflow


class Duplicated:
    """Does steps twice in a row."""

    name: ClassVar[str] = "duplicated"
    version: ClassVar[int] = 1

    def expected(self, severity: float) -> float:
        """1 − severity, by convention: as much is done too often as would otherwise be missing."""
        return 1 - severity

    def apply(self, given: Workflow, severity: float, rng: random.Random) -> Workflow:
        """The workflow with max(1, ⌈V · severity⌉) different steps repeated right behind themselves.

        What came after such a step now comes after its repetition.
        """
        arranged, touched = arranged_with(given, severity, left=0)
        again = set(rng.sample(range(len(arranged.steps)), touched))
        steps: list[str] = []
        first: list[int] = []
        for index, step in enumerate(arranged.steps):
            first.append(len(steps))
            steps += [step, step] if index in again else [step]
        edges = [(first[before] + (before in again), first[after]) for before, after in arranged.edges]
        return workflow(steps, [*edges, *((first[index], first[index] + 1) for index in again)])
