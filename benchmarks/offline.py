"""Whether `evenkeel bench` finds what is planted, what it costs, and what a killed run repeats.

Run from the root of the repository:

    python -m benchmarks.offline                    # the sixty issues that come along
    python -m benchmarks.offline --issues planted   # sixty cases of the simulation, in all categories

Starts `evenkeel simulate` with three models of planted fragility and has `evenkeel bench` measure them with
the simulated judge and rewriter. The run is killed (SIGKILL) half-way and given again; calls are counted at
the simulated server. Prints the planted overall scores beside the measured ones with their intervals, the
estimate beside what was spent, and how many calls were made twice. Exit code 1 if the order is wrong, a
planted score is outside its interval, the estimate is off by more than 10 %, or more calls were made twice
than were under way when the run was killed.

The simulation does not know the sixty issues and answers them with a standard sentence, good, different or
worse. It fills none of their slots, so that no quality can change there: the true score of that task is 1.
That answer follows the prompt's first sentence and the language asked for; so only kinds are measured that
leave both as they are, and a model without any fragility, the control, shows that they do: at most 0.5 % of
its pairs may move. The cases of
the simulation itself are understood in every language and format.
"""

from __future__ import annotations

import argparse
import json
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from evenkeel.simulate import (
    ModelState,
    Simulation,
    SimulationSettings,
    planted,
    serving,
)
from tests.kit.planted_issues import planted_issues

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

FRAGILITY = {"middling": 0.15, "fragile": 0.4, "steady": 0.02}
NOISE, WORSE = 0.02, 0.5
CONTROL = "control"
SERVANTS = ("simulated-judge", "simulated-rewriter")
CONCURRENCY = 8
OFF_BY = 0.1
MOVED = 0.005
"""Share of the control's pairs that may move: no interval is as narrow."""
_KINDS = {
    "own": (
        "general.whitespace,general.casing,general.punctuation,positional.reordering,format.yaml,format.markdown"
    ),
    "planted": (
        "general.casing,positional.context,format.yaml,multilingual.de,crosslingual.de_to_fr,compound.hurried"
    ),
}


@dataclass(frozen=True)
class Bench:
    """One choice of issues and kinds, against one simulated server."""

    simulation: Simulation
    url: str
    folder: Path
    issues: str
    items: int
    runs: int

    def command(self, name: str, models: Iterable[str], runs: int) -> list[str]:
        """The command line."""
        found = [sys.executable, "-m", "evenkeel", "bench", "--yes", "--base-url", self.url]
        for model in models:
            found += ["--model", model, "--price", f"{model}=1/4"]
        for option, servant in zip(("judge", "rewriter"), SERVANTS, strict=True):
            found += [f"--{option}-url", self.url, f"--{option}-model", servant, "--price", f"{servant}=1/4"]
        if self.issues == "planted":
            found += ["--items", str(planted_issues(self.folder / "issues.jsonl", self.items))]
        return [
            *found, "--max-items", str(self.items), "--runs", str(runs), "--concurrency", str(CONCURRENCY),
            "--perturbations", _KINDS[self.issues], "--journal", str(self.folder / f"{name}.journal"),
            "--json", "--trials", str(self.folder / f"{name}.jsonl"),
            "--html", str(self.folder / f"{name}.html"),
        ]  # fmt: skip

    def calls(self) -> int:
        """Calls to the models under test so far, as the server counted them."""
        return sum(self.simulation.counts(self.simulation.find(name)).calls for name in FRAGILITY)

    def document(self, name: str) -> dict[str, Any]:
        """What a run wrote as JSON."""
        found: dict[str, Any] = json.loads((self.folder / f"{name}.json").read_text(encoding="utf-8"))
        return found

    def trials(self, name: str) -> list[dict[str, Any]]:
        """The pairs of a run."""
        lines = (self.folder / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines]

    def answers(self, name: str) -> int:
        """Different answers in the journal of a run."""
        with sqlite3.connect(self.folder / f"{name}.journal") as journal:
            return int(journal.execute("SELECT count(*) FROM gate_answers").fetchone()[0])


def run(command: Sequence[str], log: Path) -> None:
    """Run to the end; the JSON document goes into a file beside the log."""
    with log.open("a", encoding="utf-8") as file, log.with_suffix(".json").open("wb") as document:
        subprocess.run(command, check=True, stdout=document, stderr=file)


def run_and_kill(command: Sequence[str], bench: Bench, after: int, log: Path) -> int:
    """Kill the run once the server has answered so many calls.

    Returns: how many it had answered when the process was gone.
    """
    before = bench.calls()
    with log.open("a", encoding="utf-8") as file:
        process = subprocess.Popen(command, stdout=file, stderr=file)
        while process.poll() is None and bench.calls() - before < after:
            time.sleep(0.1)
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL, "the run ended before it could be killed"
    return bench.calls() - before


def truth(fragility: float, trials: Iterable[Mapping[str, Any]], *, slots_change: bool) -> float:
    """The planted overall score: the mean over categories, each weighing its tasks as the trials do."""
    model = planted(fragility, NOISE, WORSE)
    found: dict[str, list[float]] = defaultdict(list)
    for trial in trials:
        if trial["rating"] is None:
            continue
        category = trial["kind"].partition(".")[0]
        again = category == "baseline"
        score = model.baseline_robustness if again else model.perturbed_robustness
        if trial["task"] == "slot_filling":
            # Slots that are filled otherwise are never as good; where none is filled nothing changes.
            delta = model.baseline_content_delta if again else model.perturbed_content_delta
            score = 1 - delta if slots_change else 1.0
        found[category].append(score)
    return fmean(fmean(scores) for scores in found.values())


def control(bench: Bench) -> bool:
    """Whether kinds alone move nothing: a model without fragility and noise, one run."""
    run(bench.command("control", [CONTROL], 1), bench.folder / "control.log")
    trials = [one for one in bench.trials("control") if one["rating"] is not None]
    moved = [f"{one['kind']} on {one['task']}" for one in trials if one["rating"] < 3]  # noqa: PLR2004 - "same"
    share = len(moved) / len(trials)
    print(f"control, neither fragile nor noisy: {len(moved)} of {len(trials):,} pairs moved ({share:.2%})")
    for name in sorted(set(moved)):
        print(f"  {name}: {moved.count(name)}")
    return share <= MOVED


def scores(bench: Bench) -> bool:
    """Print planted and measured scores; whether order and intervals are right."""
    document, trials = bench.document("models"), bench.trials("models")
    print(f"\n{'model':<10}{'planted':>9}{'measured':>10}{'std':>6}{'95 % interval':>18}{'inside':>8}")
    inside = []
    for row in document["models"]:
        name, figure = row["model"], row["overall"]["robustness"]
        own = [one for one in trials if one["model"] == name]
        right = truth(FRAGILITY[name], own, slots_change=bench.issues == "planted")
        inside.append(figure["lower"] <= right <= figure["upper"])
        std = "–" if figure["std"] is None else f"{100 * figure['std']:.1f}"
        span = f"[{100 * figure['lower']:.1f}, {100 * figure['upper']:.1f}]"
        said = "yes" if inside[-1] else "NO"
        print(f"{name:<10}{100 * right:>9.1f}{100 * figure['value']:>10.1f}{std:>6}{span:>18}{said:>8}")
    ranked = [row["model"] for row in document["models"]] == sorted(FRAGILITY, key=FRAGILITY.__getitem__)
    print(f"order: {'right' if ranked else 'WRONG'}; {len(trials):,} pairs")
    return ranked and all(inside)


def costs(bench: Bench) -> bool:
    """Print estimate and spending; whether they agree to a tenth."""
    found = bench.document("models")["estimates"]
    print(
        f"estimated on the first issues: ${found['measured_usd']:.2f}; spent, the killed run included: "
        f"${found['spent_usd']:.2f}; estimate / spent {found['ratio']:.3f}"
    )
    return bool(abs(found["ratio"] - 1) <= OFF_BY)


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--issues", choices=sorted(_KINDS), default="own")
    parser.add_argument("--items", type=int, default=60)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep journals, tables and logs there")
    given = parser.parse_args()
    states = [ModelState(name, fragility=share, noise=NOISE) for name, share in FRAGILITY.items()]
    simulation = Simulation([*states, ModelState(CONTROL)], SimulationSettings(salt=b"benchmarks.offline"))
    with tempfile.TemporaryDirectory() as name, serving(simulation) as url:
        folder = given.keep or Path(name)
        folder.mkdir(parents=True, exist_ok=True)
        bench = Bench(simulation, f"{url}/v1", folder, given.issues, given.items, given.runs)
        return 0 if measured(bench) else 1


def measured(bench: Bench) -> bool:
    """All of it; whether everything is as it should be."""
    print(f"{bench.items} issues ({bench.issues}), {bench.runs} runs, {_KINDS[bench.issues]}")
    fine = control(bench)
    command, log = bench.command("models", FRAGILITY, bench.runs), bench.folder / "models.log"
    rounds = bench.items * 4 * len(FRAGILITY) * bench.runs
    calls_of_a_round = bench.answers("control") / (bench.items * 4)
    expected = round(rounds * calls_of_a_round)
    began = time.monotonic()
    killed_at = run_and_kill(command, bench, expected // 2, log)
    run(command, log)
    took_s = time.monotonic() - began
    fine &= scores(bench)
    fine &= costs(bench)
    answers = bench.answers("models")
    twice = bench.calls() - answers
    remembered = re.findall(r"([\d,]+) answers remembered", log.read_text(encoding="utf-8"))[-1]
    print(
        f"calls to the models: {bench.calls():,}, of which {killed_at:,} before the kill; answers in the "
        f"journal: {answers:,}, of which {remembered} were not asked for again; made twice: {twice}"
    )
    print(f"both runs together: {took_s:.0f} s")
    return fine and twice <= CONCURRENCY


if __name__ == "__main__":
    sys.exit(main())
