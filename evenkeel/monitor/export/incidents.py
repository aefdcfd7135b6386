"""Open incidents for Prometheus, each with series that end when the incident does.

No label holds an id. An incident is its `route`, the one where it was opened, and its `slot`, its place among
the incidents of that route. Two that are open at once have two slots, and one that is opened soon after
another has another slot, so an alert never passes from one incident to the next. Incidents with one cause
have one `case`: route and slot of the first, by which Alertmanager makes one message of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evenkeel.core import figures
from evenkeel.core.together import by_themselves, together_count
from evenkeel.core.verdict import BASELINE
from evenkeel.monitor.changes import kinds
from evenkeel.monitor.export.prometheus import ListedCollector
from evenkeel.monitor.incidents import cases_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

    from evenkeel.core.cells import CellKey, CellReport, ChangeMark
    from evenkeel.monitor.incidents import Incident
    from evenkeel.monitor.notify import Contact

SLOTS: Final = 16
"""Most open incidents of a route that are exported; slots go to those opened first."""
FREE_AFTER_S: Final = 3600.0
"""Seconds after the end of an incident before its slot is given to another one."""

# Words for a change by the kind of its mark. The first kind in this order that an incident has counts.
_SAID: Final = {
    kinds.MODEL: "model",
    kinds.REQUESTED_MODEL: "model",
    kinds.FINGERPRINT: "model",
    kinds.PROMPT: "prompt",
    kinds.PARAMETERS: "parameters",
    kinds.SETTINGS: "settings",
    kinds.JUDGE: "judge",
}


def change_of(marks: Sequence[ChangeMark]) -> str:
    """Return the word in `_SAID` for a change; "unannounced" if only answers show it, "none" if nothing."""
    seen = {mark.kind for mark in marks}
    return next((word for kind, word in _SAID.items() if kind in seen), "unannounced" if seen else "none")


def slots(incidents: Iterable[Incident]) -> dict[str, str]:
    """Return the slot of each incident by its id, equal for every monitor that knows the same incidents."""
    held: dict[str, list[tuple[int, float]]] = {}
    """Slots by route, each with the time until which it is taken."""
    slots_found = {}
    for incident in sorted(incidents, key=lambda incident: (incident.opened_at, incident.id)):
        taken = held.setdefault(incident.routes[0], [])
        busy = {slot for slot, until in taken if until > incident.opened_at}
        slot = next(number for number in range(1, len(taken) + 2) if number not in busy)
        closed_at = incident.closed_at
        # Prometheus and Alertmanager learn of an end minutes later; until then the slot is the old one's.
        taken.append((slot, float("inf") if closed_at is None else closed_at + FREE_AFTER_S))
        slots_found[incident.id] = str(slot)
    return slots_found


def cases(incidents: Sequence[Incident], numbered: Mapping[str, str]) -> dict[str, str]:
    """Return the case of each incident by its id. It never changes: a cause noticed later joins nothing.

    Args:
        incidents: all that are known.
        numbered: their slots.
    """
    together = cases_of(incident for incident in incidents if not incident.learned)
    cases = {}
    for incident in incidents:
        first = together[incident.id].members[0] if incident.id in together else incident
        cases[incident.id] = f"{first.routes[0]}/{numbered[first.id]}"
    return cases


class IncidentCollector(ListedCollector):
    """Collector of open incidents, their effects on the answers, and the owners of routes."""

    block = "incident"

    def __init__(
        self,
        incidents: Callable[[], Sequence[Incident]] = tuple,
        reports: Callable[[], Sequence[CellReport]] = tuple,
        contacts: Mapping[str, Contact] | None = None,
    ) -> None:
        """Build the collector.

        Args:
            incidents: all that are kept; may block on storage.
            reports: reports of all cells.
            contacts: contact of every route.
        """
        self._incidents = incidents
        self._reports = reports
        self._contacts = dict(contacts or {})

    def fill(self, *metrics: GaugeMetricFamily | CounterMetricFamily) -> None:
        """Fill the metrics as `ListedCollector.fill` describes."""
        open_, info, opened_at, *measured, on_route, route_info = metrics
        incidents = self._incidents()
        numbered = slots(incidents)
        case = cases(incidents, numbered)
        cells = {}
        for report in self._reports():
            cells[report.key] = report
        counts = dict.fromkeys(self._contacts, 0)
        for incident in incidents:
            if incident.state == "resolved":
                continue
            for route in incident.routes:
                counts[route] = counts.get(route, 0) + 1
            if int(numbered[incident.id]) > SLOTS:
                continue
            key = [incident.routes[0], numbered[incident.id]]
            acknowledged = "yes" if incident.state == "acknowledged" else "no"
            about = [case[incident.id], change_of(incident.marks)]
            labels = [*about, incident.effect, incident.severity, acknowledged]
            open_.add_metric([*key, *labels], 1.0)
            info.add_metric([*key, figures.listing(incident.routes), incident.model, *_models(incident)], 1.0)
            opened_at.add_metric(key, incident.opened_at)
            _measure(incident, key, cells, *measured)
        for route, count in sorted(counts.items()):
            on_route.add_metric([route], count)
        for route, contact in sorted(self._contacts.items()):
            if contact.owner or contact.runbook_url or contact.rollback:
                route_info.add_metric([route, contact.owner, contact.runbook_url, contact.rollback], 1.0)


def _models(incident: Incident) -> tuple[str, str]:
    """Return the model before and after; "" for other kinds of values, whose number is unbounded."""
    models = kinds.select(incident.stated, {kinds.MODEL, kinds.REQUESTED_MODEL})
    return (models[0].before, models[0].after) if models else ("", "")


def _distance(report: CellReport) -> tuple[bool, float]:
    """Order cells by their distance above noise; those whose interval is over the limit come last."""
    excess = report.current.excess
    if excess is None:
        return False, -1.0
    return excess.lower >= report.detection.threshold, excess.value


def _measure(
    incident: Incident,
    key: list[str],
    cells: Mapping[CellKey, CellReport],
    *metrics: GaugeMetricFamily | CounterMetricFamily,
) -> None:
    """Export the furthest cell's excess, the number of rewordings and the likeness of reference answers."""
    value, lower, upper, n, limit, rewordings, references = metrics
    up = set()
    for part in incident.present:
        up.add((part.raised.route, part.raised.model, part.raised.perturbation))
    moved = by_themselves(
        (cells[name] for name in cells if name.parts in up), lambda report: report.key.perturbation
    )
    measured = [report for report in moved if report.current.excess is not None]
    furthest = max(measured, key=_distance, default=None)
    estimate = furthest.current.excess if furthest else None
    if furthest is not None and estimate is not None:
        value.add_metric(key, estimate.value)
        # An alert has an error of its own: where it rests on another measure, or on few trials, the interval
        # still holds the limit, and would look as if nothing had been found.
        if estimate.lower >= furthest.detection.threshold:
            lower.add_metric(key, estimate.lower)
            upper.add_metric(key, estimate.upper)
        n.add_metric(key, estimate.n)
        limit.add_metric(key, furthest.detection.threshold)
    if moved and together_count(moved[0].key.perturbation) == 1:
        cells_moved = {share.key.parts[:2] for share in moved}
        tried = 0
        for name in cells:
            is_single = name.perturbation != BASELINE and together_count(name.perturbation) == 1
            tried += is_single and name.parts[:2] in cells_moved
        rewordings.add_metric([*key, "affected"], len(moved))
        rewordings.add_metric([*key, "tried"], tried)
    for part in incident.up:
        event = part.raised
        if event.measure == "references" and event.value is not None and event.limit is not None:
            references.add_metric([*key, "now"], event.value)
            references.add_metric([*key, "before"], event.limit)
            break
