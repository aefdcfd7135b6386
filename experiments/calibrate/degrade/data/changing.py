"""Changing values one by one, where they can be changed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from evenkeel.experiments.calibrate.degrade.data.tree import Entry, Leaf, Path, at, leaf_paths
from evenkeel.experiments.calibrate.degrade.protocol import NotDegradableError
from evenkeel.experiments.calibrate.degrade.severity import touched_with
from evenkeel.metrics.structured.xml import Element

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

    from evenkeel.core.pair import Answer
    from evenkeel.experiments.calibrate.degrade.data.document import Document


def changed_values(
    document: Document,
    given: Answer,
    severity: float,
    rng: random.Random,
    change: Callable[[str, random.Random], str | None],
) -> Answer:
    """The answer with max(1, ⌈n · severity⌉) of its n values changed.

    Args:
        document: The data of the answer.
        given: The answer.
        severity: Share of all values, those included that cannot be changed.
        rng: Chooses the values, and serves `change`.
        change: Another text for a value, or None if it has none.

    Raises:
        NotDegradableError: "too_few_units".
    """
    paths = list(leaf_paths(document.root))
    touched = touched_with(len(paths), severity, left=0)
    edits: dict[Path, list[Entry]] = {}
    for path in rng.sample(paths, len(paths)):
        if len(edits) == touched:
            break
        entry = at(document.root, path)
        text = value_of(entry)
        said = None if text is None else change(text, rng)
        if said is not None:
            edits[path] = [with_value(entry, said)]
    if len(edits) < touched:
        detail = f"{len(edits)} of {len(paths)} values can be changed so, not {touched}"
        raise NotDegradableError("too_few_units", detail)
    return document.edited(given, edits)


def with_value(entry: Entry, text: str) -> Entry:
    """The entry with another text; a number stays a number if it still is one."""
    node = entry.node
    if isinstance(node, Leaf) and node.is_text:
        return entry._replace(node=replace(node, text=text))
    return entry._replace(node=Leaf(text, is_text=False))


def value_of(entry: Entry) -> str | None:
    """The text of a value that can be written with another one; None for a branch, or with elements in it."""
    node = entry.node
    return node.text if isinstance(node, Leaf) and not isinstance(node.style, Element) else None
