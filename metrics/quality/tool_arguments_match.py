"""Whether shared tools are called with arguments that do the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from evenkeel.core.verdict import Failure
from evenkeel.metrics.entity.slots import SAME_TEXT, Slot, read_slots, slot_f1
from evenkeel.metrics.similarity.details import detail_overlap, read_details
from evenkeel.metrics.similarity.normalised import normalise
from evenkeel.metrics.similarity.rouge_l import rouge_l
from evenkeel.metrics.similarity.words import words
from evenkeel.metrics.structured.assignment import MOST_CELLS, best_assignment
from evenkeel.metrics.structured.tree import LONGEST

if TYPE_CHECKING:
    from evenkeel.core.pair import Pair, ToolCall

_FEWEST_WORDS = 3
"""Shorter values are names and codes, not wordings."""


class ToolArgumentsMatch:
    """F1 of arguments that are alike, over the calls that both answers make of the same tools.

    `ToolArguments` measures how close arguments are; this one decides for each whether it does the same,
    so that 1 means no change and everything below means one.
    """

    name: ClassVar[str] = "tool_arguments_match"
    version: ClassVar[int] = 1

    def score(self, pair: Pair) -> float | Failure:
        """Arguments alike, over the arguments of both calls, as the mean of all calls. Symmetric.

        Calls are assigned one to one within their tool so that most agrees. Values under one key are
        alike if they are equal after normalisation, or if they are wordings of three words and more with
        the same details and a ROUGE-L F1 of 0.7. Calls without counterpart do not count here (see
        `ToolNames`).

        Returns: ratio in [0, 1]; 1 = all alike; 0 = none. A `Failure` "no_tool_calls" if neither side
            calls a tool, "no_shared_tool" if no tool is called by both, "too_large" if the arguments of
            a side exceed 500,000 characters or one tool is called more than 50 times by both.
        """
        left, right = (_by_tool(side.tool_calls) for side in (pair.reference, pair.candidate))
        if not left and not right:
            return self._failure("no_tool_calls", "Neither answer calls a tool.")
        shared = [name for name in left if name in right]
        if not shared:
            return self._failure("no_shared_tool", "No tool is called by both answers.")
        sizes = [sum(len(call) for calls in side.values() for call in calls) for side in (left, right)]
        cells = [len(left[name]) * len(right[name]) for name in shared]
        if max(sizes) > LONGEST or max(cells) > MOST_CELLS:
            return self._failure("too_large", f"{max(sizes)} characters, {max(cells)} pairs of calls")
        scores = [score for name in shared for score in _scores(left[name], right[name])]
        return sum(scores) / len(scores)

    def _failure(self, reason: str, detail: str) -> Failure:
        return Failure(self.name, self.version, reason, detail)


def _by_tool(calls: tuple[ToolCall, ...]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for call in calls:
        found.setdefault(call.name, []).append(call.arguments)
    return found


def _scores(left: list[str], right: list[str]) -> list[float]:
    """The F1 of each two calls that are assigned to each other."""
    slots = [[_slots(arguments) for arguments in side] for side in (left, right)]
    table = [[slot_f1(one, other, _alike) for other in slots[1]] for one in slots[0]]
    return [table[row][column] for row, column in best_assignment(table)]


def _slots(arguments: str) -> list[Slot]:
    """The arguments by key; those that can't be read are one value without a key."""
    read = read_slots(arguments, "json")
    if isinstance(read, list):
        return read
    return [Slot("", arguments.strip())] if arguments.strip() else []


def _alike(left: Slot, right: Slot) -> float:
    if normalise(left.value) == normalise(right.value):
        return 1.0
    if min(len(words(left.value)), len(words(right.value))) < _FEWEST_WORDS:
        return 0.0
    same_details = detail_overlap(read_details(left.value), read_details(right.value)) == 1
    return float(same_details and rouge_l(left.value, right.value) >= SAME_TEXT)
