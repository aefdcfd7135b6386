"""Cases: incidents with one cause, about which people are notified together.

A provider that changes a model changes it for every route that asks for it. Each route has an incident of its
own, which is acknowledged and closed by itself; whoever is on call gets one message about all of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from evenkeel.monitor.changes import kinds

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenkeel.core.cells import ChangeMark
    from evenkeel.monitor.incidents.incident import Incident, Part

TOGETHER_S: Final = 3_600.0
"""Longest time in seconds between the opening of the first incident of a case and of one that joins it."""
# The same for silent changes: each route's reference prompts are asked in their own turn, over hours.
_SILENT_TOGETHER_S: Final = 86_400.0
_SILENT: Final = "silent"
# Kinds of causes that routes may share, by precedence. A prompt version means nothing on another route.
_CAUSES: Final = (
    frozenset((kinds.MODEL, kinds.REQUESTED_MODEL)),
    frozenset((kinds.FINGERPRINT,)),
    frozenset((kinds.JUDGE,)),
)


@dataclass(frozen=True, slots=True)
class Case:
    """Case of incidents with one cause, usually a single incident."""

    members: tuple[Incident, ...]
    """Incidents in the order in which they were opened."""

    @property
    def id(self) -> str:
        """Id of the first incident."""
        return self.members[0].id

    @property
    def offset(self) -> int:
        """Place in the verdict log of the last event about any of them."""
        return max(incident.offset for incident in self.members)

    @property
    def whole(self) -> Incident:
        """Return one incident for all that are not over, or for all of them once they are."""
        if len(self.members) == 1:
            return self.members[0]
        going = [incident for incident in self.members if incident.state != "resolved"]
        shown = going or self.members
        first = self.members[0]
        last = max(shown, key=lambda incident: incident.closed_at or 0.0)
        # Acknowledged only if all are: one that nobody looks at must not be quiet.
        acknowledged = shown[-1] if all(incident.acknowledged_at is not None for incident in shown) else None
        routes: list[str] = []
        parts: list[Part] = []
        for incident in shown:
            parts += incident.parts
            routes += [route for route in incident.routes if route not in routes]
        return replace(
            last,
            id=first.id,
            opened_at=first.opened_at,
            change=first.change,
            marks=_joined(incident.marks for incident in shown),
            later=_joined(incident.later for incident in shown),
            routes=routes,
            parts=parts,
            updated_at=max(incident.updated_at for incident in shown),
            acknowledged_by=acknowledged.acknowledged_by if acknowledged else "",
            acknowledged_at=acknowledged.acknowledged_at if acknowledged else None,
            reopened=sum(incident.reopened for incident in shown),
        )


def _joined(marks: Iterable[tuple[ChangeMark, ...]]) -> tuple[ChangeMark, ...]:
    joined = {}
    for those in marks:
        for mark in those:
            joined[mark.kind, mark.before, mark.after] = mark
    return tuple(joined.values())


def cause_of(incident: Incident) -> frozenset[tuple[str, str]]:
    """Return the change that other routes may share; empty if there is none."""
    for those in _CAUSES:
        changed = kinds.select(incident.marks, those)
        pairs_changed = frozenset((mark.before, mark.after) for mark in changed)
        if pairs_changed:
            return pairs_changed
    asked = set()
    for part in incident.parts:
        # Requests that name no model may ask for another one on each route.
        if part.raised.measure == "references" and part.raised.model:
            asked.add((_SILENT, part.raised.model))
    return frozenset(asked)


def cases_of(incidents: Iterable[Incident]) -> dict[str, Case]:
    """Return the case of every incident, by the incident's id.

    An incident joins the case of an earlier one with the same cause unless one of that case was over before.
    """
    grouped: list[list[Incident]] = []
    latest: dict[frozenset[tuple[str, str]], list[Incident]] = {}
    for incident in sorted(incidents, key=lambda incident: (incident.opened_at, incident.id)):
        cause = cause_of(incident)
        group = latest.get(cause) if cause else None
        if group is None or not _joins(incident, group, cause):
            group = []
            grouped.append(group)
            latest[cause] = group
        group.append(incident)
    cases = {}
    for group in grouped:
        case = Case(tuple(group))
        for incident in group:
            cases[incident.id] = case
    return cases


def _joins(incident: Incident, group: list[Incident], cause: frozenset[tuple[str, str]]) -> bool:
    begun = incident.opened_at
    is_silent = any(name == _SILENT for name, _ in cause)
    together_s = _SILENT_TOGETHER_S if is_silent else TOGETHER_S
    over = any(incident.calm_at is not None and incident.calm_at < begun for incident in group)
    elsewhere = not any(set(member.routes) & set(incident.routes) for member in group)
    return elsewhere and not over and begun - group[0].opened_at <= together_s
