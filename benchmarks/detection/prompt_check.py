"""Error rates of `evenkeel check`: planted fragility in one of four categories, simulated rounds.

    python -m benchmarks.detection.prompt_check --runs 200

Each round draws whether the answer to an identical resend moved (the noise) and whether the answer to each
rewording did (the noise plus the planted points, in one category only). No model and no judge is asked.
"""

from __future__ import annotations

import argparse
import asyncio
import random
from collections import Counter

from evenkeel.release.check.run import CheckOptions, run_check
from evenkeel.release.check.trial import FIRST
from evenkeel.release.kit.cost import Costs
from tests.kit.check_rounds import CATEGORIES, FRAGILE, SimulatedRounds


def row(noise: float, points: float, runs: int, rounds: int) -> str:
    """Return a line of the table: how often each standing came out, and the calls it took."""
    fragile: Counter[str] = Counter()
    others: Counter[str] = Counter()
    falsely_over = 0
    calls: list[int] = []
    for seed in range(runs):
        made = SimulatedRounds(noise, points, random.Random(f"{noise}/{points}/{seed}"))
        options = CheckOptions(
            models={FIRST: "simulated"}, categories=CATEGORIES, rounds=rounds, judge="planted"
        )
        outcome = asyncio.run(run_check(options, made, Costs()))  # type: ignore[arg-type]
        standings = {figures.category: figures.standing for figures in outcome.arms[FIRST]}
        fragile[standings[FRAGILE]] += 1
        others.update(standing for category, standing in standings.items() if category != FRAGILE)
        over = [category for category, standing in standings.items() if standing == "over"]
        falsely_over += any(category != FRAGILE or points <= options.limit for category in over)
        calls.append(made.calls)
    calls.sort()
    shares = (
        fragile["over"] / runs,
        fragile["within"] / runs,
        others["within"] / (len(CATEGORIES) - 1) / runs,
        falsely_over / runs,
    )
    said = " | ".join(f"{share:.1%}" for share in shares)
    return f"| {noise:.0%} | {100 * points:.0f} | {said} | {calls[runs // 2]:,} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=200)
    options = parser.parse_args()
    print("| noise | planted points | over | within | others within | falsely over | calls, median |")
    print("|--:|--:|--:|--:|--:|--:|--:|")
    for noise in (0.05, 0.2, 0.5):
        for points in (0.0, 0.1, 0.2, 0.4):
            print(row(noise, points, options.runs, options.rounds), flush=True)


if __name__ == "__main__":
    main()
