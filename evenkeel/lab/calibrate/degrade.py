"""Workflows made worse by a known amount, to measure what a metric says of it.

A workflow is put into canonical order first. What a step held together is joined by new edges ("bridged").
A new degradation is one function and one line in `WORKFLOWS`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING, Final, Generic, NamedTuple, TypeVar

from evenkeel.core.pair import Answer, ToolCall
from evenkeel.lab.calibrate.calibration import FailureMode
from evenkeel.lab.calibrate.step_wording import FOREIGN_STEPS, foreign_steps, reworded_step, uncapitalised
from evenkeel.lab.metrics.workflow_judge import write_node_edge
from evenkeel.metrics.workflow.chain import Alignment, StepMatch, canonical_text, chain_f1
from evenkeel.metrics.workflow.reading import read_answer
from evenkeel.metrics.workflow.workflow import (
    Edge,
    Workflow,
    WorkflowError,
    neighbours,
    sequence,
    workflow,
)

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Collection, Sequence

    Change = Callable[[Workflow, int, random.Random], Workflow]
    """A change of a workflow in canonical order: how many of its steps to touch, and chance."""

Subject = TypeVar("Subject", "Answer", "Workflow")
"""Thing that is degraded: an answer, or a workflow by itself."""


@dataclass(frozen=True, slots=True)
class Degradation(Generic[Subject]):
    """Does a known damage. Pure: the same generator state gives the same bytes."""

    name: str
    """Short snake_case word: "missing_random"."""
    mode: FailureMode
    """The failure that it plays."""
    change: Callable[[Subject, float, random.Random], Subject] = field(repr=False)
    """Does the damage, see `apply`."""

    def expected(self, severity: float) -> float:
        """Return what an ideal metric gives for it, in [0, 1]: 1 − severity, or 1 if nothing is lost.

        1 − severity is the share that remains, that is still in order, or that still says all. For what is
        added or said twice it is a convention: as much is there too often as would otherwise be missing.
        """
        return 1.0 if self.mode is FailureMode.REWORDED else 1 - severity

    def apply(self, subject: Subject, severity: float, rng: random.Random) -> Subject:
        """The degraded answer: text and tool calls are new, everything else as it was.

        Args:
            subject: What is degraded.
            severity: Share of the steps, in (0, 1]; N = max(1, ⌈steps · severity⌉) are touched.
            rng: Makes every choice.

        Raises:
            WorkflowError: There is no workflow, or so many steps cannot be changed in this way.
            ValueError: A severity outside (0, 1].
        """
        return self.change(subject, severity, rng)


SEVERITIES: Final = (0.1, 0.3, 0.5)
"""Shares at which the paper measures."""


def steps_touched(size: int, severity: float) -> int:
    """Steps that a severity changes among `size`: max(1, ⌈size · severity⌉).

    Counted in decimals: 10 % of 70 steps are 7, where binary floats make 8 of it.

    Raises: ValueError for a severity outside (0, 1].
    Source: appendix A of WorkflowPerturb.
    """
    if not 0 < severity <= 1:
        raise ValueError(f"a severity is a share in (0, 1], not {severity}")
    return max(1, ceil(size * Fraction(Decimal(str(severity)))))


# Random orders that are tried before the one that is out of order if any is.
_TRIES = 50
# A tool has one name: two cannot be merged into one, nor called in other words.
_OF_TEXTS: Final = frozenset((FailureMode.COMPRESSED, FailureMode.REWORDED))
_LETTERS: Final = re.compile(r"[a-z]+")


def _degradation(name: str, mode: FailureMode, change: Change, *, left: int = 0) -> Degradation[Workflow]:
    def apply(original: Workflow, severity: float, rng: random.Random) -> Workflow:
        touched = steps_touched(len(original.steps), severity)
        # A workflow without steps, or one that is all foreign, would be another answer and no degraded one.
        if len(original.steps) < touched + left:
            detail = f"{touched} of {len(original.steps)} steps cannot be changed with {left} left over"
            raise WorkflowError("not_degradable", detail)
        return change(original.arranged(), touched, rng)

    return Degradation(name, mode, apply)


def _missing(original: Workflow, touched: int, rng: random.Random) -> Workflow:
    return without(original, set(rng.sample(range(len(original.steps)), touched)))


def _missing_last(original: Workflow, touched: int, _: random.Random) -> Workflow:
    size = len(original.steps)
    return without(original, set(range(size - touched, size)))


def without(original: Workflow, gone: set[int]) -> Workflow:
    """The workflow without some steps; what came before one of them now comes before what came after."""
    earlier_of, later_of = neighbours(len(original.steps), original.edges)
    before, after = list(map(set, earlier_of)), list(map(set, later_of))
    # In canonical order, neighbours that were joined already pass their edges on.
    for index in original.order:
        if index not in gone:
            continue
        for earlier in before[index]:
            after[earlier].discard(index)
            after[earlier] |= after[index]
        for later in after[index]:
            before[later].discard(index)
            before[later] |= before[index]
    kept = []
    for index in range(len(original.steps)):
        if index not in gone:
            kept.append(index)
    rank_of = {index: rank for rank, index in enumerate(kept)}
    edges = []
    for index in kept:
        edges += [Edge(rank_of[index], rank_of[later]) for later in after[index]]
    return workflow((original.steps[index] for index in kept), edges)


def _compressed(original: Workflow, touched: int, rng: random.Random) -> Workflow:
    """Merges steps with those before them, so mostly in pairs; see `merged`."""
    return merged(original, set(rng.sample(range(1, len(original.steps)), touched)))


def merged(arranged: Workflow, joints: Collection[int]) -> Workflow:
    """A workflow in canonical order with the steps at `joints` merged with those before, joined by "and".

    Steps that follow each other in canonical order can always be merged without making a cycle, with or
    without an edge between them.
    """
    group = groups(len(arranged.steps), joints)
    steps: list[list[str]] = [[] for _ in range(group[-1] + 1)]
    for index, step in enumerate(arranged.steps):
        steps[group[index]].append(step)
    return regrouped(arranged, group, [joined(each) for each in steps])


def groups(size: int, joints: Collection[int]) -> list[int]:
    """Return the merged step of each step, if those at `joints` are merged with those before."""
    group = [0] * size
    for index in range(1, size):
        group[index] = group[index - 1] + (index not in joints)
    return group


def regrouped(arranged: Workflow, group: Sequence[int], texts: Sequence[str]) -> Workflow:
    """A workflow in canonical order with its steps merged by group; the groups stay joined as they were."""
    # An edge inside of a merged step would be one of the step to itself.
    edges = ((group[before], group[after]) for before, after in arranged.edges)
    return workflow(texts, (edge for edge in edges if edge[0] != edge[1]))


def joined(steps: Sequence[str]) -> str:
    """Several steps as one sentence: "Open the tray.", "Add paper." is "Open the tray and add paper."."""
    plain = [step.strip().rstrip(".;") for step in steps]
    ending = steps[-1].strip()[len(plain[-1]) :]
    return " and ".join([plain[0], *map(uncapitalised, plain[1:])]) + ending


def _reworded(original: Workflow, touched: int, rng: random.Random) -> Workflow:
    """Says steps in other words, by tables of English synonyms; nothing is lost."""
    changed: dict[int, str] = {}
    # Not every step has a synonym, so all are tried in a random order.
    for index in rng.sample(range(len(original.steps)), len(original.steps)):
        if len(changed) == touched:
            break
        other = reworded_step(original.steps[index], rng)
        if other is not None:
            changed[index] = other
    if len(changed) < touched:
        detail = f"{len(changed)} steps can be reworded by rule, not {touched}"
        raise WorkflowError("not_degradable", detail)
    return Workflow(
        tuple(changed.get(index, step) for index, step in enumerate(original.steps)), original.edges
    )


def _reordered(original: Workflow, touched: int, rng: random.Random) -> Workflow:
    """Exchanges texts so that exactly so many steps are out of order against all that the edges allow.

    Steps that may be done side by side can change places without harm, so that is not counted. The edges
    stay.
    """
    size = len(original.steps)
    # A random move may leave the order as good as it was, where steps may be done side by side.
    for _ in range(_TRIES):
        positions = _moved(size, rng.sample(range(size), touched), rng)
        if _in_order(original, positions) == size - touched:
            break
    else:
        # The last ones first and in reverse: out of order if anything can be.
        positions = [*range(size - 1, size - touched - 1, -1), *range(size - touched)]
        if _in_order(original, positions) != size - touched:
            raise WorkflowError("not_degradable", f"no {touched} steps can be brought out of order")
    return Workflow(tuple(original.steps[position] for position in positions), original.edges)


def _moved(size: int, chosen: Sequence[int], rng: random.Random) -> list[int]:
    """All places in turn, with the chosen ones taken out and put in elsewhere."""
    taken = set(chosen)
    positions = []
    for position in range(size):
        if position not in taken:
            positions.append(position)
    for position in chosen:
        positions.insert(rng.randrange(len(positions) + 1), position)
    return positions


def _in_order(original: Workflow, positions: Sequence[int]) -> int:
    alignment = Alignment(tuple(StepMatch(index, position) for index, position in enumerate(positions)))
    return chain_f1(original, original, alignment).length


def _duplicated(original: Workflow, touched: int, rng: random.Random) -> Workflow:
    """Does steps twice in a row; what came after such a step now comes after its repetition."""
    again = set(rng.sample(range(len(original.steps)), touched))
    # Edges into a repeated step lead to its first place, edges out of it leave from its second.
    steps: list[str] = []
    first: list[int] = []
    for index, step in enumerate(original.steps):
        first.append(len(steps))
        steps += [step, step] if index in again else [step]
    edges = []
    for before, after in original.edges:
        edges.append((first[before] + (before in again), first[after]))
    return workflow(steps, [*edges, *((first[index], first[index] + 1) for index in again)])


def _added(original: Workflow, touched: int, rng: random.Random) -> Workflow:
    """Puts foreign steps into edges or behind the last; none is put in twice before all have been."""
    size = len(original.steps)
    # A step that the workflow has already would be a repetition, which is another failure mode.
    own = {canonical_text(step) for step in original.steps}
    free = []
    for step in FOREIGN_STEPS:
        if canonical_text(step) not in own:
            free.append(step)
    if not free:
        raise WorkflowError("not_degradable", "the workflow has every step that could be added")
    steps = list(original.steps)
    edges = []
    for edge in original.edges:
        edges.append((edge.before, edge.after))
    listed = list(range(size))
    for text in foreign_steps(free, touched, rng):
        at = rng.randrange(len(edges) + 1)
        new = len(steps)
        steps.append(text)
        if at < len(edges):
            before, after = edges[at]
            edges[at] = (before, new)
            edges.append((new, after))
            # Listed where it is done, so that the others keep their canonical order.
            listed.insert(listed.index(after), new)
        else:
            edges += [(listed[-1], new)] if listed else []
            listed.append(new)
    rank_of = {index: rank for rank, index in enumerate(listed)}
    return workflow(
        (steps[index] for index in listed), ((rank_of[before], rank_of[after]) for before, after in edges)
    )


MISSING: Final = _degradation("missing", FailureMode.MISSING, _missing, left=1)
MISSING_LAST: Final = _degradation("missing_last", FailureMode.MISSING, _missing_last, left=1)
COMPRESSED: Final = _degradation("compressed", FailureMode.COMPRESSED, _compressed, left=1)
REWORDED: Final = _degradation("reworded", FailureMode.REWORDED, _reworded)
REORDERED: Final = _degradation("reordered", FailureMode.REORDERED, _reordered, left=1)
DUPLICATED: Final = _degradation("duplicated", FailureMode.DUPLICATED, _duplicated)
ADDED: Final = _degradation("added", FailureMode.ADDED, _added)


def _of_answers(name: str, of_steps: Degradation[Workflow]) -> Degradation[Answer]:
    """Degrades the workflow of an answer and writes it as Node: and Edge:.

    Of an answer that calls tools, the calls are degraded: left out, moved or repeated with their arguments;
    an added call has a foreign name and no arguments. Calls cannot be compressed or reworded: "tool_calls".
    """

    def apply(answer: Answer, severity: float, rng: random.Random) -> Answer:
        if answer.tool_calls:
            return _with_calls(of_steps, answer, severity, rng)
        degraded = of_steps.apply(read_answer(answer), severity, rng)
        return replace(answer, text=write_node_edge(degraded))

    return Degradation(name, of_steps.mode, apply)


def _with_calls(
    of_steps: Degradation[Workflow], answer: Answer, severity: float, rng: random.Random
) -> Answer:
    if of_steps.mode in _OF_TEXTS:
        raise WorkflowError("tool_calls", f"tool calls cannot be {of_steps.mode}")
    # Calls are told apart by their number, as many may have the same name.
    own = {}
    for number, call in enumerate(answer.tool_calls):
        own[f"call {number}"] = call
    degraded = of_steps.apply(sequence(own), severity, rng)
    calls = []
    for step in degraded.chain:
        # A step that is none of the answer's calls is a foreign one, named by its words.
        calls.append(own.get(step) or ToolCall("_".join(_LETTERS.findall(step.lower())), "{}"))
    return replace(answer, tool_calls=tuple(calls))


WORKFLOWS: Final[tuple[Degradation[Answer], ...]] = (
    _of_answers("missing_random", MISSING),
    _of_answers("compressed_random", COMPRESSED),
    _of_answers("reworded_steps", REWORDED),
    _of_answers("reordered_steps", REORDERED),
    _of_answers("duplicated_steps", DUPLICATED),
    _of_answers("added_steps", ADDED),
)
"""A degradation for each failure mode."""

PUBLISHED: Final[tuple[Degradation[Answer], ...]] = (
    _of_answers("missing_last", MISSING_LAST),
    *WORKFLOWS[1:],
)
"""The same, with the last steps missing: so the tables of WorkflowPerturb come out."""


class Damage(NamedTuple):
    """Damage to goldens."""

    modes: frozenset[FailureMode] = frozenset(FailureMode)
    published: bool = False
    """True if the last steps are missing, as in WorkflowPerturb's tables, in place of any."""

    @property
    def degradations(self) -> tuple[Degradation[Answer], ...]:
        """The degradation for each of the modes, in the order of `FailureMode`."""
        every = PUBLISHED if self.published else WORKFLOWS
        degradations: list[Degradation[Answer]] = []
        for degradation in every:
            if degradation.mode in self.modes:
                degradations.append(degradation)
        return tuple(degradations)
