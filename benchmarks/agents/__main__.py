"""Play agents against the replay plane and the monitor, and print the alerts.

Run from the root of the repository:
python -m benchmarks.agents [--steps 10000]
python -m benchmarks.agents --runs MODEL.json [--swap OTHER.json [--silent]] [--no-judge]

Without files the runs are made up, and three models play their tool-calling steps: one picks another tool in
15 % of the reworded steps, one changes an argument in as many, and one is only noisy. Files hold the recorded
runs of one model each, as tau-bench or tau2-bench publish them. Every answer then comes from a random run of
the task at that step, so that the noise floor is the difference between runs. `--swap` continues with another
model's runs from the middle on, under another name, or with `--silent` under the same. `--no-judge` leaves
out the scripted judge.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.agents.models import PlantedModel, RecordedModel, StepFinder
from benchmarks.agents.plane import AgentPlane
from benchmarks.agents.runs import made_up_runs, read_runs, tools_of
from benchmarks.kit import ResultTable
from evenkeel.core.verdict import BASELINE
from evenkeel.monitor.notify.notices import headline

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.agents.models import Fault, StepModel
    from benchmarks.agents.runs import AgentRun, AgentStep
    from evenkeel.core.cells import CellReport, Estimate

Row = tuple[str | int | None, ...]
_STEPS_OF_A_RUN = 3  # steps of a made-up run that call a tool


def main() -> None:
    """Print a table of the planted models, or of recorded runs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--steps", type=int, default=2_000, help="steps of each planted model")
    parser.add_argument("--runs", type=Path, help="recorded runs of one model")
    parser.add_argument("--swap", type=Path, help="recorded runs of the model that answers the second half")
    parser.add_argument("--silent", action="store_true", help="keep the model's name when it is swapped")
    parser.add_argument("--no-judge", action="store_true", help="leave out the scripted judge")
    options = parser.parse_args()
    judge = not options.no_judge
    if options.runs:
        second = "agent-1" if options.silent else "agent-2"
        rows = [_recorded(options.runs, options.swap, second, judge=judge)]
    else:
        rows = _planted(options.steps, judge=judge)
    columns = ("model", "steps", "tool choice, control", "arguments, control", "alerts", "said")
    print(ResultTable("agents", columns, tuple(rows)).markdown())


def _planted(steps: int, *, judge: bool) -> list[Row]:
    runs = made_up_runs(steps // _STEPS_OF_A_RUN, 1)
    tools = [tool["function"]["name"] for tool in tools_of(runs)]
    finder = StepFinder(runs)
    called = [step for step in _steps(runs) if step.answer.get("tool_calls")]
    faults: dict[str, Fault] = {"another tool": "tool", "another argument": "argument", "only noisy": "none"}
    rows = []
    for name, fault in faults.items():
        model = PlantedModel(finder, tools, fault)
        rows.append(_row(name, runs, [("agent-1", model, called)], judge=judge))
    return rows


def _recorded(path: Path, swap: Path | None, second: str, *, judge: bool) -> Row:
    runs = read_runs(path)
    finder = StepFinder(runs)
    model = RecordedModel(finder, runs)
    steps = _steps(runs)
    if not swap:
        return _row(path.stem, runs, [("agent-1", model, steps)], judge=judge)
    half = (len(steps) + 1) // 2
    other = RecordedModel(finder, read_runs(swap))
    return _row(
        path.stem, runs, [("agent-1", model, steps[:half]), (second, other, steps[half:])], judge=judge
    )


def _row(
    name: str,
    runs: Sequence[AgentRun],
    parts: Sequence[tuple[str, StepModel, Sequence[AgentStep]]],
    *,
    judge: bool,
) -> Row:
    """Play parts, each a model's name, the model and its steps; return the row of the worst cell."""
    with tempfile.TemporaryDirectory() as folder:
        plane = AgentPlane(Path(folder), judge=judge)
        for model_name, model, steps in parts:
            asyncio.run(plane.play(steps, runs, model_name, model))
        # The control counts only if there is no other cell.
        worst = max(plane.cells, key=_badness, default=None)
        messages = [f"{mark.kind} {mark.before} → {mark.after}" for mark in plane.changes]
        for incident in plane.incidents:
            messages.append(" ".join((headline(incident), *plane.facts(incident))))
        plane.close()
    if worst is None:
        return name, plane.steps, None, None, plane.raised, None
    figures = worst.estimates
    return (
        name,
        plane.steps,
        f"{_value(figures.tool_choice):.1%}, {_value(figures.tool_choice_noise):.1%}",
        f"{_value(figures.tool_arguments):.1%}, {_value(figures.tool_arguments_noise):.1%}",
        plane.raised,
        "; ".join(messages) or None,
    )


def _badness(cell: CellReport) -> tuple[bool, float]:
    return cell.key.perturbation != BASELINE, _value(cell.estimates.tool_choice)


def _steps(runs: Sequence[AgentRun]) -> list[AgentStep]:
    return list(chain.from_iterable(run.steps() for run in runs))


def _value(estimate: Estimate | None) -> float:
    return estimate.value if estimate else 0.0


if __name__ == "__main__":
    main()
