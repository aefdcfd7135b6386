"""Which pairs a judge sees with their sides swapped, and its explanation for the pair as it is.

A judge may favour what stands first or what is called the reference. Showing a share of the pairs the
other way round turns such a habit from a bias into noise, which the baseline arm shares.
"""

from __future__ import annotations

import hashlib
import re

_SALT = b"evenkeel.judge.swap"
"""Keeps the choice independent of other choices by the hash of the same texts."""
_OTHER = {"reference": "candidate", "candidate": "reference", "first": "second", "second": "first"}
_SIDE = re.compile(
    # What is quoted is left alone, and so are other uses of the words: "with reference to",
    # "reference number", "the first step".
    r"\"[^\"\n]*\"|\u201c[^\u201d\n]*\u201d|`[^`\n]*`"
    r"|(?<!in )(?<!by )(?<!for )(?<!with )(?<!cross-)"
    r"\b(?P<side>reference|candidate)\b(?!\s+(?:to|number|id|code|no\b|list|link|manual|guide|document|key)s?\b)"
    r"|\b(?P<place>first|second)\b(?=\s+(?:answer|text|response|reply|one)\b)",
    re.IGNORECASE,
)


def swaps(sides: tuple[str, str], vote: int, share: float) -> bool:
    """Whether a call shows these two texts in the other order: for the given share of all pairs and calls.

    The same two texts always get the same decision, whichever of them is the reference: a pair that is
    swapped on purpose to measure the effect of its order is then really shown the other way round.

    Args:
        sides: the texts.
        vote: number of the call among several on the same pair.
        share: in [0, 1].
    """
    digest = hashlib.sha256(_SALT + vote.to_bytes(8, "big"))
    for text in sorted(sides):
        data = text.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "big") + data)
    return int.from_bytes(digest.digest()[:8], "big") < share * 2.0**64


def relabelled(explanation: str) -> str:
    """An explanation given for swapped sides, with the sides' names exchanged outside of quotations."""

    def other(found: re.Match[str]) -> str:
        word = found["side"] or found["place"]
        if not word:
            return found[0]
        name = _OTHER[word.lower()]
        return name.upper() if word.isupper() else name.capitalize() if word[0].isupper() else name

    return _SIDE.sub(other, explanation)
