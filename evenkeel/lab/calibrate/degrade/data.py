"""Degradations of data: JSON, YAML and XML by their values, at any depth. What comes out is always valid."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import replace
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING, Final

from evenkeel.lab.calibrate.calibration import FailureMode
from evenkeel.lab.calibrate.degrade.data_formats import (
    Branch,
    Document,
    Entry,
    Leaf,
    Path,
    arranged,
    at,
    branches,
    edited,
    leaf_paths,
    read_document,
    weight,
)
from evenkeel.lab.calibrate.degrade.engine import (
    Degradation,
    NotDegradableError,
    changed_units,
    out_of_order,
    touched_with,
)
from evenkeel.lab.calibrate.degrade.phrases import FIELDS
from evenkeel.lab.calibrate.degrade.wording import reworded, shortened, without_hanging
from evenkeel.metrics.structured.xml import Element

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterator

    from evenkeel.core.pair import Answer

_DECIMAL: Final = re.compile(r"(-?\d+)\.\d*[1-9]\d*")
_TIME: Final = re.compile(r"(\d{4}-\d{2}-\d{2})[T ]\d{2}:\d{2}\S*")
_DATE: Final = re.compile(r"(\d{4}-\d{2})-\d{2}")
_CUT: Final = " ,;:–—-"
_LEAST_WIDE = 4
_HALF_MORE = 1.5
"""Factor: no more than that is changed, and no less than half, of what is asked for."""


def _missing(given: Answer, severity: float, rng: random.Random) -> Answer:
    """Leaves values out with their keys; an object or array of which nothing is left goes too."""
    document = read_document(given.text)
    paths = list(leaf_paths(document.root))
    gone = rng.sample(paths, touched_with(len(paths), severity, left=1))
    return document.edited(given, {path: [] for path in gone})


def _compressed(given: Answer, severity: float, rng: random.Random) -> Answer:
    """Cuts detail from values (see `shorter`); keys stay."""
    return changed_values(read_document(given.text), given, severity, rng, lambda text, _: shorter(text))


def _reworded(given: Answer, severity: float, rng: random.Random) -> Answer:
    """Says English texts among the values in other words: names, codes and numbers have none."""
    return changed_values(read_document(given.text), given, severity, rng, reworded)


def _reordered(given: Answer, severity: float, rng: random.Random) -> Answer:
    """Moves items of arrays (see `chosen_items`); the order of keys means nothing and stays."""
    document = read_document(given.text)
    orders = {}
    for path, moved in chosen_items(document.root, severity, rng, apart=False, left=1).items():
        array = at(document.root, path).node
        assert isinstance(array, Branch)
        orders[path] = out_of_order(len(array.entries), len(moved), rng)
    return document.degraded(given, arranged(document.root, orders))


def _duplicated(given: Answer, severity: float, rng: random.Random) -> Answer:
    """Repeats items of arrays (see `chosen_items`) right behind themselves."""
    document = read_document(given.text)
    edits = {}
    for path, again in chosen_items(document.root, severity, rng, apart=True, left=0).items():
        for index in again:
            entry = at(document.root, (*path, index))
            edits[*path, index] = [entry, entry]
    return document.edited(given, edits)


def _added(given: Answer, severity: float, rng: random.Random) -> Answer:
    """Puts foreign fields into objects, each behind another one; foreign texts into arrays without objects.

    No object gets a key that it has; where the foreign ones run out, they are numbered.
    """
    document = read_document(given.text)
    touched = touched_with(weight(document.root), severity, left=0)
    places = list(_places(document.root))
    if not places:
        raise NotDegradableError("no_place", "the data are empty")
    fields = rng.sample(FIELDS, len(FIELDS))
    behind: defaultdict[Path, list[Entry]] = defaultdict(list)
    used: dict[Path, set[str | None]] = {}
    for nth in range(touched):
        path = rng.choice(places)
        branch = at(document.root, path[:-1]).node
        assert isinstance(branch, Branch)
        if path[:-1] not in used:
            used[path[:-1]] = {entry.key for entry in branch.entries}
        turn, at_field = divmod(nth, len(fields))
        key, value = fields[at_field]
        behind[path].append(_entry(branch, f"{key}_{turn + 1}" if turn else key, value, used[path[:-1]]))
    return document.degraded(given, edited(document.root, {}, behind))


def _places(root: Branch) -> Iterator[Path]:
    """Paths of all entries of objects; of arrays if there are no objects."""
    found = list(branches(root))
    objects = [each for each in found if not each[1].is_array]
    for path, branch in objects or found:
        for index in range(len(branch.entries)):
            yield (*path, index)


def _entry(branch: Branch, key: str, value: str, taken: set[str | None]) -> Entry:
    if branch.is_array:
        # Where items have names, as in XML, all have the same.
        return Entry(Leaf(value), branch.entries[0].key)
    free, count = key, 1
    while free in taken:
        count += 1
        free = f"{key}_{count}"
    taken.add(free)
    return Entry(Leaf(value), free)


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
    entries = [at(document.root, path) for path in paths]

    def other(index: int) -> str | None:
        text = value_of(entries[index])
        return None if text is None else change(text, rng)

    said = changed_units(len(paths), touched, rng, other)
    if len(said) < touched:
        detail = f"{len(said)} of {len(paths)} values can be changed so, not {touched}"
        raise NotDegradableError("too_few_units", detail)
    edits = {paths[index]: [with_value(entries[index], text)] for index, text in said.items()}
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


def chosen_items(
    root: Branch, severity: float, rng: random.Random, *, apart: bool, left: int
) -> dict[Path, list[int]]:
    """Items of arrays with max(1, ⌈n · severity⌉) of the n values in them, to the nearest item.

    Args:
        root: The data.
        severity: Share of all values, those outside of arrays included.
        rng: Makes the choice.
        apart: Whether no chosen item may stand within another one.
        left: How many items of each array must be left over; if any, arrays of equal items do not count.

    Returns: for arrays by path the indices of items, ascending.

    Raises:
        NotDegradableError: "no_array": none has an item to choose; "too_few_units": they hold too few values;
            "coarse_items": the smallest item holds half as much again as is asked for.
    """
    touched = touched_with(weight(root), severity, left=0)
    room: dict[Path, int] = {}
    items: list[tuple[Path, int]] = []
    for path, branch in branches(root):
        nodes = [entry.node for entry in branch.entries]
        if branch.is_array and (not left or any(node != nodes[0] for node in nodes)):
            room[path] = len(nodes) - left
            items += [((*path, index), weight(node)) for index, node in enumerate(nodes)]
    if not items:
        raise NotDegradableError("no_array", "the data have no array whose items can be chosen")
    taken: dict[Path, list[int]] = {}
    within: set[Path] = set()
    """All paths above and at chosen items."""
    chosen: set[Path] = set()
    missing = touched
    rng.shuffle(items)
    # All that fit, in the order drawn; then one more if the total comes nearer by it.
    for (path, size), most in chain(
        ((item, 1) for item in items), ((item, _HALF_MORE) for item in sorted(items, key=itemgetter(1)))
    ):
        array = path[:-1]
        if size > most * missing or not room[array] or path in chosen:
            continue
        if apart and (path in within or any(path[:depth] in chosen for depth in range(1, len(path)))):
            continue
        chosen.add(path)
        within.update(path[:depth] for depth in range(1, len(path) + 1))
        room[array] -= 1
        missing -= size
        taken.setdefault(array, []).append(path[-1])
    if not taken:
        raise NotDegradableError("coarse_items", f"no item holds as few as {touched} values")
    if 2 * missing > touched:
        raise NotDegradableError("too_few_units", f"items hold {touched - missing} values, not {touched}")
    return {path: sorted(indices) for path, indices in sorted(taken.items())}


def shorter(text: str) -> str | None:
    """A value with less detail; None where nothing can be cut.

    A text loses its side clauses or last phrase, or else its second half; a decimal number its fraction; a
    time its time of day; a date its day.
    """
    for pattern in (_DECIMAL, _TIME, _DATE):
        if found := pattern.fullmatch(text):
            return found[1]
    said = shortened(text)
    if said != text:
        return said
    words = text.split()
    if len(words) > 1:
        return without_hanging(" ".join(words[: (len(words) + 1) // 2])).rstrip(_CUT) or None
    if len(text) >= _LEAST_WIDE and all(letter >= "\u2e80" for letter in text):
        return text[: (len(text) + 1) // 2]
    return None


DATA: Final[tuple[Degradation[Answer], ...]] = (
    Degradation("missing_values", FailureMode.MISSING, _missing),
    Degradation("compressed_values", FailureMode.COMPRESSED, _compressed),
    Degradation("reworded_values", FailureMode.REWORDED, _reworded),
    Degradation("reordered_values", FailureMode.REORDERED, _reordered),
    Degradation("duplicated_values", FailureMode.DUPLICATED, _duplicated),
    Degradation("added_values", FailureMode.ADDED, _added),
)
"""A degradation for each failure mode."""
