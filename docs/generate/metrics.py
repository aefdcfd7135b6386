"""Blocks of `docs/reference/metrics.md`: every exposed series, from the code that exposes it."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from evenkeel.monitor.export.incidents import IncidentCollector
from evenkeel.monitor.export.prometheus import CellCollector, GoldenCollector, SilentCollector
from evenkeel.monitor.export.snapshots import HELP
from evenkeel.monitor.labels import LabelCollector
from evenkeel.release.challenge.board import ChallengeCollector

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Sequence

    from prometheus_client.core import Metric


class Series(NamedTuple):
    """Name on the page."""

    name: str
    """As it is exposed; of a histogram without `_bucket`, `_count`, `_sum`."""
    kind: str
    """"gauge", "counter" or "histogram"."""
    labels: tuple[str, ...]
    meaning: str
    optional: bool
    """True if a healthy setup may lack it for good."""
    shared: bool = False
    """True if every monitor on a Redis exports the same values: take those of one."""


class _Entry(NamedTuple):
    """One name of `series.toml`, with what `HELP` does not say."""

    kind: str
    labels: tuple[str, ...] = ()
    optional: bool = False


_PUBLISHED: Final = {
    name: _Entry(said["kind"], tuple(said.get("labels", ())), said.get("optional", False))
    for name, said in tomllib.loads(Path(__file__).with_name("series.toml").read_text("utf-8")).items()
}

_SHARED: Final = re.compile(
    r"sampling_coverage_ratio|exchanges_requeued|dead_letters_dropped|verdicts_trimmed|queue_.*|spend_today_.*|budget_.*"
)
"""Names of those that a monitor reads in the store instead of counting them itself."""

_ALWAYS: Final = re.compile(r"evenkeel_(build_info|ratings_total|above_noise_limit_ratio|route_incidents)")
"""Series of the monitor that every setup has."""


def documented() -> list[Series]:
    """Return every series that evenkeel can expose, those of the monitor first.

    Raises:
        LookupError: a counter is exposed that `series.toml` does not describe.
    """
    monitor = (
        CellCollector(list, version=""),
        GoldenCollector(dict),
        SilentCollector(tuple),
        LabelCollector(),
        ChallengeCollector(),
        IncidentCollector(),
    )
    found = [_of_monitor(metric) for collector in monitor for metric in collector.describe()]
    for name, meaning in HELP.items():
        if name not in _PUBLISHED:
            raise LookupError(
                f"evenkeel.monitor.export.snapshots.HELP has {name}: add it to docs/generate/series.toml"
            )
        known = _PUBLISHED[name]
        exposed = f"evenkeel_{name}{'_total' * (known.kind == 'counter')}"
        found.append(
            Series(
                exposed,
                known.kind,
                known.labels,
                meaning,
                known.optional,
                bool(_SHARED.fullmatch(name)),
            )
        )
    return found


def _of_monitor(metric: Metric) -> Series:
    name = f"{metric.name}_total" if metric.type == "counter" else metric.name
    return Series(
        name,
        metric.type,
        tuple(sorted(getattr(metric, "_labelnames", ()))),
        metric.documentation,
        optional=_ALWAYS.fullmatch(name) is None,
        shared=name != "evenkeel_build_info",
    )


def blocks(names: Sequence[str]) -> dict[str, str]:
    """Return a table for each name, a pattern: the series that match it and no earlier pattern."""
    left = documented()
    tables: dict[str, str] = {}
    for pattern in names:
        here = [series for series in left if re.match(pattern, series.name)]
        left = [series for series in left if series not in here]
        tables[pattern] = "".join(_table(here))
    return tables


_BESIDE: Final = re.compile(r"_(lower_ratio|upper_ratio|observations)$")


def is_beside(name: str, names: Container[str]) -> bool:
    """Tell whether a name is an end of the interval, or the number, of an estimate among the names."""
    return _BESIDE.search(name) is not None and _BESIDE.sub("_ratio", name) in names


def _table(series: Sequence[Series]) -> Iterable[str]:
    yield "| name | type | labels | meaning |\n|---|---|---|---|\n"
    names = {row.name for row in series}
    for row in series:
        if is_beside(row.name, names):
            continue
        labels = ", ".join(f"`{label}`" for label in row.labels) or "none"
        yield f"| `{row.name}` | {row.kind} | {labels} | {row.meaning} |\n"
