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
from dataclasses import dataclass
from importlib.resources import files
from math import inf
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, NamedTuple, TypeAlias

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from evenkeel.core.text import label
from evenkeel.core.verdict import BASELINE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from prometheus_client.core import Metric

    from evenkeel.core.cells import CellReport, DriftReport, Estimate, RollupReport, RouteChanges


CELL: Final = ("route", "model", "perturbation")
PLACE: Final = CELL[:2]


class Family(NamedTuple):
    """Series that share one name."""

    name: str
    """Name with the prefix, without the `_total` of a counter."""
    kind: Literal["gauge", "counter"]
    help: str
    labels: tuple[str, ...]


class Sample(NamedTuple):
    """Value of one series at one time."""

    labels: tuple[str, ...]
    """Values, in the order of the family's labels."""
    value: float


Samples: TypeAlias = list[list[Sample]]
"""Samples for each family of a block, in the block's order."""


class Rate(NamedTuple):
    """Estimate that is exported as four gauges: value, interval and number of observations."""

    name: str
    field: str
    """Name of the field in the report."""
    what: str
    observed: str


_LISTED: Final = tomllib.loads(files(__package__).joinpath("families.toml").read_text("utf-8"))
# Fields of reports whose name differs from that of the series.
_FIELDS: Final = {"above_noise": "excess"}
_RATES: Final[dict[str, Rate]] = {}
for _rate in _LISTED["rate"]:
    _field = _rate.get("field", _FIELDS.get(_rate["name"], _rate["name"]))
    _RATES[_rate["name"]] = Rate(_rate["name"], _field, _rate["what"], _rate["observed"])


def _rates(*names: str) -> tuple[Rate, ...]:
    return tuple(_RATES[name] for name in names)


JUDGE_RATES = _rates("judge_noise", "judge_swap_consistency", "judge_group_agreement")
PLACE_RATES = _rates("robustness", "content_delta", "quality_worse", "above_noise", "noise_floor")
WINDOWED = _rates("robustness", "content_delta", "above_noise")
CELL_RATES = (
    *WINDOWED,
    *_rates("quality_delta", "quality_worse", "quality_better", "unsure", "invalid"),
    *_rates("similarity", "control_similarity", "loss"),
    *_rates("tool_choice", "tool_choice_noise", "tool_arguments", "tool_arguments_noise"),
)
RECENT_S: Final = 86_400.0
"""Seconds before the latest rating of a route; without detail, models last rated earlier are left out."""
IN_WINDOW = "; of one cell, over a window of its trials"


def listed(block: str) -> tuple[Family, ...]:
    """Return the families of a block in `families.toml` that are no estimates."""
    listed_families = []
    for family in _LISTED[block]:
        listed_families.append(
            Family(family["name"], family["kind"], family["help"], tuple(family["labels"]))
        )
    return tuple(listed_families)


def families(
    rates: Sequence[Rate], labels: tuple[str, ...], prefix: str = "", scope: str = ""
) -> list[Family]:
    """Return four families for each rate: value, lower end, upper end and number of observations.

    Args:
        rates: rates in the order in which `add` fills them.
        labels: labels of all families.
        prefix: prefix of the names, after the one that all names have.
        scope: addition to the help texts.
    """
    metric_families = []
    for rate in rates:
        name, what = f"evenkeel_{prefix}{rate.name}", f"{rate.what}{scope}"
        metric_families += [
            Family(f"{name}_ratio", "gauge", what, labels),
            Family(f"{name}_lower_ratio", "gauge", f"{what}: lower end of the interval", labels),
            Family(f"{name}_upper_ratio", "gauge", f"{what}: upper end of the interval", labels),
            Family(f"{name}_observations", "gauge", f"Number of {rate.observed} behind {name}_ratio", labels),
        ]
    return metric_families


def add(samples: Samples, first: int, labels: tuple[str, ...], estimate: Estimate | None) -> None:
    """Add an estimate to the four families from `first` on."""
    if estimate is not None:
        for column, value in enumerate(
            (estimate.value, estimate.lower, estimate.upper, estimate.n), start=first
        ):
            samples[column].append(Sample(labels, value))


class SeriesBlock(NamedTuple):
    """Block of families that are filled from the same reports."""

    families: tuple[Family, ...]
    samples: Callable[[Any], Samples]
    """Function that returns the samples of one report for each family."""


_CELL_FAMILIES = listed("cell")


def _cell(report: CellReport) -> Samples:
    cell = report.key.parts
    samples: Samples = [[] for _ in _CELL_FAMILIES]
    above, evidence = samples
    now = report.current.excess
    if now is not None:
        above.append(Sample(cell, now.value))
    evidence.append(Sample(cell, _share(report.detection.evidence_log10, report.detection.alarm_log10)))
    return samples


def _share(evidence: float, needed: float) -> float:
    """Return evidence as a share of the alarm level, both as logarithms; 0 if nothing can raise one."""
    return max(0.0, evidence) / needed if needed > 0 else 0.0


CELLS = SeriesBlock(_CELL_FAMILIES, _cell)
"""Block of the perturbations' reports."""


_DETAIL_FAMILIES = (
    *families(CELL_RATES, (*CELL, "window", "scorer"), "window_", IN_WINDOW),
    *listed("detail"),
)


def _detail(report: CellReport) -> Samples:
    cell = report.key.parts
    samples: Samples = [[] for _ in _DETAIL_FAMILIES]
    column = 0
    for rate in CELL_RATES:
        add(samples, column, (*cell, "all", report.scorer), getattr(report.estimates, rate.field))
        if rate in WINDOWED:
            since = getattr(report.since_change, rate.field, None)
            add(samples, column, (*cell, "since_change", report.scorer), since)
        column += 4
    verdicts, quality, invalid, pairs, failures, rated, effective, scored_at, alert, limit, blind, *drift = (
        samples[column:]
    )
    ratings = {0: 0, 1: 0, 2: 0, 3: 0} | report.counts.ratings
    for rating in sorted(ratings):
        verdicts.append(Sample((*cell, str(rating or "unsure")), ratings[rating]))
    for outcome, count in sorted(report.counts.qualities.items()):
        quality.append(Sample((*cell, outcome), count))
    invalid += [Sample((*cell, what), count) for what, count in sorted(report.counts.invalids.items())]
    failures += [Sample((*cell, reason), count) for reason, count in sorted(report.counts.failures.items())]
    rated.append(Sample(cell, report.counts.trials))
    effective.append(Sample(cell, report.counts.effective))
    if report.last_scored_at is not None:
        scored_at.append(Sample(cell, report.last_scored_at))
    if report.key.perturbation != BASELINE:
        pairs += [Sample((*cell, str(step)), count) for step, count in sorted(report.counts.pairs.items())]
        alert.append(Sample(cell, int(report.detection.alert)))
        limit.append(Sample(cell, report.detection.threshold))
        blind.append(Sample(cell, int(report.is_blind)))
    if report.detection.drift is not None:
        _add_drift(drift, cell, report.detection.drift, report.detection.alarm_log10)
    return samples


def _add_drift(samples: Samples, cell: tuple[str, ...], drift: DriftReport, alarm_log10: float) -> None:
    alert, evidence, baseline, trials, lower, upper = samples
    for side in ("fallen", "risen"):
        alert.append(Sample((*cell, side), int(drift.state == side)))
    evidence.append(Sample(cell, _share(drift.evidence_log10, alarm_log10)))
    baseline.append(Sample((*cell, "no" if drift.provisional else "yes"), drift.baseline))
    trials.append(Sample(cell, drift.trials))
    lower.append(Sample(cell, drift.lower))
    upper.append(Sample(cell, drift.upper))


DETAILS = SeriesBlock(_DETAIL_FAMILIES, _detail)
"""Block of every report; the label `scorer` says who decided the ratings."""


_PLACE_FAMILIES = (*families(PLACE_RATES, PLACE), *listed("place"))


def _place(report: RollupReport) -> Samples:
    route_and_model = (report.route, report.model)
    samples: Samples = [[] for _ in _PLACE_FAMILIES]
    since, whole = (report.windows.get(window) for window in ("since_change", "all"))
    for number, rate in enumerate(PLACE_RATES):
        estimate = getattr(since, rate.field, None) or getattr(whole, rate.field, None)
        add(samples, 4 * number, route_and_model, estimate)
    samples[-2].append(Sample(route_and_model, report.trials))
    if report.last_scored_at is not None:
        samples[-1].append(Sample(route_and_model, report.last_scored_at))
    return samples


_COUNT_FAMILIES = listed("count")


def _counts(reports: tuple[CellReport, ...]) -> Samples:
    route_and_model = (reports[0].key.route, reports[0].key.model)
    rated: dict[tuple[str, str], int] = {}
    shifted: dict[str, int] = {}
    failed: dict[str, int] = {}
    for report in reports:
        trial = "control" if report.key.perturbation == BASELINE else "perturbed"
        for rating in (0, 1, 2, 3):
            labels = (trial, str(rating or "unsure"))
            rated[labels] = rated.get(labels, 0) + report.counts.ratings.get(rating, 0)
        for quality, count in report.counts.qualities.items() if trial == "perturbed" else ():
            shifted[quality] = shifted.get(quality, 0) + count
        for reason, count in report.counts.failures.items():
            failed[reason] = failed.get(reason, 0) + count
    return [
        [Sample((*route_and_model, *labels), count) for labels, count in sorted(rated.items())],
        [Sample((*route_and_model, quality), count) for quality, count in sorted(shifted.items())],
        [Sample((*route_and_model, reason), count) for reason, count in sorted(failed.items())],
    ]


COUNTS = SeriesBlock(_COUNT_FAMILIES, _counts)
"""Block of counts over all reports of a route and model."""


_JUDGE_FAMILIES = (
    *families(JUDGE_RATES, PLACE),
    *listed("judge"),
)


def _judge(report: CellReport) -> Samples:
    route_and_model = (report.key.route, report.key.model)
    samples: Samples = [[] for _ in _JUDGE_FAMILIES]
    judge = report.judge
    estimates = (judge.noise, judge.swap_consistency, judge.group_agreement)
    for number, estimate in enumerate(estimates):
        add(samples, 4 * number, route_and_model, estimate)
    samples[-1] += [Sample((*route_and_model, stage), count) for stage, count in judge.decided.items()]
    return samples


JUDGES = SeriesBlock(_JUDGE_FAMILIES, _judge)
"""Block of judge figures, from one report of each route and model: all have the same judge."""


def _limits(report: CellReport) -> Samples:
    content = report.detection.limits.get("content")
    return [[Sample((report.key.route, report.key.model), content.value)] if content else []]


def _every_limit(report: CellReport) -> Samples:
    route_and_model = (report.key.route, report.key.model)
    # One word: what else a source says would be a series for each calibration.
    samples = []
    for measure, limit in report.detection.limits.items():
        source = limit.source.partition(" ")[0]
        samples.append(Sample((*route_and_model, measure, source), limit.value))
    return [samples]


LIMITS = SeriesBlock(listed("limit"), _limits)
"""Block of limits, from one report of each route and model: all cells have the same limits."""
EVERY_LIMIT = SeriesBlock(listed("every_limit"), _every_limit)


PLACES = SeriesBlock(_PLACE_FAMILIES, _place)
"""Block of the roll-ups of models."""


_CHANGE_FAMILIES = listed("change")


def _change(report: RouteChanges) -> Samples:
    latest = {mark.kind: mark.at for mark in report.latest}
    return [
        [Sample((report.route, kind), count) for kind, count in sorted(report.counts.items())],
        [Sample((report.route, kind), at) for kind, at in sorted(latest.items())],
    ]


CHANGES = SeriesBlock(_CHANGE_FAMILIES, _change)
"""Block of the changes of each route."""


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


_BUILD = Family("evenkeel_build_info", "gauge", "Version of evenkeel; the value is always 1", ("version",))


@dataclass(frozen=True, slots=True)
class MonitorReading:
    """Functions read at each scrape. The three are called one after the other."""

    cells: Callable[[], Sequence[CellReport]]
    rollups: Callable[[], Sequence[RollupReport]] = tuple
    changes: Callable[[], Sequence[RouteChanges]] = tuple


def _filled(reading: MonitorReading, *, detail: bool) -> Iterator[tuple[SeriesBlock, Sequence[Any]]]:
    cells, rollups = reading.cells(), reading.rollups()
    shown = recent(cells)
    cell_groups = by_place(shown)
    groups_filled = set()
    for here in cell_groups:
        groups_filled.add(here[0].key.parts[:2])
    places = []
    for rollup in rollups:
        if (rollup.route, rollup.model) in groups_filled:
            places.append(rollup)
    yield PLACES, places
    yield COUNTS, cell_groups
    yield JUDGES, [here[0] for here in cell_groups]
    yield LIMITS, [here[0] for here in cell_groups]
    yield CELLS, [report for report in shown if report.key.perturbation != BASELINE]
    yield CHANGES, reading.changes()
    if detail:
        yield DETAILS, cells
        yield EVERY_LIMIT, [here[0] for here in by_place(cells)]


class CellCollector(Collector):
    """Collector that exports the monitor's reports at each scrape."""

    def __init__(
        self, read: Callable[[], list[CellReport]] | MonitorReading, *, version: str, detail: bool = False
    ) -> None:
        """Build a collector.

        Args:
            read: returns the reports, as `Monitor.reports` does; called once a scrape.
            version: version of evenkeel, for `evenkeel_build_info`.
            detail: whether to export every estimate of every cell.
        """
        self._reading = read if isinstance(read, MonitorReading) else MonitorReading(read)
        self._version = version
        self._detail = detail

    def describe(self) -> Iterable[Metric]:
        """Return the families without samples, so that a registry can refuse a name that is taken."""
        return self._metrics(MonitorReading(tuple))

    def collect(self) -> Iterable[Metric]:
        """Return all families, as of the monitor's last commit."""
        return self._metrics(self._reading)

    def _metrics(self, reading: MonitorReading) -> Iterator[Metric]:
        info = _metric(_BUILD)
        info.add_metric((self._version,), 1)
        yield info
        for block, reports in _filled(reading, detail=self._detail):
            metrics = [_metric(family) for family in block.families]
            for report in reports:
                for metric, samples in zip(metrics, block.samples(report), strict=True):
                    for labels, value in samples:
                        metric.add_metric([label(value) for value in labels], value)
            yield from metrics


def _metric(family: Family) -> GaugeMetricFamily | CounterMetricFamily:
    made = CounterMetricFamily if family.kind == "counter" else GaugeMetricFamily
    return made(family.name, family.help, labels=family.labels)


class ListedCollector(Collector, ABC):
    """Collector of the families of one block of `families.toml`, filled again at each scrape."""

    block: ClassVar[str]

    def describe(self) -> Iterable[Metric]:
        """Return the families without samples."""
        return [_metric(family) for family in listed(self.block)]

    def collect(self) -> Iterable[Metric]:
        """Return all families, as of now."""
        metrics = []
        for family in listed(self.block):
            metrics.append(_metric(family))
        self.fill(*metrics)
        return metrics

    @abstractmethod
    def fill(self, *metrics: GaugeMetricFamily | CounterMetricFamily) -> None:
        """Add the samples of each family, in the order of the block."""
