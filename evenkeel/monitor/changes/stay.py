"""Duration of a change's values in the traffic, and whether the change was reversed or replaced.

Only values that every exchange states can be seen to go: names of models, prompt versions, parameters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from evenkeel.monitor.changes import kinds
from evenkeel.monitor.changes.traits import UNKNOWN, UNSET, parameters_of, stated_values

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.core.cells import ChangeMark
    from evenkeel.core.verdict import Verdict

QUIET: Final = 40
"""Expected exchanges with the new value since the last one, after which it counts as gone."""
# Expected exchanges up to which others with a third value are taken to come in addition to the new one.
_BESIDE: Final = 8
# Excess of exchanges with the new value over those without it that brings back a value that was gone.
_RETURNED: Final = 20
# Only values that every exchange states can be seen to stay or to leave.
_FOLLOWED: Final = frozenset((kinds.MODEL, kinds.REQUESTED_MODEL, kinds.PROMPT, kinds.PARAMETERS))

How = Literal["reversed", "replaced"]


class StayTurn(NamedTuple):
    """New value that a change gave to one trait of the exchanges."""

    kind: str
    name: str
    """Name of the parameter; "" for other kinds."""
    before: str
    after: tuple[str, ...]
    """The new values; several if it changed more than once."""

    def value(self, verdict: Verdict) -> str:
        """Return the exchange's value of the trait, worded as in a mark; `UNKNOWN` if it is not known."""
        if self.kind != kinds.PARAMETERS:
            return dict(stated_values(verdict)).get(self.kind, UNKNOWN)
        if not verdict.origin.parameters:
            return UNKNOWN
        return f"{self.name} {parameters_of(verdict.origin.parameters).get(self.name, UNSET)}"


def turns_of(marks: Sequence[ChangeMark]) -> tuple[StayTurn, ...]:
    """Return the traits whose return to the old value can be seen in the traffic."""
    turns: dict[tuple[str, str], StayTurn] = {}
    for mark in marks:
        if mark.kind in _FOLLOWED:
            name = mark.after.partition(" ")[0] if mark.kind == kinds.PARAMETERS else ""
            turn = turns.get((mark.kind, name))
            before, after = (turn.before, turn.after) if turn else (mark.before, ())
            turns[mark.kind, name] = StayTurn(mark.kind, name, before, (*after, mark.after))
    return tuple(turns.values())


def is_new(turns: Sequence[StayTurn], verdict: Verdict) -> bool:
    """Return whether an exchange has any of the change's new values."""
    return any(turn.value(verdict) in turn.after for turn in turns)


def is_old(turns: Sequence[StayTurn], verdict: Verdict) -> bool:
    """Return whether an exchange has all the values from before the change."""
    return all(turn.value(verdict) == turn.before for turn in turns)


@dataclass(frozen=True, slots=True)
class End:
    """End of a change: its values are no longer in the traffic."""

    how: How
    at: float
    """Unix time in seconds of the first exchange without it."""
    offset: int
    """Place in the log of the exchange that decided it."""
    by: str
    """Value that replaced it; "" if that is not known."""
    exchanges: int
    """Exchanges that had a new value of the change."""


@dataclass(slots=True)
class Stay:
    """State that follows the values of a change through the traffic, in a few numbers."""

    new: int = 0
    """Exchanges with a new value."""
    seen: int = 0
    """Exchanges up to the last one with a new value."""
    quiet: int = 0
    """Exchanges since the last one with a new value."""
    back: int = 0
    """Exchanges among them that had all the values from before."""
    quiet_at: float = 0.0
    """Unix time in seconds of the first exchange since then."""
    again: int = 0
    """Excess of exchanges with a new value over those without, since the change ended."""
    end: End | None = None

    @property
    def _missed(self) -> float:
        """Expected exchanges with a new value since the last one, by their share until then."""
        return self.quiet * (1 + self.new) / (1 + self.seen)

    def observe(self, turns: Sequence[StayTurn], verdict: Verdict, offset: int) -> bool:
        """Take the next exchange; return True if it decides that the change is over, or in effect again.

        Args:
            turns: New values of the change; if empty, the change never ends.
            verdict: Verdict of the exchange's resend.
            offset: Place of the verdict in the log.
        """
        if not turns:
            return False
        new = is_new(turns, verdict)
        if self.end is not None:
            self.again = max(0, self.again + (1 if new else -1))
            if self.again < _RETURNED:
                return False
            # It is in effect again: the exchanges that showed it count as its own, the gap does not.
            self.new += self.again
            self.seen += self.again
            self.end, self.quiet, self.back, self.again = None, 0, 0, 0
            return True
        if new:
            self.new += 1
            self.seen += self.quiet + 1
            self.quiet = self.back = 0
            return False
        self.quiet_at = self.quiet_at if self.quiet else verdict.scored_at
        self.quiet += 1
        self.back += is_old(turns, verdict)
        if self._missed < QUIET:
            return False
        # Half of them suffice: a rollout in steps has other values in between.
        how: How = "reversed" if 2 * self.back >= self.quiet else "replaced"
        self.end = End(how, self.quiet_at, offset, turns[0].value(verdict), self.new)
        return True

    def covers(self, turns: Sequence[StayTurn], verdict: Verdict) -> bool:
        """Return whether a trial counts as after the change: not if its exchange has the old values.

        Exchanges with a third value count beside the new one, as they did before the change.
        """
        if not turns:
            return True
        if self.end is not None:
            return False
        return is_new(turns, verdict) or (self._missed <= _BESIDE and not is_old(turns, verdict))
