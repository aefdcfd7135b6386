"""Repeated runs of goldens, tested for answers that differ from the approved ones.

Each run asks the route's goldens once and holds every answer against the approved one. What a model answers
differently by chance is known from the first three runs, the *reference*. A later run gives for each golden
the difference to its own reference, and for each measure an e-value against "the mean difference is at most
the line" (`evenkeel.monitor.detect.gate`; the goldens of a run are the independent draws). The e-values are
gathered as an e-detector does it, R ← (R + 1) · E, so that a false alarm of a route comes after `mean_runs`
runs on average, or later. The line is the tolerance, or how far the reference may be off itself, if that is
more.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from math import exp
from typing import TYPE_CHECKING, Final

from evenkeel.core.verdict import Failure
from evenkeel.monitor.detect.gate import Gate, GateMeasure, GateReport, GateRules, Shares
from evenkeel.monitor.detect.gate_evidence import log_evidence
from evenkeel.monitor.estimate import proportion

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from evenkeel.stores.changes import GoldenRun


_VERSION: Final = 1
# Largest natural logarithm of evidence that is kept, so that its exponential is a finite number.
_LARGEST: Final = 600.0


@dataclass(frozen=True, slots=True)
class GoldenRules:
    """Rules that decide when goldens count as answered differently."""

    tolerance: float = 0.05
    """Increase in the share of breaches that counts as no change, in [0, 1)."""
    mean_runs: float = 200.0
    """Average number of a route's runs between false alarms, at least."""
    reference_runs: int = 3
    alpha: float = 0.1
    """Probability that the interval of the reference misses the truth."""


@dataclass(frozen=True, slots=True)
class GoldenAlarm:
    """Alarm that the goldens of a route are answered differently than before."""

    route: str
    run: str
    """Id of the run that decided it."""
    at: float
    since: float
    """Unix time of the last run without evidence of the change, which came after it."""
    measure: str
    before: float
    """Share of breaches in the reference, in [0, 1]."""
    after: float
    """Share of breaches in the deciding run, in [0, 1]."""
    judged: bool = False
    """True if a judge took part in the scores."""


class GoldenWatch:
    """Watch over the runs of one route, in their order: a pure fold."""

    def __init__(self, rules: GoldenRules | None = None) -> None:
        self.rules = rules or GoldenRules()
        self.reference: dict[str, dict[str, list[int]]] = {}
        """Breaches and scored answers, by golden and measure."""
        self.runs = 0
        """Number of runs in the reference."""
        self.evidence: dict[str, float] = {}
        self._origin: tuple[str, str, str] | None = None
        self._quiet_at = 0.0

    def add(self, run: GoldenRun) -> GoldenAlarm | None:
        """Take the next run; return an alarm if it shows that answers changed."""
        origin = (run.model, run.asked, run.scorer)
        if origin != self._origin:
            # Another model or prompt was asked, or by another measure: what is known says nothing about it.
            self.forget()
            self._origin = origin
        if run.trigger == "change":
            return None  # by its own test, against the reference as it stands
        measured = sum(not result.failure for result in run.results)
        if 2 * measured < len(run.results) or not measured:
            return None  # an endpoint in trouble, or a budget that is spent: nothing is known from it
        if self.runs < self.rules.reference_runs:
            self._learn(run)
            self._quiet_at = run.at
            return None
        return self._test(run)

    def forget(self) -> None:
        """Start a new reference with the next run."""
        self.reference, self.runs, self.evidence = {}, 0, {}

    def _learn(self, run: GoldenRun) -> None:
        self.runs += 1
        for result in run.results:
            known = self.reference.setdefault(result.golden, {})
            for measure, breached in result.breaches.items():
                counts = known.setdefault(measure, [0, 0])
                counts[0] += breached
                counts[1] += 1

    def share(self, golden: str, measure: str) -> float | None:
        """Return the reference's share of breaches of a measure by a golden; None if unknown."""
        counts = self.reference.get(golden, {}).get(measure)
        return counts[0] / counts[1] if counts else None

    def line(self, measure: str) -> tuple[float, float]:
        """Return the share of breaches in the reference, and the increase that a change has to exceed."""
        counts = [known[measure] for known in self.reference.values() if measure in known]
        breaches, n = sum(count[0] for count in counts), sum(count[1] for count in counts)
        estimate = proportion(breaches, n, alpha=self.rules.alpha)
        if estimate is None:
            return 0.0, self.rules.tolerance
        return estimate.value, min(0.9, max(self.rules.tolerance, estimate.upper - estimate.value))

    def _test(self, run: GoldenRun) -> GoldenAlarm | None:
        alarm = None
        for measure in run.deciding:
            differences: Counter[float] = Counter()
            breaches = n = 0
            for result in run.results:
                share = self.share(result.golden, measure)
                breached = result.breaches.get(measure)
                if share is not None and breached is not None:
                    differences[breached - share] += 1
                    breaches += breached
                    n += 1
            if not n:
                continue
            before, line = self.line(measure)
            gained = exp(min(_LARGEST, log_evidence(differences, line)))
            self.evidence[measure] = min(exp(_LARGEST), (self.evidence.get(measure, 0.0) + 1) * gained)
            if self.evidence[measure] >= self.rules.mean_runs * len(run.deciding) and alarm is None:
                alarm = GoldenAlarm(run.route, run.id, run.at, self._quiet_at, measure, before, breaches / n)
        if alarm is not None:
            self.forget()
        elif all(evidence <= 1 for evidence in self.evidence.values()):
            self._quiet_at = run.at
        return alarm


def gate_of(run: GoldenRun, watch: GoldenWatch | None, *, noise: float = 0.0) -> GateReport:
    """Return the verdict of the calibrated bundle over one run, as `evenkeel gate` decides.

    Args:
        run: Run after a change.
        watch: Holds the reference of the time before; None, or one without, for a stated noise.
        noise: Without a reference the share of breaches that is put down to chance, in [0, 1).
    """
    known = watch is not None and watch.runs > 0
    rules = GateRules(tolerance=0.0 if known else min(0.8, noise))
    measures = [GateMeasure(name=name) for name in run.deciding] or [GateMeasure(name="content_shift")]
    gate = Gate(rules, measures, goldens=len(run.results) + sum(run.left_out.values()), with_reference=known)
    for reason, count in run.left_out.items():
        for _ in range(count):
            gate.leave_out(Failure("goldens", _VERSION, reason))
    for result in run.results:
        if result.failure:
            gate.take(Failure("goldens", _VERSION, result.failure))
            continue
        gate.take(
            {
                name: Shares(float(breached), watch.share(result.golden, name) if known and watch else None)
                for name, breached in result.breaches.items()
                if not known or (watch is not None and watch.share(result.golden, name) is not None)
            }
        )
    return gate.report()


@dataclass(frozen=True, slots=True)
class GoldenHistory:
    """Results of the golden runs of all routes."""

    alarms: tuple[GoldenAlarm, ...]
    """Alarms, oldest first."""
    gates: Mapping[str, GateReport]
    """Reports of runs after a change, by the id of the change; the last one of each."""
    latest: Mapping[str, GoldenRun]
    """The last run of each route."""
    judged: frozenset[str] = frozenset()
    """Ids of the changes whose runs were scored with a judge."""


def history_of(
    runs: Iterable[GoldenRun], *, rules: GoldenRules | None = None, noise: Mapping[str, float] | None = None
) -> GoldenHistory:
    """Fold runs, oldest first.

    Args:
        runs: Runs of any routes.
        rules: When goldens count as answered differently.
        noise: Noise floor by route, for changes that no reference stood before.
    """
    watches: dict[str, GoldenWatch] = {}
    alarms: list[GoldenAlarm] = []
    gates: dict[str, GateReport] = {}
    latest: dict[str, GoldenRun] = {}
    judged = set()
    for run in runs:
        watch = watches.setdefault(run.route, GoldenWatch(rules))
        if run.trigger == "change":
            if run.judged:
                judged.add(run.change)
            gates[run.change] = gate_of(run, watch, noise=(noise or {}).get(run.route, 0.0))
        alarm = watch.add(run)
        if alarm is not None:
            alarms.append(alarm)
        latest[run.route] = run
    return GoldenHistory(tuple(alarms), gates, latest, frozenset(judged))
