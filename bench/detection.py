"""How seldom the detector alarms without cause, and how soon with one.

Run from the root of the repository:

    python bench/detection.py --seed 1

Each trial pairs a variant with the identical resend of its exchange. The resend shifts with the
baseline rate, the variant with that rate plus the excess, independently. Prints

1. the mean number of trials to a false alarm while the excess is exactly at the threshold, the
   hardest case of "nothing is wrong", where it must not be below the nominal one; and without any
   excess, the usual case;
2. the mean number of trials from a change to the alarm, counted from a fresh detector.

A run that reaches the cap without an alarm is counted with the cap's length, which makes the mean
too small, never too large; the table marks such means with ≥.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from metrics.detect import EDetector, bets_against

if TYPE_CHECKING:
    from numpy.typing import NDArray

_BLOCK = 512
_BASELINES = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5)
_CHANGES = (0.05, 0.1, 0.15, 0.2, 0.3)


@dataclass(frozen=True, slots=True)
class Setting:
    """Rates of one simulation."""

    baseline: float
    excess: float
    threshold: float
    alarm: float
    """Evidence of the alarm: the nominal mean run length."""


@dataclass(frozen=True, slots=True)
class RunLengths:
    """Outcome of one simulation."""

    mean: float
    standard_error: float
    censored: int
    """Runs that reached the cap."""

    def __str__(self) -> str:
        mark = "≥" if self.censored else ""
        return f"{mark}{self.mean:,.0f} ± {self.standard_error:,.0f}"


def differences(setting: Setting, shape: tuple[int, int], rng: np.random.Generator) -> NDArray[np.int8]:
    """Paired differences in {−1, 0, 1}."""
    variant = rng.random(shape) < setting.baseline + setting.excess
    resend = rng.random(shape) < setting.baseline
    return variant.astype(np.int8) - resend.astype(np.int8)


def simulate(setting: Setting, runs: int, cap: int, rng: np.random.Generator) -> RunLengths:
    """Run lengths of many detectors at once: the arithmetic of `EDetector` on a matrix."""
    factors = np.array(bets_against(setting.threshold).factors)
    bets = factors.shape[1]
    wealth = np.zeros((runs, bets))
    alive = np.arange(runs)
    lengths = np.full(runs, cap)
    trial = 0
    while alive.size and trial < cap:
        block = differences(setting, (min(_BLOCK, cap - trial), alive.size), rng)
        running = np.ones(alive.size, dtype=bool)
        for row in block:
            trial += 1
            wealth = (wealth + 1 / bets) * factors[row]
            alarmed = running & (wealth.sum(axis=1) >= setting.alarm)
            lengths[alive[alarmed]] = trial
            running &= ~alarmed
            # An alarmed detector is out; emptied, it cannot overflow before the block ends.
            wealth[alarmed] = 0.0
        alive, wealth = alive[running], wealth[running]
    return RunLengths(float(lengths.mean()), float(lengths.std() / np.sqrt(runs)), int(alive.size))


def check_arithmetic(threshold: float, rng: np.random.Generator) -> None:
    """Fail unless the matrix form agrees with the detector that is shipped."""
    bets = bets_against(threshold)
    factors = np.array(bets.factors)
    detector = EDetector(bets)
    wealth = np.zeros(factors.shape[1])
    for difference in differences(Setting(0.1, 0.1, threshold, 0.0), (1000, 1), rng)[:, 0]:
        wealth = (wealth + 1 / wealth.size) * factors[difference]
        detector.update(int(difference))
        if not np.isclose(wealth.sum(), detector.evidence, rtol=1e-9):
            raise SystemExit(f"matrix {wealth.sum()} and detector {detector.evidence} disagree")


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threshold", type=float, default=0.1)
    parser.add_argument("--nominal", type=float, default=10_000, help="mean trials between false alarms")
    parser.add_argument("--runs", type=int, default=200, help="simulated detectors for each figure")
    parser.add_argument("--cap", type=int, default=20, help="longest run, in nominal run lengths")
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    check_arithmetic(options.threshold, rng)
    cap = int(options.cap * options.nominal)

    def run(baseline: float, above: float) -> RunLengths:
        setting = Setting(baseline, options.threshold + above, options.threshold, options.nominal)
        return simulate(setting, options.runs, cap, rng)

    print(
        f"threshold {options.threshold:g}, nominal run {options.nominal:,.0f}, {options.runs} runs, ± s.e.\n"
    )
    print("False alarms: mean trials to one\n")
    print("| baseline | excess at the threshold | of nominal | no excess |\n|---|---|---|---|")
    for baseline in _BASELINES:
        lengths, quiet = run(baseline, 0.0), run(baseline, -options.threshold)
        share = lengths.mean / options.nominal
        print(f"| {baseline:g} | {lengths} | {share:.2f} | {quiet} |", flush=True)
    print("\nDelay: mean trials from the change to the alarm, by excess above the threshold\n")
    print("| baseline | " + " | ".join(f"+{change:g}" for change in _CHANGES) + " |")
    print("|---" * (len(_CHANGES) + 1) + "|")
    for baseline in _BASELINES:
        delays = [str(run(baseline, change)) for change in _CHANGES]
        print(f"| {baseline:g} | " + " | ".join(delays) + " |", flush=True)


if __name__ == "__main__":
    main()
