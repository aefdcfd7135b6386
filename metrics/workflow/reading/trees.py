"""JSON and YAML: the shapes in which workflows are usually written."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from evenkeel.metrics.structured.tree import flat
from evenkeel.metrics.workflow.reading.assemble import NamedEdge, Node, assemble
from evenkeel.metrics.workflow.workflow import MOST_EDGES, WorkflowError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from evenkeel.metrics.structured.tree import Tree
    from evenkeel.metrics.workflow.workflow import Workflow

_STEPS: Final = (
    "nodes", "node", "steps", "step", "tasks", "actions", "stages", "jobs", "activities", "plan",
    "sequence", "subtasks", "tool_calls",
)  # fmt: skip
_EDGES: Final = (
    "edges", "edge", "links", "connections", "dependencies", "transitions", "task_links", "flows",
)  # fmt: skip
_ID: Final = ("id", "step_id", "task_id", "node_id", "key", "number", "no", "index", "step_number")
_TEXT: Final = (
    "text", "description", "label", "instruction", "title", "action", "task", "step", "content", "summary",
    "name", "tool", "function", "run", "uses",
)  # fmt: skip
_BEFORE: Final = (
    "depends_on", "dependson", "dependencies", "depends", "needs", "requires", "after", "prerequisites",
    "predecessors", "previous", "parents", "inputs_from",
)  # fmt: skip
_AFTER: Final = ("next", "next_steps", "nextsteps", "successors", "then", "children", "leads_to", "goto")
_EDGE_BEFORE: Final = ("from", "source", "before", "start", "src", "u", "head")
_EDGE_AFTER: Final = ("to", "target", "after", "end", "dst", "v", "destination", "tail")
_ARROW = re.compile(r"\s*(?:-+>|=+>|→|⟶)\s*")
_PAIR = re.compile(r"\(?\s*([^,()]+?)\s*,\s*([^,()]+?)\s*\)?")
_ENDS = 2
_DEEPEST = 3
"""Wrappers such as {"workflow": {"plan": …}} that are looked into."""
_SHOWN = 60


def read_tree(tree: Tree) -> Workflow:
    """Read a workflow out of a JSON or YAML value.

    - Steps stand in a list or a mapping by id under one of the usual keys ("nodes", "steps", "tasks",
      "jobs" …), or the value itself is that list or mapping; wrappers of one key are looked into.
    - A step is a text, a mapping {id: text}, or a mapping with a text ("text", "description", "label" …) and
      perhaps an id ("id", "step_id" …), what it waits for ("depends_on", "needs", "after" …) or what
      comes after it ("next", "successors" …).
    - Edges ("edges", "links" …) are lists of two, mappings ("from" and "to", "source" and "target" …),
      texts ("1 -> 2", "(1, 2)"), or a mapping of each step to those after it.
    - Without edges and without a word on what waits for what, the steps follow each other. With one, only
      what is said counts.

    Raises:
        WorkflowError: "no_workflow", "malformed" naming the entry, and whatever `assemble` raises.
    """
    return _read(tree, 0)


def _read(tree: Tree, depth: int) -> Workflow:
    if isinstance(tree, str):
        raise WorkflowError("no_workflow", "the value is a single text")
    if isinstance(tree, tuple):
        return _of(tree, None)
    keys = _keys(tree)
    steps = _first(keys, _STEPS)
    if isinstance(steps, dict) and depth < _DEEPEST and _first(_keys(steps), _STEPS) is not None:
        return _read(steps, depth + 1)
    # {"step": "…", "next": "…"} is a step by itself, {"nodes": …} a whole.
    if steps is not None and (not isinstance(steps, str) or "edges" in keys or not steps):
        return _of(steps, _first(keys, _EDGES))
    inner = [value for value in tree.values() if not isinstance(value, str)]
    if len(inner) == 1 and depth < _DEEPEST and not _is_step_map(tree):
        return _read(inner[0], depth + 1)
    if _is_step_map(tree):
        return _of(tree, None)
    raise WorkflowError("no_workflow", f"none of the keys {', '.join(list(tree)[:8])!r} holds steps")


def _is_step_map(tree: Mapping[str, Tree]) -> bool:
    """Whether a mapping's values are steps by id: all with a text, or all texts under numbers."""
    values = list(tree.values())
    if all(isinstance(value, dict) and _first(_keys(value), _TEXT) is not None for value in values):
        return bool(values)
    return bool(values) and all(
        isinstance(value, str) and re.search(r"\d", key) is not None for key, value in tree.items()
    )


def _of(steps: Tree, edges: Tree | None) -> Workflow:
    nodes: list[Node] = []
    found: list[NamedEdge] = []
    said = edges is not None
    for name, entry in _entries(steps):
        node, own = _node(name, entry, len(nodes))
        if own is not None:
            said = True
            # Steps without ids are called by their number.
            found += [
                NamedEdge(*(node.id or str(len(nodes) + 1) if end is None else end for end in edge))
                for edge in own
            ]
        nodes.append(node)
    if edges is not None:
        found += _edges(edges)
    return assemble(nodes, found if said else None)


def _entries(steps: Tree) -> Iterator[tuple[str | None, Tree]]:
    if isinstance(steps, dict):
        yield from steps.items()
    elif isinstance(steps, tuple):
        yield from ((None, entry) for entry in steps)
    elif steps:
        yield None, steps


def _node(
    name: str | None, entry: Tree, index: int
) -> tuple[Node, list[tuple[str | None, str | None]] | None]:
    """A step, and the edges that it names itself, None standing for the step; None if it says nothing."""
    if isinstance(entry, str):
        return Node(name, entry or _required("", index)), None
    if isinstance(entry, tuple):
        raise WorkflowError("malformed", f"step {index + 1} is a list: {flat(entry)[:_SHOWN]!r}")
    keys = _keys(entry)
    if len(entry) == 1 and name is None and not set(keys) & {*_TEXT, *_ID}:
        only, value = next(iter(entry.items()))
        return Node(only, _required(flat(value), index)), None
    id_ = _first(keys, _ID)
    counted = keys.get("step")
    if id_ is None and isinstance(counted, str) and counted.isdecimal() and len(keys) > 1:
        # A step's number under "step", its text under another key.
        id_ = keys.pop("step")
    text = _first(keys, _TEXT)
    if text is None and name is None:
        raise WorkflowError("malformed", f"step {index + 1} has no text: {', '.join(keys)[:_SHOWN]!r}")
    node = Node(flat(id_) if id_ else name, " ".join(flat(text or name or "").split()))
    edges: list[tuple[str | None, str | None]] | None = None
    for words, turned in ((_BEFORE, False), (_AFTER, True)):
        named = _first(keys, words)
        if named is not None:
            edges = edges or []
            edges += [(None, other) if turned else (other, None) for other in _names(named)]
    return node, edges


def _required(text: str, index: int) -> str:
    if not text.strip():
        raise WorkflowError("empty_step", f"step {index + 1} has no text")
    return text


def _names(value: Tree) -> list[str]:
    if isinstance(value, str):
        return [name.strip() for name in value.split(",") if name.strip()]
    if isinstance(value, dict):
        return list(value)
    return [flat(item) for item in value if flat(item)]


def _edges(edges: Tree) -> Iterator[NamedEdge]:
    if isinstance(edges, str):
        if edges:
            yield from _spoken(edges)
        return
    if isinstance(edges, dict):
        for name, value in edges.items():
            yield from (NamedEdge(name, after) for after in _names(value))
        return
    for entry in edges:
        if isinstance(entry, str):
            yield from _spoken(entry)
        elif isinstance(entry, tuple):
            if len(entry) != _ENDS or not all(isinstance(end, str) and end for end in entry):
                raise WorkflowError("malformed", f"an edge has two ends, not {flat(entry)[:_SHOWN]!r}")
            yield NamedEdge(flat(entry[0]), flat(entry[1]))
        else:
            yield from _between(_keys(entry))


def _between(keys: Mapping[str, Tree]) -> Iterator[NamedEdge]:
    """The edges of a mapping with two ends, each of which may be several steps."""
    before, after = _first(keys, _EDGE_BEFORE), _first(keys, _EDGE_AFTER)
    if before is None or after is None:
        raise WorkflowError("malformed", f"an edge has no ends: {', '.join(keys)[:_SHOWN]!r}")
    firsts, lasts = _names(before), _names(after)
    if len(firsts) * len(lasts) > MOST_EDGES:
        raise WorkflowError("too_large", f"more than {MOST_EDGES} edges")
    yield from (NamedEdge(one, other) for one in firsts for other in lasts)


def _spoken(edge: str) -> Iterator[NamedEdge]:
    ends = _ARROW.split(edge.strip())
    if len(ends) >= _ENDS and all(ends):
        yield from (NamedEdge(*pair) for pair in pairwise(ends))
    elif found := _PAIR.fullmatch(edge.strip()):
        yield NamedEdge(found[1], found[2])
    else:
        raise WorkflowError("malformed", f"this is no edge: {edge[:_SHOWN]!r}")


def _keys(mapping: Mapping[str, Tree]) -> dict[str, Tree]:
    """A mapping by keys in one spelling: "dependsOn" and "Depends on" are "depends_on"."""
    return {
        re.sub(r"[\s-]+", "_", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", key.strip())).lower(): value
        for key, value in mapping.items()
    }


def _first(keys: Mapping[str, Tree], words: tuple[str, ...]) -> Tree | None:
    return next((keys[word] for word in words if word in keys), None)
