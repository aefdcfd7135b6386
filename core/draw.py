"""Drawing lots over pairs: the same pair always draws the same number."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenkeel.core.pair import Pair

_BYTES = 8
_NUMBERS = 1 << 8 * _BYTES


def draw(pair: Pair, purpose: str) -> float:
    """A number in [0, 1) that follows from both answers, the context and the purpose.

    `draw(pair, purpose) < share` picks that share of pairs, the same ones in every process and at
    every replay. Numbers for different purposes are independent, and so are those of a pair and of
    its swapped copy.
    """
    digest = hashlib.sha256()
    for part in _parts(pair, purpose):
        # Lengths keep ("ab", "c") and ("a", "bc") apart; lone surrogates come out of JSON.
        data = part.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "big") + data)
    return (int.from_bytes(digest.digest()[:_BYTES], "big") >> 11) / (_NUMBERS >> 11)


def _parts(pair: Pair, purpose: str) -> Iterator[str]:
    yield purpose
    yield pair.context
    for answer in (pair.reference, pair.candidate):
        yield answer.text
        yield str(len(answer.tool_calls))
        for call in answer.tool_calls:
            yield call.name
            yield call.arguments
