"""What the monitor knows, for Prometheus: as a collector for a registry, and as text made at once.

Both say the same (`blocks` says what). The text is what to serve: of 5,000 cells it renders those
that changed since the last scrape, where a registry would format 200,000 samples anew.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeAlias

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

from evenkeel.monitor.export.blocks import (
    CELLS,
    CHANGES,
    JUDGES,
    NOISE,
    ROLLUPS,
    Block,
    baselines,
    one_for_each_place,
)
from evenkeel.monitor.export.families import Family

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence

    from prometheus_client.core import Metric

    from evenkeel.core.cells import CellReport, RollupReport, RouteChanges

_BUILD = Family("evenkeel_build_info", "gauge", "Version of evenkeel; the value is always 1", ("version",))


@dataclass(frozen=True, slots=True)
class MonitorReading:
    """What is read at each scrape. The three are asked one after the other."""

    cells: Callable[[], Sequence[CellReport]]
    rollups: Callable[[], Sequence[RollupReport]] = tuple
    changes: Callable[[], Sequence[RouteChanges]] = tuple


_Filled: TypeAlias = "Iterator[tuple[Block, Sequence[Any], Callable[[Any], Hashable]]]"


def _filled(reading: MonitorReading) -> _Filled:
    """The blocks with their reports, and what names a report within its block."""
    cells = reading.cells()
    yield CELLS, cells, lambda report: report.key
    yield NOISE, baselines(cells), lambda report: report.key
    yield JUDGES, one_for_each_place(cells), lambda report: (report.key.route, report.key.model)
    yield ROLLUPS, reading.rollups(), lambda report: report.key
    yield CHANGES, reading.changes(), lambda report: report.route


class CellCollector(Collector):
    """Exports what is read at each scrape.

    The noise floor and what is known of the judge belong to a route and model, so they have no
    label `perturbation`; join with `on(route, model)`.
    """

    def __init__(self, read: Callable[[], list[CellReport]] | MonitorReading, *, version: str) -> None:
        """Build a collector.

        Args:
            read: gives the reports, as `Monitor.reports` does; called once a scrape.
            version: of evenkeel, for `evenkeel_build_info`.
        """
        self._reading = read if isinstance(read, MonitorReading) else MonitorReading(read)
        self._version = version

    def describe(self) -> Iterable[Metric]:
        """The families without samples, so that a registry can refuse a name that is taken."""
        return self._metrics(MonitorReading(tuple))

    def collect(self) -> Iterable[Metric]:
        """All families, as of the monitor's last commit."""
        return self._metrics(self._reading)

    def _metrics(self, reading: MonitorReading) -> Iterator[Metric]:
        info = _metric(_BUILD)
        info.add_metric((self._version,), 1)
        yield info
        for block, reports, _ in _filled(reading):
            metrics = [_metric(family) for family in block.families]
            for report in reports:
                for metric, samples in zip(metrics, block.samples(report), strict=True):
                    for labels, value in samples:
                        metric.add_metric(labels, value)
            yield from metrics


def _metric(family: Family) -> GaugeMetricFamily | CounterMetricFamily:
    made = CounterMetricFamily if family.kind == "counter" else GaugeMetricFamily
    return made(family.name, family.help, labels=family.labels)


class CellText:
    """The same series in the text format 0.0.4, byte for byte what `generate_latest` makes of them.

    Keeps every report's lines until the report changes: about 8 KB for each cell. May be used from
    several threads.
    """

    def __init__(self, reading: MonitorReading, *, version: str) -> None:
        self._reading = reading
        self._lock = Lock()
        build = _Template(_BUILD)
        self._build = build.head + build.line((version,), 1)
        self._blocks = {block: _Lines(block) for block in (CELLS, NOISE, JUDGES, ROLLUPS, CHANGES)}

    def refresh(self) -> None:
        """Estimate and write anew what changed, so that the next scrape need not."""
        with self._lock:
            self._refresh()

    def _refresh(self) -> None:
        for block, reports, name in _filled(self._reading):
            self._blocks[block].update(reports, name)

    def render(self) -> bytes:
        """Everything, as of the monitor's last commit."""
        with self._lock:
            self._refresh()
            texts = [self._build]
            for lines in self._blocks.values():
                lines.put(texts)
            return b"".join(texts)


class _Lines:
    """The lines of a block: a column for each family, a row for each report."""

    def __init__(self, block: Block) -> None:
        self._block = block
        self._templates = [_Template(family) for family in block.families]
        self._names: list[Hashable] = []
        self._reports: list[Any] = []
        self._columns: list[list[bytes]] = [[] for _ in block.families]

    def update(self, reports: Sequence[Any], name: Callable[[Any], Hashable]) -> None:
        """Write the lines of the reports that changed."""
        names = [name(report) for report in reports]
        if names != self._names:
            self._arrange(names)
        for row, (old, new) in enumerate(zip(self._reports, reports, strict=True)):
            if old is not new:
                if old is None or not self._block.same(old, new):
                    self._write(row, new)
                self._reports[row] = new

    def _arrange(self, names: list[Hashable]) -> None:
        """Make a row for each name, keeping what is written of those that were there."""
        places = {name: row for row, name in enumerate(self._names)}
        rows = [places.get(name) for name in names]
        self._reports = [None if row is None else self._reports[row] for row in rows]
        self._columns = [[b"" if row is None else column[row] for row in rows] for column in self._columns]
        self._names = names

    def _write(self, row: int, report: Any) -> None:
        written = zip(self._columns, self._templates, self._block.samples(report), strict=True)
        for column, template, samples in written:
            column[row] = b"".join([template.line(labels, value) for labels, value in samples])

    def put(self, texts: list[bytes]) -> None:
        """Append head and lines of each family."""
        for template, column in zip(self._templates, self._columns, strict=True):
            texts.append(template.head)
            texts.extend(column)


class _Template:
    """How the lines of a family are written."""

    __slots__ = ("_line", "_order", "head")

    def __init__(self, family: Family) -> None:
        name = f"{family.name}_total" if family.kind == "counter" else family.name
        told = family.help.replace("\\", r"\\").replace("\n", r"\n")
        self.head = f"# HELP {name} {told}\n# TYPE {name} {family.kind}\n".encode()
        self._order = sorted(range(len(family.labels)), key=family.labels.__getitem__)
        labels = ",".join(f'{family.labels[place]}="%s"' for place in self._order)
        self._line = f"{name}{{{labels}}} %s\n"

    def line(self, labels: Sequence[str], value: float) -> bytes:
        """One sample."""
        written = [_escaped(labels[place]) for place in self._order]
        return (self._line % (*written, floatToGoString(value))).encode()  # type: ignore[no-untyped-call]


@lru_cache(maxsize=8192)
def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")
