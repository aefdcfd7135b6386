"""In which order the tools are called."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, ClassVar

from rapidfuzz.distance import LCSseq

from evenkeel.core.verdict import Failure

if TYPE_CHECKING:
    from evenkeel.core.pair import Pair


class ToolOrder:
    """Share of common calls that come in the same order."""

    name: ClassVar[str] = "tool_order"
    version: ClassVar[int] = 1

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
