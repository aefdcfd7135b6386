"""The goldens that are workflows, and the degraded variants made of each."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import TYPE_CHECKING

from evenkeel.core.pair import Pair
from evenkeel.lab.calibrate.degrade import SEVERITIES
from evenkeel.lab.calibrate.score_table import DamageLevel
from evenkeel.lab.metrics.workflow_judge import write_node_edge
from evenkeel.metrics.workflow.diagrams import looks_like_node_edge
from evenkeel.metrics.workflow.reading import read_answer
from evenkeel.metrics.workflow.workflow import WorkflowError
from evenkeel.release.goldens.candidates import prompt_text
from evenkeel.release.goldens.files import newest_versions
from evenkeel.release.kit.arguments import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from evenkeel.core.pair import Answer
    from evenkeel.lab.calibrate.degrade import Damage
    from evenkeel.stores.goldens import Golden


@dataclass(frozen=True, slots=True)
class DegradedGolden:
    """A golden's answer made worse."""

    golden: str
    """Id of the golden."""
    level: DamageLevel
    expected: float
    """Score that an ideal metric gives."""
    pair: Pair


@dataclass(frozen=True, slots=True)
class Candidates:
    """Everything that was made of the goldens."""

    made: tuple[DegradedGolden, ...]
    undegradable: Mapping[str, int]
    """Candidates that could not be made, by mode and reason as in "compressed: not_degradable"."""


def make_candidates(goldens: Sequence[Golden], damage: Damage, seed: int) -> Candidates:
    """Degrade every golden in every way.

    Args:
        goldens: what is degraded.
        damage: what is done to them.
        seed: with the golden's id, the degradation's name and the severity it decides every choice.
    """
    made: list[DegradedGolden] = []
    undegradable: Counter[str] = Counter()
    for golden in goldens:
        context, reference = prompt_text(golden.request), as_written(golden.answer)
        for degradation in damage.degradations:
            for severity in SEVERITIES:
                rng = chooser(seed, golden.id, degradation.name, str(severity))
                try:
                    answer = degradation.apply(golden.answer, severity, rng)
                except WorkflowError as error:
                    # Short workflows and tool calls cannot be damaged in every way: counted, not scored.
                    undegradable[f"{degradation.mode}: {error.reason}"] += 1
                    continue
                level = DamageLevel(degradation.mode, severity)
                pair = Pair(reference, answer, context, golden.task)
                made.append(DegradedGolden(golden.id, level, degradation.expected(severity), pair))
    return Candidates(tuple(made), undegradable)


def as_written(answer: Answer) -> Answer:
    """The undamaged answer in the layout of its variants, so that the layout is not scored as damage."""
    if answer.tool_calls:
        return answer
    return replace(answer, text=write_node_edge(read_answer(answer).arranged()))


def chooser(seed: int, *words: str) -> random.Random:
    """The generator behind one candidate: the same whatever else is made, on every platform."""
    seed_text = "\0".join((str(seed), *words))
    return random.Random(sha256(seed_text.encode("utf-8", "surrogatepass")).digest())


# A bootstrap of one golden has no spread.
FEWEST = 2
# Tool calls that make a workflow; with one, nothing in it could be missing.
_LEAST_CALLS = 2


class UnfitGoldensError(InputError):
    """These goldens cannot be calibrated on. The message says why, and what to do."""


@dataclass(frozen=True, slots=True)
class WorkflowGoldens:
    """The goldens that are workflows."""

    goldens: tuple[Golden, ...]
    """Goldens by id, ascending."""
    others: int
    """Goldens left out, because they are no workflows or too short."""


def choose(goldens: Iterable[Golden], *, least_steps: int = 1) -> WorkflowGoldens:
    """The newest version of each golden that is in use, if its answer is a workflow.

    Args:
        goldens: All versions, in any order.
        least_steps: Shorter workflows are left out.

    Raises: UnfitGoldensError if fewer than two are left.
    """
    newest = sorted(newest_versions(goldens), key=lambda golden: golden.id)
    if not newest:
        raise UnfitGoldensError("no goldens; approve some with `evenkeel goldens approve`")
    used = []
    for golden in newest:
        if golden.retired_at is None:
            used.append(golden)
    if not used:
        raise UnfitGoldensError(f"all {len(newest)} goldens are retired; approve others")
    kept = tuple(golden for golden in used if _steps(golden) >= least_steps)
    if len(kept) < FEWEST:
        of_steps = f" of {least_steps} steps or more" if least_steps > 1 else ""
        raise UnfitGoldensError(
            f"{len(kept)} of {len(used)} goldens are workflows{of_steps}; a threshold needs 20 or more: "
            "approve others, or set `task: workflow`"
        )
    return WorkflowGoldens(kept, len(used) - len(kept))


def _steps(golden: Golden) -> int:
    """Steps of the workflow that an answer is; 0 if it is none.

    It is one if it calls tools at least twice, draws nodes and edges, or is named one by its task.
    """
    answer = golden.answer
    if answer.tool_calls:
        return len(answer.tool_calls) if len(answer.tool_calls) >= _LEAST_CALLS else 0
    if golden.task != "workflow" and not looks_like_node_edge(answer.text):
        return 0
    try:
        return len(read_answer(answer).steps)
    except WorkflowError:
        return 0
