"""One change of a route, as the fold keeps it: what was noticed, and the traffic before and after."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from evenkeel.core.cells import ChangeMark
from evenkeel.monitor.changes.kinds import TESTED
from evenkeel.monitor.changes.tally import Tally

if TYPE_CHECKING:
    from collections.abc import Sequence

_TOGETHER: Final = 60
"""Exchanges within which values that change belong to one change."""
_TOGETHER_TESTED: Final = 600
"""The same for shares, which take longer to be noticed."""
_MOST_AFTER: Final = 2_000
"""Exchanges after a change that are held against those before it."""


def change_id(route: str, mark: ChangeMark) -> str:
    """Names a change by the mark that opened it: 12 hex digits, the same in every fold of a log."""
    return hashlib.sha256(f"{route}\0{mark.kind}\0{mark.offset}".encode()).hexdigest()[:12]


@dataclass(frozen=True, slots=True)
class ChangeRecord:
    """A change with its two sides."""

    id: str
    route: str
    marks: tuple[ChangeMark, ...]
    """What was noticed, oldest first; at least one."""
    before: Tally
    """From the change before to this one, without the exchanges that may belong to either side."""
    after: Tally
    """Since this change; at most 2,000 exchanges, and none of the next change."""
    since: int
    """Exchanges since this change."""

    @property
    def at(self) -> float:
        """Unix time in seconds of the first mark."""
        return self.marks[0].at

    @property
    def kinds(self) -> frozenset[str]:
        """Kinds of its marks."""
        return frozenset(mark.kind for mark in self.marks)


class OpenRecord:
    """A change while it is being counted."""

    __slots__ = ("after", "before", "marks", "since")

    def __init__(self, marks: Sequence[ChangeMark], before: Tally) -> None:
        self.marks = list(marks)
        self.before = before
        self.after = Tally()
        self.since = 0

    def takes(self, mark: ChangeMark) -> bool:
        """Whether a mark belongs to this change."""
        tested = mark.kind in TESTED or self.marks[0].kind in TESTED
        return self.since <= (_TOGETHER_TESTED if tested else _TOGETHER)

    @property
    def counting(self) -> bool:
        """Whether further exchanges are counted."""
        return self.after.exchanges < _MOST_AFTER

    def record(self, route: str) -> ChangeRecord:
        """A copy that stays as it is."""
        before, after = Tally(), Tally()
        before.merge(self.before)
        after.merge(self.after)
        return ChangeRecord(
            change_id(route, self.marks[0]), route, tuple(self.marks), before, after, self.since
        )

    def to_json(self) -> dict[str, Any]:
        """The record as JSON values."""
        return {
            "marks": [asdict(mark) for mark in self.marks],
            "before": self.before.to_json(),
            "after": self.after.to_json(),
            "since": self.since,
        }

    @classmethod
    def from_json(cls, raw: dict[str, Any]) -> OpenRecord:
        """Read what `to_json` wrote."""
        record = cls([ChangeMark(**mark) for mark in raw["marks"]], Tally.from_json(raw["before"]))
        record.after, record.since = Tally.from_json(raw["after"]), raw["since"]
        return record
