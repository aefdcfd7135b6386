"""What is measured on each stream: how intervals cover, how often alerts are false, how late they are.

Every measure is a function of a seed, so that runs can be shared among processes and made again.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import islice
from math import inf
from typing import TYPE_CHECKING, Final, Literal, get_args

import numpy as np
from scipy.stats import chi2

from benchmarks.traffic import plans, streams
from benchmarks.traffic.answers import Law, Writer
from evenkeel.core.cells import Estimate
from evenkeel.core.verdict import BASELINE
from evenkeel.lab.backtest import backtest
from evenkeel.monitor.fold import MonitorSettings, MonitorState
from evenkeel.stores.verdict_log import LoggedVerdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from evenkeel.core.cells import CellReport, RollupEstimates
    from evenkeel.core.verdict import Verdict
    from evenkeel.stores.monitor_state import AlertEvent

SETTINGS: Final = MonitorSettings(trend_interval_s=inf)
STATED: Final = SETTINGS.mean_trials_between_false_alarms


@dataclass(slots=True)
class Coverage:
    """Of sequences of intervals: how many there were, and how many ever missed the truth."""

    sequences: Counter[str] = field(default_factory=Counter)
    """By the name of the estimate."""
    missed: Counter[str] = field(default_factory=Counter)

    def merge(self, other: Coverage) -> None:
        """Add what another process has counted."""
        self.sequences += other.sequences
        self.missed += other.missed

    def share(self, name: str) -> float | None:
        """Of the sequences that never missed; None if there is no such interval."""
        n = self.sequences[name]
        return 1 - self.missed[name] / n if n else None


KINDS: Final = 6
"""Perturbations of an exchange, where intervals are looked at."""
EXCHANGES: Final = 600
_LOOKED_EVERY: Final = 10
"""Exchanges between two looks at every interval."""

Traffic = str
BURSTY: Final[dict[Traffic, Callable[..., Iterator[Verdict]]]] = {
    "independent": streams.independent,
    "bursts": streams.bursts,
    "interleaved bursts": streams.interleaved,
}
RATES: Final = (0.02, 0.1, 0.3)


def coverage(traffic: Traffic, rate: float, seed: int) -> Coverage:
    """One log of six hundred exchanges; every cell's estimates are sequences of intervals.

    The resend shifts at half the rate, so that there is a paired difference; a third of what shifts is worse.
    """
    law = Law(rate / 2, rate, worse=1 / 3)
    rng = np.random.default_rng([seed, int(1000 * rate), sorted(BURSTY).index(traffic)])
    entries = islice(BURSTY[traffic](rng, law, KINDS), EXCHANGES * (KINDS + 1))
    found = backtest(entries, every=_LOOKED_EVERY * (KINDS + 1))
    resend = {**Law(0.0, law.control, law.worse).truths(), "noise_floor": law.control}
    counted = Coverage()
    missed = {
        (cell.key.perturbation, name)
        for snapshot in found.snapshots
        for cell in snapshot.cells
        for name, (estimate, truth) in _known(
            cell, resend if cell.key.perturbation == BASELINE else law.truths()
        ).items()
        if not estimate.lower - 1e-9 <= truth <= estimate.upper + 1e-9
    }
    for cell in found.cells:
        for name in _known(cell, law.truths()):
            counted.sequences[name] += 1
            counted.missed[name] += (cell.key.perturbation, name) in missed
    return counted


Drawing = Literal["weighted", "weighted, bursts of 20", "weights ignored"]
DRAWINGS: Final[tuple[Drawing, ...]] = get_args(Drawing)
_PLANNED: Final = 12_000
"""Trials of a log of the adaptive plan."""
_PLANNED_LOOKS: Final = 40


def _planned(drawing: Drawing, nature: plans.Nature, rng: np.random.Generator) -> Iterator[Verdict]:
    burst = streams.BURST if "bursts" in drawing else 1
    return plans.adaptive(rng, nature, weighted=drawing != "weights ignored", burst=burst)


def planned_coverage(drawing: Drawing, seed: int) -> dict[str, Coverage]:
    """One log of the adaptive plan, by what is estimated: cells and their roll-up at forty looks."""
    nature = plans.FRAGILE
    rng = np.random.default_rng([seed, DRAWINGS.index(drawing), 7])
    resend = {**Law(0.0, nature.law(BASELINE).control, nature.worse).truths()}
    resend["noise_floor"] = nature.law(BASELINE).control
    truths = {name: nature.law(name).truths() if name != BASELINE else resend for name in plans.CELLS}
    entries = islice(_planned(drawing, nature, rng), _PLANNED)
    found, missed = set(), set()
    for snapshot in backtest(entries, SETTINGS, every=_PLANNED // _PLANNED_LOOKS).snapshots:
        shown = [(one.key.perturbation, _known(one, truths[one.key.perturbation])) for one in snapshot.cells]
        shown += [
            (one.key.level, _known(one.windows["all"], nature.rollup()))
            for one in snapshot.rollups
            if one.key.level == "all"
        ]
        for who, estimates in shown:
            for name, (estimate, truth) in estimates.items():
                found.add((who, name))
                if not estimate.lower - 1e-9 <= truth <= estimate.upper + 1e-9:
                    missed.add((who, name))
    counted: dict[str, Coverage] = {what: Coverage() for what in plans.SHOWN.values()}
    for who, name in found:
        one = counted[plans.SHOWN[who]]
        one.sequences[name] += 1
        one.missed[name] += (who, name) in missed
    return counted


def planned_false_alarms(drawing: Drawing, trials: int, seed: int) -> FalseAlarms:
    """One log of the adaptive plan in which every rewording is exactly at its limits, and nothing happens.

    Only trials count that alerts look at.
    """
    rng = np.random.default_rng([seed, DRAWINGS.index(drawing), 8])
    entries = list(islice(_planned(drawing, plans.EXACTLY, rng), trials))
    found = backtest(entries, SETTINGS)
    raised = Counter(alert.what for alert in found.raised)
    changes = sum(one.mark.kind != "ratings" for one in found.changes)
    return FalseAlarms(sum(not one.split_of for one in entries), raised, changes, 1, int(bool(raised)))


def _known(cell: CellReport | RollupEstimates, truths: dict[str, float]) -> dict[str, tuple[Estimate, float]]:
    """The intervals of a cell whose truth is known."""
    found = {name: (getattr(cell, name, None), truth) for name, truth in truths.items()}
    return {name: (one, truth) for name, (one, truth) in found.items() if isinstance(one, Estimate)}


@dataclass(slots=True)
class FalseAlarms:
    """What was raised though nothing happened."""

    trials: int = 0
    alerts: Counter[str] = field(default_factory=Counter)
    """By what: "excess" or "drift"."""
    changes: int = 0
    """Noticed on the routes."""
    runs: int = 0
    runs_with: int = 0
    """With an alert."""

    def merge(self, other: FalseAlarms) -> None:
        """Add what another process has counted."""
        self.trials += other.trials
        self.alerts += other.alerts
        self.changes += other.changes
        self.runs += other.runs
        self.runs_with += other.runs_with

    @property
    def between(self) -> float | None:
        """Trials of all cells for each false alarm; None without one."""
        total = self.alerts.total()
        return self.trials / total if total else None

    @property
    def interval(self) -> tuple[float, float]:
        """Of the same: 95 %, by the Poisson law; infinite above if there was none."""
        total = self.alerts.total()
        most = chi2.ppf(0.975, 2 * total + 2) / 2
        fewest = chi2.ppf(0.025, 2 * total) / 2 if total else 0.0
        return self.trials / most, self.trials / fewest if fewest else float("inf")


def false_alarms(stream: str, trials: int, seed: int, *, mean_trials: float = STATED) -> FalseAlarms:
    """One log of a stream in which nothing happens; in `some_up` the cells that are up do not count."""
    rng = np.random.default_rng([seed, *stream.encode()])
    entries = islice(getattr(streams, stream)(rng), trials)
    found = backtest(entries, MonitorSettings(mean_trials_between_false_alarms=mean_trials))
    up = streams.UP if stream == "some_up" else frozenset()
    raised = Counter(one.what for one in found.raised if one.perturbation not in up)
    known_up = sum(one.trials for one in found.cells if one.key.perturbation in up)
    changes = sum(one.mark.kind != "ratings" for one in found.changes)
    return FalseAlarms(found.trials - known_up, raised, changes, 1, int(bool(raised)))


@dataclass(frozen=True, slots=True)
class Step:
    """A change of the rate of shifts after some quiet trials."""

    before: float
    after: float
    later: float | None = None
    """A second step, after five hundred trials of the first."""

    @property
    def name(self) -> str:
        """For a table."""
        end = f" → .{100 * self.later:02.0f}" if self.later is not None else ""
        return f".{100 * self.before:02.0f} → .{100 * self.after:02.0f}{end}"

    def rate(self, trial: int) -> float:
        """At a trial after the change."""
        return self.later if self.later is not None and trial > LATER else self.after


LATER: Final = 500
STEPS: Final = (Step(0.05, 0.15), Step(0.2, 0.3), Step(0.5, 0.6), Step(0.05, 0.10), Step(0.05, 0.15, 0.3))
QUIETS: Final = (200, 2000, 20_000)
CAP: Final = 6000
"""Trials within which a change has to be found."""


@dataclass(slots=True)
class Delays:
    """Trials from a change to the alarm; `CAP` where there was none."""

    found: list[int] = field(default_factory=list)
    false: int = 0
    """Histories with an alarm before the change, which are left out."""

    def merge(self, other: Delays) -> None:
        """Add what another process has measured."""
        self.found += other.found
        self.false += other.false

    @property
    def mean(self) -> float | None:
        """None if nothing was measured."""
        return float(np.mean(self.found)) if self.found else None

    @property
    def lost(self) -> float:
        """Share of the changes that were not found."""
        return float(np.mean(np.array(self.found) >= CAP)) if self.found else 0.0


CONTINUED: Final = 4
"""Continuations of each history."""


def delays(step: Step, seed: int, *, quiets: Sequence[int] = QUIETS) -> dict[int, Delays]:
    """One history of quiet trials of one cell, continued several times from each length; by quiet trials.

    There is no resend, so only drift can be found.

    Args:
        step: What happens.
        seed: Of chance.
        quiets: Trials before it, rising.
    """
    rng = np.random.default_rng([seed, int(1000 * step.before), int(1000 * step.after)])
    writer = Writer()
    state, place, raised = MonitorState(SETTINGS), 0, 0
    measured = {quiet: Delays() for quiet in quiets}
    for quiet in quiets:
        while place < quiet:
            place += 1
            raised += len(_shown(state, writer, step.before, rng))
        if raised:
            measured[quiet].false += 1
            continue
        kept = state.to_bytes()
        for _ in range(CONTINUED):
            again = MonitorState.from_bytes(kept, SETTINGS)
            measured[quiet].found.append(_delay(again, Writer(number=place), step, rng))
    return measured


def _delay(state: MonitorState, writer: Writer, step: Step, rng: np.random.Generator) -> int:
    for trial in range(1, CAP):
        if _shown(state, writer, step.rate(trial), rng):
            return trial
    return CAP


def _shown(state: MonitorState, writer: Writer, rate: float, rng: np.random.Generator) -> list[AlertEvent]:
    """Show the state one more trial that shifts with a probability; returns the alerts it raises."""
    drawn = Law(rate, rate).draw(rng, 1)
    raised = []
    for verdict in writer.exchange(drawn, lost=True):
        events = state.apply(LoggedVerdict(state.offset + 1, verdict)).events
        raised += [event for event in events if event.kind == "raised"]
    return raised


FLOOR: Final = Law(0.84, 0.84)
OTHER: Final = Law(0.84, 0.84, other=0.4)
"""Long answers that a rerun words otherwise in 84 %; to two fifths of the variants another question is
answered."""


def floor_delay(quiet: int, seed: int) -> int:
    """Requests from the moment when other questions begin to be answered to the alert; `CAP` without one."""
    rng = np.random.default_rng([seed, quiet])
    writer, state = Writer(), MonitorState(SETTINGS)
    for _ in range(quiet):
        for verdict in writer.exchange(FLOOR.draw(rng, 1)):
            state.apply(LoggedVerdict(state.offset + 1, verdict))
    for request in range(1, CAP):
        for verdict in writer.exchange(OTHER.draw(rng, 1)):
            events = state.apply(LoggedVerdict(state.offset + 1, verdict)).events
            if any(one.kind == "raised" and one.perturbation != BASELINE for one in events):
                return request
    return CAP
