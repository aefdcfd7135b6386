"""Which tools are called."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, ClassVar

from evenkeel.core.verdict import Failure

if TYPE_CHECKING:
    from evenkeel.core.pair import Pair


class ToolNames:
    """F1 over the names of called tools."""

    name: ClassVar[str] = "tool_names"
    version: ClassVar[int] = 1

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
