"""How often `evenkeel gate` is wrong, and what it saves, against a simulated model.

Run from the root of the repository:

    python -m benchmarks.gate --runs 100
    python -m benchmarks.gate --decisions --runs 200 --goldens 1000

Each run has support cases of its own as goldens, approved are the model's good answers, and other prompts
that are fragile. The model in use and every candidate answer 2 % of the prompts badly, always, and 3 %
of the calls by chance. Prints, for

1. a candidate that is equal to the model in use,
2. one that answers 15 % more of the prompts badly,
3. the same name with the same weights, against the recorded answers of the goldens (--against recorded),
4. the same name with weights that answer 15 % more of the prompts badly, against the same,
5. one behind a port on which nobody listens,

how many runs ended with which exit code, how many were settled before the last golden, and the share of
the calls that stopping early saved.

With --decisions no model is asked: answers are drawn with the stated rates, half of the breaches of the first
measure are breaches of the second, and the table shows by number of goldens, noise and excess how the gate
decides, how often the last look did, and after how many goldens.
"""

from __future__ import annotations

import argparse
import json
import random
import socket
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING

from click.testing import CliRunner

from evenkeel.cli.main import main
from evenkeel.monitor.detect.gate import Gate, GateReport, GateRules, Measure, Shares, Verdict
from evenkeel.simulate import (
    Message,
    ModelState,
    SimulatedModel,
    Simulation,
    SimulationSettings,
    make_case,
    serving,
    summary_prompt,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

_FRAGILITY, _NOISE = 0.02, 0.03
_MODEL = "in-use"
_HALF = 0.5
_SETTLED = (Verdict.PASS, Verdict.REGRESSION)


@dataclass
class Tally:
    """What the runs of one candidate came to."""

    exits: Counter[int] = field(default_factory=Counter)
    settled: int = 0
    saved: list[float] = field(default_factory=list)
    calls: list[int] = field(default_factory=list)
    took_s: list[float] = field(default_factory=list)


def write_goldens(path: Path, count: int, first: int) -> Path:
    """Goldens for the cases from a seed on, with the good answers of the simulated model."""
    model, rng = SimulatedModel(), random.Random(0)
    with path.open("w", encoding="utf-8") as file:
        for seed in range(first, first + count):
            prompt = summary_prompt(make_case(seed))
            answer = model.answer([Message("user", prompt)], rng)
            row = {"id": f"case-{seed}", "prompt": prompt, "answer": answer, "model": _MODEL}
            file.write(json.dumps({**row, "task": "case_summary"}) + "\n")
    return path


def simulation(seed: int, excess: float, *, replaced: bool) -> Simulation:
    """The model in use and a candidate; which prompts are fragile follows from the seed.

    Args:
        seed: Of a run.
        excess: How many more prompts the candidate answers badly.
        replaced: Whether the candidate's weights stand behind the name in use, too.
    """
    states = [
        ModelState(_MODEL, fragility=_FRAGILITY + excess * replaced, noise=_NOISE),
        ModelState("candidate", fragility=_FRAGILITY + excess, noise=_NOISE),
    ]
    settings = SimulationSettings(salt=seed.to_bytes(8, "big"))
    return Simulation(states, settings, rng=random.Random(seed))


def gate(folder: Path, goldens: Path, url: str, seed: int, tally: Tally, *options: str) -> None:
    """One run of the command."""
    report = folder / "gate.json"
    started = time.perf_counter()
    done = CliRunner().invoke(
        main,
        [
            *("gate", str(goldens), "--base-url", f"{url}/v1", "--seed", str(seed)),
            *(options or ("--model", "candidate")),
            *("--yes", "--no-embeddings", "--json-file", str(report)),
        ],
    )
    tally.took_s.append(time.perf_counter() - started)
    tally.exits[done.exit_code] += 1
    assert report.exists(), done.output
    found = json.loads(report.read_text(encoding="utf-8"))
    tally.settled += found["report"]["settled"]
    tally.saved.append(found["saved_calls"] / found["planned_calls"])
    tally.calls.append(found["ledger"]["calls"])


def measured(runs: int, count: int, excess: float, *, recorded: bool = False) -> Tally:
    """Runs against a candidate whose excess is known, or of the name in use against its recorded answers."""
    options = ("--against", "recorded") if recorded else ()
    tally = Tally()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for seed in range(runs):
            goldens = write_goldens(folder / "goldens.jsonl", count, first=seed * count)
            with serving(simulation(seed, excess, replaced=recorded)) as url:
                gate(folder, goldens, url, seed, tally, *options)
            if sys.stderr.isatty():
                print(f"\r{excess:.2f}: {seed + 1} of {runs} runs", end="", file=sys.stderr)
    return tally


def unreachable(count: int) -> Tally:
    """One run against a port on which nobody listens."""
    tally = Tally()
    with tempfile.TemporaryDirectory() as name, socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # bound, never listening
        goldens = write_goldens(Path(name) / "goldens.jsonl", count, first=0)
        gate(Path(name), goldens, f"http://127.0.0.1:{unused.getsockname()[1]}", 0, tally)
    return tally


def drawn(rng: random.Random, goldens: int, noise: float, excess: float, repeats: int) -> GateReport:
    """A gate on answers that are drawn, over two measures."""
    measures = (Measure(name="first"), Measure(name="second"))
    # What noise breaches anyway is no excess.
    planted = excess / (1 - noise)
    found = Gate(GateRules(), measures, goldens=goldens)
    while not found.settled and found.asked < goldens:
        prompt = rng.random()
        first, second = [], []
        for share in (_FRAGILITY + planted, _FRAGILITY):
            breached = [prompt < share or rng.random() < noise for _ in range(repeats)]
            first.append(sum(breached) / repeats)
            second.append(sum(one and rng.random() < _HALF for one in breached) / repeats)
        draws = (repeats, repeats)
        found.take({"first": Shares(*first, draws), "second": Shares(*second, draws)})
    return found.report()


def decisions(runs: int, numbers: Sequence[int], noises: Sequence[float], repeats: int) -> None:
    """Print how gates decide on drawn answers."""
    print(f"{runs} runs, {repeats} calls a golden and side")
    print(
        f"{'goldens':>8}{'noise':>6}{'excess':>8}{'pass':>7}{'regr.':>7}{'open':>7}{'last look':>11}"
        f"{'asked: mean':>13}{'90 %':>6}"
    )
    for goldens in numbers:
        for noise in noises:
            for excess in (0.0, 0.05, 0.1, 0.15, 0.3):
                rng = random.Random(f"{noise}:{excess}")
                reports = [drawn(rng, goldens, noise, excess, repeats) for _ in range(runs)]
                states = Counter(report.verdict if report.settled else "open" for report in reports)
                last = sum(any(found.p_value is not None for found in report.findings) for report in reports)
                asked = sorted(report.asked for report in reports)
                shares = "".join(f"{states[state] / runs:>7.1%}" for state in (*_SETTLED, "open"))
                print(
                    f"{goldens:>8}{noise:>6.0%}{excess:>8.0%}{shares}{last / runs:>11.1%}"
                    f"{mean(asked):>13.0f}{asked[int(0.9 * runs)]:>6}",
                    flush=True,
                )


def row(name: str, tally: Tally) -> str:
    """A line of the table."""
    exits = " ".join(f"{tally.exits[code]:>5}" for code in (0, 1, 3, 2))
    return (
        f"{name:<22}{exits}{tally.settled:>9}{mean(tally.saved):>8.0%}{min(tally.saved):>8.0%}"
        f"{mean(tally.calls):>7.0f}{mean(tally.took_s):>7.1f}"
    )


def run() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument(
        "--goldens", type=int, nargs="+", default=[200], help="one number, or several of --decisions"
    )
    parser.add_argument(
        "--noise", type=float, nargs="+", default=[0.0, 0.03, 0.1, 0.3], help="of --decisions"
    )
    parser.add_argument("--repeats", type=int, default=1, help="of --decisions: calls a golden and side")
    parser.add_argument("--decisions", action="store_true", help="draw answers instead of asking a model")
    given = parser.parse_args()
    if given.decisions:
        decisions(given.runs, given.goldens, given.noise, given.repeats)
        return
    goldens = given.goldens[0]
    print(f"{given.runs} runs, {goldens} goldens, {2 * goldens} calls at most", flush=True)
    print(
        f"{'candidate':<22}{'pass':>5}{'regr.':>6}{'open':>6}{'none':>6}{'settled':>9}{'saved':>8}{'least':>8}",
        end="",
    )
    print(f"{'calls':>7}{'s':>7}")
    print(row("equal", measured(given.runs, goldens, 0.0)), flush=True)
    print(row("15 points more fragile", measured(given.runs, goldens, 0.15)))
    print(row("same name and weights", measured(given.runs, goldens, 0.0, recorded=True)))
    print(row("same name, 15 points", measured(given.runs, goldens, 0.15, recorded=True)))
    print(row("unreachable", unreachable(goldens)))


if __name__ == "__main__":
    run()
