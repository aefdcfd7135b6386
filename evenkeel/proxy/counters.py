"""Counters of the data plane: plain integers, written on the path and read at scrape time.

Each number is written by one thread only (the event loop, or the hand-off), so none needs a lock.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Any

FIRST_BYTE_BOUNDS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)
OVERHEAD_BOUNDS_S = (25e-6, 50e-6, 100e-6, 250e-6, 500e-6, 1e-3, 2.5e-3, 5e-3, 10e-3, 50e-3, 0.25)

ABORTED = 0
"""Status class of a request whose answer did not arrive completely."""

_STATUS_CLASSES = ("aborted", "1xx", "2xx", "3xx", "4xx", "5xx", "6xx", "7xx", "8xx", "9xx")
_ALWAYS_TIMED = "2xx"
_ALWAYS_SHOWN = frozenset({"aborted", "2xx", "3xx", "4xx", "5xx"})


class Histogram:
    """Observations counted by bucket, in seconds."""

    __slots__ = ("bounds", "counts", "total_s")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        """Count for each bound, upper bounds included, and a last one for values above all bounds."""
        self.total_s = 0.0

    def observe(self, value_s: float) -> None:
        """Count one observation."""
        self.counts[bisect_left(self.bounds, value_s)] += 1
        self.total_s += value_s

    def snapshot(self) -> tuple[list[float], list[int], float]:
        """Return upper bounds, counts by bucket, and the sum in seconds."""
        return list(self.bounds), list(self.counts), self.total_s


class RouteCounters:
    """Counters of one route since the start of the process."""

    __slots__ = (
        "conversed",
        "disconnects",
        "eligible",
        "failovers",
        "first_byte",
        "in_flight",
        "overhead",
        "queued",
        "requests",
        "retries",
        "sampled",
        "skipped",
        "unread",
        "upstream_errors",
    )

    def __init__(self) -> None:
        self.requests = [0] * len(_STATUS_CLASSES)
        """Counts by status // 100; see `ABORTED`."""
        self.in_flight = 0
        self.disconnects = 0
        self.retries = 0
        self.failovers = 0
        self.upstream_errors: dict[str, int] = {}
        self.eligible = 0
        self.sampled = 0
        self.conversed = 0
        """Requests in sampled WebSockets, counted by the hand-off; eligible and sampled, all of them."""
        self.queued = 0
        self.skipped: dict[str, int] = {}
        self.unread: dict[str, int] = {}
        """Requests of APIs that are forwarded and not read, by API."""
        self.first_byte = [Histogram(FIRST_BYTE_BOUNDS_S) for _ in _STATUS_CLASSES]
        """Histograms by status // 100 of the answer."""
        self.overhead = Histogram(OVERHEAD_BOUNDS_S)

    def skip(self, reason: str) -> None:
        """Count a sampled exchange that is not queued."""
        self.skipped[reason] = self.skipped.get(reason, 0) + 1

    def leave_unread(self, api: str) -> None:
        """Count a request of an API that is not read."""
        self.unread[api] = self.unread.get(api, 0) + 1

    def fail(self, reason: str) -> None:
        """Count a failure of the upstream."""
        self.upstream_errors[reason] = self.upstream_errors.get(reason, 0) + 1


class Counters:
    """All counters of one data plane."""

    __slots__ = ("_routes", "connections", "refused")

    def __init__(self) -> None:
        self._routes: dict[str, RouteCounters] = {}
        self.connections = 0
        """Client connections accepted."""
        self.refused = 0
        """Client connections refused, because there were too many."""

    def of(self, route: str) -> RouteCounters:
        """Return the counters of a route, created on the first call."""
        counted = self._routes.get(route)
        if counted is None:
            counted = self._routes[route] = RouteCounters()
        return counted

    def snapshot(self, handoff_bytes: int) -> dict[str, list[list[Any]]]:
        """Return all numbers as JSON-able data.

        Returns `counters` and `gauges` as [name, labels, number], `histograms` as [name, labels,
        upper bounds, counts by bucket with the one above all bounds last (not cumulative), sum].
        Seconds and bytes throughout.
        """
        counters: list[list[Any]] = [
            ["proxy_connections", {}, self.connections],
            ["proxy_connections_refused", {"reason": "full"}, self.refused],
        ]
        gauges: list[list[Any]] = [["handoff_bytes", {}, handoff_bytes]]
        histograms: list[list[Any]] = []
        for route, counted in list(self._routes.items()):
            label = {"route": route}
            for name, number in zip(_STATUS_CLASSES, counted.requests, strict=True):
                if number or name in _ALWAYS_SHOWN:
                    counters.append(["proxy_requests", {**label, "status_class": name}, number])
            counters += [
                ["proxy_disconnects", label, counted.disconnects],
                ["proxy_retries", label, counted.retries],
                ["proxy_failovers", label, counted.failovers],
                ["exchanges_eligible", label, counted.eligible + counted.conversed],
                ["exchanges_sampled", label, counted.sampled + counted.conversed],
                ["exchanges_queued", label, counted.queued],
            ]
            for name, by_reason in (
                ("proxy_upstream_errors", counted.upstream_errors),
                ("exchanges_skipped", counted.skipped),
            ):
                # A copy, as above: the data plane's thread may add a reason meanwhile.
                for reason, number in dict(by_reason).items():
                    counters.append([name, {**label, "reason": reason}, number])
            for api, number in dict(counted.unread).items():
                counters.append(["requests_unread", {**label, "api": api}, number])
            gauges.append(["proxy_in_flight", label, counted.in_flight])
            for name, histogram in zip(_STATUS_CLASSES, counted.first_byte, strict=True):
                if any(histogram.counts) or name == _ALWAYS_TIMED:
                    seconds = histogram.snapshot()
                    histograms.append(["proxy_first_byte_seconds", {**label, "status_class": name}, *seconds])
            histograms.append(["proxy_overhead_seconds", label, *counted.overhead.snapshot()])
        return {"counters": counters, "gauges": gauges, "histograms": histograms}
