"""Reports of the monitor as a collector for a Prometheus registry.

By default each route and model has its estimates as they are now (since the last change, where there is
enough of it), and each perturbation two gauges, for models that were rated within the last day of their
route.

An estimate that is None is absent, never 0 or NaN: a rule on it then has nothing to fire on. Each has its
interval and its number of observations beside it.
"""

from __future__ import annotations

import tomllib
from abc import ABC, abstractmethod
from importlib.resources import files
from math import inf
from statistics import fmean
from typing import TYPE_CHECKING, ClassVar, Final, TypeAlias

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from evenkeel.core.text import label
from evenkeel.core.verdict import BASELINE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from prometheus_client.core import Metric

    from evenkeel.core.cells import CellReport, Estimate, RollupReport, RouteChanges
    from evenkeel.monitor.fold import SilentReport
    from evenkeel.stores.changes import GoldenRun


SeriesFamily: TypeAlias = "GaugeMetricFamily | CounterMetricFamily"
"""Series that share one name, with the samples of one scrape."""

PLACE: Final = ("route", "model")
PLACE_RATES: Final = ("robustness", "content_delta", "quality_worse", "above_noise", "noise_floor")
JUDGE_RATES: Final = ("judge_noise", "judge_swap_consistency", "judge_group_agreement")
# Fields of reports whose name differs from that of the series.
_FIELDS: Final = {"above_noise": "excess"}
RECENT_S: Final = 86_400.0
"""Seconds before the latest rating of a route; models last rated earlier are left out."""
_LISTED: Final = tomllib.loads(files(__package__).joinpath("families.toml").read_text("utf-8"))


def listed(block: str) -> list[SeriesFamily]:
    """Return the families of a block in `families.toml` that are no estimates, without samples."""
    families = []
    for family in _LISTED[block]:
        made = CounterMetricFamily if family["kind"] == "counter" else GaugeMetricFamily
        families.append(made(family["name"], family["help"], labels=family["labels"]))
    return families


def estimated(names: Sequence[str]) -> list[SeriesFamily]:
    """Return four gauges for each estimate: value, lower end, upper end and number of observations."""
    said = {rate["name"]: rate for rate in _LISTED["rate"]}
    families: list[SeriesFamily] = []
    for rate in names:
        name, what = f"evenkeel_{rate}", said[rate]["what"]
        observed = f"Number of {said[rate]['observed']} behind {name}_ratio"
        families += [
            GaugeMetricFamily(f"{name}_ratio", what, labels=PLACE),
            GaugeMetricFamily(f"{name}_lower_ratio", f"{what}: lower end of the interval", labels=PLACE),
            GaugeMetricFamily(f"{name}_upper_ratio", f"{what}: upper end of the interval", labels=PLACE),
            GaugeMetricFamily(f"{name}_observations", observed, labels=PLACE),
        ]
    return families


def _share(evidence: float, needed: float) -> float:
    """Return evidence as a share of the alarm level, both as logarithms; 0 if nothing can raise one."""
    return max(0.0, evidence) / needed if needed > 0 else 0.0


class _Scrape:
    """Families of one scrape, filled by name."""

    def __init__(self) -> None:
        families: list[SeriesFamily] = [
            GaugeMetricFamily(
                "evenkeel_build_info", "Version of evenkeel; the value is always 1", labels=("version",)
            ),
            *estimated(PLACE_RATES),
            *listed("place"),
            *listed("count"),
            *estimated(JUDGE_RATES),
            *listed("judge"),
            *listed("limit"),
            *listed("cell"),
            *listed("change"),
        ]
        self.families: dict[str, SeriesFamily] = {}
        for family in families:
            self.families[family.name] = family

    def add(self, name: str, labels: Iterable[str], value: float | None) -> None:
        """Add a sample; none for a value that is not known."""
        if value is not None:
            self.families[f"evenkeel_{name}"].add_metric([label(text) for text in labels], value)

    def add_estimate(self, name: str, labels: tuple[str, ...], estimate: Estimate | None) -> None:
        """Add a sample to each of the four families of an estimate."""
        if estimate is not None:
            self.add(f"{name}_ratio", labels, estimate.value)
            self.add(f"{name}_lower_ratio", labels, estimate.lower)
            self.add(f"{name}_upper_ratio", labels, estimate.upper)
            self.add(f"{name}_observations", labels, estimate.n)

    def add_place(self, report: RollupReport) -> None:
        """Add the estimates of a route and model."""
        place = (report.route, report.model)
        since, whole = report.windows.get("since_change"), report.windows.get("all")
        # A change begins with too few exchanges for an estimate; until then the whole stands for it.
        for name in PLACE_RATES:
            field = _FIELDS.get(name, name)
            self.add_estimate(name, place, getattr(since, field, None) or getattr(whole, field, None))
        self.add("rated_trials", place, report.trials)
        self.add("last_score_timestamp_seconds", place, report.last_scored_at)

    def add_group(self, reports: Sequence[CellReport]) -> None:
        """Add the counts over all cells of a route and model, and what these share: judge and limit."""
        first = reports[0]
        place, judge = (first.key.route, first.key.model), first.judge
        rated: dict[tuple[str, str], int] = {}
        shifted: dict[str, int] = {}
        failed: dict[str, int] = {}
        for report in reports:
            is_control = report.key.perturbation == BASELINE
            # Each rating has a counter from the start: a rate over one that comes later misses its first.
            for rating in (0, 1, 2, 3):
                labels = ("control" if is_control else "perturbed", str(rating or "unsure"))
                rated[labels] = rated.get(labels, 0) + report.counts.ratings.get(rating, 0)
            if not is_control:
                _add_up(shifted, report.counts.qualities)
            _add_up(failed, report.counts.failures)
        for labels, count in sorted(rated.items()):
            self.add("ratings", (*place, *labels), count)
        for quality, count in sorted(shifted.items()):
            self.add("shifts", (*place, quality), count)
        for reason, count in sorted(failed.items()):
            self.add("rating_failures", (*place, reason), count)
        for name, estimate in zip(
            JUDGE_RATES, (judge.noise, judge.swap_consistency, judge.group_agreement), strict=True
        ):
            self.add_estimate(name, place, estimate)
        for stage, count in judge.decided.items():
            self.add("ratings_decided", (*place, stage), count)
        content = first.detection.limits.get("content")
        self.add("above_noise_limit_ratio", place, content.value if content else None)

    def add_cell(self, report: CellReport) -> None:
        """Add the two gauges of a perturbation."""
        cell, excess = report.key.parts, report.current.excess
        self.add("cell_above_noise_ratio", cell, excess.value if excess else None)
        evidence = _share(report.detection.evidence_log10, report.detection.alarm_log10)
        self.add("cell_evidence_ratio", cell, evidence)

    def add_changes(self, report: RouteChanges) -> None:
        """Add the changes of a route."""
        for kind, count in sorted(report.counts.items()):
            self.add("changes", (report.route, kind), count)
        latest = {mark.kind: mark.at for mark in report.latest}
        for kind, at in sorted(latest.items()):
            self.add("last_change_timestamp_seconds", (report.route, kind), at)


def _add_up(total: dict[str, int], counts: Mapping[str, int]) -> None:
    for name, count in counts.items():
        total[name] = total.get(name, 0) + count


def recent(reports: Sequence[CellReport]) -> list[CellReport]:
    """Return the reports of models last rated within a day of their route's latest rating, or never."""
    rated: dict[tuple[str, str], float] = {}
    latest: dict[str, float] = {}
    for report in reports:
        at, route_and_model = report.last_scored_at, report.key.parts[:2]
        if at is not None:
            rated[route_and_model] = max(at, rated.get(route_and_model, at))
            latest[route_and_model[0]] = max(at, latest.get(route_and_model[0], at))
    recent_reports = []
    for report in reports:
        rated_at = rated.get(report.key.parts[:2], inf)
        if rated_at >= latest.get(report.key.route, 0.0) - RECENT_S:
            recent_reports.append(report)
    return recent_reports


def by_place(reports: Sequence[CellReport]) -> list[tuple[CellReport, ...]]:
    """Return the reports of each route and model."""
    by_cell: dict[tuple[str, ...], list[CellReport]] = {}
    for report in reports:
        by_cell.setdefault(report.key.parts[:2], []).append(report)
    return [tuple(here) for here in by_cell.values()]


class CellCollector(Collector):
    """Collector that exports the monitor's reports at each scrape."""

    def __init__(
        self,
        cells: Callable[[], Sequence[CellReport]],
        rollups: Callable[[], Sequence[RollupReport]] = tuple,
        changes: Callable[[], Sequence[RouteChanges]] = tuple,
        *,
        version: str,
    ) -> None:
        """Build a collector; the three readings are called one after the other at each scrape.

        Args:
            cells: returns the reports, as `Monitor.reports` does.
            rollups: returns those of the roll-ups.
            changes: returns the changes of all routes.
            version: version of evenkeel, for `evenkeel_build_info`.
        """
        self._cells = cells
        self._rollups = rollups
        self._changes = changes
        self._version = version

    def describe(self) -> Iterable[Metric]:
        """Return the families without samples, so that a registry can refuse a name that is taken."""
        return _Scrape().families.values()

    def collect(self) -> Iterable[Metric]:
        """Return all families, as of the monitor's last commit."""
        scrape = _Scrape()
        scrape.add("build_info", (self._version,), 1)
        cells, rollups = self._cells(), self._rollups()
        shown = recent(cells)
        groups = by_place(shown)
        for here in groups:
            scrape.add_group(here)
        # A retired model is left out whole, so its roll-up goes with its cells.
        places = {here[0].key.parts[:2] for here in groups}
        for rollup in rollups:
            if (rollup.route, rollup.model) in places:
                scrape.add_place(rollup)
        for report in shown:
            if report.key.perturbation != BASELINE:
                scrape.add_cell(report)
        for changes in self._changes():
            scrape.add_changes(changes)
        return scrape.families.values()


class ListedCollector(Collector, ABC):
    """Collector of the families of one block of `families.toml`, filled again at each scrape."""

    block: ClassVar[str]

    def describe(self) -> Iterable[Metric]:
        """Return the families without samples."""
        return listed(self.block)

    def collect(self) -> Iterable[Metric]:
        """Return all families, as of now."""
        families = listed(self.block)
        self.fill(*families)
        return families

    @abstractmethod
    def fill(self, *metrics: SeriesFamily) -> None:
        """Add the samples of each family, in the order of the block."""


class GoldenCollector(ListedCollector):
    """Collector of the similarity between a route's latest golden answers and the approved ones."""

    block = "goldens"

    def __init__(self, runs: Callable[[], Mapping[str, GoldenRun]]) -> None:
        """Build the collector; `runs` gives the last run of each route's goldens."""
        self._runs = runs

    def fill(self, *metrics: GaugeMetricFamily | CounterMetricFamily) -> None:
        """Fill the metrics as `ListedCollector.fill` describes."""
        score, asked_at = metrics
        for route, run in sorted(self._runs().items()):
            asked_at.add_metric([route], run.at)
            scores: dict[str, list[float]] = {}
            for result in run.results:
                for metric, value in result.scores.items():
                    scores.setdefault(metric, []).append(value)
            for metric, values in sorted(scores.items()):
                score.add_metric([route, run.model, metric], fmean(values))


class SilentCollector(ListedCollector):
    """Collector of the evidence for changes that nobody announced."""

    block = "silent"

    def __init__(self, reports: Callable[[], Sequence[SilentReport]]) -> None:
        """Build the collector; `reports` gives the state of the tests by route and requested model."""
        self._reports = reports

    def fill(self, *metrics: GaugeMetricFamily | CounterMetricFamily) -> None:
        """Fill the metrics as `ListedCollector.fill` describes."""
        evidence, answers = metrics
        for report in self._reports():
            labels = [report.route, report.requested_model]
            evidence_log10, level = report.evidence_log10, report.level_log10
            evidence.add_metric(labels, max(0.0, evidence_log10) / level if level > 0 else 0.0)
            answers.add_metric(labels, report.compared)
