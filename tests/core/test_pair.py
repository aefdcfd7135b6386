"""The draw of a pair: a share of them, the same one everywhere."""

import hashlib

from evenkeel.core.pair import Answer, Pair, ToolCall, draw


def test_a_lot_is_the_head_of_a_hash():
    """Worked out beside the code: length-prefixed parts, the first 53 bits of SHA-256."""
    parts = ["audit", "question", "ab", "1", "f", "{}", "c", "0"]
    data = b"".join(len(part).to_bytes(8, "big") + part.encode() for part in parts)
    bits = int(hashlib.sha256(data).hexdigest(), 16) >> (256 - 53)
    pair = Pair(Answer("ab", (ToolCall("f", "{}"),)), Answer("c"), "question")
    assert draw(pair, "audit") == bits / 2**53
    assert draw(pair, "noise") != draw(pair, "audit")
