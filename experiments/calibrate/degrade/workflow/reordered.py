"""Reordered steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from evenkeel.experiments.calibrate.degrade.workflow.severity import arranged_with
from evenkeel.metrics.workflow.alignment import Alignment, Matched
from evenkeel.metrics.workflow.chain import chain_f1
from evenkeel.metrics.workflow.workflow import Workflow, WorkflowError

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

_TRIES = 50


class Reordered:
    """Moves steps to other places of the same graph."""

    name: ClassVar[str] = "reordered"
    version: ClassVar[int] = 1

    def expected(self, severity: float) -> float:
        """1 − severity: the share of the steps that is still in order."""
        return 1 - severity

    def apply(self, given: Workflow, severity: float, rng: random.Random) -> Workflow:
        """The workflow with its texts exchanged so that exactly max(1, ⌈V · severity⌉) are out of order.

        Out of order is meant against every order that the edges allow: steps that may be done side by
        side can change places without harm, so that is not counted. The edges stay where they are. At
        least one step stays in order.

        Raises:
            WorkflowError: "not_degradable" also if the edges hardly ask for any order.
        """
        arranged, touched = arranged_with(given, severity, left=1)
        size = len(arranged.steps)
        for _ in range(_TRIES):
            places = _moved(size, rng.sample(range(size), touched), rng)
            if _in_order(arranged, places) == size - touched:
                break
        else:
            # The last ones first and in reverse: out of order if anything can be.
            places = [*range(size - 1, size - touched - 1, -1), *range(size - touched)]
            if _in_order(arranged, places) != size - touched:
                raise WorkflowError("not_degradable", f"no {touched} steps can be brought out of order")
        return Workflow(tuple(arranged.steps[place] for place in places), arranged.edges)


def _moved(size: int, chosen: Sequence[int], rng: random.Random) -> list[int]:
    """All places in turn, with the chosen ones taken out and put in elsewhere."""
    taken = set(chosen)
    places = [place for place in range(size) if place not in taken]
    for place in chosen:
        places.insert(rng.randrange(len(places) + 1), place)
    return places


def _in_order(given: Workflow, places: Sequence[int]) -> int:
    alignment = Alignment(tuple(Matched(index, place) for index, place in enumerate(places)))
    return chain_f1(given, given, alignment).length
