"""Reworded steps, by a model: its answer is checked, and what is wrong is told to it."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from metrics.structural.alignment import canonical_text
from metrics.structural.degrade.severity import arranged_with
from metrics.structural.reading.detect import read_workflow
from metrics.structural.reading.node_edge import write_node_edge
from metrics.structural.workflow import WorkflowError
from metrics.verdict import Failure

if TYPE_CHECKING:
    import random
    from collections.abc import Collection

    from metrics.structural.workflow import Workflow

NAME = "degrade_reworded"
VERSION = 1
TRIES = 3
_LONGEST = 4
"""A step reworded has at most so many times its characters, plus a few words."""
_WORDS_MORE = 40
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")

Rewrite = Callable[[str], Awaitable[str | Failure]]
"""Sends a prompt to a model; its text, or why there is none. Never raises for what a model can do."""

_PROMPT = """\
Here is a workflow: numbered steps, and edges that say which step comes before which.

{workflow}

Say step{plural} {numbers} in other words. The meaning, and every name, number and quoted text in it, stays \
the same. All other steps, the numbering and the edges are copied without any change.

Answer with the whole workflow in the same form, from "Node:" to the end of the edges, and nothing else."""

_AGAIN = """\


An earlier answer could not be used:
{complaints}
Give the whole workflow again, without these faults."""


async def reworded_by(
    rewrite: Rewrite, given: Workflow, severity: float, rng: random.Random, *, tries: int = TRIES
) -> Workflow | Failure:
    """The workflow with exactly max(1, ⌈V · severity⌉) steps reworded by a model. Expected score: 1.

    The steps are chosen by `rng`. What comes back is checked: it can be read, has as many steps and the
    same edges, the chosen steps and no others are changed, and each keeps its numbers and about its length.
    Faults are told to the model with the next try.

    Args:
        rewrite: Asks a model.
        given: What is reworded.
        severity: Share of the steps, in (0, 1].
        rng: Chooses the steps.
        tries: Calls at most.

    Returns: the workflow in canonical order; the failure of `rewrite`; or a `Failure` "checks_failed" with
        what was wrong last.

    Raises:
        WorkflowError: "not_degradable": it has no steps.
        ValueError: A severity outside (0, 1].
    Source: static checks, feedback and number of tries as in appendix A of WorkflowPerturb.
    """
    arranged, touched = arranged_with(given, severity, left=0)
    chosen = sorted(rng.sample(range(len(arranged.steps)), touched))
    prompt = _PROMPT.format(
        workflow=write_node_edge(arranged),
        plural="s" if len(chosen) > 1 else "",
        numbers=", ".join(str(index + 1) for index in chosen),
    )
    asked, complaints = prompt, ["no try was allowed"]
    for _ in range(tries):
        said = await rewrite(asked)
        if isinstance(said, Failure):
            return said
        found = _read(said)
        complaints = [found] if isinstance(found, str) else faults(arranged, found, chosen)
        if not isinstance(found, str) and not complaints:
            return found
        asked = prompt + _AGAIN.format(complaints="\n".join(f"- {complaint}" for complaint in complaints))
    return Failure(NAME, VERSION, "checks_failed", " ".join(complaints)[:300])


def faults(given: Workflow, changed: Workflow, chosen: Collection[int]) -> list[str]:
    """What is wrong with a rewording of the chosen steps, in words for a model; empty if nothing is."""
    if len(changed.steps) != len(given.steps):
        return [f"It has {len(changed.steps)} steps instead of {len(given.steps)}."]
    found = [] if changed.edges == given.edges else ["The edges are not the same."]
    for index, (before, after) in enumerate(zip(given.steps, changed.steps, strict=True)):
        number = index + 1
        same = canonical_text(before) == canonical_text(after)
        if index not in chosen:
            if not same:
                found.append(f"Step {number} was changed and should not be.")
        elif same:
            found.append(f"Step {number} was not reworded.")
        elif sorted(_NUMBER.findall(before)) != sorted(_NUMBER.findall(after)):
            found.append(f"Step {number} does not have the same numbers as before.")
        elif len(after) > _LONGEST * len(before) + _WORDS_MORE:
            found.append(f"Step {number} became much longer.")
    return found


def _read(said: str) -> Workflow | str:
    try:
        return read_workflow(said, "node_edge")
    except WorkflowError as error:
        return f"It cannot be read: {error}."
