"""Tool calls: the same tools with the same arguments."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, ClassVar

from evenkeel.core.verdict import Failure
from evenkeel.metrics.similarity.normalised import canonical_json, is_empty, normalise, read_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from evenkeel.core.pair import Pair, ToolCall


class ToolCalls:
    """F1 over tool names and argument values."""

    name: ClassVar[str] = "tool_calls"
    version: ClassVar[int] = 1

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
            arguments = read_json(call.arguments.strip() or "{}")
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
