"""What was found, as Markdown tables and as JSON."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from benchmarks.kit import table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from benchmarks.proxy.measures import Figures

DIRECT, NGINX, TUNED = "direct", "nginx", "nginx-tuned"
_OTHERS = "proxy core used by others, share"


@dataclass(slots=True)
class Results:
    """Figures of all rounds."""

    machine: str
    command: str
    versions: dict[str, str] = field(default_factory=dict)
    idle_mb: dict[str, float] = field(default_factory=dict)
    rounds: dict[str, dict[str, list[Figures]]] = field(default_factory=dict)
    """By measure, then by door, one of each round."""
    missing: dict[str, str] = field(default_factory=dict)
    """What was not measured, and why."""

    def add(self, measure: str, door: str, figures: Figures) -> None:
        """Take in what one round found."""
        self.rounds.setdefault(measure, {}).setdefault(door, []).append(figures)

    def to_json(self) -> dict[str, Any]:
        """All of it as JSON-able data."""
        return {
            "machine": self.machine,
            "command": self.command,
            "versions": self.versions,
            "idle_mb": self.idle_mb,
            "rounds": self.rounds,
            "not_measured": self.missing,
        }

    def median(self, measure: str, door: str, figure: str) -> float | None:
        """The median over the rounds; None if there is none."""
        found = [figures[figure] for figures in self._of(measure, door) if figure in figures]
        return statistics.median(found) if found else None

    def added(self, measure: str, door: str, figure: str) -> float | None:
        """The median over the rounds of what a figure exceeds the direct one of the same round by."""
        found = [
            here[figure] - there[figure]
            for here, there in zip(self._of(measure, door), self._of(measure, DIRECT), strict=False)
            if figure in here and figure in there
        ]
        return statistics.median(found) if found else None

    def ratio(self, measure: str, door: str, figure: str, to: str = NGINX) -> float | None:
        """The median over the rounds of a figure divided by another door's of the same round."""
        found = [
            here[figure] / there[figure]
            for here, there in zip(self._of(measure, door), self._of(measure, to), strict=False)
            if figure in here and there.get(figure)
        ]
        return statistics.median(found) if found else None

    def _of(self, measure: str, door: str) -> list[Figures]:
        return self.rounds.get(measure, {}).get(door, [])


def _cell(value: float | None, digits: int = 0) -> str:
    # Adding zero turns the negative zero that rounding leaves into zero.
    return "–" if value is None else f"{round(value, digits) + 0.0:,.{digits}f}"


def _table(head: Sequence[str], rows: Mapping[str, Sequence[str]]) -> list[str]:
    return [*table(head, [[name, *cells] for name, cells in rows.items()]), ""]


def _throughput(results: Results, measure: str, what: str) -> list[str]:
    rate, cost = f"{what}s/s", f"us processor time/{what}"

    def per_core(door: str) -> str:
        spent = results.median(measure, door, cost)
        return _cell(1e6 / spent if spent else None)

    def economy(door: str, to: str) -> str:
        spent = results.ratio(measure, door, cost, to)
        return _cell(1 / spent if spent else None, 3)

    def row(door: str) -> list[str]:
        return [
            _cell(results.median(measure, door, rate)),
            _cell(results.ratio(measure, door, rate), 3),
            _cell(results.median(measure, door, cost), 1),
            per_core(door),
            economy(door, NGINX),
            economy(door, TUNED),
            _cell(results.median(measure, door, "errors")),
        ]

    head = [measure, f"{what}s/s", "× nginx", f"µs of processor / {what}", f"{what}s/s per core"]
    return _table(
        [*head, "× nginx", "× nginx-tuned", "errors"], {door: row(door) for door in results.rounds[measure]}
    )


def _added(results: Results, measure: str, figures: Sequence[str]) -> list[str]:
    last = figures[-1]
    least = results.added(measure, NGINX, last)

    def row(door: str) -> list[str]:
        cells = [_cell(results.added(measure, door, figure), 2) for figure in figures]
        most = results.added(measure, door, last)
        ratio = most / least if most is not None and least is not None and least > 0 else None
        return [*cells, _cell(ratio, 2), _cell(results.median(measure, door, "errors"))]

    head = [f"{measure}, added", *figures, f"{last.removesuffix(' ms')} × nginx", "errors"]
    return _table(head, {door: row(door) for door in results.rounds[measure] if door != DIRECT})


def _crowd(results: Results, measure: str) -> list[str]:
    def row(door: str) -> list[str]:
        figures = ("completed", "failed", "at once", "first p50 ms")
        cells = [_cell(results.median(measure, door, figure)) for figure in figures]
        cost = results.median(measure, door, "us processor time/stream")
        return [*cells, _cell(cost / 1000 if cost else None, 2)]

    head = [measure, "completed", "failed", "most at once", "first event, p50 ms"]
    return _table([*head, "ms of processor / stream"], {d: row(d) for d in results.rounds[measure]})


def _memory(results: Results) -> list[str]:
    measures = list(results.rounds)

    def row(door: str) -> list[str]:
        peaks = [results.median(measure, door, "peak MB") for measure in measures]
        return [_cell(results.idle_mb.get(door)), *(_cell(peak) for peak in peaks)]

    return _table(["MB resident", "idle", *measures], {door: row(door) for door in results.idle_mb})


def markdown(results: Results) -> str:
    """Tables of medians over the rounds, and what stands in the way of trusting them."""
    form: dict[str, Callable[[str], list[str]]] = {
        "20 ms answers": lambda m: _added(results, m, ["p50 ms", "p99 ms"]),
        "SSE at full speed": lambda m: _throughput(results, m, "event"),
        "SSE at 12,800 events/s": lambda m: _throughput(results, m, "event"),
        "SSE at 640 events/s": lambda m: _added(
            results, m, ["first p50 ms", "first p99 ms", "event p50 ms", "event p99 ms"]
        ),
    }
    lines = [f"`{results.command}`", "", f"Machine: {results.machine}.", ""]
    lines += ["Versions: " + ", ".join(f"{n} {v}" for n, v in results.versions.items() if v) + ".", ""]
    for measure in results.rounds:
        if measure in form:
            lines += form[measure](measure)
        elif measure.endswith("streams"):
            lines += _crowd(results, measure)
        else:
            lines += _throughput(results, measure, "request")
    lines += _memory(results)
    lines += [f"Not measured: {what}: {why}" for what, why in results.missing.items()]
    shares = [
        figures[_OTHERS]
        for doors in results.rounds.values()
        for rounds in doors.values()
        for figures in rounds
        if _OTHERS in figures
    ]
    if shares:
        lines.append(
            f"Other programs took a median of {statistics.median(shares):.0%} of the proxy's core, "
            f"{max(shares):.0%} at most."
        )
    return "\n".join(lines) + "\n"
