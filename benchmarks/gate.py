"""False regressions, passes and power of the gate where goldens share templates.

    python -m benchmarks.gate --runs 500

Noise is the worst that a cluster can do: at a rate of `noise`, all goldens of a cluster breach the measure
together, on each side for itself. A regression hits goldens one by one. Each line is written as a row of
Markdown.
"""

from __future__ import annotations

from argparse import ArgumentParser
from random import Random
from typing import Final

from evenkeel.monitor.detect.gate import Gate, GateMeasure, GateReport, GateRules, Shares

SHAPES: Final = {"100 distinct": [1] * 100, "5 templates × 20": [20] * 5, "1 template × 100": [100]}
NOISES: Final = (0.0, 0.1, 0.3)
EXCESSES: Final = (0.0, 0.1, 0.2)
_MEASURES: Final = (GateMeasure(name="content_shift"), GateMeasure(name="quality_change"))


def gated(rng: Random, sizes: list[int], noise: float, excess: float, *, clustered: bool) -> GateReport:
    """Return the report of one gate whose second measure has half of the first's breaches."""
    gate = Gate(GateRules(), _MEASURES, goldens=sum(sizes))
    for number, size in enumerate(sizes):
        noisy = [rng.random() < noise, rng.random() < noise]
        changed = [rng.random() < 1 / 2, rng.random() < 1 / 2]
        for _ in range(size):
            hit = rng.random() < excess / (1 - noise)
            breached = [noisy[0] or hit, noisy[1]]
            gate.take(
                {
                    "content_shift": Shares(float(breached[0]), float(breached[1])),
                    "quality_change": Shares(
                        float(breached[0] and changed[0]), float(breached[1] and changed[1])
                    ),
                },
                str(number) if clustered else None,
            )
            if gate.settled:
                return gate.report()
    return gate.report()


def main() -> None:
    """Print the table."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument(
        "--by-golden", action="store_true", help="Count each golden, as if all were distinct."
    )
    options = parser.parse_args()
    print("| goldens | noise | equal: regression | equal: pass | +10 points: found | +20 points: found |")
    print("|---|--:|--:|--:|--:|--:|")
    for name, sizes in SHAPES.items():
        for noise in NOISES:
            shares = []
            for excess in EXCESSES:
                verdicts = [
                    gated(Random(f"{name} {noise} {excess} {run}"), sizes, noise, excess,
                          clustered=not options.by_golden).verdict
                    for run in range(options.runs)
                ]  # fmt: skip
                shares.append(verdicts.count("regression"))
                if not excess:
                    shares.append(verdicts.count("pass"))
            row = " | ".join(f"{100 * share / options.runs:.1f} %" for share in shares)
            print(f"| {name} | {100 * noise:.0f} % | {row} |", flush=True)


if __name__ == "__main__":
    main()
