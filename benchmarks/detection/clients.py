"""Measure what it costs that no client alone raises an alert, and what it keeps out.

Run from the root of the repository: python -m benchmarks.detection.clients [--runs 40] [--others 0.5]

A tenth of the resends and of the trials shift by chance. Delays are trials from the moment when more of the
trials of all clients shift, over those without the rule. A hostile client's trials shift always.
"""

from __future__ import annotations

import argparse
import random
from statistics import mean
from typing import TYPE_CHECKING, Final

from evenkeel.monitor.detect import Alert, Clients, Measure
from evenkeel.monitor.fold import MonitorSettings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.monitor.detect import AlertRules

_NOISE: Final = 0.1
_WORSE: Final = 0.5
_HISTORY: Final = 400
_MOST: Final = 4000
_SHARES: Final = ([1.0], [0.5, 0.5], [0.7, 0.3], [0.8, 0.2], [0.9, 0.1], [0.4, 0.3, 0.3], [0.2] * 5)
_EFFECTS: Final = (0.25, 0.4, 0.8)
_HOSTILE: Final = {Measure.CONTENT: 1.0, Measure.QUALITY: 1.0, Measure.SIMILARITY: 0.9}


def _observed(rng: random.Random, effect: float) -> dict[Measure, float]:
    moved, control = rng.random() < _NOISE + effect, rng.random() < _NOISE
    worse = (moved and rng.random() < _WORSE) - (control and rng.random() < _WORSE)
    loss = max(-1.0, min(1.0, 0.35 * (moved - control) + rng.gauss(0, 0.05)))
    return {Measure.CONTENT: moved - control, Measure.QUALITY: worse, Measure.SIMILARITY: loss}


def delay(rules: AlertRules, shares: Sequence[float], effect: float, seed: int) -> int:
    """Trials from the change to the alert."""
    rng, alert, clients = random.Random(seed), Alert(rules), Clients()
    names = [f"c{number}" for number in range(len(shares))]
    for trial in range(_HISTORY + _MOST):
        name = clients.observe(*rng.choices(names, shares), float(trial))
        changed = alert.observe(_observed(rng, effect if trial >= _HISTORY else 0.0), name, clients)
        if changed and trial >= _HISTORY:
            return trial - _HISTORY + 1
    return _MOST


def raised(rules: AlertRules, hostile: int, others: int, seed: int, *, at_once: bool) -> bool:
    """Whether a hostile client raises an alert among three others, which had 400 trials before."""
    rng, alert, clients = random.Random(seed), Alert(rules), Clients()
    drawn = [True] * hostile + [False] * others
    if not at_once:
        rng.shuffle(drawn)
    for trial, attack in enumerate([False] * _HISTORY + drawn):
        client = "hostile" if attack else f"c{rng.randrange(3)}"
        name = clients.observe(client, float(trial))
        if alert.observe(_HOSTILE if attack else _observed(rng, 0.0), name, clients):
            return True
    return False


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--others", type=float, default=MonitorSettings().other_clients)
    options = parser.parse_args()
    without, rules = (MonitorSettings(other_clients=one).rules("r") for one in (0.0, options.others))
    seeds = range(options.runs)
    print(
        "| shares of the clients | " + " | ".join(f"{100 * one:.0f} points more" for one in _EFFECTS) + " |"
    )
    for shares in _SHARES:
        said = []
        for effect in _EFFECTS:
            before, after = (
                mean(delay(one, shares, effect, seed) for seed in seeds) for one in (without, rules)
            )
            said.append(f"{before:.0f} → {after:.0f} (× {after / before:.2f})")
        print(f"| {', '.join(f'{one:.0%}' for one in shares)} | {' | '.join(said)} |", flush=True)
    print("| hostile trials, of others | alerts without the rule | with it |")
    for hostile, others in ((40, 40), (40, 400), (400, 100), (400, 400), (400, 2000)):
        for at_once in (False, True):
            shares_raised = [
                mean(raised(one, hostile, others, seed, at_once=at_once) for seed in seeds)
                for one in (without, rules)
            ]
            how = "at once" if at_once else "mixed"
            print(
                f"| {hostile}, {others}, {how} | {shares_raised[0]:.0%} | {shares_raised[1]:.0%} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
