"""Signs that the order of items means something: steps, turns of a talk, entries of a log."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

# Words at the beginning of an item that place it among the others
_PLACED: Final = re.compile(
    r"""[\W_]* (?: (?:
        first(?:ly)? | second(?:ly)? | third(?:ly)? | fourth | then | next | finally
      | last(?:ly)? | afterwards?
      | after\ that | subsequently | meanwhile
      | (?:step|turn|day|week|round|phase|stage|part|page|chapter|message|update
         |entry|event|reply|comment|post)\ ?\d+
      | erstens | zweitens | zuerst | zunächst | dann | danach | anschließend | schließlich | zuletzt
      | primero | segundo | luego | después | finalmente | por\ último
      | d['’]abord | premièrement | ensuite | puis | enfin
      | per\ prim[ao] | prima | poi | dopo | infine
      | eerst | daarna | vervolgens | tenslotte | primeiro | depois | em\ seguida | por\ fim
      ) \b | まず | 次に | 最後に | その後 )""",
    re.IGNORECASE | re.VERBOSE,
)
# Words anywhere in an item that point at another one
_POINTING: Final = re.compile(
    r"""\b (?: and\ then | (?:the|this|that)\ (?:previous|preceding|above|following|next|former|latter)
      | mentioned\ (?:above|below) | (?:listed|described|given)\ (?:above|below)
      | (?:items?|points?|rules?)\ (?:above|below)
      | ditto | und\ dann | y\ luego | et\ ensuite | e\ poi ) \b""",
    re.IGNORECASE | re.VERBOSE,
)
_THEN: Final = re.compile(r"\bthen\b", re.IGNORECASE)
_CONDITION: Final = re.compile(r"\b(?:if|when|whenever|where|unless)\b", re.IGNORECASE)
# A date or a time at the beginning, as in logs and histories
_DATED: Final = re.compile(
    r"""[\W_]* (?:
        \d{4}-\d{1,2}(?:-\d{1,2})? | \d{1,2}[./]\d{1,2}[./]\d{2,4} | \d{1,2}:\d{2} | \d{4}年 | \d{1,2}月
      | (?:\d{1,2}\.?\ )? (?:jan|feb|mar|apr|may|jun|jul|aug|sept?|oct|nov|dec)[a-z]{0,6}\.?\ \d{1,4}
      | (?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?\b
      | t\ ?[+-]\ ?\d )""",
    re.IGNORECASE | re.VERBOSE,
)
_SPEAKER: Final = re.compile(r"[\W_]*([^\W\d_][\w .'’-]{0,30}):\s")
# Words in the line above a list
_ANNOUNCED: Final = re.compile(
    r"""\b (?: in\ (?:this|the\ following|that|order|sequence|turn) | steps? | sequence | order | ranked
      | ranking | chronolog\w* | timeline | priority | prioriti\w* | importance | history | transcript
      | log | turns?
      | procedure | workflow | schritte? | reihenfolge | pasos | orden | étapes? | ordre | passi | ordine
      | stappen | volgorde | passos | ordem ) \b | 手順 | 順""",
    re.IGNORECASE | re.VERBOSE,
)


_FIRST_LINES = 2
"""Of a document: its label, and what follows that."""


def order_matters(items: Sequence[str], introduction: str = "") -> bool:
    """Whether items say something by their order.

    Too eager is harmless: such items are left alone.

    Args:
        items: Each with its marker or label.
        introduction: The line above them, "" if there is none.
    """
    if _ANNOUNCED.search(introduction):
        return True
    if any(_PLACED.match(item) or _POINTING.search(item) or _tells_a_sequence(item) for item in items):
        return True
    if sum(_DATED.match(item) is not None for item in items) > 1:
        return True
    speakers = [match[1].casefold() for item in items if (match := _SPEAKER.match(item))]
    # Two turns of one speaker: a talk, not a list of named things
    return len(speakers) > len(set(speakers))


def is_chronicle(documents: Sequence[str]) -> bool:
    """Whether documents are entries of a log, turns or steps, by how they begin.

    Args:
        documents: Each with its label.
    """
    heads = [document.split("\n", _FIRST_LINES)[:_FIRST_LINES] for document in documents]
    if any(_PLACED.match(line) for lines in heads for line in lines):
        return True
    return sum(any(_DATED.match(line) for line in lines) for lines in heads) > 1


def _tells_a_sequence(item: str) -> bool:
    then = _THEN.search(item)
    return then is not None and not _CONDITION.search(item[: then.start()])
