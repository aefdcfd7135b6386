"""Tool calls: the same tools, with the same arguments, in the same order.

`compared` says how the calls of two answers differ first; the metrics say how much of them is equal.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, ClassVar, Final

from evenkeel.core.text import named
from evenkeel.core.verdict import Failure, ToolStep
from evenkeel.metrics.identity import NotDataError, Scalar, is_empty, json_value, same_arguments
from evenkeel.metrics.protocol import About
from evenkeel.metrics.similarity.sequence import common_length
from evenkeel.metrics.structured.alignment import MOST_CELLS, best_assignment
from evenkeel.metrics.structured.tree import LONGEST

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from evenkeel.core.pair import Answer, Pair, ToolCall
    from evenkeel.core.verdict import ToolDifference
    from evenkeel.metrics.identity import Value

Argument = tuple[str, Scalar]
"""Path of a scalar in the arguments of a call, such as ".customer.tags[0]", and its value."""


_MOST_NAMED: Final = 8


def compared(reference: Answer, candidate: Answer, *, shifted: bool | None) -> ToolStep:
    """Return the first difference between the tool calls of two answers.

    Which tools are called, and in which order, is decided by name. Arguments that differ as JSON, and texts,
    are the judge's: if it saw the same content, they do not differ.

    Args:
        reference: the answer that the user got.
        candidate: the answer of the trial.
        shifted: whether the content shifted; None if nobody judged it: then arguments differ if they are not
            equal as JSON, and nothing is said of the text.
    """
    before, after = _names(reference), _names(candidate)
    if before != after:
        return ToolStep(_choice(before, after), *_first_difference(before, after))
    if shifted is False:
        return ToolStep()
    for call, other in zip(reference.tool_calls, candidate.tool_calls, strict=True):
        if not same_arguments(call.arguments, other.arguments):
            paths = _unequal(call.arguments, other.arguments)
            return ToolStep("arguments", named(call.name), named(other.name), paths)
    return ToolStep("text" if shifted else "none")


def _names(answer: Answer) -> list[str]:
    """Return the names of the tools that an answer calls, in order."""
    return [call.name for call in answer.tool_calls]


def _choice(before: list[str], after: list[str]) -> ToolDifference:
    if not before or not after:
        return "called"
    return "order" if Counter(before) == Counter(after) else "tool"


def _first_difference(before: list[str], after: list[str]) -> tuple[str, str]:
    """Return the first tool that only one side calls, and that in the other's place, "" for none.

    Where both call the same tools in another order, those at the first place that differs.
    """
    left, right = Counter(before) - Counter(after), Counter(after) - Counter(before)
    if left or right:
        return named(next(iter(left), "")), named(next(iter(right), ""))
    at = 0
    while before[at] == after[at]:
        at += 1
    return named(before[at]), named(after[at])


def _unequal(before: str, after: str) -> tuple[str, ...]:
    """Return the paths of arguments that only one side has, or that have another value, at most eight."""
    left, right = Counter(arguments_of(before)), Counter(arguments_of(after))
    paths = dict.fromkeys(named(path) for path, _ in ((left - right) + (right - left)))
    return tuple(paths)[:_MOST_NAMED]


class ToolNames:
    """F1 over the names of called tools."""

    name: ClassVar[str] = "tool_names"
    version: ClassVar[int] = 1
    about: ClassVar[About] = About("tools")

    def score(self, pair: Pair) -> float | Failure:
        """Share of the two answers' calls that go to the same tools. Symmetric.

        Repeated calls count as often as they occur; arguments and order do not count.

        Returns: ratio in [0, 1]; 1 = the same tools equally often; 0 = none in common, or only one
            side calls. A `Failure` "no_tool_calls" if neither does.
        Source: multiset Dice coefficient.
        """
        left, right = Counter(_names(pair.reference)), Counter(_names(pair.candidate))
        total = left.total() + right.total()
        if not total:
            return Failure(self.name, self.version, "no_tool_calls", "Neither answer calls a tool.")
        return 2 * (left & right).total() / total


class ToolOrder:
    """Share of common calls that come in the same order."""

    name: ClassVar[str] = "tool_order"
    version: ClassVar[int] = 1
    about: ClassVar[About] = About("tools")

    def score(self, pair: Pair) -> float | Failure:
        """Longest common subsequence of the tool names, over the calls that both answers make. Symmetric.

        Returns: ratio in (0, 1]; 1 = what both call comes in the same order, also if it is a
            single call; never 0, as one call is in order with itself. A `Failure`
            "no_tool_calls" if neither side calls a tool, or "no_shared_tool".
        """
        left, right = _names(pair.reference), _names(pair.candidate)
        if not left and not right:
            return Failure(self.name, self.version, "no_tool_calls", "Neither answer calls a tool.")
        shared = (Counter(left) & Counter(right)).total()
        if not shared:
            return Failure(self.name, self.version, "no_shared_tool", "No tool is called by both answers.")
        return common_length(left, right) / shared


class ToolCalls:
    """F1 over tool names and argument values."""

    name: ClassVar[str] = "tool_calls"
    version: ClassVar[int] = 2
    about: ClassVar[About] = About("tools")

    def score(self, pair: Pair) -> float | Failure:
        """Share of tool names and argument values that the two answers have in common.

        Every call gives one item for its name and one for each scalar in its arguments (at its
        path, to the letter). Repeated calls count as often as they occur; their order does not count.

        Returns: ratio in [0, 1]; 1 = the same calls, also if neither side calls a tool; 0 = no
            item in common, or only one side calls. A `Failure` "no_text" if neither side has text
            or a tool call.
        Source: multiset Dice coefficient.
        """
        if is_empty(pair.reference) and is_empty(pair.candidate):
            return Failure(self.name, self.version, "no_text", "Neither answer has text or a tool call.")
        left = Counter(_items(pair.reference.tool_calls))
        right = Counter(_items(pair.candidate.tool_calls))
        total = left.total() + right.total()
        return 2 * (left & right).total() / total if total else 1.0


def _items(calls: Iterable[ToolCall]) -> Iterator[tuple[str, Argument | None]]:
    for call in calls:
        yield call.name, None
        for argument in arguments_of(call.arguments):
            yield call.name, argument


def arguments_of(text: str) -> list[Argument]:
    """Return the scalars of a call's arguments at their paths; unreadable arguments are one string."""
    try:
        return list(_scalars(json_value(text.strip() or "{}"), ""))
    except NotDataError:
        return [("", Scalar("string", text.strip()))]


def _scalars(value: Value, path: str) -> Iterator[Argument]:
    match value:
        case dict() if value:
            for key, member in value.items():
                yield from _scalars(member, f"{path}.{key}")
        case list() if value:
            for index, member in enumerate(value):
                yield from _scalars(member, f"{path}[{index}]")
        case Scalar():
            yield path, value
        case _ if path:
            yield path, Scalar("untyped", "{}" if isinstance(value, dict) else "[]")


class ToolArgumentsMatch:
    """F1 of arguments that are equal, over the calls that both answers make of the same tools.

    1 means no change, and everything below means one. Measured only where the judge saw other content, so
    arguments that it takes for the same in other words count only if something else moved.
    """

    name: ClassVar[str] = "tool_arguments_match"
    version: ClassVar[int] = 3

    def score(self, pair: Pair) -> float | Failure:
        """Equal arguments over the arguments of both calls, as the mean of all calls. Symmetric.

        Calls are assigned one to one within their tool so that most agrees. Values under one key are
        compared to the letter. Calls without counterpart do not count here (see `ToolNames`).

        Returns: ratio in [0, 1]; 1 = all equal; 0 = none. A `Failure` "no_tool_calls" if neither side
            calls a tool, "no_shared_tool" if no tool is called by both, "too_large" if the arguments of
            a side exceed 500,000 characters or one tool is called more than 50 times by both.
        """
        left = _arguments_by_tool(pair.reference.tool_calls)
        right = _arguments_by_tool(pair.candidate.tool_calls)
        if not left and not right:
            return Failure(self.name, self.version, "no_tool_calls", "Neither answer calls a tool.")
        shared = [name for name in left if name in right]
        if not shared:
            return Failure(self.name, self.version, "no_shared_tool", "No tool is called by both answers.")
        size = max(_characters(pair.reference), _characters(pair.candidate))
        cells = max(len(left[name]) * len(right[name]) for name in shared)
        if size > LONGEST or cells > MOST_CELLS:
            detail = f"{size} characters of arguments, {cells} pairs of calls of one tool"
            return Failure(self.name, self.version, "too_large", detail)
        scores: list[float] = []
        for name in shared:
            scores += _scores_of_tool(left[name], right[name])
        return sum(scores) / len(scores)


def _characters(answer: Answer) -> int:
    """Count the characters of the arguments of an answer's calls."""
    return sum(len(call.arguments) for call in answer.tool_calls)


# Pairs of calls of one tool that are all compared; of more than 20 by 20, each with the one in its place.
_MOST_COMPARED = 400


def _scores_of_tool(left: list[str], right: list[str]) -> Iterator[float]:
    """Yield the shares of equal arguments of the calls of one tool, assigned so that most agrees."""
    same = Counter(left) & Counter(right)
    for _ in range(same.total()):
        yield 1.0
    rows = [arguments_of(call) for call in (Counter(left) - same).elements()]
    columns = []
    for call in (Counter(right) - same).elements():
        columns.append(arguments_of(call))
    if len(rows) * len(columns) > _MOST_COMPARED:
        for row, column in zip(rows, columns, strict=False):
            yield _share_equal(row, column)
    elif rows and columns:
        table = []
        for row in rows:
            table.append([_share_equal(row, column) for column in columns])
        for row_place, column_place in best_assignment(table):
            yield table[row_place][column_place]


def _share_equal(left: list[Argument], right: list[Argument]) -> float:
    total = len(left) + len(right)
    return 2 * (Counter(left) & Counter(right)).total() / total if total else 1.0


def _arguments_by_tool(calls: tuple[ToolCall, ...]) -> dict[str, list[str]]:
    by_tool: dict[str, list[str]] = {}
    for call in calls:
        by_tool.setdefault(call.name, []).append(call.arguments)
    return by_tool
