"""What a degradation is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import random

    from evenkeel.metrics.workflow.workflow import Workflow


class Degradation(Protocol):
    """Does a known damage to a workflow. Pure: the same generator state gives the same workflow."""

    @property
    def name(self) -> str:
        """Short snake_case word."""
        ...

    @property
    def version(self) -> int:
        """Raised whenever the same seed may give another workflow than before."""
        ...

    def expected(self, severity: float) -> float:
        """What an ideal metric gives for it, in [0, 1]: 1 − severity, or 1 if nothing is lost."""
        ...

    def apply(self, given: Workflow, severity: float, rng: random.Random) -> Workflow:
        """The degraded workflow, its steps listed in canonical order.

        Args:
            given: What is degraded.
            severity: Share of the steps, in (0, 1]; see `steps_touched`.
            rng: Makes every choice.

        Raises:
            WorkflowError: "not_degradable": so many steps cannot be changed in this way.
            ValueError: A severity outside (0, 1].
        """
        ...
