"""Counters of all processes, for Prometheus: sums of the snapshots that they publish."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from itertools import accumulate
from math import inf
from typing import TYPE_CHECKING, Any, Final

from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from evenkeel.core.text import label
from evenkeel.stores.counters import merge

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from evenkeel.stores.counters import Snapshot

HELP: Final[dict[str, str]] = tomllib.loads(files(__package__).joinpath("counters.toml").read_text("utf-8"))
"""Help texts of the known names."""


class SnapshotCollector(Collector):
    """Collector of the sum of process snapshots, read again at each scrape.

    A counter becomes `evenkeel_<name>_total`, a gauge or histogram `evenkeel_<name>`. Gauges are
    summed too, so only one process may publish a gauge that all of them could see, such as the
    length of a shared queue. A name without help text is exported all the same.
    """

    def __init__(self, read: Callable[[], Iterable[Snapshot]]) -> None:
        """Build the collector of the snapshots that a function returns."""
        self._read = read

    def describe(self) -> Iterable[Metric]:
        """Return nothing: the names are known only at a scrape."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Yield one family for each name, in alphabetical order."""
        total = merge(map(_brief, self._read()))
        families: dict[tuple[str, str], Metric] = {}
        for name, labels, number in total["counters"]:
            _family(families, name, "counter").add_sample(f"evenkeel_{name}_total", _text(labels), number)
        for name, labels, number in total["gauges"]:
            _family(families, name, "gauge").add_sample(f"evenkeel_{name}", _text(labels), number)
        for row in total["histograms"]:
            _add_histogram(_family(families, row[0], "histogram"), *row[1:])
        for key in sorted(families):
            yield families[key]


def _brief(snapshot: Snapshot) -> Snapshot:
    """Return a snapshot in which perturbations are not told apart: they would be thousands of series."""
    counters = []
    for name, labels, number in snapshot.get("counters", ()):
        kept = {}
        for key, value in labels.items():
            if key != "perturbation":
                kept[key] = value
        counters.append([name, kept, number])
    return {**snapshot, "counters": counters}


def coverage(total: Snapshot) -> dict[str, float]:
    """Return by route the share of the forwarded requests that the estimates rest on, in [0, 1].

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
    shares = {}
    for route, requests in sorted(forwarded.items()):
        if requests:
            shares[route] = min(1.0, scored.get(route, 0) / requests)
    return shares


def _family(families: dict[tuple[str, str], Metric], name: str, kind: str) -> Metric:
    key = (name, kind)
    if key not in families:
        explanation = HELP.get(name, f"{name.replace('_', ' ').capitalize()}, as published by a process")
        families[key] = Metric(f"evenkeel_{name}", explanation, kind)
    return families[key]


def _text(labels: dict[str, Any]) -> dict[str, str]:
    return {name: label(str(value)) for name, value in sorted(labels.items())}


def _bound(bound: float) -> str:
    return "+Inf" if bound == inf else repr(float(bound))


def _add_histogram(
    family: Metric, labels: dict[str, Any], bounds: list[float], counts: list[int], total: float
) -> None:
    """Add one histogram; `counts` are per bucket, with the bucket above all bounds last."""
    label_texts = _text(labels)
    for bound, cumulated in zip([*bounds, inf], accumulate(counts), strict=True):
        family.add_sample(f"{family.name}_bucket", {**label_texts, "le": _bound(bound)}, cumulated)
    family.add_sample(f"{family.name}_count", label_texts, sum(counts))
    family.add_sample(f"{family.name}_sum", label_texts, total)
