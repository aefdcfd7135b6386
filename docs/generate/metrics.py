"""Blocks of `docs/reference/metrics.md`: every exposed series, from the code that exposes it."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from evenkeel.monitor.changes.exporter import GoldenCollector, SilentCollector
from evenkeel.monitor.export.incidents import IncidentCollector
from evenkeel.monitor.export.prometheus import CellCollector
from evenkeel.monitor.export.snapshots import HELP
from evenkeel.monitor.labels import LabelCollector

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
    range: str
    absent: str
    """When there is no such series."""
    optional: bool
    """Whether a setup that is all right may lack it for good."""
    shared: bool = False
    """Whether every monitor on a Redis exports the same: of several, one is to be taken."""


class _Entry(NamedTuple):
    """One name of `series.toml`, with what `HELP` does not say."""

    kind: str
    labels: tuple[str, ...] = ()
    absent: str = ""
    """"" if it is always there."""


_PUBLISHED: Final = {
    name: _Entry(said["kind"], tuple(said.get("labels", ())), said.get("absent", ""))
    for name, said in tomllib.loads(Path(__file__).with_name("series.toml").read_text("utf-8")).items()
}

_SHARED: Final = re.compile(
    r"sampling_coverage_ratio|exchanges_requeued|dead_letters_dropped|verdicts_trimmed|queue_.*|spend_today_.*|budget_.*"
)
"""Of those, what a monitor reads in the store instead of counting it itself."""

_ESTIMATE: Final = "with fewer observations than `alerts.min_trials`"
_JUDGED: Final = "without a judge; with fewer observations than `alerts.min_trials`"
_DETAIL: Final = "without `telemetry.metrics_detail`"
_ABSENT: Final = (
    # The first pattern that a name of the monitor matches says when it is absent.
    (r"evenkeel_(build_info|ratings_total)", ""),
    (r"evenkeel_above_noise_limit_ratio", ""),
    (r"evenkeel_judge_human_agreement.*", "until a verdict is labelled"),
    (r"evenkeel_(judge_|cascade_).*", _JUDGED),
    (r"evenkeel_ratings_decided_total", "without a judge"),
    (r"evenkeel_rating_failures_total", "until the first of its reason"),
    (r"evenkeel_shifts_total", "before the first verdict"),
    (r"evenkeel_(rated_trials|last_score_timestamp_seconds)", "before the first rating"),
    (r"evenkeel_cell_above_noise_ratio", _ESTIMATE),
    (r"evenkeel_cell_evidence_ratio", "before the cell's first verdict"),
    (r"evenkeel_cell_drift.*", f"{_DETAIL}; until the cell has a baseline"),
    (r"evenkeel_cell_.*|evenkeel_limit_ratio", _DETAIL),
    (r"evenkeel_window_.*", f"{_DETAIL}; {_ESTIMATE}"),
    (r"evenkeel_(robustness|content_delta|quality_worse|above_noise|noise_floor)_.*", _ESTIMATE),
    (r"evenkeel_(last_change|changes).*", "until the first of its kind"),
    (r"evenkeel_route_incidents", ""),
    (r"evenkeel_route_info", "of a route without `owner`, `runbook_url` and `rollback`"),
    (r"evenkeel_incident_(above_noise|limit|rewordings).*", "while no incident of rewordings is open"),
    (r"evenkeel_incident_references.*", "while no incident of reference prompts is open"),
    (r"evenkeel_incident_.*", "while none is open"),
    (r"evenkeel_(silent|reference)_.*", "until the first reference answer of the requested model"),
    (r"evenkeel_goldens_.*", "until goldens of the route were asked again"),
)


def documented() -> list[Series]:
    """Return every series that evenkeel can expose, those of the monitor first.

    Raises:
        LookupError: a name is exposed of which this module does not say when it is absent.
    """
    monitor = (
        CellCollector(list, version="", detail=True),
        GoldenCollector(dict),
        SilentCollector(tuple),
        LabelCollector(),
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
                _range(exposed, meaning),
                known.absent or "never",
                bool(known.absent),
                bool(_SHARED.fullmatch(name)),
            )
        )
    return found


def _of_monitor(metric: Metric) -> Series:
    name = f"{metric.name}_total" if metric.type == "counter" else metric.name
    labels = tuple(sorted(getattr(metric, "_labelnames", ())))
    for pattern, absent in _ABSENT:
        if re.fullmatch(pattern, name):
            return Series(
                name,
                metric.type,
                labels,
                *_split(metric.documentation, name),
                absent or "never",
                bool(absent),
                name != "evenkeel_build_info",
            )
    raise LookupError(f"{name} is exposed: say in docs/generate/metrics.py when it is absent")


def _split(documentation: str, name: str = "") -> tuple[str, str]:
    """Split a help text into meaning and range."""
    meaning = re.sub(r", in (\[[^\]]*\])", "", documentation)
    return meaning, _range(name, documentation)


_RANGES: Final = (
    # The first pattern that a name matches says which values it takes.
    (r"evenkeel_(build|route|incident)_info|evenkeel_incident_open", "1"),
    (r".*timestamp.*", "Unix time"),
    (r"evenkeel_(cell_alert|cell_blind|cell_drift|judge_up|settings_reload_success)", "0 or 1"),
    (r"evenkeel_(measuring|held_up)", "0 or 1"),
    (r".*_evidence_ratio", "≥ 0"),
    (r".*_(above_noise|loss)_(lower|upper)_ratio", "[-1, 1]"),
    (r".*_ratio", "[0, 1]"),
    (r".*_(usd|usd_total|usd_per_day|seconds)", "≥ 0"),
    (r".*", "whole, ≥ 0"),
)


def _range(name: str, meaning: str) -> str:
    """Return the range that the help text states, else the one that the name implies."""
    stated = re.search(r", in (\[[^\]]*\])", meaning)
    if stated and not name.endswith("_observations"):
        return stated[1]
    return next(values for pattern, values in _RANGES if re.fullmatch(pattern, name))


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
    yield "| name | type | labels | meaning | range | absent |\n|---|---|---|---|---|---|\n"
    names = {row.name for row in series}
    for row in series:
        if is_beside(row.name, names):
            continue
        labels = ", ".join(f"`{label}`" for label in row.labels) or "none"
        yield f"| `{row.name}` | {row.kind} | {labels} | {row.meaning} | {row.range} | {row.absent} |\n"
