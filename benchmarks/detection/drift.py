"""Drift: run lengths without a change, and delays against other detectors of equal run length.

Page-Hinkley and windows get the setting that is best for the very change that they are shown; the level of
each is tuned by simulation to the measured mean run of our detector at that rate. ADWIN is river's own
(`pip install river`), left out where that is not installed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from itertools import count, islice
from typing import TYPE_CHECKING, Final

import numpy as np

from benchmarks.detection.passages import (
    DriftRuns,
    PageHinkleyRuns,
    Rate,
    WindowRuns,
    passages,
    run_length,
    tuned,
)
from benchmarks.kit import Table
from evenkeel.monitor.detect import DriftAlert, DriftRules

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.detection.passages import Floats, Length, Runs

RATES: Final = (0.02, 0.05, 0.2, 0.5)
QUIET: Final = (200, 2_000, 20_000)
"""Trials before the change, or before a run length is counted."""
TOLERANCE: Final = 0.05
_MOST: Final = 4_000
"""Trials after a change until it counts as not found."""
_LONG: Final = 3
"""Longest run in levels; what lasts longer counts with its trials."""
_DELTAS: Final = (0.005, 0.025, 0.05)
_WIDTHS: Final = (50, 100, 200, 400)
_CHANGES: Final = (
    ("0.05 → 0.15", 0.05, (0.15,)),
    ("0.2 → 0.3", 0.2, (0.3,)),
    ("0.5 → 0.6", 0.5, (0.6,)),
    ("0.05 → 0.15 → 0.3", 0.05, (0.15, 0.3)),
)


_VERIFIED: Final = 3_000


def verify() -> None:
    """Compare the matrix with the class on one stream, bit for bit.

    Raises:
        AssertionError: if the evidence differs anywhere before the alarm.
    """
    rng = np.random.default_rng(5)
    rules = DriftRules(TOLERANCE, 20_000)
    alert, runs = DriftAlert(rules), DriftRuns(rules, 2)
    for trial in range(20_000):
        hit = int(rng.random() < (0.1 if trial < _VERIFIED else 0.14))
        alert.observe(hit)
        evidence = runs.step(np.full(2, float(hit)))
        if alert.up:
            assert evidence[0] == alert.evidence
            return
        assert evidence[0] == alert.evidence, trial
    raise AssertionError("the change was not found")


def _detector(level: float) -> Callable[[int], Runs]:
    return partial(DriftRuns, DriftRules(TOLERANCE, level))


def _quiet_times(chance: float, level: float, runs: int, rng: np.random.Generator) -> Floats:
    draw, cap = Rate(chance), int(_LONG * level)
    return passages(_detector(level), draw, draw, [level], runs=runs, cap=cap, rng=rng)[0]


def _counted(level: float) -> list[int]:
    return [quiet for quiet in (0, *QUIET) if quiet <= level]


def lengths(level: float, runs: int, rng: np.random.Generator) -> dict[float, list[Length]]:
    """By rate: mean runs without a change, from the start and after each number of quiet trials."""
    found = {}
    for chance in RATES:
        times = _quiet_times(chance, level, runs, rng)
        found[chance] = [run_length(times, int(_LONG * level), after) for after in _counted(level)]
    return found


def lengths_table(found: dict[float, list[Length]], level: float) -> Table:
    """Run lengths as shares of the level."""
    rows = [
        (f"{chance:g}", *(f"{one.mean / level:.2f} ± {one.error / level:.2f}" for one in row))
        for chance, row in found.items()
    ]
    quiet = (f"after {one:,} quiet trials" for one in _counted(level)[1:])
    columns = ("rate", "from the start", *quiet)
    return Table("drift-lengths", columns, tuple(rows), notes=("Mean run / level ± standard error.",))


def _mixtures() -> dict[str, Callable[[np.random.Generator], Iterator[tuple[int, str, str]]]]:
    """Traffic in which nothing changes but what is asked: trials with their stratum and cluster."""

    def turns(rng: np.random.Generator, *, told: bool) -> Iterator[tuple[int, str, str]]:
        for trial in count():
            kind = trial // 300 % 2
            yield int(rng.random() < (0.02, 0.18)[kind]), str(kind) if told else "", ""

    def clusters(rng: np.random.Generator, *, apart: bool) -> Iterator[tuple[int, str, str]]:
        rates: list[float] = []
        for trial in count():
            cluster = trial // 8 + int(rng.integers(6))
            while len(rates) <= cluster:
                rates.append(float(rng.beta(0.4, 2)) if apart else 0.1)
            yield int(rng.random() < rates[cluster]), "", str(cluster)

    return {
        "0.02 and 0.18 in turn, as two strata": partial(turns, told=True),
        "the same in one stratum": partial(turns, told=False),
        "clusters of 8 trials, all at 0.1": partial(clusters, apart=False),
        "clusters of 8 trials, each with a rate of its own": partial(clusters, apart=True),
    }


def mixtures_table(runs: int, rng: np.random.Generator) -> Table:
    """Alarms of `DriftAlert` itself in mixed traffic, from raising to recovery and on, at a low level."""
    level, cells, trials = 2_000, max(2, runs // 10), 6_000
    rows = []
    for name, make in _mixtures().items():
        alarms = 0
        for _ in range(cells):
            alert = DriftAlert(DriftRules(TOLERANCE, level))
            for trial in islice(make(rng), trials):
                change = alert.observe(*trial)
                alarms += change is not None and change.kind != "recovered"
        rows.append((name, cells * trials, alarms, cells * trials / level))
    columns = ("traffic", "trials", "alarms", "at most expected")
    return Table("drift-mixtures", columns, tuple(rows), digits=0, notes=(f"Level {level:,}.",))


@dataclass(frozen=True, slots=True)
class Delay:
    """From a change until it was found."""

    median: float
    mean: float
    """With 4,000 for runs that had not found it by then."""
    missed: float
    """Share of those."""

    @classmethod
    def of(cls, times: Floats) -> Delay:
        """Of the runs without an alarm before the change."""
        later = np.minimum(times[times > 0], _MOST + 1)
        missed = float((later > _MOST).mean())
        return cls(float(np.median(later)), float(np.minimum(later, _MOST).mean()), missed)

    def __str__(self) -> str:
        text = f"{self.mean:,.0f}"
        return f"{text} ({self.missed:.0%} not)" if self.missed >= 0.005 else text  # noqa: PLR2004 - rounding


@dataclass(frozen=True, slots=True)
class Rival:
    """Another detector, with one setting."""

    name: str
    make: Callable[[int], Runs]
    levels: Floats


RIVALS: Final = (
    *(Rival("Page-Hinkley", partial(PageHinkleyRuns, delta), np.geomspace(4, 200, 120)) for delta in _DELTAS),
    *(Rival("window", partial(WindowRuns, width), np.arange(2.5, 7, 0.05)) for width in _WIDTHS),
)


def _adwin_times(
    delta: float, before: Rate, after: Rate, *, quiet: int, runs: int, cap: int, rng: np.random.Generator
) -> Floats:
    """As `passages`, of river's ADWIN with one confidence."""
    from river.drift import ADWIN  # noqa: PLC0415 - not installed everywhere

    chances = [before.chance(1)] * quiet + [after.chance(trial) for trial in range(1, cap + 1)]
    times = np.full(runs, np.inf)
    for run in range(runs):
        detector = ADWIN(delta=delta)
        for trial, observed in enumerate((rng.random(len(chances)) < chances).tolist(), 1 - quiet):
            detector.update(observed)
            if detector.drift_detected:
                times[run] = trial
                break
    return times


def _tuned_adwin(chance: float, target: float, runs: int, rng: np.random.Generator) -> float:
    """The confidence at which its mean run is about the target, by bisection of the exponent."""
    draw, cap = Rate(chance), int(2 * target)
    quick, slow = 0.5, 10.0
    for _ in range(6):
        middle = (quick + slow) / 2
        times = _adwin_times(10**-middle, draw, draw, quiet=0, runs=runs, cap=cap, rng=rng)
        if run_length(times, cap).mean < target:
            quick = middle
        else:
            slow = middle
    return 10.0**-slow


def delays(
    found: dict[float, list[Length]], level: float, runs: int, rng: np.random.Generator
) -> list[tuple[str, int, dict[str, Delay]]]:
    """Name of the change, quiet trials before it, and each detector's delay with the best of its settings."""
    chances = sorted({before for _, before, _ in _CHANGES})
    target = {chance: found[chance][0].mean for chance in chances}
    rivals = {chance: _tuned_rivals(chance, target[chance], runs, rng) for chance in chances}
    few = max(20, runs // 4)
    adwin = {
        chance: _tuned_adwin(chance, target[chance], few, rng) for chance in chances if find_spec("river")
    }
    rows = []
    for name, before, after in _CHANGES:
        for quiet in _counted(level)[1:]:
            draws = (Rate(before), Rate(*after))
            shown = {"runs": runs, "cap": _MOST, "rng": rng, "quiet": quiet}
            taken = {"drift": Delay.of(passages(_detector(level), *draws, [level], **shown)[0])}
            for rival, height in rivals[before]:
                delay = Delay.of(passages(rival.make, *draws, [height], **shown)[0])
                if rival.name not in taken or delay.mean < taken[rival.name].mean:
                    taken[rival.name] = delay
            if before in adwin:
                taken["ADWIN"] = Delay.of(_adwin_times(adwin[before], *draws, **shown))
            rows.append((name, quiet, taken))
    return rows


def _tuned_rivals(
    chance: float, target: float, runs: int, rng: np.random.Generator
) -> list[tuple[Rival, float]]:
    draw, cap = Rate(chance), int(2 * target)
    return [
        (rival, tuned(rival.make, draw, rival.levels, target, runs=runs // 2, cap=cap, rng=rng))
        for rival in RIVALS
    ]


def delays_table(measured: list[tuple[str, int, dict[str, Delay]]]) -> Table:
    """Mean delays, and ours as a multiple of the best other one's."""
    names = tuple(measured[0][2])
    rows = []
    for change, quiet, taken in measured:
        best = min(delay.mean for name, delay in taken.items() if name != "drift")
        ratio = taken["drift"].mean / best
        rows.append((f"{change}, after {quiet:,}", *(str(taken[name]) for name in names), f"{ratio:.2f}"))
    note = f"Mean trials; in brackets the share not found in {_MOST:,}, which count as so many."
    return Table("drift-delays", ("change", *names, "drift / best"), tuple(rows), notes=(note,))
