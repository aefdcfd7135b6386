"""Reader of workflows in answers of any usual form: diagrams, JSON and YAML, lists, and tool calls.

`read_answer` and `read_workflow` tell which form an answer has; `diagrams` reads those with nodes and edges.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise, product
from typing import TYPE_CHECKING, Final

from evenkeel.metrics.structured.reading import fences, read_structure
from evenkeel.metrics.structured.tree import LONGEST, UnreadableError, flat
from evenkeel.metrics.workflow.diagrams import (
    NamedEdge,
    Node,
    assemble,
    looks_like_node_edge,
    read_node_edge,
)
from evenkeel.metrics.workflow.workflow import MOST_EDGES, WorkflowError, sequence

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from evenkeel.core.pair import Answer, ToolCall
    from evenkeel.metrics.structured.tree import Tree
    from evenkeel.metrics.workflow.workflow import Workflow


def read_calls(calls: Iterable[ToolCall]) -> Workflow:
    """Return a sequence of one step a call: the tool's name, as arguments have metrics of their own.

    Raises:
        WorkflowError: "empty_step" for a call without name, or "too_large".
    """
    return sequence(call.name for call in calls)


_WORDS = "step|schritt|étape|etape|paso|passo|stap|fase|phase|ステップ|手順|步骤|第"
# Not followed by a digit: "1.5 litres" at the start of a line is no item.
_NUMBERED = re.compile(
    rf"^([ \t]*)(?:[#>*_]{{1,6}}[ \t]*)?(?:(?:{_WORDS})[ \t]*\d{{1,4}}[ \t]*(?:[.:)\]\uff0e\uff1a、。–—-]|步)"
    r"?|[(\[]?\d{1,4}[.)\]\uff0e、:\uff1a](?!\d))(?:\*\*|__)?[ \t]*[:\uff1a]?[ \t]*(.*)$",
    re.IGNORECASE,
)
_BULLET = re.compile(r"^([ \t]*)[-*+•‣–][ \t]+(?:\[[ xX]\][ \t]+)?(.*)$")
_EMPHASIS = re.compile(r"(\*\*|__|`)(.+?)\1")
_FENCE = re.compile(r"^[ \t]*(?:```|~~~)")


def read_list(text: str) -> Workflow:
    """Read the items of a list as a sequence.

    Numbered items ("1.", "2)", "Step 3:", the same in a few languages) are the steps if there are any,
    else bullets are. Only the least indented ones count: what is indented further, bullets beneath a
    number included, belongs to the step above. Several lists are one after the other. Prose between
    items that is not indented is ignored, and so are fenced blocks.

    Raises:
        WorkflowError: "no_workflow" if there is no item, and whatever `Workflow` raises.
    """
    lines = _unfenced(text)
    for pattern in (_NUMBERED, _BULLET):
        items = _items(lines, pattern)
        if items:
            return sequence(items)
    raise WorkflowError("no_workflow", "there is no list with steps")


def _unfenced(text: str) -> list[str]:
    lines: list[str] = []
    fenced = False
    for line in text.expandtabs(4).split("\n"):
        if _FENCE.match(line):
            fenced = not fenced
        elif not fenced:
            lines.append(line)
    return lines


def _items(lines: list[str], pattern: re.Pattern[str]) -> list[str]:
    matches = [match for line in lines if (match := pattern.match(line))]
    if not matches:
        return []
    margin = min(len(match[1]) for match in matches)
    items: list[list[str]] = []
    within = False
    for line in lines:
        match = pattern.match(line)
        indent = len(line) - len(line.lstrip())
        if match and len(match[1]) == margin:
            items.append([match[2]])
            within = True
        elif line.strip() and within and (indent > margin or match or _BULLET.match(line)):
            bullet = _BULLET.match(line)
            items[-1].append(bullet[2] if bullet else line.strip())
        elif line.strip():
            within = False
    texts: list[str] = []
    for item in items:
        if plain := _plain(" ".join(item)):
            texts.append(plain)
    return texts


def _plain(text: str) -> str:
    return " ".join(_EMPHASIS.sub(r"\2", text).split())


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
# Steps that an edge joins.
_ENDS = 2
# Levels of wrappers that are opened, such as {"workflow": {"plan": …}}.
_DEEPEST = 3
# Characters of a wrong entry that a message repeats.
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
    return _read_branch(tree, 0)


def _read_branch(tree: Tree, depth: int) -> Workflow:
    if isinstance(tree, str):
        raise WorkflowError("no_workflow", "the value is a single text")
    if isinstance(tree, tuple):
        return _of(tree, None)
    keys = _keys(tree)
    steps = _first(keys, _STEPS)
    if isinstance(steps, dict) and depth < _DEEPEST and _first(_keys(steps), _STEPS) is not None:
        return _read_branch(steps, depth + 1)
    # {"step": "…", "next": "…"} is a step by itself, {"nodes": …} a whole.
    if steps is not None and (not isinstance(steps, str) or "edges" in keys or not steps):
        return _of(steps, _first(keys, _EDGES))
    inner = []
    for value in tree.values():
        if not isinstance(value, str):
            inner.append(value)
    if len(inner) == 1 and depth < _DEEPEST and not _is_step_map(tree):
        return _read_branch(inner[0], depth + 1)
    if _is_step_map(tree):
        return _of(tree, None)
    raise WorkflowError("no_workflow", f"none of the keys {', '.join(list(tree)[:8])!r} holds steps")


def _is_step_map(tree: Mapping[str, Tree]) -> bool:
    """Return whether a mapping holds steps by id: all values with a text, or all texts under numbers."""
    values = list(tree.values())
    if all(isinstance(value, dict) and _first(_keys(value), _TEXT) is not None for value in values):
        return bool(values)
    for key, value in tree.items():
        if not isinstance(value, str) or re.search(r"\d", key) is None:
            return False
    return bool(values)


def _of(steps: Tree, edges: Tree | None) -> Workflow:
    nodes: list[Node] = []
    named_edges: list[NamedEdge] = []
    stated = edges is not None
    for name, entry in _entries(steps):
        node, own = _node(name, entry, len(nodes))
        if own is not None:
            stated = True
            # Steps without ids are called by their number.
            for edge in own:
                named_edges.append(
                    NamedEdge(*(node.id or str(len(nodes) + 1) if end is None else end for end in edge))
                )
        nodes.append(node)
    if edges is not None:
        named_edges += _edges(edges)
    return assemble(nodes, named_edges if stated else None)


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
    """Return a step and the edges that it names, in which None is the step; None if it has no text."""
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
            for other in _names(named):
                edges.append((None, other) if turned else (other, None))
    return node, edges


def _required(text: str, index: int) -> str:
    if not text.strip():
        raise WorkflowError("empty_step", f"step {index + 1} has no text")
    return text


def _names(value: Tree) -> list[str]:
    if isinstance(value, str):
        names = []
        for name in value.split(","):
            if name.strip():
                names.append(name.strip())
        return names
    if isinstance(value, dict):
        return list(value)
    names = []
    for item in value:
        if flat(item):
            names.append(flat(item))
    return names


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
    """Return the edges of a mapping with two ends, each of which may be several steps."""
    before, after = _first(keys, _EDGE_BEFORE), _first(keys, _EDGE_AFTER)
    if before is None or after is None:
        raise WorkflowError("malformed", f"an edge has no ends: {', '.join(keys)[:_SHOWN]!r}")
    firsts, lasts = _names(before), _names(after)
    if len(firsts) * len(lasts) > MOST_EDGES:
        raise WorkflowError("too_large", f"more than {MOST_EDGES} edges")
    for first, last in product(firsts, lasts):
        yield NamedEdge(first, last)


def _spoken(edge: str) -> Iterator[NamedEdge]:
    ends = _ARROW.split(edge.strip())
    if len(ends) >= _ENDS and all(ends):
        yield from (NamedEdge(*pair) for pair in pairwise(ends))
    elif match := _PAIR.fullmatch(edge.strip()):
        yield NamedEdge(match[1], match[2])
    else:
        raise WorkflowError("malformed", f"this is no edge: {edge[:_SHOWN]!r}")


def _keys(mapping: Mapping[str, Tree]) -> dict[str, Tree]:
    """Return a mapping by keys in one spelling: "dependsOn" and "Depends on" are "depends_on"."""
    values: dict[str, Tree] = {}
    for key, value in mapping.items():
        values[re.sub(r"[\s-]+", "_", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", key.strip())).lower()] = value
    return values


def _first(keys: Mapping[str, Tree], words: tuple[str, ...]) -> Tree | None:
    return next((keys[word] for word in words if word in keys), None)


def read_answer(answer: Answer) -> Workflow:
    """Return the workflow of an answer: that of its tool calls if it has any, else that of its text.

    A text next to tool calls is what the model says about them, so the calls are the workflow then.

    Raises:
        WorkflowError: As `read_workflow` and `read_calls` do.
    """
    if answer.tool_calls:
        return read_calls(answer.tool_calls)
    return read_workflow(answer.text)


@lru_cache(maxsize=256)
def read_workflow(text: str) -> Workflow:
    """Read a workflow out of a text: as Node:/Edge:, JSON, YAML or a list, the first that it looks like.

    A fence, or prose around it, does not matter. Cached: an answer is read once for every metric.

    Raises:
        WorkflowError: What is wrong, and where; "no_workflow" if it looks like none of them.
    """
    if len(text) > LONGEST:
        raise WorkflowError("too_large", f"{len(text)} characters")
    body = text.replace("\r\n", "\n").replace("\r", "\n")
    unwrapped = _unwrapped(body)
    if looks_like_node_edge(unwrapped):
        return read_node_edge(unwrapped)
    structure = read_structure(body)
    if isinstance(structure, UnreadableError):
        raise WorkflowError(structure.reason, str(structure))
    if structure is not None and structure.format in ("json", "yaml"):
        return read_tree(structure.tree)
    return read_list(unwrapped)


def _unwrapped(text: str) -> str:
    """Return the text of the fence that holds most of the answer; else the whole text."""
    whole = [fence.text for fence in fences(text) if fence.share > 0.5]  # noqa: PLR2004 - most of it
    return whole[0] if whole else text
