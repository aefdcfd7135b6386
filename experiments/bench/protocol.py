"""Goes through the issues: makes their prompts, has every model answer them in every run."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from evenkeel.experiments.bench.prompts import prompt_of
from evenkeel.experiments.bench.variants import is_trouble, make_case

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from evenkeel.experiments.bench.items import Item
    from evenkeel.experiments.bench.models import ModelUnderTest
    from evenkeel.experiments.bench.rounds import Round, Rounds, Trial
    from evenkeel.metrics.tasks import Task
    from evenkeel.shadow.perturbations import Perturbation, RewriteTask
    from evenkeel.shadow.rewriter import Rejection

_CASES_AT_ONCE = 4
"""Prompts with all their variants in memory together."""


@dataclass(frozen=True, slots=True)
class Protocol:
    """What is measured, apart from the issues."""

    models: tuple[ModelUnderTest, ...]
    tasks: tuple[Task, ...]
    kinds: tuple[Perturbation, ...]
    runs: int = 5
    severity: float = 0.3
    seed: int = 0

    def rounds(self, items: int) -> int:
        """Rounds that so many issues take."""
        return items * len(self.tasks) * len(self.models) * self.runs


@dataclass(slots=True)
class Course:
    """What a run leaves behind."""

    trials: list[Trial] = field(default_factory=list)
    entities: dict[str, list[float]] = field(default_factory=dict)
    """By model: F1 of each slot filling against the expected entities."""
    left_out: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """Task, kind and reason → issues for which there is no variant."""

    @property
    def troubles(self) -> int:
        """Variants that are missing because the rewriter failed."""
        return sum(count for (_, _, reason), count in self.left_out.items() if is_trouble(reason))


async def measure(
    protocol: Protocol,
    items: Sequence[Item],
    rounds: Rounds,
    *,
    rewrite: Callable[[RewriteTask], Awaitable[str | Rejection]] | None,
    progress: Callable[[], None],
) -> Course:
    """Everything about some issues.

    Args:
        protocol: What is measured.
        items: The issues.
        rounds: Asks and compares.
        rewrite: Writes texts anew; None = kinds that need that are left out.
        progress: Told after each round.

    Raises: BudgetUsedUpError, with every answer until then in the journal.
    """
    waiting = iter([(item, task) for item in items for task in protocol.tasks])
    found: dict[tuple[str, str], tuple[list[tuple[ModelUnderTest, Round]], dict[str, str]]] = {}

    async def work() -> None:
        for item, task in waiting:
            case = await make_case(
                item.id,
                task,
                prompt_of(item, task),
                protocol.kinds,
                severity=protocol.severity,
                seed=protocol.seed,
                rewrite=rewrite,
            )

            async def one(model: ModelUnderTest, run: int) -> tuple[ModelUnderTest, Round]:
                made = await rounds.make(model, case, run)  # noqa: B023 - awaited within this turn of the loop
                progress()
                return model, made

            async with asyncio.TaskGroup() as group:
                begun = [
                    group.create_task(one(model, run))
                    for model in protocol.models
                    for run in range(protocol.runs)
                ]
            found[item.id, task.value] = ([task.result() for task in begun], dict(case.left_out))

    async with asyncio.TaskGroup() as workers:
        for _ in range(_CASES_AT_ONCE):
            workers.create_task(work())
    return _collected(items, protocol, found)


def _collected(
    items: Sequence[Item],
    protocol: Protocol,
    found: dict[tuple[str, str], tuple[list[tuple[ModelUnderTest, Round]], dict[str, str]]],
) -> Course:
    """In the order of the issues, whoever was answered first."""
    course = Course(entities={model.name: [] for model in protocol.models})
    for item in items:
        for task in protocol.tasks:
            made, left_out = found[item.id, task.value]
            for model, one in made:
                course.trials += one.trials
                if one.entities is not None:
                    course.entities[model.name].append(one.entities)
            course.left_out.update((task.value, kind, reason) for kind, reason in left_out.items())
    return course


def joined(first: Course, second: Course) -> Course:
    """Two courses over different issues as one."""
    entities = {
        model: first.entities.get(model, []) + second.entities.get(model, [])
        for model in dict.fromkeys((*first.entities, *second.entities))
    }
    return Course(first.trials + second.trials, entities, first.left_out + second.left_out)
