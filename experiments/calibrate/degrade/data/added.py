"""Added fields that have nothing to do with the question."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, ClassVar

from evenkeel.experiments.calibrate.degrade.data.document import read_document
from evenkeel.experiments.calibrate.degrade.data.tree import (
    Branch,
    Entry,
    Leaf,
    Path,
    at,
    branches,
    leaf_paths,
)
from evenkeel.experiments.calibrate.degrade.foreign import FIELDS
from evenkeel.experiments.calibrate.degrade.protocol import Form, NotDegradableError
from evenkeel.experiments.calibrate.degrade.severity import touched_with
from evenkeel.experiments.calibrate.score_table import FailureMode

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator, Mapping

    from evenkeel.core.pair import Answer


class Added:
    """Puts foreign fields into objects; foreign texts into arrays where there are no objects."""

    name: ClassVar[str] = "added_values"
    version: ClassVar[int] = 1
    form: ClassVar[Form] = "data"
    mode: ClassVar[FailureMode] = FailureMode.ADDED

    def expected(self, severity: float) -> float:
        """1 − severity, by convention: as much is there that should not be as would otherwise be missing."""
        return 1 - severity

    def apply(self, given: Answer, severity: float, rng: random.Random) -> Answer:
        """The answer with max(1, ⌈n · severity⌉) values more, each behind another one.

        No object gets a key that it has; where the foreign ones run out, they are numbered.

        Raises:
            NotDegradableError: "no_place" also if there is no object and no array with anything in it.
        """
        document = read_document(given.text)
        touched = touched_with(sum(1 for _ in leaf_paths(document.root)), severity, left=0)
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
        return document.degraded(given, _inserted(document.root, (), behind))


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


def _inserted(branch: Branch, path: Path, more: Mapping[Path, list[Entry]]) -> Branch:
    """The tree with entries behind others, in which something may have been put as well."""
    entries: list[Entry] = []
    for index, entry in enumerate(branch.entries):
        here = (*path, index)
        node = entry.node
        inner = entry._replace(node=_inserted(node, here, more)) if isinstance(node, Branch) else entry
        entries += [inner, *more.get(here, [])]
    return Branch(tuple(entries), branch.is_array, branch.style)
