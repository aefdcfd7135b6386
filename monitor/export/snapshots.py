"""Counters of all processes, for Prometheus: sums of the snapshots that they publish."""

from __future__ import annotations

from itertools import accumulate
from math import inf
from typing import TYPE_CHECKING, Any

from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from evenkeel.stores.counters import merge

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from evenkeel.stores.counters import Snapshot

HELP = {
    "proxy_requests": "Requests forwarded, by class of the status sent to the client",
    "proxy_disconnects": "Requests whose client went away before the answer was complete",
    "proxy_retries": "Requests sent again on a fresh connection because the kept one died unanswered",
    "proxy_failovers": "Requests that went to the next upstream of their route",
    "proxy_upstream_errors": "Requests that the upstream did not answer completely, by reason",
    "proxy_connections": "Connections accepted from clients",
    "proxy_connections_refused": "Connections of clients closed because there were too many, by reason",
    "proxy_connections_open": "Connections of clients now",
    "proxy_connections_limit": "Connections of clients that there may be at once, all processes together",
    "proxy_in_flight": "Requests being forwarded now",
    "proxy_first_byte_seconds": "Time from the request head to the first byte of the answer",
    "proxy_overhead_seconds": "Time that forwarding added to a request",
    "exchanges_eligible": "Exchanges that could have been sampled",
    "exchanges_sampled": "Exchanges chosen by the sampling rate",
    "exchanges_queued": "Sampled exchanges stored in the queue",
    "exchanges_skipped": "Exchanges that were not sampled or not stored, by reason",
    "exchanges_scored": "Exchanges of which every trial has a verdict",
    "sampling_coverage": "Share of the forwarded requests whose trials were scored, since the counters began",
    "exchanges_archived": "Exchanges kept for a while, so that they can be approved as goldens",
    "exchanges_dead": "Exchanges given up, by reason",
    "exchanges_requeued": "Exchanges queued again because somebody had trimmed them from the stream",
    "dead_letters_dropped": "Exchanges that were given up and are no longer kept to be looked at",
    "redactions": "Values replaced in sampled exchanges before they were queued, by kind",
    "redaction_failures": "Bodies of sampled exchanges dropped because they could not be redacted, by reason",
    "handoff_bytes": "Size of the sampled exchanges that wait to be stored",
    "queue_waiting": "Exchanges in the queue that no worker holds",
    "queue_leased": "Exchanges in the queue that a worker holds",
    "queue_oldest_seconds": "Age of the oldest exchange in the queue, 0 if there is none",
    "queue_dead": "Exchanges that were given up and are kept to be looked at, the newest 1,000",
    "trials": "Trials made, by outcome",
    "trials_skipped": "Trials that were not made, by reason",
    "judge_up": "Whether the judge can be used (1) or exchanges wait for it (0)",
    "judge_rechecks": "Ratings of the judge made again to measure its noise, by outcome",
    "embeddings_failures": "Ratings made without sentence embeddings because those failed, by reason",
    "rewrites": "Texts asked of the rewriter, by outcome",
    "worker_errors": "Errors that the worker met and tried again, by where",
    "spend_tokens": "Tokens spent on replays, judge with embeddings, and rewriter",
    "spend_usd": "US dollars spent on replays, judge with embeddings, and rewriter, by list price",
    "spend_today_tokens": "Tokens spent today",
    "spend_today_usd": "US dollars spent today, by list price",
    "spend_today_by_purpose_tokens": "Tokens spent today: replay, golden, judge, rewriter",
    "spend_today_by_purpose_usd": "US dollars spent today by list price: replay, golden, judge, rewriter",
    "budget_tokens_per_day": "Tokens that may be spent a day, all routes together",
    "budget_usd_per_day": "US dollars that may be spent a day, all routes together",
    "settings_reload_success": "Whether the settings read last are in force (1) or were refused (0)",
    "settings_last_reload_timestamp_seconds": "Unix time of the last reading of settings that succeeded",
    "store_reopened": "Times that the store was found cut short while in use, and opened again by a proxy",
    "store_recreated": "Times that the store was found deleted while in use, and made anew",
    "verdicts_trimmed": "Verdicts no longer kept, since the store began",
    "spans_exported": "Spans taken by the trace collector",
    "spans_dropped": "Spans that did not reach the trace collector, by reason",
    "monitor_verdicts": "Verdicts folded since the monitor started",
    "monitor_failures": "Failed attempts to fold verdicts since the monitor started",
    "monitor_last_step_timestamp_seconds": "Unix time of the monitor's last successful step, or of its start",
}
"""What each known name counts."""


class SnapshotCollector(Collector):
    """Exports the sum of process snapshots, read anew at each scrape.

    A counter becomes `evenkeel_<name>_total`, a gauge or histogram `evenkeel_<name>`. Gauges are
    summed too, so only one process may publish a gauge that all of them could see, such as the
    length of a shared queue. A name without help text is exported all the same.
    """

    def __init__(self, read: Callable[[], Iterable[Snapshot]]) -> None:
        self._read = read

    def describe(self) -> Iterable[Metric]:
        """Nothing: the names are known only at a scrape."""
        return []

    def collect(self) -> Iterator[Metric]:
        """One family for each name, in alphabetical order."""
        total = merge(self._read())
        families: dict[tuple[str, str], Metric] = {}
        for name, labels, number in total["counters"]:
            _family(families, name, "counter").add_sample(f"evenkeel_{name}_total", _text(labels), number)
        for name, labels, number in total["gauges"]:
            _family(families, name, "gauge").add_sample(f"evenkeel_{name}", _text(labels), number)
        for row in total["histograms"]:
            _add_histogram(_family(families, row[0], "histogram"), *row[1:])
        for key in sorted(families):
            yield families[key]


def coverage(total: Snapshot) -> dict[str, float]:
    """How much of the traffic the estimates rest on: by route the share of the forwarded requests, in [0, 1].

    Args:
        total: Counters of the data planes and of the workers together.

    Returns: nothing for a route without requests.
    """
    forwarded: dict[str, float] = {}
    scored: dict[str, float] = {}
    for name, labels, number in total["counters"]:
        sums = {"proxy_requests": forwarded, "exchanges_scored": scored}.get(name)
        if sums is not None and "route" in labels:
            sums[labels["route"]] = sums.get(labels["route"], 0) + number
    # More than all, for a while: the queue outlives the counters.
    return {
        route: min(1.0, scored.get(route, 0) / requests)
        for route, requests in sorted(forwarded.items())
        if requests
    }


def _family(families: dict[tuple[str, str], Metric], name: str, kind: str) -> Metric:
    key = (name, kind)
    if key not in families:
        explanation = HELP.get(name, f"{name.replace('_', ' ').capitalize()}, as published by a process")
        families[key] = Metric(f"evenkeel_{name}", explanation, kind)
    return families[key]


def _text(labels: dict[str, Any]) -> dict[str, str]:
    return {name: str(value) for name, value in sorted(labels.items())}


def _bound(bound: float) -> str:
    return "+Inf" if bound == inf else repr(float(bound))


def _add_histogram(
    family: Metric, labels: dict[str, Any], bounds: list[float], counts: list[int], total: float
) -> None:
    """Add one histogram, of which `counts` are per bucket, the one above all bounds last."""
    known = _text(labels)
    for bound, cumulated in zip([*bounds, inf], accumulate(counts), strict=True):
        family.add_sample(f"{family.name}_bucket", {**known, "le": _bound(bound)}, cumulated)
    family.add_sample(f"{family.name}_count", known, sum(counts))
    family.add_sample(f"{family.name}_sum", known, total)
