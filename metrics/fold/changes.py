"""What changed on a route, told from the verdicts themselves."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from metrics.cells import ChangeMark, RouteChanges

if TYPE_CHECKING:
    from metrics.verdict import Verdict

_FORGOTTEN_AFTER: Final = 500
"""Verdicts of a route after which a model or prompt that comes back is a change again. Long enough
for two models that share a route, and for the stragglers of the old one after a swap."""
_MOST_VALUES: Final = 64
_MARKS_KEPT: Final = 8


class RouteHistory:
    """Which models and prompt versions a route has had of late, and its changes."""

    __slots__ = ("counts", "current", "marks", "seen", "verdicts")

    def __init__(self) -> None:
        self.verdicts = 0
        self.seen: dict[str, dict[str, int]] = {}
        """By kind and value: its last place among the route's verdicts; the newest value aside."""
        self.current: dict[str, str] = {}
        """By kind: the newest value."""
        self.counts: dict[str, int] = {}
        self.marks: list[ChangeMark] = []

    def observe(self, model: str, verdict: Verdict, offset: int) -> list[ChangeMark]:
        """Take the next verdict; returns the changes that begin with it, mostly none.

        A change is a value that was not among the route's last 500 verdicts. The first of its kind is none.
        """
        self.verdicts += 1
        current, prompt = self.current, verdict.prompt_version
        changes = []
        if model != current.get("model"):
            changes += self._switch("model", model, verdict.scored_at, offset)
        if prompt is not None and prompt != current.get("prompt_version"):
            changes += self._switch("prompt_version", prompt, verdict.scored_at, offset)
        return changes

    def _switch(self, kind: str, value: str, at: float, offset: int) -> list[ChangeMark]:
        """Go from the newest value to another, which is a change unless it was there of late."""
        known = self.seen.setdefault(kind, {})
        before = self.current.get(kind)
        self.current[kind] = value
        if before is None:
            return []
        known[before] = self.verdicts - 1
        if len(known) > _MOST_VALUES:
            del known[min(known, key=known.__getitem__)]
        last = known.pop(value, None)
        if last is not None and self.verdicts - last <= _FORGOTTEN_AFTER:
            return []
        return [ChangeMark(kind, before, value, at, offset)]

    def mark(self, change: ChangeMark) -> None:
        """Enter a change."""
        self.counts[change.kind] = self.counts.get(change.kind, 0) + 1
        self.marks = [*self.marks, change][-_MARKS_KEPT:]

    @property
    def era(self) -> int:
        """Number of changes so far."""
        return sum(self.counts.values())

    def report(self, route: str) -> RouteChanges:
        """For people."""
        return RouteChanges(route, dict(self.counts), tuple(self.marks))

    def to_json(self) -> dict[str, Any]:
        """The history as JSON values."""
        return {
            "verdicts": self.verdicts,
            "seen": self.seen,
            "current": self.current,
            "counts": self.counts,
            "marks": [asdict(mark) for mark in self.marks],
        }

    @classmethod
    def from_json(cls, raw: dict[str, Any]) -> RouteHistory:
        """Read what `to_json` wrote."""
        history = cls()
        history.verdicts, history.seen, history.current = raw["verdicts"], raw["seen"], raw["current"]
        history.counts = raw["counts"]
        history.marks = [ChangeMark(**mark) for mark in raw["marks"]]
        return history
