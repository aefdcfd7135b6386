"""Play agents against the replay plane and the monitor, and print what is found.

Run from the root of the repository:
python -m benchmarks.agents [--steps 10000]
python -m benchmarks.agents --runs MODEL.json [--swap OTHER.json [--silent]] [--no-judge]

Without files the runs are made up, and their tool-calling steps are played by a model that picks another tool
in 15 % of reworded steps, by one that changes an argument in as many, and by one that is only noisy. Files
hold recorded runs as tau-bench or tau2-bench publish them, one model each: every answer is that of one run of
the task at that step, drawn by chance, so the noise floor is that between runs. `--swap` answers by another
model's runs from the middle on, under another name, or with `--silent` under the same. `--no-judge` leaves
out the scripted judge.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
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
    from evenkeel.core.cells import Estimate

Row = tuple[str | int | None, ...]
_STEPS_OF_A_RUN = 3


def main() -> None:
    """Print a table of the planted models, or of recorded runs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--steps", type=int, default=2_000, help="steps of each planted model")
    parser.add_argument("--runs", type=Path, help="recorded runs of one model")
    parser.add_argument(
        "--swap", type=Path, help="recorded runs of the model that answers from the middle on"
    )
    parser.add_argument("--silent", action="store_true", help="the model keeps its name")
    parser.add_argument("--no-judge", action="store_true", help="no scripted judge")
    options = parser.parse_args()
    judge = not options.no_judge
    swapped = f"agent-{1 if options.silent else 2}"
    if options.runs:
        rows = [_recorded(options.runs, options.swap, swapped, judge=judge)]
    else:
        rows = _planted(options.steps, judge=judge)
    columns = ("model", "steps", "tool choice, control", "arguments, control", "alerts", "said")
    print(ResultTable("agents", columns, tuple(rows)).markdown())


def _planted(steps: int, *, judge: bool) -> list[Row]:
    plants: tuple[tuple[str, Fault], ...] = (
        ("another tool", "tool"),
        ("another argument", "argument"),
        ("only noisy", "none"),
    )
    runs = made_up_runs(steps // _STEPS_OF_A_RUN, 1)
    tools = [tool["function"]["name"] for tool in tools_of(runs)]
    finder = StepFinder(runs)
    called = [step for step in _steps(runs) if step.answer.get("tool_calls")]
    return [
        _row(name, runs, called, [("agent-1", PlantedModel(finder, tools, fault))], judge=judge)
        for name, fault in plants
    ]


def _recorded(path: Path, swap: Path | None, swapped: str, *, judge: bool) -> Row:
    runs = read_runs(path)
    return _row(path.stem, runs, _steps(runs), _models(runs, swap, swapped), judge=judge)


def _models(runs: Sequence[AgentRun], swap: Path | None, swapped: str) -> list[tuple[str, StepModel]]:
    finder = StepFinder(runs)
    models: list[tuple[str, StepModel]] = [("agent-1", RecordedModel(finder, runs))]
    if swap:
        models.append((swapped, RecordedModel(finder, read_runs(swap))))
    return models


def _shares(
    steps: Sequence[AgentStep], models: Sequence[tuple[str, StepModel]]
) -> list[tuple[str, StepModel, Sequence[AgentStep]]]:
    """Return an equal share of the steps for each model."""
    share = -(-len(steps) // len(models))
    parts = []
    for number, (name, model) in enumerate(models):
        parts.append((name, model, steps[number * share : (number + 1) * share]))
    return parts


def _row(
    name: str,
    runs: Sequence[AgentRun],
    steps: Sequence[AgentStep],
    models: Sequence[tuple[str, StepModel]],
    *,
    judge: bool,
) -> Row:
    with tempfile.TemporaryDirectory() as folder:
        plane = AgentPlane(Path(folder), judge=judge)
        asyncio.run(_play(plane, runs, steps, models))
        control = next((cell for cell in plane.cells if cell.key.perturbation == BASELINE), None)
        moved = [cell for cell in plane.cells if cell.key.perturbation != BASELINE]
        worst = max(moved, key=lambda cell: _value(cell.estimates.tool_choice), default=control)
        said = [
            *(f"{mark.kind} {mark.before} → {mark.after}" for mark in plane.changes),
            *(" ".join((headline(incident), *plane.facts(incident))) for incident in plane.incidents),
        ]
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
        "; ".join(said) or None,
    )


async def _play(
    plane: AgentPlane,
    runs: Sequence[AgentRun],
    steps: Sequence[AgentStep],
    models: Sequence[tuple[str, StepModel]],
) -> None:
    for name, model, part in _shares(steps, models):
        await plane.play(part, runs, name, model)


def _steps(runs: Sequence[AgentRun]) -> list[AgentStep]:
    return [step for run in runs for step in run.steps()]


def _value(estimate: Estimate | None) -> float:
    return estimate.value if estimate else 0.0


if __name__ == "__main__":
    main()
