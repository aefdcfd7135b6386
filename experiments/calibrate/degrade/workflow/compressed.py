"""Compressed steps: neighbours merged into one."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from evenkeel.experiments.calibrate.degrade.workflow.severity import arranged_with
from evenkeel.metrics.workflow.workflow import workflow

if TYPE_CHECKING:
    import random
    from collections.abc import Collection, Sequence

    from evenkeel.metrics.workflow.workflow import Workflow

How = Literal["random", "together"]


class Compressed:
    """Merges steps with those that follow them, texts joined by "and"."""

    version: ClassVar[int] = 1

    def __init__(self, how: How = "random") -> None:
        """Choose what is merged.

        Args:
            how: "random": any neighbours in canonical order, so that mostly pairs are merged. "together":
                one run of steps becomes a single step, which leaves most others whole.
        """
        self._how = how

    @property
    def name(self) -> str:
        """E.g. "compressed_random"."""
        return f"compressed_{self._how}"

    def expected(self, severity: float) -> float:
        """1 − severity: the share of the steps that remains; all is still done, in less detail."""
        return 1 - severity

    def apply(self, given: Workflow, severity: float, rng: random.Random) -> Workflow:
        """The workflow with max(1, ⌈V · severity⌉) steps fewer; at least one stays.

        Steps that follow each other in canonical order can always be merged without making a cycle, with or
        without an edge between them.
        """
        arranged, touched = arranged_with(given, severity, left=1)
        size = len(arranged.steps)
        if self._how == "random":
            joints = set(rng.sample(range(1, size), touched))
        else:
            first = rng.randrange(1, size - touched + 1)
            joints = set(range(first, first + touched))
        group = groups(size, joints)
        merged: list[list[str]] = [[] for _ in range(group[-1] + 1)]
        for index, step in enumerate(arranged.steps):
            merged[group[index]].append(step)
        return regrouped(arranged, group, [joined(steps) for steps in merged])


def groups(size: int, joints: Collection[int]) -> list[int]:
    """For each step the merged step that it belongs to, if those at `joints` are merged with those before."""
    group = [0] * size
    for index in range(1, size):
        group[index] = group[index - 1] + (index not in joints)
    return group


def regrouped(arranged: Workflow, group: Sequence[int], texts: Sequence[str]) -> Workflow:
    """A workflow in canonical order with its steps merged by group; the groups stay joined as they were."""
    edges = ((group[before], group[after]) for before, after in arranged.edges)
    return workflow(texts, (edge for edge in edges if edge[0] != edge[1]))


def joined(steps: Sequence[str]) -> str:
    """Several steps as one sentence: "Open the tray.", "Add paper." is "Open the tray and add paper."."""
    plain = [step.strip().rstrip(".;") for step in steps]
    ending = steps[-1].strip()[len(plain[-1]) :]
    return " and ".join([plain[0], *(_continued(step) for step in plain[1:])]) + ending


def _continued(step: str) -> str:
    """A step without the capital it began with, unless its first word is a name or an abbreviation."""
    first = step.split(" ", 1)[0]
    return step[:1].lower() + step[1:] if first[1:].islower() else step
