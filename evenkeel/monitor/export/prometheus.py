"""Reports of the monitor as a collector for a Prometheus registry.

By default each route and model has its estimates as they are now (since the last change, where there is
enough of it), and each perturbation two gauges, for models that were rated within the last day of their
route. `detail` adds every estimate of every cell in every window.

An estimate that is None is absent, never 0 or NaN: a rule on it then has nothing to fire on. Each has its
interval and its number of observations beside it.
"""

from __future__ import annotations

import tomllib
from abc import ABC, abstractmethod
from importlib.resources import files
from math import inf
from typing import TYPE_CHECKING, ClassVar, Final, TypeAlias

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from evenkeel.core.text import label
from evenkeel.core.verdict import BASELINE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from prometheus_client.core import Metric

    from evenkeel.core.cells import CellReport, DriftReport, Estimate, RollupReport, RouteChanges


SeriesFamily: TypeAlias = "GaugeMetricFamily | CounterMetricFamily"
"""Series that share one name, with the samples of one scrape."""

CELL: Final = ("route", "model", "perturbation")
PLACE: Final = CELL[:2]
PLACE_RATES: Final = ("robustness", "content_delta", "quality_worse", "above_noise", "noise_floor")
JUDGE_RATES: Final = ("judge_noise", "judge_swap_consistency", "judge_group_agreement")
# Estimates that a cell also has since the last change.
_WINDOWED: Final = ("robustness", "content_delta", "above_noise")
CELL_RATES: Final = (
    *_WINDOWED,
    "quality_delta",
    "quality_worse",
    "quality_better",
    "unsure",
    "invalid",
    "similarity",
    "control_similarity",
    "loss",
    "tool_choice",
    "tool_choice_noise",
    "tool_arguments",
    "tool_arguments_noise",
)
# Fields of reports whose name differs from that of the series.
_FIELDS: Final = {"above_noise": "excess"}
RECENT_S: Final = 86_400.0
"""Seconds before the latest rating of a route; without detail, models last rated earlier are left out."""
IN_WINDOW = "; of one cell, over a window of its trials"
_LISTED: Final = tomllib.loads(files(__package__).joinpath("families.toml").read_text("utf-8"))


def listed(block: str) -> list[SeriesFamily]:
    """Return the families of a block in `families.toml` that are no estimates, without samples."""
    families = []
    for family in _LISTED[block]:
        made = CounterMetricFamily if family["kind"] == "counter" else GaugeMetricFamily
        families.append(made(family["name"], family["help"], labels=family["labels"]))
    return families


def estimated(
    names: Sequence[str], labels: tuple[str, ...], prefix: str = "", scope: str = ""
) -> list[SeriesFamily]:
    """Return four gauges for each estimate: value, lower end, upper end and number of observations.

    Args:
        names: names of the estimates in `families.toml`.
        labels: labels of all families.
        prefix: prefix of the names, after the one that all names have.
        scope: addition to the help texts.
    """
    said = {rate["name"]: rate for rate in _LISTED["rate"]}
    families: list[SeriesFamily] = []
    for rate in names:
        name, what = f"evenkeel_{prefix}{rate}", f"{said[rate]['what']}{scope}"
        observed = f"Number of {said[rate]['observed']} behind {name}_ratio"
        families += [
            GaugeMetricFamily(f"{name}_ratio", what, labels=labels),
            GaugeMetricFamily(f"{name}_lower_ratio", f"{what}: lower end of the interval", labels=labels),
            GaugeMetricFamily(f"{name}_upper_ratio", f"{what}: upper end of the interval", labels=labels),
            GaugeMetricFamily(f"{name}_observations", observed, labels=labels),
        ]
    return families


def _share(evidence: float, needed: float) -> float:
    """Return evidence as a share of the alarm level, both as logarithms; 0 if nothing can raise one."""
    return max(0.0, evidence) / needed if needed > 0 else 0.0


class _Scrape:
    """Families of one scrape, filled by name."""

    def __init__(self, *, detail: bool) -> None:
        families: list[SeriesFamily] = [
            GaugeMetricFamily(
                "evenkeel_build_info", "Version of evenkeel; the value is always 1", labels=("version",)
            ),
            *estimated(PLACE_RATES, PLACE),
            *listed("place"),
            *listed("count"),
            *estimated(JUDGE_RATES, PLACE),
            *listed("judge"),
            *listed("limit"),
            *listed("cell"),
            *listed("change"),
        ]
        if detail:
            families += estimated(CELL_RATES, (*CELL, "window", "scorer"), "window_", IN_WINDOW)
            families += listed("detail") + listed("every_limit")
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

    def add_detail(self, report: CellReport) -> None:
        """Add all figures of a cell; the label `scorer` says who decided the ratings."""
        cell, counts, detection = report.key.parts, report.counts, report.detection
        for name in CELL_RATES:
            field = _FIELDS.get(name, name)
            whole = getattr(report.estimates, field)
            self.add_estimate(f"window_{name}", (*cell, "all", report.scorer), whole)
            if name in _WINDOWED:
                since = getattr(report.since_change, field, None)
                self.add_estimate(f"window_{name}", (*cell, "since_change", report.scorer), since)
        for rating, count in sorted(({0: 0, 1: 0, 2: 0, 3: 0} | counts.ratings).items()):
            self.add("cell_verdicts", (*cell, str(rating or "unsure")), count)
        for name, counted in (
            ("verdict_quality", counts.qualities),
            ("invalid_answers", counts.invalids),
            ("verdict_failures", counts.failures),
        ):
            for value, count in sorted(counted.items()):
                self.add(f"cell_{name}", (*cell, value), count)
        self.add("cell_rated_trials", cell, counts.trials)
        self.add("cell_effective_trials", cell, counts.effective)
        self.add("cell_last_score_timestamp_seconds", cell, report.last_scored_at)
        # The control is what the others are compared with: it has no alert.
        if report.key.perturbation != BASELINE:
            for step, count in sorted(counts.pairs.items()):
                self.add("cell_pairs", (*cell, str(step)), count)
            self.add("cell_alert", cell, int(detection.alert))
            self.add("cell_limit_ratio", cell, detection.threshold)
            self.add("cell_blind", cell, int(report.is_blind))
        if detection.drift is not None:
            self._add_drift(cell, detection.drift, detection.alarm_log10)

    def _add_drift(self, cell: tuple[str, ...], drift: DriftReport, alarm_log10: float) -> None:
        for side in ("fallen", "risen"):
            self.add("cell_drift", (*cell, side), int(drift.state == side))
        self.add("cell_drift_evidence_ratio", cell, _share(drift.evidence_log10, alarm_log10))
        approved = "no" if drift.provisional else "yes"
        self.add("cell_drift_baseline_ratio", (*cell, approved), drift.baseline)
        self.add("cell_drift_baseline_trials", cell, drift.trials)
        self.add("cell_drift_lower_ratio", cell, drift.lower)
        self.add("cell_drift_upper_ratio", cell, drift.upper)

    def add_limits(self, report: CellReport) -> None:
        """Add the limits of a route and model, which all of its cells share."""
        for measure, limit in report.detection.limits.items():
            # One word: what else a source says would be a series for each calibration.
            source = limit.source.partition(" ")[0]
            self.add("limit_ratio", (*report.key.parts[:2], measure, source), limit.value)


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
        detail: bool = False,
    ) -> None:
        """Build a collector; the three readings are called one after the other at each scrape.

        Args:
            cells: returns the reports, as `Monitor.reports` does.
            rollups: returns those of the roll-ups.
            changes: returns the changes of all routes.
            version: version of evenkeel, for `evenkeel_build_info`.
            detail: whether to export every estimate of every cell.
        """
        self._cells = cells
        self._rollups = rollups
        self._changes = changes
        self._version = version
        self._detail = detail

    def describe(self) -> Iterable[Metric]:
        """Return the families without samples, so that a registry can refuse a name that is taken."""
        return _Scrape(detail=self._detail).families.values()

    def collect(self) -> Iterable[Metric]:
        """Return all families, as of the monitor's last commit."""
        scrape = _Scrape(detail=self._detail)
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
        if self._detail:
            for report in cells:
                scrape.add_detail(report)
            for here in by_place(cells):
                scrape.add_limits(here[0])
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
