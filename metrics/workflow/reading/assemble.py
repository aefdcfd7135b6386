"""Nodes and edges by name into a workflow: what every form with edges has in common."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from evenkeel.metrics.workflow.alignment import canonical_text
from evenkeel.metrics.workflow.workflow import Workflow, WorkflowError, sequence, workflow

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_STARTS = frozenset(("start", "begin", "<start>", "__start__"))
_ENDS = frozenset(("end", "stop", "finish", "<end>", "__end__"))
_NUMBER = re.compile(r"\d{1,9}")
_SHOWN = 60


class Node(NamedTuple):
    """A step as it is written."""

    id: str | None
    """What edges call it; None if it has no name of its own."""
    text: str


class NamedEdge(NamedTuple):
    """An edge as it is written."""

    before: str
    after: str


def assemble(nodes: Sequence[Node], edges: Iterable[NamedEdge] | None, *, by_id: bool = False) -> Workflow:
    """A workflow of what was written.

    Edges name a step by its id or, failing that, by its text. Where no step has an id they may name its
    number: from 1, with 0 for the start and one more than there are steps for the end; from 0 if 0
    occurs and neither the last number nor the one behind it does. START and END (in any case, also
    begin, stop and finish) are no steps, unless something comes before the one or after the other.

    Args:
        nodes: In the order in which they are listed.
        edges: None = there are none because the form has none: the steps follow each other. No edges
            at all (an empty list) means that no step waits for another.
        by_id: Edges name steps by their ids only, and START and END are not listed as nodes.

    Raises:
        WorkflowError: "malformed" (two steps of one id), "unknown_step" or "ambiguous_step" naming what
            the edge says, and whatever `Workflow` raises.
    """
    if edges is None:
        return sequence(node.text for node in nodes)
    names = _Names(nodes, by_text=not by_id)
    listed = list(edges)
    base = _base(nodes, listed)
    found: list[tuple[int, int]] = []
    for edge in listed:
        before, after = names.find(edge.before, base), names.find(edge.after, base)
        if before is not None and after is not None:
            found.append((before, after))
    return workflow((node.text for node in nodes), found) if by_id else _without_ends(nodes, found)


class _Names:
    """Whom a name means."""

    def __init__(self, nodes: Sequence[Node], *, by_text: bool) -> None:
        self._size = len(nodes)
        self._ids: dict[str, int] = {}
        self._texts: dict[str, list[int]] = defaultdict(list)
        for index, node in enumerate(nodes):
            if node.id is not None:
                if node.id in self._ids:
                    raise WorkflowError("malformed", f"two steps have the id {node.id[:_SHOWN]!r}")
                self._ids[node.id] = index
            if by_text:
                self._texts[canonical_text(node.text)].append(index)

    def find(self, name: str, base: int | None) -> int | None:
        """The index of a step; None for START and END."""
        name = name.strip()
        if name in self._ids:
            return self._ids[name]
        same = self._texts.get(canonical_text(name), [])
        if len(same) == 1:
            return same[0]
        if same:
            raise WorkflowError("ambiguous_step", f"{len(same)} steps have the text {name[:_SHOWN]!r}")
        if name.lower() in _STARTS | _ENDS:
            return None
        if base is not None and _NUMBER.fullmatch(name):
            index = int(name) - base
            if 0 <= index < self._size:
                return index
            if base == 1 and index in (-1, self._size):
                return None
        if _NUMBER.fullmatch(name) and name.lstrip("0") != name and name.lstrip("0") in self._ids:
            return self._ids[name.lstrip("0")]
        raise WorkflowError("unknown_step", f"an edge names {name[:_SHOWN]!r}, which is no step")


def _base(nodes: Sequence[Node], edges: Sequence[NamedEdge]) -> int | None:
    """From what number steps without ids are counted; None if steps have ids."""
    if any(node.id is not None for node in nodes):
        return None
    said = {int(name) for edge in edges for name in edge if _NUMBER.fullmatch(name.strip())}
    return 0 if 0 in said and not said & {len(nodes), len(nodes) + 1} else 1


def _without_ends(nodes: Sequence[Node], edges: list[tuple[int, int]]) -> Workflow:
    """Leave out START and END where the form lists them as nodes."""
    has_before, has_after = {after for _, after in edges}, {before for before, _ in edges}
    kept = [
        index
        for index, node in enumerate(nodes)
        if not (
            (_means(node, _STARTS) and index not in has_before and index in has_after)
            or (_means(node, _ENDS) and index not in has_after and index in has_before)
        )
    ]
    place = {index: rank for rank, index in enumerate(kept)}
    return workflow(
        (nodes[index].text for index in kept),
        ((place[before], place[after]) for before, after in edges if before in place and after in place),
    )


def _means(node: Node, words: frozenset[str]) -> bool:
    return node.text.strip().lower() in words
