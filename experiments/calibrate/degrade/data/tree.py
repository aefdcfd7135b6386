"""JSON, YAML and XML as one tree that can be written again: spelling and style are kept with each part."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

Path: TypeAlias = tuple[int, ...]
"""From the root: which entry, within that which entry …"""


@dataclass(frozen=True, slots=True)
class Leaf:
    """A value."""

    text: str
    """A text's content; for everything else how it is spelled."""
    is_text: bool = True
    style: object = None
    """What its format needs to write it as it was."""


@dataclass(frozen=True, slots=True)
class Branch:
    """Values with or without keys."""

    entries: tuple[Entry, ...]
    is_array: bool
    """Whether its entries are of one kind and their order says something."""
    style: object = None


class Entry(NamedTuple):
    """A value in a branch."""

    node: Node
    key: str | None = None
    style: object = None


Node: TypeAlias = Leaf | Branch


def leaf_paths(node: Node, path: Path = ()) -> Iterator[Path]:
    """Where the values are, in order. An empty branch counts as one, as it does for the metrics."""
    if isinstance(node, Leaf) or not node.entries:
        yield path
        return
    for index, entry in enumerate(node.entries):
        yield from leaf_paths(entry.node, (*path, index))


def branches(node: Node, path: Path = ()) -> Iterator[tuple[Path, Branch]]:
    """All branches with anything in them, outer ones first."""
    if isinstance(node, Branch) and node.entries:
        yield path, node
        for index, entry in enumerate(node.entries):
            yield from branches(entry.node, (*path, index))


def weight(node: Node) -> int:
    """How many values a node holds."""
    return sum(1 for _ in leaf_paths(node))


def at(root: Node, path: Path) -> Entry:
    """The entry at a path; the root has no key."""
    entry = Entry(root)
    for index in path:
        assert isinstance(entry.node, Branch)
        entry = entry.node.entries[index]
    return entry


def edited(root: Branch, edits: Mapping[Path, Sequence[Entry]]) -> Branch:
    """A tree with other entries.

    Args:
        root: The tree before.
        edits: For some paths what stands there now: nothing, an entry, or several.

    Returns: the tree after it. A branch whose entries are all gone is gone too, other than the root.
    """
    return _edited(root, (), edits)


def _edited(branch: Branch, path: Path, edits: Mapping[Path, Sequence[Entry]]) -> Branch:
    entries: list[Entry] = []
    for index, entry in enumerate(branch.entries):
        here = (*path, index)
        if here in edits:
            entries += edits[here]
        elif isinstance(entry.node, Branch) and entry.node.entries:
            inner = _edited(entry.node, here, edits)
            if inner.entries:
                entries.append(entry._replace(node=inner))
        else:
            entries.append(entry)
    return replace(branch, entries=tuple(entries))


def arranged(root: Branch, orders: Mapping[Path, Sequence[int]]) -> Branch:
    """A tree whose branches at some paths have their entries in another order, inner ones first."""
    return _arranged(root, (), orders)


def _arranged(branch: Branch, path: Path, orders: Mapping[Path, Sequence[int]]) -> Branch:
    entries = [
        entry._replace(node=_arranged(entry.node, (*path, index), orders))
        if isinstance(entry.node, Branch)
        else entry
        for index, entry in enumerate(branch.entries)
    ]
    order = orders.get(path)
    return replace(branch, entries=tuple(entries if order is None else [entries[index] for index in order]))
