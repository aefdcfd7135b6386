"""The goldens that are workflows, and the degraded variants made of each."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import TYPE_CHECKING

from evenkeel.core.pair import Pair
from evenkeel.lab.calibrate.degrade import SEVERITIES
from evenkeel.lab.calibrate.journal import CandidateKey, CandidateRow
from evenkeel.lab.calibrate.score_table import DamageLevel
from evenkeel.metrics.workflow.diagrams import looks_like_node_edge, write_node_edge
from evenkeel.metrics.workflow.reading import read_answer
from evenkeel.metrics.workflow.workflow import WorkflowError
from evenkeel.release.goldens.files import newest_versions
from evenkeel.release.kit.arguments import InputError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from evenkeel.core.pair import Answer
    from evenkeel.lab.calibrate.degrade import Damage
    from evenkeel.lab.calibrate.journal import Journal
    from evenkeel.stores.goldens import Golden


@dataclass(frozen=True, slots=True)
class GoldenSource:
    """A golden as it is degraded. Small, and the same in every process."""

    id: str
    answer: Answer
    context: str
    """Text of the prompt, "" if only the answer is known."""
    task: str | None


@dataclass(frozen=True, slots=True)
class CandidateSet:
    """The candidates of a run: what they are made from, and what is known of them."""

    sources: Sequence[GoldenSource]
    damage: Damage
    seed: int
    """Seed of every choice."""
    journal: Journal


@dataclass(frozen=True, slots=True)
class DegradedGolden:
    """A golden's answer made worse."""

    key: CandidateKey
    expected: float
    pair: Pair


def conditions(damage: Damage) -> dict[DamageLevel, float]:
    """Every mode and severity in which an answer is degraded, and the expected score."""
    return {
        DamageLevel(degradation.mode, severity): degradation.expected(severity)
        for degradation in damage.degradations
        for severity in SEVERITIES
    }


def keys(golden: str, damage: Damage) -> tuple[CandidateKey, ...]:
    """Every candidate that a golden has, or should have."""
    return tuple(CandidateKey(golden, *condition) for condition in conditions(damage))


def made(
    source: GoldenSource,
    damage: Damage,
    seed: int,
    only: Collection[DamageLevel],
) -> Iterator[DegradedGolden | CandidateRow]:
    """The candidates of a golden; for those that cannot be made, a row that says why.

    Args:
        source: what is degraded.
        damage: what is done to it.
        seed: with the golden's id, the degradation's name and the severity it decides every choice.
        only: these alone.
    """
    reference = as_written(source.answer)
    for degradation in damage.degradations:
        for severity in SEVERITIES:
            condition = DamageLevel(degradation.mode, severity)
            if condition not in only:
                continue
            key = CandidateKey(source.id, *condition)
            expected = degradation.expected(severity)
            rng = chooser(seed, source.id, degradation.name, str(severity))
            try:
                answer = degradation.apply(source.answer, severity, rng)
            except WorkflowError as error:
                yield CandidateRow(*key, expected, undegradable=error.reason)
                continue
            yield DegradedGolden(key, expected, Pair(reference, answer, source.context, source.task))


def as_written(answer: Answer) -> Answer:
    """The answer as a variant of it is written, but with nothing degraded: the layout alone is no damage."""
    if answer.tool_calls:
        return answer
    return replace(answer, text=write_node_edge(read_answer(answer).arranged()))


def chooser(seed: int, *words: str) -> random.Random:
    """The generator behind one candidate: the same whatever else is made, on every platform."""
    seed_text = "\0".join((str(seed), *words))
    return random.Random(sha256(seed_text.encode("utf-8", "surrogatepass")).digest())


def source_of(golden: Golden, context: str) -> GoldenSource:
    """A golden as it is degraded."""
    return GoldenSource(golden.id, golden.answer, context, golden.task)


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

    @property
    def digest(self) -> str:
        """SHA-256 over ids and answers, in hexadecimal."""
        content = []
        for golden in self.goldens:
            content.append(
                [
                    golden.id,
                    golden.answer.text,
                    [[call.name, call.arguments] for call in golden.answer.tool_calls],
                ]
            )
        return sha256(json.dumps(content).encode()).hexdigest()


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
    used = [golden for golden in newest if golden.retired_at is None]
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
