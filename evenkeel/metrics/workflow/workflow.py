"""Workflow: steps in words, and which of them must come before which."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

MOST_STEPS = 10_000
"""Most steps of a workflow; longer ones are refused. Answers have tens of steps, attacks any number."""
# Checked before anything walks them: a bomb of edges fits into a few kilobytes of JSON.
MOST_EDGES = 200_000


class WorkflowError(ValueError):
    """Failure to read a workflow, or to find one.

    `reason` is a word usable as a label: "no_workflow", "malformed", "unknown_step", "ambiguous_step",
    "cycle", "empty_step", "too_large", "too_deep", "not_degradable".
    """

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(detail or reason)
        self.reason = reason


class Edge(NamedTuple):
    """Precedence of one step over another; both are indexes from 0."""

    before: int
    after: int


@dataclass(frozen=True, slots=True)
class Workflow:
    """Steps and precedence edges, always acyclic.

    Steps may have the same text: their index distinguishes them. Edges are sorted and unique.
    Build it by `workflow` or `sequence`.
    """

    steps: tuple[str, ...]
    """Texts of the steps, in the order in which they are listed."""
    edges: tuple[Edge, ...] = ()

    def __post_init__(self) -> None:
        """Check that it is one.

        Raises:
            WorkflowError: "too_large", "empty_step", "unknown_step" (an edge to no step), or "cycle".
        """
        if len(self.steps) > MOST_STEPS or len(self.edges) > MOST_EDGES:
            raise WorkflowError("too_large", f"{len(self.steps)} steps and {len(self.edges)} edges")
        for index, text in enumerate(self.steps):
            if not text.strip():
                raise WorkflowError("empty_step", f"step {index + 1} has no text")
        for edge in self.edges:
            for end in edge:
                if not 0 <= end < len(self.steps):
                    raise WorkflowError(
                        "unknown_step", f"an edge names step {end + 1}; there are {len(self.steps)}"
                    )
        order = _topological(len(self.steps), self.edges)
        if len(order) < len(self.steps):
            raise WorkflowError("cycle", "the edges join steps in a circle")

    @property
    def order(self) -> tuple[int, ...]:
        """Return the canonical order: indices of the steps, each after all that must come before it.

        The order in which they are listed, if the edges allow it; else the steps that could be next
        are taken in the order in which they are listed.
        """
        return _order(self)

    @property
    def chain(self) -> tuple[str, ...]:
        """Texts of the steps in canonical order."""
        return tuple(self.steps[index] for index in self.order)

    @property
    def linear(self) -> bool:
        """True if the edges allow only one order."""
        edges = set(self.edges)
        for pair in zip(self.order, self.order[1:], strict=False):
            if pair not in edges:
                return False
        return True

    @property
    def text(self) -> str:
        """Text of all steps joined by a space, in canonical order."""
        return " ".join(self.chain)

    def arranged(self) -> Workflow:
        """Return the same workflow with its steps listed in canonical order."""
        order = self.order
        if order == tuple(range(len(self.steps))):
            return self
        rank_of = {}
        for rank, index in enumerate(order):
            rank_of[index] = rank
        return workflow(self.chain, ((rank_of[before], rank_of[after]) for before, after in self.edges))


def workflow(steps: Iterable[str], edges: Iterable[tuple[int, int]]) -> Workflow:
    """Return a workflow of steps and edges (indices from 0), in any order and possibly repeated.

    Raises:
        WorkflowError: As `Workflow` does.
    """
    return Workflow(tuple(steps), tuple(sorted({Edge(*edge) for edge in edges})))


def sequence(steps: Iterable[str]) -> Workflow:
    """Return a workflow whose steps follow each other.

    Raises:
        WorkflowError: As `Workflow` does.
    """
    texts = tuple(steps)
    return Workflow(texts, tuple(Edge(index, index + 1) for index in range(len(texts) - 1)))


def neighbours(size: int, edges: Iterable[Edge]) -> tuple[list[list[int]], list[list[int]]]:
    """Return the direct predecessors and direct successors of each of `size` steps."""
    before: list[list[int]] = [[] for _ in range(size)]
    after: list[list[int]] = [[] for _ in range(size)]
    for edge in edges:
        before[edge.after].append(edge.before)
        after[edge.before].append(edge.after)
    return before, after


@lru_cache(maxsize=256)
def _order(ordered_workflow: Workflow) -> tuple[int, ...]:
    return tuple(_topological(len(ordered_workflow.steps), ordered_workflow.edges))


def _topological(size: int, edges: Iterable[Edge]) -> list[int]:
    """Return the indices by Kahn's algorithm, smallest first; those on a cycle or behind it are missing."""
    before, after = neighbours(size, edges)
    waiting = [len(predecessors) for predecessors in before]
    ready = []
    for index, count in enumerate(waiting):
        if not count:
            ready.append(index)
    heapify(ready)
    order: list[int] = []
    while ready:
        here = heappop(ready)
        order.append(here)
        for following in after[here]:
            waiting[following] -= 1
            if not waiting[following]:
                heappush(ready, following)
    return order
