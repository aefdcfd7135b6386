"""Tool calls: the same tools, with the same arguments, in the same order.

`compared` says how the calls of two answers differ first, `ToolCalls` and `SameCalls` how much is equal.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, ClassVar, Final

from evenkeel.core.text import named
from evenkeel.core.verdict import Failure, QualityScore, ToolStep
from evenkeel.metrics.identity import NotDataError, Scalar, is_empty, json_value, same_arguments, same_calls
from evenkeel.metrics.protocol import About
from evenkeel.metrics.quality.measurement import RuleQuality
from evenkeel.metrics.similarity.sequence import common_length

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from evenkeel.core.pair import Answer, Pair, ToolCall
    from evenkeel.core.verdict import ToolDifference
    from evenkeel.metrics.identity import Value

Argument = tuple[str, Scalar]
"""Path of a scalar in the arguments of a call, such as ".customer.tags[0]", and its value."""


# Paths are stored with each verdict and shown in messages: more would not be read.
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


class SameCalls(RuleQuality):
    """Quality of the tool calls, which needs no judge; `compared` tells how they differ first."""

    name: ClassVar[str] = "tool_calls"
    version: ClassVar[int] = 3

    def measure_now(self, pair: Pair) -> QualityScore | None:
        """Return the agreement of the calls, on the scale "agreement".

        Returns: the calls that both answers make with equal arguments and in the same order, against the
            calls of both; 1 = the same calls, by the rule of identity. None if neither answer calls a tool.
        """
        left, right = pair.reference.tool_calls, pair.candidate.tool_calls
        if not left and not right:
            return None
        share = 1.0
        if not same_calls(left, right):
            share = 2 * common_length(_keys(left), _keys(right)) / (len(left) + len(right))
        return QualityScore(self.name, self.version, 1.0, share, "agreement")


def _keys(calls: Iterable[ToolCall]) -> list[str]:
    """Return a text for each call that is the same for calls of one tool with equal arguments."""
    keys = []
    for call in calls:
        arguments = sorted((path, value.kind, value.lexeme) for path, value in arguments_of(call.arguments))
        keys.append(repr((call.name, arguments)))
    return keys
