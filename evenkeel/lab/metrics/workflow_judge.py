"""Judge's opinion of a workflow beside its reference: 0 to 5, several calls averaged."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from evenkeel.core.budget import NOTHING, Spend, total
from evenkeel.core.verdict import Failure
from evenkeel.lab.metrics.compare import read_both
from evenkeel.metrics.judge.prompts import prompts_of
from evenkeel.metrics.judge.reply import Ruling
from evenkeel.metrics.protocol import About

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.core.pair import Pair
    from evenkeel.metrics.judge import Judge
    from evenkeel.metrics.workflow.workflow import Workflow

# Top of the paper's scale, which becomes 1.
_BEST = 5
# As in the paper: the mean of three seeds.
CALLS = 3

WORKFLOW = prompts_of(__package__)["workflow_judge"]
"""Rubric, anchors and self-check follow appendix B.6 of WorkflowPerturb; the wording is our own."""


def write_node_edge(written_workflow: Workflow) -> str:
    """Return a workflow as nodes and edges, the form in which it is shown to a judge.

    `read_node_edge` reads it back unchanged, line breaks in steps aside.
    """
    size = len(written_workflow.steps)
    lines = []
    for number, step in enumerate(written_workflow.steps, 1):
        lines.append(f"{number}: {' '.join(step.split())}")
    has_before, has_after = (
        {edge.after for edge in written_workflow.edges},
        {edge.before for edge in written_workflow.edges},
    )
    edges: list[str] = []
    for index in range(size):
        if index not in has_before:
            edges.append(f"(START,{index + 1})")
    for before, after in written_workflow.edges:
        edges.append(f"({before + 1},{after + 1})")
    for index in range(size):
        if index not in has_after:
            edges.append(f"({index + 1},END)")
    return "\n".join(["Node:", *lines, " ".join(["Edge:", *edges])])


@dataclass(frozen=True, slots=True)
class JudgedWorkflow:
    """Result of a judge's calls about one pair of workflows, and their cost."""

    outcome: float | Failure
    """Mean rating over 5, in [0, 1], or the reason why there is none."""
    ratings: tuple[int, ...] = ()
    """Ratings from 0 to 5, in the order of the calls; calls that failed are left out."""
    initial: tuple[int, ...] = ()
    """Ratings before the judge checked itself, of the calls that gave one."""
    explanation: str = ""
    """Explanation of the first call with a rating."""
    spent: Spend = NOTHING
    prompt_version: str = WORKFLOW.prompt_version


class WorkflowJudge:
    """Metric that asks a judge how well the candidate does what the reference does."""

    name: ClassVar[str] = WORKFLOW.name
    version: ClassVar[int] = WORKFLOW.version
    about: ClassVar[About] = About("judge", needs="judge")

    def __init__(self, judge: Judge) -> None:
        """Build the metric; nothing is sent."""
        self._judge = judge

    async def score(self, pair: Pair) -> float | Failure:
        """Mean rating of the candidate's workflow over 5. Sees the workflows only, and `pair.context`.

        Returns: ratio in [0, 1]; 1 = 5 in every call. A `Failure` if an answer cannot be read as a
            workflow, or as `judged`.
        """
        both = read_both(self.name, self.version, pair)
        if isinstance(both, Failure):
            return both
        return (await self.judged(both.reference, both.candidate, pair.context)).outcome

    async def score_all(self, pairs: Sequence[Pair]) -> list[float | Failure]:
        """Return the result of `score` for each pair, in order; a judge limits its own concurrency."""
        return list(await asyncio.gather(*(self.score(pair) for pair in pairs)))

    async def judged(self, reference: Workflow, candidate: Workflow, task: str = "") -> JudgedWorkflow:
        """Ask about two workflows.

        Args:
            reference: What was approved.
            candidate: What is rated.
            task: What both are for, in words; "" is left out.

        Returns: the mean of the calls that gave a rating; a `Failure` if half of them or more failed, with
            their common reason or "too_few_votes". Tokens and cost are of all calls.
        """
        shown = {"TASK": task} if task.strip() else {}
        shown |= {
            "REFERENCE WORKFLOW": write_node_edge(reference),
            "CANDIDATE WORKFLOW": write_node_edge(candidate),
        }
        question = WORKFLOW.fill(shown)
        replies = await asyncio.gather(*(self._judge.ask(question, vote=number) for number in range(CALLS)))
        rulings: list[Ruling] = []
        failures: list[Failure] = []
        for reply in replies:
            if isinstance(reply.outcome, Ruling):
                rulings.append(reply.outcome)
            else:
                failures.append(reply.outcome)
        ratings = tuple(ruling.rating for ruling in rulings)
        return JudgedWorkflow(
            self._too_few(failures) if len(failures) >= len(rulings) else sum(ratings) / len(ratings) / _BEST,
            ratings,
            tuple(ruling.initial for ruling in rulings if ruling.initial is not None),
            rulings[0].explanation if rulings else "",
            total(reply.spent for reply in replies),
        )

    def _too_few(self, failures: list[Failure]) -> Failure:
        reasons = Counter(failure.reason for failure in failures)
        named = ", ".join(f"{reason} x {count}" for reason, count in sorted(reasons.items()))
        detail = f"{len(failures)} of {CALLS} calls have no rating ({named}). {failures[0].detail}"
        reason = failures[0].reason if len(reasons) == 1 else "too_few_votes"
        return Failure(self.name, self.version, reason, detail)
