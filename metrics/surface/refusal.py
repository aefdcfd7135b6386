"""Whether an answer declines to answer, in nine languages."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

from evenkeel.core.verdict import Failure
from evenkeel.metrics.similarity.normalised import is_empty
from evenkeel.metrics.surface.refusal_phrases import OPENINGS, REFUSALS

if TYPE_CHECKING:
    from evenkeel.core.pair import Answer, Pair

_REFUSING_FINISH = frozenset(("content_filter", "refusal", "safety"))
_BEGINNING = 240
"""Characters in which a refusal says so; what stands behind is about something else."""
_MARKS = re.compile(r"[*_#>`]+")
_QUOTES = str.maketrans({"\u2019": "'", "\u2018": "'", "\u02bc": "'"})
# At the begin of a sentence or clause: what others say they cannot do is told with a subject before it.
_REFUSAL = re.compile(
    r"(?:\A|[.!?;:,\n\u2013\u2014-]\s*|[\u3002\u3001\uff01\uff0c\uff1f\s])\s*"
    rf"(?:(?:{OPENINGS})[ ,:-]+)*(?:{'|'.join(REFUSALS.values())})"
)


class RefusalAgreement:
    """Whether both answers decline, or neither."""

    name: ClassVar[str] = "refusal_agreement"
    version: ClassVar[int] = 1

    def score(self, pair: Pair) -> float | Failure:
        """Whether the two answers are alike in declining; see `refused`. Symmetric.

        Returns: 1.0 = both decline or neither does; 0.0 = only one does. A `Failure` "no_text" if
            neither answer has text or a tool call and no filter said why.
        """
        states = refused(pair.reference), refused(pair.candidate)
        if not any(states) and is_empty(pair.reference) and is_empty(pair.candidate):
            return Failure(self.name, self.version, "no_text", "Neither answer has text.")
        return float(states[0] == states[1])


def refused(answer: Answer) -> bool:
    """Whether an answer declines: by its finish reason, or by what it says in its first 240 characters.

    Told by phrases in English, German, Spanish, French, Italian, Japanese, Dutch, Portuguese and
    Chinese (`REFUSALS`), so a refusal put in other words is missed. An answer with a tool call acts
    and does not decline, whatever it says beside it.
    """
    if answer.finish_reason in _REFUSING_FINISH:
        return True
    if answer.tool_calls:
        return False
    beginning = _MARKS.sub("", answer.text.lstrip()[:_BEGINNING].translate(_QUOTES)).lower()
    return _REFUSAL.search(beginning) is not None
