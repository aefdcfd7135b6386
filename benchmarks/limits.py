"""Calibrated limits on what they were not placed on: false alerts, and a degradation of 30 % that is live.

Run from the root of the repository: python -m benchmarks.limits [--runs 4] [--write]

Half of the goldens (answers of GPT-4 and Claude to MT-Bench in ../shared/data; it says so and stops where
that is absent) and the beginning of each simulated log place the limits. The other half of the goldens gives
the likeness of an answer to itself degraded by 30 %, which is what variants lose from some trial on. All of
it goes through the fold and the detectors that run live. Every figure follows from the seed.
"""

from __future__ import annotations

import argparse
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from datetime import date
from functools import cache
from statistics import median
from typing import TYPE_CHECKING, Final

import numpy as np
from scipy.stats import chi2

from benchmarks.degradations import goldens as recorded
from benchmarks.kit import DOCS, Table, filled
from evenkeel.core.verdict import BASELINE, Verdict
from evenkeel.lab.backtest import backtest
from evenkeel.lab.calibrate.limits import losses_of, place_all
from evenkeel.monitor.detect import Limit, Measure
from evenkeel.monitor.fold import MonitorSettings
from evenkeel.release.calibration.quiet import QuietTraffic, RouteQuiet
from evenkeel.stores.goldens import Golden
from tests.kit.public import DATA

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.random import Generator

    from benchmarks.kit import Cell
    from evenkeel.release.calibration.limits import PlacedLimits

PAGE: Final = DOCS / "research" / "limits.md"
STATED: Final = 10_000
_KINDS: Final = 5
_PLACED_ON: Final = 3_000
_QUIET_BEFORE: Final = 1_000
_LIVE: Final = 4_000
"""Trials within which a degradation has to be found."""
_DAY: Final = date(2026, 11, 20)
_BURST: Final = 20


@dataclass(frozen=True, slots=True)
class Traffic:
    """A route without a judge: what resends and variants lose."""

    name: str
    floor: float
    """Share of resends whose content moved."""
    excess: float = 0.0
    """By how much more often variants move: from 0 for the first kind to twice that for the last."""
    bursts: float = 0.0
    """Share of exchanges in bursts of twenty, answered alike."""

    def verdicts(self, rng: Generator, trials: int, likeness: Sequence[float] = ()) -> Iterator[Verdict]:
        """The verdicts of so many exchanges, a resend and a variant each.

        Args:
            rng: Draws everything.
            trials: Exchanges.
            likeness: Of degraded answers to whole ones; variants are degraded if there are any.
        """
        number = 0
        while number < trials:
            burst = rng.random() < self.bursts / _BURST
            cluster = f"b{rng.integers(2**62)}" if burst else ""
            hard = rng.beta(2, 8) / 0.2
            drawn = [self._answer(rng, hard * self.floor)] + [
                self._answer(rng, hard * (self.floor + 2 * self.excess * kind / (_KINDS - 1)))
                for kind in range(_KINDS)
            ]
            for _ in range(_BURST if burst else 1):
                number += 1
                kind = int(rng.integers(_KINDS))
                near = drawn[kind + 1] * (float(rng.choice(likeness)) if likeness else 1.0)
                name = f"{rng.integers(2**62):x}"
                resend = replace(
                    _RESEND, id=f"c{name}", exchange_id=name, scored_at=20.0 * number, similarity=drawn[0],
                    cluster=cluster,
                )  # fmt: skip
                yield resend
                yield replace(
                    resend, id=f"v{name}", perturbation=f"general.kind{kind}", severity=0.3, similarity=near,
                    baseline_similarity=drawn[0], baseline_worse=False if drawn[0] >= _MOVED else None,
                )  # fmt: skip

    @staticmethod
    def _answer(rng: Generator, moved: float) -> float:
        return float(rng.uniform(0.2, _MOVED) if rng.random() < moved else rng.uniform(0.8, 1.0))


_MOVED: Final = 0.4
_RESEND: Final = Verdict(
    *("", "", 0.0, "chat", "m-1", BASELINE, 1, 0.0, 0, "metrics", None, None),
    unsure=True,
    prompt_version="v1",
)
TRAFFIC: Final = (
    Traffic("quiet", 0.1),
    Traffic("rewordings cost 4 points", 0.1, excess=0.04),
    Traffic("a fifth in bursts of twenty", 0.1, excess=0.02, bursts=0.2),
    Traffic("noise floor of .6", 0.6, excess=0.02),
)


@cache
def _halves(most: int) -> tuple[tuple[Golden, ...], tuple[float, ...]]:
    """Goldens to place limits on, and the likeness of others to themselves degraded by 30 %.

    Args:
        most: Answers of each form.
    """
    found = [
        Golden(id=name, route="chat", answer=answer)
        for form, each in recorded(most).items()
        if form in {"prose", "list"}
        for name, answer in each
    ]
    likeness = [1 - lost[Measure.SIMILARITY] for golden in found[1::2] if (lost := losses_of(golden))]
    return tuple(found[::2]), tuple(likeness)


@dataclass(slots=True)
class Checked:
    """What became of limits on the rest of the traffic."""

    values: list[dict[str, float]]
    trials: int = 0
    """Of all cells, controls among them: they have alerts of drift, too."""
    alerts: int = 0
    found: tuple[float, ...] = ()
    """Trials to the alert after variants were degraded; infinite if there was none."""
    usually: tuple[float, ...] = ()
    """The same under the usual limits."""

    def merge(self, other: Checked) -> None:
        """Add another run."""
        self.values += other.values
        self.trials += other.trials
        self.alerts += other.alerts
        self.found += other.found
        self.usually += other.usually


def checked(traffic: Traffic, seed: int, trials: int, goldens: int) -> Checked:
    """Place limits on one part of a log and a half of the goldens, and check them on the rest."""
    rng = np.random.default_rng([seed, *traffic.name.encode()])
    quiet = QuietTraffic.of(traffic.verdicts(rng, min(_PLACED_ON, trials)))
    placing, likeness = _halves(goldens)
    (placed,) = place_all(
        {"chat": RouteQuiet(quiet, alert=False)}, placing, route="chat",
        trials_between_false_alerts=STATED, today=_DAY, seed=seed,
    )  # fmt: skip
    settings = settings_with(placed)
    rest = backtest(traffic.verdicts(rng, trials), settings)
    quiet_before = min(_QUIET_BEFORE, trials)
    live = [
        *traffic.verdicts(rng, quiet_before),
        *traffic.verdicts(rng, min(_LIVE, trials), likeness),
    ]
    return Checked(
        [{one.measure: one.value for one in placed.limits}],
        rest.trials,
        len(rest.raised),
        (_delay(live, quiet_before, settings),),
        (_delay(live, quiet_before, MonitorSettings(mean_trials_between_false_alarms=STATED)),),
    )


def settings_with(placed: PlacedLimits) -> MonitorSettings:
    """The monitor's settings with these limits in force."""
    limits = {one.measure: Limit(one.value, one.source) for one in placed.limits}
    drift = limits.pop("drift", None)
    return MonitorSettings(
        mean_trials_between_false_alarms=STATED,
        limits={placed.route: {Measure(name): limit for name, limit in limits.items()}},
        tolerances={placed.route: drift} if drift else {},
    )


def _delay(verdicts: Sequence[Verdict], quiet_before: int, settings: MonitorSettings) -> float:
    """Trials from the degradation, which comes after so many, to the first alert after it."""
    begins = 2 * quiet_before
    found = [one.offset for one in backtest(verdicts, settings).raised if one.offset > begins]
    return (found[0] - begins) / 2 if found else float("inf")


def table(found: dict[str, Checked]) -> Table:
    """One row for each kind of traffic."""
    rows: list[tuple[Cell, ...]] = []
    for name, one in found.items():
        most = chi2.ppf(0.975, 2 * one.alerts + 2) / 2
        fewest = chi2.ppf(0.025, 2 * one.alerts) / 2 if one.alerts else 0.0
        caught = sum(delay != float("inf") for delay in one.found)
        by_default = sum(delay != float("inf") for delay in one.usually)
        rows.append(
            (
                name,
                *(_spread(one.values, measure) for measure in ("content", "similarity", "drift")),
                one.trials,
                one.alerts,
                f"{STATED * fewest / one.trials:.1f} to {STATED * most / one.trials:.1f}",
                f"{caught} of {len(one.found)}, {_median(one.found)}",
                f"{by_default} of {len(one.usually)}, {_median(one.usually)}",
            )
        )
    return Table(
        "limits",
        (
            "traffic", "content", "similarity", "drift", "trials checked", "false alerts",
            f"in {STATED:,} trials", "30 % caught, trials", "usual limits",
        ),
        tuple(rows),
    )  # fmt: skip


def _spread(values: Sequence[dict[str, float]], measure: str) -> str:
    known = sorted({one[measure] for one in values if measure in one})
    return "–" if not known else f"{known[0]:g}" if len(known) == 1 else f"{known[0]:g} to {known[-1]:g}"


def _median(delays: Sequence[float]) -> str:
    middle = median(delays)
    return "–" if middle == float("inf") else f"{middle:,.0f}"


def main() -> None:
    """Print the table, and write it into the documentation if asked to."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=4, help="placements for each kind of traffic")
    parser.add_argument("--trials", type=int, default=15_000, help="on which each placement is checked")
    parser.add_argument("--goldens", type=int, default=60, help="of each form, prose and list")
    parser.add_argument("--kinds", type=int, default=len(TRAFFIC), help="of traffic, the first so many")
    parser.add_argument("--jobs", type=int, default=None, help="processes")
    parser.add_argument("--write", action="store_true", help="write the table into docs/research/limits.md")
    options = parser.parse_args()
    if not DATA.is_dir():
        print(f"there is no public data in {DATA}; nothing was measured")
        return
    started = time.monotonic()
    found: dict[str, Checked] = {}
    with ProcessPoolExecutor(options.jobs) as pool:
        runs = [
            (traffic, pool.submit(checked, traffic, seed, options.trials, options.goldens))
            for traffic in TRAFFIC[: options.kinds]
            for seed in range(options.runs)
        ]
        for traffic, run in runs:
            if traffic.name in found:
                found[traffic.name].merge(run.result())
            else:
                found[traffic.name] = run.result()
    measured = table(found)
    print(measured.markdown())
    print(f"{time.monotonic() - started:.0f} s", file=sys.stderr)
    if options.write:
        PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), [measured]), encoding="utf-8")
        print(f"written to {PAGE}", file=sys.stderr)


if __name__ == "__main__":
    main()
