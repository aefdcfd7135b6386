"""Missing steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from evenkeel.experiments.calibrate.degrade.workflow.severity import arranged_with, without

if TYPE_CHECKING:
    import random

    from evenkeel.metrics.workflow.workflow import Workflow

Where = Literal["last", "random", "inner"]

_LEFT: dict[Where, int] = {"last": 1, "random": 1, "inner": 2}


class Missing:
    """Leaves steps out: the last ones, any, or any but the first and the last."""

    version: ClassVar[int] = 1

    def __init__(self, where: Where = "random") -> None:
        """Choose which steps go. What a step held together is joined by new edges ("bridged")."""
        self._where = where

    @property
    def name(self) -> str:
        """E.g. "missing_last"."""
        return f"missing_{self._where}"

    def expected(self, severity: float) -> float:
        """1 − severity: the share of the workflow that remains."""
        return 1 - severity

    def apply(self, given: Workflow, severity: float, rng: random.Random) -> Workflow:
        """The workflow without max(1, ⌈V · severity⌉) steps; at least one stays ("inner": two).

        Only "last" leaves the neighbours of the others as they are: the bridges around an inner step are
        edges that the reference does not have, and graph F1 holds them against the steps at both ends.
        """
        arranged, touched = arranged_with(given, severity, left=_LEFT[self._where])
        size = len(arranged.steps)
        match self._where:
            case "last":
                gone = list(range(size - touched, size))
            case "random":
                gone = rng.sample(range(size), touched)
            case "inner":
                gone = rng.sample(range(1, size - 1), touched)
        return without(arranged, set(gone))
