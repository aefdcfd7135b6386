"""Tool calls: the same tools, with the same arguments, in the same order."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, ClassVar

from rapidfuzz.distance import LCSseq

from evenkeel.core.verdict import Failure
from evenkeel.metrics.entity import SAME_TEXT, Slot, read_slots, slot_f1
from evenkeel.metrics.protocol import About
from evenkeel.metrics.similarity.details import detail_overlap, read_details
from evenkeel.metrics.similarity.normalised import canonical_json, is_empty, json_value, normalise
from evenkeel.metrics.similarity.sequence import rouge_l
from evenkeel.metrics.similarity.words import words
from evenkeel.metrics.structured.alignment import MOST_CELLS, best_assignment
from evenkeel.metrics.structured.json import find_json, read_json
from evenkeel.metrics.structured.json_rouge import json_rouge
from evenkeel.metrics.structured.tree import LONGEST, Tree, UnreadableError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from evenkeel.core.pair import Pair, ToolCall


class ToolArguments:
    """Closeness of the arguments that shared tools are called with."""

    name: ClassVar[str] = "tool_arguments"
    version: ClassVar[int] = 1
    about: ClassVar[About] = About("tools", telling={"workflow": 20})

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
        left, right = _calls_by_tool(pair.reference.tool_calls), _calls_by_tool(pair.candidate.tool_calls)
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


def _calls_by_tool(calls: tuple[ToolCall, ...]) -> dict[str, list[ToolCall]]:
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


class ToolNames:
    """F1 over the names of called tools."""

    name: ClassVar[str] = "tool_names"
    version: ClassVar[int] = 1
    about: ClassVar[About] = About("tools", telling={"workflow": 10})

    def score(self, pair: Pair) -> float | Failure:
        """How many calls of the two answers go to the same tools. Symmetric.

        Repeated calls count as often as they occur; arguments and order do not count.

        Returns: ratio in [0, 1]; 1 = the same tools equally often; 0 = none in common, or only one
            side calls. A `Failure` "no_tool_calls" if neither does.
        Source: multiset Dice coefficient.
        """
        left, right = (
            Counter(call.name for call in side.tool_calls) for side in (pair.reference, pair.candidate)
        )
        total = left.total() + right.total()
        if not total:
            return Failure(self.name, self.version, "no_tool_calls", "Neither answer calls a tool.")
        return 2 * (left & right).total() / total


class ToolOrder:
    """Share of common calls that come in the same order."""

    name: ClassVar[str] = "tool_order"
    version: ClassVar[int] = 1
    about: ClassVar[About] = About("tools", telling={"workflow": 30})

    def score(self, pair: Pair) -> float | Failure:
        """Longest common subsequence of the tool names, over the calls that both answers make. Symmetric.

        Returns: ratio in (0, 1]; 1 = what both call comes in the same order, also if it is a
            single call; never 0, as one call is in order with itself. A `Failure`
            "no_tool_calls" if neither side calls a tool, or "no_shared_tool".
        """
        left, right = ([call.name for call in side.tool_calls] for side in (pair.reference, pair.candidate))
        if not left and not right:
            return Failure(self.name, self.version, "no_tool_calls", "Neither answer calls a tool.")
        shared = (Counter(left) & Counter(right)).total()
        if not shared:
            return Failure(self.name, self.version, "no_shared_tool", "No tool is called by both answers.")
        return LCSseq.similarity(left, right) / shared


class ToolCalls:
    """F1 over tool names and argument values."""

    name: ClassVar[str] = "tool_calls"
    version: ClassVar[int] = 1
    about: ClassVar[About] = About("tools")

    def score(self, pair: Pair) -> float | Failure:
        """How many tool names and argument values the two answers share.

        Every call gives one item for its name and one for each scalar in its arguments (at its
        path, normalised). Repeated calls count as often as they occur; their order does not count.

        Returns: ratio in [0, 1]; 1 = the same calls, also if neither side calls a tool; 0 = no
            item in common, or only one side calls. A `Failure` "no_text" if neither side has text
            or a tool call.
        Source: multiset Dice coefficient.
        """
        if is_empty(pair.reference) and is_empty(pair.candidate):
            return Failure(self.name, self.version, "no_text", "Neither answer has text or a tool call.")
        left, right = (Counter(_items(answer.tool_calls)) for answer in (pair.reference, pair.candidate))
        total = left.total() + right.total()
        return 2 * (left & right).total() / total if total else 1.0


def same_tools(reference: Iterable[ToolCall], candidate: Iterable[ToolCall]) -> bool:
    """Whether two answers call the same tools equally often, whatever the arguments."""
    return Counter(call.name for call in reference) == Counter(call.name for call in candidate)


def _items(calls: Iterable[ToolCall]) -> Iterator[tuple[str, ...]]:
    for call in calls:
        yield (call.name,)
        try:
            arguments = json_value(call.arguments.strip() or "{}")
        except ValueError:
            yield (call.name, "", normalise(call.arguments))
        else:
            for path, value in _scalars(arguments, ""):
                yield (call.name, path, value)


def _scalars(value: Any, path: str) -> Iterator[tuple[str, str]]:
    match value:
        case dict() if value:
            for key, item in value.items():
                yield from _scalars(item, f"{path}.{key}")
        case list() if value:
            for index, item in enumerate(value):
                yield from _scalars(item, f"{path}[{index}]")
        case {} if not path:
            pass
        case _:
            yield path, canonical_json(value)


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
        left, right = (_arguments_by_tool(side.tool_calls) for side in (pair.reference, pair.candidate))
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


def _arguments_by_tool(calls: tuple[ToolCall, ...]) -> dict[str, list[str]]:
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
