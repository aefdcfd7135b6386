"""Counters of several processes, kept in the store so that one process can export them all.

A snapshot is JSON: `{"counters": [[name, labels, number], …], "gauges": [same], "histograms":
[[name, labels, [upper bounds], [counts per bucket, +Inf included], sum], …]}`.
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from evenkeel.stores.documents import Collection, plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from evenkeel.stores.documents import Change, Documents


Snapshot: TypeAlias = dict[str, list[Any]]
# Names under which the proxy, the worker and the planner count; the stage follows the prefix.
_EXCHANGES: Final = "exchanges_"
_REQUESTS: Final = "proxy_requests"
_UNREAD: Final = "requests_unread"


def _key(row: list[Any]) -> tuple[str, str]:
    # Processes may write the labels of a series in different orders.
    return row[0], json.dumps(row[1], sort_keys=True)


def merge(snapshots: Iterable[Snapshot]) -> Snapshot:
    """Sum snapshots series by series; histograms bucket by bucket.

    A histogram whose buckets differ from those of its first occurrence is left out, since its
    counts cannot be added.
    """
    numbers: dict[str, dict[tuple[str, str], list[Any]]] = {"counters": {}, "gauges": {}}
    histograms: dict[tuple[str, str], list[Any]] = {}
    for snapshot in snapshots:
        for kind, series in numbers.items():
            for row in snapshot.get(kind, []):
                summed = series.setdefault(_key(row), [row[0], row[1], 0])
                summed[2] += row[2]
        for row in snapshot.get("histograms", []):
            name, labels, bounds, counts, total = row
            summed = histograms.setdefault(_key(row), [name, labels, list(bounds), [0] * len(counts), 0.0])
            if summed[2] == list(bounds):
                summed[3] = [a + b for a, b in zip(summed[3], counts, strict=True)]
                summed[4] += total
    return {
        "counters": list(numbers["counters"].values()),
        "gauges": list(numbers["gauges"].values()),
        "histograms": list(histograms.values()),
    }


def gauges(snapshots: Iterable[Snapshot], name: str) -> list[float]:
    """Return the values of a gauge in all processes that have it."""
    values: list[float] = []
    for snapshot in snapshots:
        for gauge, _, value in snapshot.get("gauges", ()):
            if gauge == name:
                values.append(value)
    return values


@dataclass(frozen=True, slots=True)
class RouteFlow:
    """Number of exchanges of one route that reached each stage since the process started."""

    route: str
    eligible: int
    """Requests that could have been sampled (a captured API, a usable answer)."""
    sampled: int
    queued: int
    scored: int
    """Exchanges whose trials are in the verdict log."""
    skipped: dict[str, int] = field(default_factory=dict)
    """Exchanges that were sampled but not scored, by reason."""
    requests: dict[str, int] = field(default_factory=dict)
    """Requests forwarded, of all APIs, by class of status ("2xx", "aborted")."""
    unread: dict[str, int] = field(default_factory=dict)
    """Requests of APIs that are forwarded and not read, by API."""


@dataclass(frozen=True, slots=True)
class UntriedPerturbation:
    """Perturbation that was not tried on a route, and the reason."""

    route: str
    perturbation: str
    reason: str
    """Reason in snake case, such as "no_rewriter" or "no_output_instructions"."""
    count: int | None
    """Times skipped since the process started; None if the present settings rule it out entirely."""


def route_flows(snapshots: Iterable[Snapshot]) -> dict[str, RouteFlow]:
    """Count the exchanges that reached each stage, by route, since the service started."""
    stages: dict[str, Counter[str]] = {}
    skipped: dict[str, dict[str, int]] = {}
    requests: dict[str, dict[str, int]] = {}
    unread: dict[str, dict[str, int]] = {}
    for name, labels, number in merge(snapshots)["counters"]:
        if name == _REQUESTS and number:
            requests.setdefault(labels["route"], {})[labels["status_class"]] = int(number)
        if name == _UNREAD:
            unread.setdefault(labels["route"], {})[labels["api"]] = int(number)
        if "route" not in labels or not name.startswith(_EXCHANGES):
            continue
        route, stage = labels["route"], name.removeprefix(_EXCHANGES)
        if stage == "skipped":
            reasons = skipped.setdefault(route, {})
            reasons[labels["reason"]] = reasons.get(labels["reason"], 0) + int(number)
        else:
            stages.setdefault(route, Counter())[stage] += int(number)
    flows: dict[str, RouteFlow] = {}
    for route in stages.keys() | requests.keys():
        counted = stages.get(route, Counter())
        # Every configured route has counters; one that nothing has come to is no flow.
        if counted.total() or route in requests:
            flows[route] = RouteFlow(
                route,
                eligible=counted["eligible"],
                sampled=counted["sampled"],
                queued=counted["queued"],
                scored=counted["scored"],
                skipped=skipped.get(route, {}),
                requests=requests.get(route, {}),
                unread=unread.get(route, {}),
            )
    return flows


def untried(snapshots: Iterable[Snapshot]) -> list[UntriedPerturbation]:
    """Return the perturbations that did not apply, most frequent first."""
    skips: list[UntriedPerturbation] = []
    for name, labels, number in merge(snapshots)["counters"]:
        if name == "trials_skipped":
            skips.append(
                UntriedPerturbation(labels["route"], labels["perturbation"], labels["reason"], int(number))
            )
    return sorted(skips, key=lambda skip: (-(skip.count or 0), skip.route, skip.perturbation, skip.reason))


class _SupervisorCounters(NamedTuple):
    source: str
    at: float
    """Unix time in seconds."""
    snapshot: Snapshot


_PUBLISHED: Final = Collection(name="published_counters", key=("source",), body=plain(_SupervisorCounters))
# Sum of the counters of supervisors that are forgotten.
_RETIRED: Final = "retired"
# Seconds of silence after which a supervisor is taken for dead; each publishes every second.
_SILENT_S: Final = 15.0
# A supervisor that is silent for so long will not come back.
_FORGOTTEN_S: Final = 86_400.0


class CounterStore:
    """Store of the latest snapshot of each supervisor, which adds up the counters of its processes.

    Nobody watches over supervisors: one that is silent for 15 s counts as ended, and if it speaks again it
    goes on from where it was. Its counters are kept, its gauges not. After a day they become part of the sum
    of those that ended.
    """

    def __init__(self, documents: Documents, clock: Callable[[], float]) -> None:
        """Open the store; `clock` is Unix time in seconds."""
        self._documents = documents
        self._clock = clock
        self._tidied = False
        documents.open(_PUBLISHED)

    def publish(self, source: str, snapshot: Snapshot) -> None:
        """Replace the snapshot of one supervisor."""
        self._documents.put(_PUBLISHED, _SupervisorCounters(source, self._clock(), snapshot))
        # Once in each process: every supervisor that starts takes up what others have left.
        if not self._tidied:
            self._documents.change(_PUBLISHED, self._retire)
            self._tidied = True

    def read(self, source: str = "") -> list[Snapshot]:
        """Return the snapshots of all supervisors, ended ones included, or that of one."""
        now = self._clock()
        snapshots = []
        for published in self._documents.history(_PUBLISHED, *([source] if source else [])):
            if now - published.at > _SILENT_S:
                published.snapshot["gauges"] = []
            snapshots.append(published.snapshot)
        return snapshots

    def _retire(self, change: Change) -> None:
        """Add the counters of the supervisors that will not come back to the sum of those that ended."""
        before = self._clock() - _FORGOTTEN_S
        gone, ended = [], []
        for published in self._documents.history(_PUBLISHED):
            if published.source == _RETIRED:
                ended.append(published.snapshot)
            elif published.at < before:
                gone.append(published)
        for published in gone:
            change.drop(_PUBLISHED, published.source)
            ended.append(published.snapshot)
        if gone:
            change.put(_PUBLISHED, _SupervisorCounters(_RETIRED, 0.0, merge(ended)))


class Tally:
    """Counters and gauges of this process, off the hot path. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counters: dict[tuple[str, tuple[tuple[str, str], ...]], float] = {}

    def add(self, name: str, amount: float = 1, **labels: str) -> None:
        """Add to a counter. Label values must come from a bounded set."""
        key = (name, tuple(sorted(labels.items())))
        with self._lock:
            self._counters[key] = self._counters.get(key, 0) + amount

    def value(self, name: str, **labels: str) -> float:
        """Return the sum of the counters of that name whose labels include these."""
        wanted = set(labels.items())
        total = 0.0
        with self._lock:
            for (counter, pairs), number in self._counters.items():
                if counter == name and wanted <= set(pairs):
                    total += number
        return total

    def snapshot(self, gauges: dict[str, float] | None = None) -> Snapshot:
        """Return all counters, with the present gauges."""
        with self._lock:
            counters = [[name, dict(labels), number] for (name, labels), number in self._counters.items()]
        return {
            "counters": counters,
            "gauges": [[name, {}, number] for name, number in (gauges or {}).items()],
        }
