"""Added steps that have nothing to do with the task."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from evenkeel.experiments.calibrate.degrade.foreign import drawn
from evenkeel.experiments.calibrate.degrade.workflow.severity import arranged_with
from evenkeel.metrics.workflow.alignment import canonical_text
from evenkeel.metrics.workflow.workflow import WorkflowError, workflow

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

    from evenkeel.metrics.workflow.workflow import Workflow

FOREIGN: tuple[str, ...] = (
    "Water the plants on the window sill.",
    "Count the chairs in the meeting room.",
    "Tune the third string of the guitar.",
    "Fold the paper into a small boat.",
    "Write down today's tide times.",
    "Polish the brass door handle.",
    "Sort the buttons by colour.",
    "Wind up the kitchen clock.",
    "Sharpen two pencils.",
    "Ask the neighbour for the ladder.",
    "Hum the refrain of an old song.",
    "Draw a map of the garden.",
    "Peel a basket of chestnuts.",
    "Feed the ducks at the pond.",
    "Repaint the wooden fence.",
    "Learn a line of a poem by heart.",
    "Release the balloons over the field.",
    "Mend the hole in the tent.",
    "Name the moons of Saturn aloud.",
    "Stack the firewood behind the shed.",
)
"""Steps of no office, shop or machine, so that they are foreign to nearly every workflow."""


class Added:
    """Puts foreign steps between the others."""

    name: ClassVar[str] = "added"
    version: ClassVar[int] = 1

    def __init__(self, foreign: Sequence[str] = FOREIGN) -> None:
        """Choose where the steps come from; texts that the workflow has are not taken."""
        self._foreign = tuple(foreign)

    def expected(self, severity: float) -> float:
        """1 − severity, by convention: as much is there that should not be as would otherwise be missing."""
        return 1 - severity

    def apply(self, given: Workflow, severity: float, rng: random.Random) -> Workflow:
        """The workflow with max(1, ⌈V · severity⌉) foreign steps, each put into an edge or behind the last.

        None is put in twice before all have been.

        Raises:
            WorkflowError: "not_degradable" also if the workflow has all of them.
        """
        arranged, touched = arranged_with(given, severity, left=0)
        size = len(arranged.steps)
        own = {canonical_text(step) for step in arranged.steps}
        free = [step for step in self._foreign if canonical_text(step) not in own]
        if not free:
            raise WorkflowError("not_degradable", "the workflow has every step that could be added")
        steps = list(arranged.steps)
        edges = [(edge.before, edge.after) for edge in arranged.edges]
        listed = list(range(size))
        for text in drawn(free, (), touched, rng):
            at = rng.randrange(len(edges) + 1)
            new = len(steps)
            steps.append(text)
            if at < len(edges):
                before, after = edges[at]
                edges[at] = (before, new)
                edges.append((new, after))
                # Listed where it is done, so that the others keep their canonical order.
                listed.insert(listed.index(after), new)
            else:
                edges += [(listed[-1], new)] if listed else []
                listed.append(new)
        place = {index: rank for rank, index in enumerate(listed)}
        return workflow(
            (steps[index] for index in listed), ((place[before], place[after]) for before, after in edges)
        )
