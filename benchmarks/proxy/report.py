"""Report of the figures, as Markdown tables and as JSON."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any

from benchmarks.kit import table
from benchmarks.proxy.measures import OTHERS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from benchmarks.proxy.measures import Figures

DIRECT, NGINX, TUNED = "direct", "nginx", "nginx-tuned"


@dataclass(slots=True)
class Results:
    """Figures of all rounds."""

    machine: str
    command: str
    versions: dict[str, str] = field(default_factory=dict)
    idle_mb: dict[str, float] = field(default_factory=dict)
    rounds: dict[str, dict[str, list[Figures]]] = field(default_factory=dict)
    """Figures of each round, by load test and by address."""
    missing: dict[str, str] = field(default_factory=dict)
    """Reason for each figure that was not measured, by contender or by address and load test."""

    def add(self, test: str, address: str, figures: Figures) -> None:
        """Add the figures of a round."""
        self.rounds.setdefault(test, {}).setdefault(address, []).append(figures)

    def to_json(self) -> dict[str, Any]:
        """Return everything as data for JSON."""
        return {
            "machine": self.machine,
            "command": self.command,
            "versions": self.versions,
            "idle_mb": self.idle_mb,
            "rounds": self.rounds,
            "not_measured": self.missing,
        }

    def median(self, test: str, address: str, figure: str) -> float | None:
        """Return the median of a figure over the rounds; None if there is no such figure."""
        values = [figures[figure] for figures in self._of(test, address) if figure in figures]
        return statistics.median(values) if values else None

    def added(self, test: str, address: str, figure: str) -> float | None:
        """Return the median difference between a figure and the direct one of the same round."""
        differences = [here - there for here, there in self._pairs(test, address, figure, DIRECT)]
        return statistics.median(differences) if differences else None

    def ratio(self, test: str, address: str, figure: str, to: str = NGINX) -> float | None:
        """Return the median ratio of a figure to that of another address in the same round."""
        ratios = [here / there for here, there in self._pairs(test, address, figure, to) if there]
        return statistics.median(ratios) if ratios else None

    def _pairs(self, test: str, address: str, figure: str, other: str) -> Iterator[tuple[float, float]]:
        """Yield a figure of two addresses for each round that has both."""
        # An address that failed is not tested in later rounds.
        for here, there in zip(self._of(test, address), self._of(test, other), strict=False):
            if figure in here and figure in there:
                yield here[figure], there[figure]

    def _of(self, test: str, address: str) -> list[Figures]:
        return self.rounds.get(test, {}).get(address, [])


def _cell(value: float | None, digits: int = 0) -> str:
    # Adding zero turns the negative zero that rounding leaves into zero.
    return "–" if value is None else f"{round(value, digits) + 0.0:,.{digits}f}"


def _throughput(results: Results, test: str, unit: str) -> list[str]:
    rate = f"{unit}s/s"
    cost = f"us processor time/{unit}"
    rows = []
    for address in results.rounds[test]:
        spent = results.median(test, address, cost)
        cells = [
            _cell(results.median(test, address, rate)),
            _cell(results.ratio(test, address, rate), 3),
            _cell(spent, 1),
            _cell(1e6 / spent if spent else None),
        ]
        for other in (NGINX, TUNED):
            ratio = results.ratio(test, address, cost, other)
            cells.append(_cell(1 / ratio if ratio else None, 3))
        rows.append([address, *cells, _cell(results.median(test, address, "errors"))])
    head = [test, rate, "× nginx", f"µs of processor / {unit}", f"{rate} per core"]
    return table([*head, "× nginx", "× nginx-tuned", "errors"], rows)


def _added(results: Results, test: str, figures: Sequence[str]) -> list[str]:
    last = figures[-1]
    least = results.added(test, NGINX, last)
    rows = []
    for address in results.rounds[test]:
        if address != DIRECT:
            cells = [_cell(results.added(test, address, figure), 2) for figure in figures]
            most = results.added(test, address, last)
            ratio = most / least if most is not None and least is not None and least > 0 else None
            rows.append([address, *cells, _cell(ratio, 2), _cell(results.median(test, address, "errors"))])
    head = [f"{test}, added", *figures, f"{last.removesuffix(' ms')} × nginx", "errors"]
    return table(head, rows)


def _many_streams(results: Results, test: str) -> list[str]:
    rows = []
    for address in results.rounds[test]:
        cells = []
        for figure in ("completed", "failed", "at once", "first p50 ms"):
            cells.append(_cell(results.median(test, address, figure)))
        cost = results.median(test, address, "us processor time/stream")
        rows.append([address, *cells, _cell(cost / 1000 if cost else None, 2)])
    head = [test, "completed", "failed", "most at once", "first event, p50 ms"]
    return table([*head, "ms of processor / stream"], rows)


def _test_table(results: Results, test: str) -> list[str]:
    """Return the table of a load test."""
    if test == "20 ms answers":
        return _added(results, test, ["p50 ms", "p99 ms"])
    if test == "SSE at 640 events/s":
        return _added(results, test, ["first p50 ms", "first p99 ms", "event p50 ms", "event p99 ms"])
    if test.startswith("SSE"):
        return _throughput(results, test, "event")
    if test.endswith("streams"):
        return _many_streams(results, test)
    return _throughput(results, test, "request")


def _memory(results: Results) -> list[str]:
    rows = []
    for address, idle_mb in results.idle_mb.items():
        peaks = [_cell(results.median(test, address, "peak MB")) for test in results.rounds]
        rows.append([address, _cell(idle_mb), *peaks])
    return table(["MB resident", "idle", *results.rounds], rows)


def markdown(results: Results) -> str:
    """Return tables of medians over the rounds, and the reasons to doubt them."""
    versions = ", ".join(f"{name} {version}" for name, version in results.versions.items() if version)
    lines = [f"`{results.command}`", "", f"Machine: {results.machine}.", "", f"Versions: {versions}.", ""]
    for test in results.rounds:
        lines += [*_test_table(results, test), ""]
    lines += [*_memory(results), ""]
    for contender, reason in results.missing.items():
        lines.append(f"Not measured: {contender}: {reason}")
    # Shares of the proxy's core that other programs took, in each round of each load test.
    shares = []
    for by_address in results.rounds.values():
        for figures in chain.from_iterable(by_address.values()):
            if OTHERS in figures:
                shares.append(figures[OTHERS])
    if shares:
        lines.append(
            f"Other programs took a median of {statistics.median(shares):.0%} of the proxy's core, "
            f"{max(shares):.0%} at most."
        )
    return "\n".join(lines) + "\n"
