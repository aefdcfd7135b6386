"""The fold's part of incidents: which incident an alert event belongs to, and when traffic has gone back.

An alert belongs to the change of its route that came before it. What only shows that answers moved (shares of
shifted answers, their lengths) is a sign and no change: it joins the incident that is open. So does a later
change, with the alerts after it, while an incident is open whose own change stands in the traffic: mostly it
is an attempt to repair it, and whoever is at work wants to read in one place whether it helped. An incident
is over when its alerts are, when the traffic has what it had before the first change again, or when a person
says so.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from evenkeel.core.cells import ChangeMark
from evenkeel.monitor.changes import kinds
from evenkeel.monitor.changes.stay import Turn, is_new, is_old, turns_of
from evenkeel.monitor.incidents.incident import PartKey

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkeel.core.incidents import Decision
    from evenkeel.core.verdict import Verdict
    from evenkeel.monitor.changes import RouteWatch
    from evenkeel.stores.monitor_state import AlertEvent

EXPLAINS_S: Final = 7 * 86_400.0
"""A change explains an alert of its route that was raised at most so long after it."""
SLACK_S: Final = 60.0
"""The first verdict after a change and the one that raises an alert may be scored in either order."""
_EARLY_S: Final = 600.0
"""An alert may be raised so long before the change is noticed that caused it."""
QUIET: Final = 40
"""Exchanges without the new value, half of them with the old one, after which a change is reversed."""
AGAIN: Final = 100
"""Exchanges with the new value after somebody said that it was rolled back: it was not."""
KEPT: Final = 32
"""Incidents of a route that are over and still known, the latest."""
_TURNS: Final = frozenset((kinds.MODEL, kinds.REQUESTED_MODEL, kinds.PROMPT))
"""What has to go back for a change to be reversed; parameters only where nothing of this changed."""


@dataclass(slots=True)
class Known:
    """What the fold keeps of an incident."""

    id: str
    route: str
    """Where it was opened."""
    opened_at: float
    change: str = ""
    marks: tuple[ChangeMark, ...] = ()
    later: tuple[ChangeMark, ...] = ()
    """What changed while it was open, the latest."""
    up: list[PartKey] = field(default_factory=list)
    """Its alerts that are up."""
    calm: list[PartKey] = field(default_factory=list)
    """Those of answers that shift less often than they did, which hold no incident open beside others."""
    over: bool = False
    ending: str = ""
    quiet: int = 0
    """Exchanges since one had the new value."""
    back: int = 0
    """Those of them that had the old one."""
    again: int = 0
    """Exchanges with the new value since somebody said that it was rolled back."""

    @property
    def turns(self) -> tuple[Turn, ...]:
        """What traffic can be seen to go back from: the first change, however often it changed since."""
        opened = {mark.kind for mark in self.marks}
        followed = opened & _TURNS or opened
        return turns_of([mark for mark in (*self.marks, *self.later) if mark.kind in followed])

    @property
    def stated(self) -> bool:
        """Whether it was opened by something that stands in the traffic."""
        return any(mark.kind in kinds.STATED for mark in self.marks)


class IncidentBook:
    """The incidents of all routes, as far as the fold needs them."""

    def __init__(self, routes: Mapping[str, RouteWatch]) -> None:
        """Begin with none.

        Args:
            routes: by route its changes, which explain alerts.
        """
        self._routes = routes
        self._known: dict[str, list[Known]] = {}
        """By route in the order in which they were opened."""

    def place(self, event: AlertEvent) -> AlertEvent:
        """The event with the incident that it belongs to, and the change that explains it."""
        if event.what == "incident":
            return event
        key = PartKey.of(event)
        if event.kind != "raised":
            return self._ended(event, key)
        known = self._of_change(event) if event.what == "change" else self._of_cell(event)
        if known.over and known.ending not in _DECIDED and event.direction != "fallen":
            known.over, known.ending = False, ""
        held = known.calm if event.direction == "fallen" and known.up else known.up
        if key not in (*known.up, *known.calm):
            held.append(key)
        return replace(
            event, incident=known.id, change=event.change or known.change, marks=_brief(known.marks)
        )

    def _ended(self, event: AlertEvent, key: PartKey) -> AlertEvent:
        for known in self._all():
            if key not in (*known.up, *known.calm):
                continue
            (known.up if key in known.up else known.calm).remove(key)
            if not known.up and not known.over:
                self._close(known, event.reason or "recovered")
            return replace(event, incident=known.id, change=event.change or known.change)
        return event

    def _close(self, known: Known, ending: str) -> None:
        known.over, known.ending = True, ending
        known.quiet = known.back = known.again = 0
        here = self._known[known.route]
        over = [one for one in here if one.over and not one.up and not one.calm]
        for one in over[: max(0, len(over) - KEPT)]:
            here.remove(one)

    def _all(self) -> list[Known]:
        return [known for of_route in self._known.values() for known in reversed(of_route)]

    def _open(self, name: str, event: AlertEvent, change: str, marks: tuple[ChangeMark, ...]) -> Known:
        taken = any(one.id == name for one in self._all())
        known = Known(event.id if taken else name, event.route, event.at, change, marks)
        self._known.setdefault(event.route, []).append(known)
        return known

    def _of_change(self, event: AlertEvent) -> Known:
        """The incident of a change that nobody announced: of its own route first, else of another."""
        own = next((one for one in self._here(event.route) if one.change == event.change), None)
        known = own or next((one for one in self._all() if one.id == event.incident), None)
        if known is not None:
            return known
        watch = self._routes.get(event.route)
        marks = watch.marks_of(event.change) if watch else ()
        return self._open(event.incident, event, event.change, marks)

    def _of_cell(self, event: AlertEvent) -> Known:
        """The incident of a cell's alert: of the change before it, else the one that is open."""
        watch = self._routes.get(event.route)
        change, marks = watch.latest_change(event.at, EXPLAINS_S, SLACK_S) if watch else ("", ())
        here = self._here(event.route)
        known = next((one for one in here if change and one.change == change), None)
        if known is not None and known.ending in _GONE_BACK:
            known, change, marks = None, "", ()
        if known is not None:
            return known
        going = self._at_work(event.route)
        if any(mark.kind not in _SIGNS for mark in marks) and going is None:
            early = next((one for one in here if not one.over and not one.stated), None)
            if early is None or not _may_explain(marks, early):
                return self._open(change, event, change, marks)
            early.change, early.marks = change, marks
            return early
        going = going or next((one for one in here if not one.over), None)
        return going or self._open(change or event.id, event, change, marks)

    def explain(self, route: str, at: float) -> Known | None:
        """Take a change of a route that was noticed only now, or more of one.

        An alert may be raised a few exchanges before its cause is noticed: a new value has to stay.

        Returns: the incident that it explains; None if there is none, or if that knows it already.
        """
        change, marks = self._routes[route].latest_change(at, EXPLAINS_S, SLACK_S)
        if all(mark.kind in _SIGNS for mark in marks):
            return None
        here = [one for one in self._here(route) if not one.over and _may_explain(marks, one)]
        known = next((one for one in here if one.change == change), None) or next(
            (one for one in here if not one.stated), None
        )
        if known is None:
            return None
        kept = known.marks if known.stated else ()
        more = tuple(mark for mark in marks if all(mark.kind != one.kind for one in kept))
        if not more:
            return None
        known.change, known.marks = change, _brief((*kept, *more))
        return known

    def follow(self, route: str, at: float) -> Known | None:
        """Take a change of a route that came while an incident was open.

        Returns: the incident; None if there is none that it follows, or if that knows it already.
        """
        _, marks = self._routes[route].latest_change(at, EXPLAINS_S, SLACK_S)
        known = self._at_work(route)
        if known is None:
            return None
        values = [(one.kind, one.before, one.after) for one in (*known.marks, *known.later)]
        more = [
            mark
            for mark in marks
            if mark.kind in kinds.STATED and (mark.kind, mark.before, mark.after) not in values
        ]
        if not more:
            return None
        known.later = (*known.later, *more)[-_MOST_MARKS:]
        return known

    def _at_work(self, route: str) -> Known | None:
        """The open incident of a route whose change stands in the traffic."""
        return next((one for one in self._here(route) if one.up and not one.over and one.stated), None)

    def _here(self, route: str) -> list[Known]:
        """The incidents of a route, the latest first."""
        return self._known.get(route, [])[::-1]

    def exchange(self, verdict: Verdict) -> tuple[list[Known], list[Known]]:
        """Take the next exchange of a route.

        Returns: the incidents whose change is reversed with it, and those that were not rolled back though
        somebody said so; mostly none.
        """
        here = self._known.get(verdict.route)
        if not here:
            return [], []
        watched = [one for one in here if (not one.over or one.ending == "rolled_back") and one.turns]
        if not watched:
            return [], []
        gone: list[Known] = []
        again: list[Known] = []
        for known in watched:
            turns = known.turns
            if is_new(turns, verdict):
                known.quiet = known.back = 0
                known.again += known.over
                if known.again >= AGAIN:
                    known.over, known.ending, known.again = False, "", 0
                    again.append(known)
                continue
            known.quiet += 1
            known.back += is_old(turns, verdict)
            if not known.over and known.quiet >= QUIET and 2 * known.back >= QUIET:
                gone.append(known)
        return gone, again

    def decide(self, decision: Decision) -> Known | None:
        """Take a person's decision; the incident, or None if it is not known (any more)."""
        known = next((one for one in self._all() if one.id == decision.incident), None)
        if known is not None and decision.decided != "acknowledged":
            self._close(known, decision.decided)
        return known

    def to_json(self) -> dict[str, Any]:
        """The book as JSON values."""
        return {route: [asdict(one) for one in of_route] for route, of_route in self._known.items()}

    def read(self, raw: dict[str, Any]) -> None:
        """Take what `to_json` wrote."""
        self._known = {route: [_read(one) for one in of_route] for route, of_route in raw.items()}


_SIGNS: Final = frozenset((kinds.ANSWERS, kinds.RATINGS, kinds.JUDGE_DRIFT, kinds.TRAITS))
"""What shows that answers or ratings moved, and not why."""
_GONE_BACK: Final = frozenset(("reversed", "retired"))
"""After these, an alert is about something else."""
_DECIDED: Final = frozenset(("accepted", "rolled_back", "false_alarm"))
"""After these, further alerts of the same change are counted and page nobody."""
_MOST_MARKS: Final = 8


def _may_explain(marks: tuple[ChangeMark, ...], known: Known) -> bool:
    """Whether an incident may come from a change: not from one much later, or away from its own model."""
    left = {mark.before for mark in marks if mark.kind == kinds.MODEL}
    return known.opened_at >= marks[0].at - _EARLY_S and not any(key.model in left for key in known.up)


def _brief(marks: tuple[ChangeMark, ...]) -> tuple[ChangeMark, ...]:
    return marks[:_MOST_MARKS]


def _read(raw: dict[str, Any]) -> Known:
    marks = {name: tuple(ChangeMark(**mark) for mark in raw[name]) for name in ("marks", "later")}
    return Known(**{**raw, **marks, **_keys(raw)})


def _keys(raw: dict[str, Any]) -> dict[str, list[PartKey]]:
    return {name: [PartKey(*key) for key in raw[name]] for name in ("up", "calm")}
