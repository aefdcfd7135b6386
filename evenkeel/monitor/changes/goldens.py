"""Goldens asked again after a change: the gate's verdict on whether they are answered as approved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from evenkeel.core.verdict import Failure
from evenkeel.monitor.detect.gate import Gate, GateMeasure, GateReport, GateRules, Shares

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from evenkeel.stores.changes import GoldenRun


_VERSION: Final = 1
# Largest share of breaches that is put down to chance.
_MOST_NOISE: Final = 0.8


def gate_of(run: GoldenRun, *, noise: float = 0.0) -> GateReport:
    """Return the verdict of the calibrated bundle over one run, as `evenkeel gate` decides.

    Args:
        run: Run after a change.
        noise: Share of breaches that is put down to chance, in [0, 1).
    """
    measures = [GateMeasure(name=name) for name in run.deciding] or [GateMeasure(name="content_shift")]
    goldens = len(run.results) + sum(run.left_out.values())
    gate = Gate(GateRules(tolerance=min(_MOST_NOISE, noise)), measures, goldens=goldens, with_reference=False)
    for reason, count in run.left_out.items():
        for _ in range(count):
            gate.leave_out(Failure("goldens", _VERSION, reason))
    for result in run.results:
        if result.failure:
            gate.take(Failure("goldens", _VERSION, result.failure))
        else:
            gate.take({name: Shares(float(breached), None) for name, breached in result.breaches.items()})
    return gate.report()


@dataclass(frozen=True, slots=True)
class GoldenHistory:
    """Results of the golden runs of all routes."""

    gates: Mapping[str, GateReport]
    """Reports of runs after a change, by the id of the change; the last one of each."""
    latest: Mapping[str, GoldenRun]
    """The last run of each route."""
    judged: frozenset[str] = frozenset()
    """Ids of the changes whose runs were scored with a judge."""


def history_of(runs: Iterable[GoldenRun], *, noise: Mapping[str, float] | None = None) -> GoldenHistory:
    """Return the results of runs, oldest first; `noise` is the noise floor by route."""
    gates: dict[str, GateReport] = {}
    latest: dict[str, GoldenRun] = {}
    judged = set()
    for run in runs:
        if run.judged:
            judged.add(run.change)
        gates[run.change] = gate_of(run, noise=(noise or {}).get(run.route, 0.0))
        latest[run.route] = run
    return GoldenHistory(gates, latest, frozenset(judged))
