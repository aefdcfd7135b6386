"""Decisions of people about incidents, stored in the verdict log beside verdicts and approvals.

An incident is a change of a route that made its answers fragile, worse, invalid or different. Its
state follows from the log: alerts that begin and end, traffic that returns to what it was, and decisions.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias, get_args

from evenkeel.core.records import to_json

Decided: TypeAlias = Literal["acknowledged", "accepted", "rolled_back", "false_alarm"]
"""Decisions on an incident: somebody is looking at it; its answers are the new baseline; the change was
undone; it should not have been raised. All but the first close the incident."""
DECIDED: Final[tuple[Decided, ...]] = get_args(Decided)

Ending: TypeAlias = Literal[
    "recovered",
    "reversed",
    "retired",
    "approved",
    "settled",
    "replaced",
    "accepted",
    "rolled_back",
    "false_alarm",
]
"""Reason why an incident, or one of its alerts, is over."""

LONGEST_NOTE: Final = 2_000
"""Maximum number of characters of a note, and of a name."""


class DecisionError(Exception):
    """A decision that cannot be made. The message says why."""


@dataclass(frozen=True, slots=True)
class Decision:
    """A person's decision on an incident."""

    id: str
    """Id derived from the other fields, so that noting a decision twice changes nothing."""
    at: float
    """Unix time in seconds."""
    by: str
    """Name of the person who decided."""
    route: str
    """Route of the incident."""
    incident: str
    decided: Decided
    note: str = ""

    @classmethod
    def of(cls, incident: str, decided: str, *, route: str, by: str, at: float, note: str = "") -> Decision:
        """Return a decision with an id derived from its content.

        Raises: DecisionError without a person's name, or for an unknown decision.
        """
        who = by.strip()[:LONGEST_NOTE]
        if not who:
            raise DecisionError("a decision needs the name of who decides")
        choice = next((decision for decision in DECIDED if decision == decided), None)
        if choice is None:
            raise DecisionError(f"{decided!r} cannot be decided; choose one of {', '.join(DECIDED)}")
        draft = cls("", at, who, route, incident, choice, note.strip()[:LONGEST_NOTE])
        name = hashlib.sha256(to_json(draft).encode()).hexdigest()[:16]
        return replace(draft, id=name)
