"""Workflows written as nodes and edges: the Node:/Edge: form of WorFBench and WorkflowPerturb.

`assemble` turns named nodes and edges of any form into a workflow.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from evenkeel.metrics.workflow.chain import canonical_text
from evenkeel.metrics.workflow.workflow import Workflow, WorkflowError, sequence, workflow

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


_STARTS = frozenset(("start", "begin", "<start>", "__start__"))
_ENDS = frozenset(("end", "stop", "finish", "<end>", "__end__"))
# Bounded, as int() takes long for endless digits.
_NUMBER = re.compile(r"\d{1,9}")
# Characters of a wrong entry that a message repeats.
_SHOWN = 60


class Node(NamedTuple):
    """Step as it is written."""

    id: str | None
    """Name that edges use for the step; None if it has no name of its own."""
    text: str


class NamedEdge(NamedTuple):
    """Edge as it is written."""

    before: str
    after: str


def assemble(nodes: Sequence[Node], edges: Iterable[NamedEdge] | None, *, by_id: bool = False) -> Workflow:
    """Return the workflow of nodes and edges as they are written.

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
    assembled: list[tuple[int, int]] = []
    for edge in listed:
        before, after = names.find(edge.before, base), names.find(edge.after, base)
        if before is not None and after is not None:
            assembled.append((before, after))
    return workflow((node.text for node in nodes), assembled) if by_id else _without_ends(nodes, assembled)


class _Names:
    """Lookup of the step that a name refers to."""

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
        """Return the index of a step; None for START and END."""
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
    """Return the number from which steps without ids are counted; None if steps have ids."""
    if any(node.id is not None for node in nodes):
        return None
    numbers = set()
    for edge in edges:
        for name in edge:
            if _NUMBER.fullmatch(name.strip()):
                numbers.add(int(name))
    return 0 if 0 in numbers and not numbers & {len(nodes), len(nodes) + 1} else 1


def _without_ends(nodes: Sequence[Node], edges: list[tuple[int, int]]) -> Workflow:
    """Leave out START and END where the form lists them as nodes."""
    has_before, has_after = {after for _, after in edges}, {before for before, _ in edges}
    kept = []
    for index, node in enumerate(nodes):
        if not (
            (_means(node, _STARTS) and index not in has_before and index in has_after)
            or (_means(node, _ENDS) and index not in has_after and index in has_before)
        ):
            kept.append(index)
    rank_of = {}
    for rank, index in enumerate(kept):
        rank_of[index] = rank
    between_steps = []
    for before, after in edges:
        if before in rank_of and after in rank_of:
            between_steps.append((rank_of[before], rank_of[after]))
    return workflow((nodes[index].text for index in kept), between_steps)


def _means(node: Node, words: frozenset[str]) -> bool:
    return node.text.strip().lower() in words


_NODES_HEADER = re.compile(r"^[ \t>#*]*nodes?[ \t]*:?[*]*:?[ \t]*$", re.IGNORECASE | re.MULTILINE)
_EDGES = re.compile(r"^[ \t>#*]*edges?[ \t]*(?::[*]*|[*]*:|$)", re.IGNORECASE | re.MULTILINE)
_STEP = re.compile(r"[ \t]*(\d{1,9})[ \t]*[:.)][ \t]*(.*)")
# "Graph:" and the like end a step, as they belong to none.
_TITLE = re.compile(r"[ \t#*]*\w{1,20}[ \t]*:[ \t*]*$")
_PAIR = re.compile(r"[(\[]\s*([^\s,()\[\]]{1,40})\s*,\s*([^\s,()\[\]]{1,40})\s*[)\]]")
# Text allowed before an edge and between two; the pattern matches the empty string too.
_LEAD = re.compile(r"(?>(?:[\s,;*>\u2192-]+|edges?[ \t]*:)*)", re.IGNORECASE)


def looks_like_node_edge(text: str) -> bool:
    """Return whether a text has the form's first header."""
    return _NODES_HEADER.search(text) is not None


def read_node_edge(text: str) -> Workflow:
    """Read "Node:", a numbered step a line, "Edge:", and edges such as (START,1) (1,2) (2,END).

    Ignored are what stands before the first header, what stands behind an edge on its line and is none
    ("(1,2): needs the key"), and what comes after an empty line behind the edges. A line without
    a number goes on with the step above, up to an empty line or a title such as "Graph:". Without "Edge:"
    the steps follow each other.

    Raises:
        WorkflowError: "no_workflow" without a header, "malformed" (a line that belongs to no step, an
            edge that is none, with what it says), and whatever `assemble` raises.
    """
    header = _NODES_HEADER.search(text)
    if header is None:
        raise WorkflowError("no_workflow", 'there is no line "Node:"')
    edges = _EDGES.search(text, header.end())
    nodes = list(_nodes(text[header.end() : edges.start() if edges else len(text)]))
    return assemble(nodes, None if edges is None else list(_edges(text[edges.end() :])), by_id=True)


def _nodes(text: str) -> Iterator[Node]:
    number = ""
    steps: list[str] = []
    within = True
    for line in text.split("\n"):
        if match := _STEP.match(line):
            if number:
                yield Node(number, " ".join(steps))
            number, steps, within = match[1].lstrip("0") or "0", [match[2].strip()], True
        elif not line.strip() or _TITLE.match(line):
            within = within and not number
        elif not number:
            raise WorkflowError("malformed", f"this line is no numbered step: {line.strip()[:_SHOWN]!r}")
        elif within:
            steps.append(line.strip())
    if number:
        yield Node(number, " ".join(steps))


def _edges(text: str) -> Iterator[NamedEdge]:
    """Yield the edges up to the first empty line behind one."""
    has_edges, kind = False, ""
    for line in text.split("\n"):
        if has_edges and not line.strip():
            return
        at = _led_in(line, 0)
        while pair := _PAIR.match(line, at):
            has_edges = True
            yield NamedEdge(pair[1], pair[2])
            at = _led_in(line, pair.end())
        rest = line[at:]
        if rest.startswith(("(", "[")):
            raise WorkflowError("malformed", f"this is no edge: {rest[:_SHOWN].strip()!r}")
        kind = kind or rest.strip().strip("`")
    if kind and not has_edges:
        raise WorkflowError("malformed", f'there are no edges behind "Edge:" but {kind[:_SHOWN]!r}')


def _led_in(line: str, at: int) -> int:
    """Return the position at which an edge may begin, behind any text that leads to it."""
    lead = _LEAD.match(line, at)
    assert lead is not None  # nothing at all is a match too
    return lead.end()
