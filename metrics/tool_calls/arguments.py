"""What the tools are called with."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from evenkeel.core.verdict import Failure
from evenkeel.metrics.structured.assignment import MOST_CELLS, best_assignment
from evenkeel.metrics.structured.json_reader import find_json, read_json
from evenkeel.metrics.structured.json_rouge import json_rouge
from evenkeel.metrics.structured.tree import LONGEST, Tree, UnreadableError

if TYPE_CHECKING:
    from evenkeel.core.pair import Pair, ToolCall


class ToolArguments:
    """Closeness of the arguments that shared tools are called with."""

    name: ClassVar[str] = "tool_arguments"
    version: ClassVar[int] = 1

    def score(self, pair: Pair) -> float | Failure:
        """Mean closeness of arguments over the calls both answers make of the same tools.

        Calls are assigned one to one within their tool so that most agrees. Arguments are read as
        JSON, repaired if need be, and compared by `JsonRouge`: values under their keys, a missing
        one with 0. Calls without counterpart do not count here (see `ToolNames`).

        Returns: ratio in [0, 1]; 1 = the same arguments; 0 = nothing in common. A `Failure`
            "no_tool_calls" if neither side calls a tool, "no_shared_tool" if no tool is called by
            both, "too_large" if the arguments of one side exceed 500,000 characters or one tool
            is called more than 50 times by both, or "too_deep".
        """
        left, right = _by_tool(pair.reference.tool_calls), _by_tool(pair.candidate.tool_calls)
        if not left and not right:
            return self._failure("no_tool_calls", "Neither answer calls a tool.")
        shared = [name for name in left if name in right]
        if not shared:
            return self._failure("no_shared_tool", "No tool is called by both answers.")
        try:
            for side in (pair.reference, pair.candidate):
                _check_size(side.tool_calls)
            scores = [score for name in shared for score in _closeness(left[name], right[name])]
        except UnreadableError as error:
            return self._failure(error.reason, str(error))
        return sum(scores) / len(scores)

    def _failure(self, reason: str, detail: str) -> Failure:
        return Failure(self.name, self.version, reason, detail)


def read_arguments(call: ToolCall) -> Tree:
    """The arguments of a call as a tree: empty ones are {}, unreadable ones their text.

    Raises:
        UnreadableError: "too_deep".
    """
    text = call.arguments.strip() or "{}"
    try:
        return read_json(text)
    except UnreadableError as error:
        if error.reason == "too_deep":
            raise
    found = find_json(text)
    return text if found is None else found.tree


def _check_size(calls: tuple[ToolCall, ...]) -> None:
    size = sum(len(call.arguments) for call in calls)
    if size > LONGEST:
        raise UnreadableError("too_large", f"{size} characters of arguments")


def _by_tool(calls: tuple[ToolCall, ...]) -> dict[str, list[ToolCall]]:
    found: dict[str, list[ToolCall]] = {}
    for call in calls:
        found.setdefault(call.name, []).append(call)
    return found


def _closeness(left: list[ToolCall], right: list[ToolCall]) -> list[float]:
    """Closeness of the calls of one tool that are assigned to each other."""
    if len(left) * len(right) > MOST_CELLS:
        raise UnreadableError("too_large", f"{len(left)} and {len(right)} calls of one tool")
    trees = [[read_arguments(call) for call in side] for side in (left, right)]
    table = [[json_rouge(one, other) for other in trees[1]] for one in trees[0]]
    return [table[row][column] for row, column in best_assignment(table)]
