"""An answer as one text, and what it states: values of data, text of documents, arguments of tools."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, NamedTuple

from evenkeel.metrics.similarity.details import Detail, Reading, leaves, read_details
from evenkeel.metrics.similarity.normalised import json_value
from evenkeel.metrics.similarity.words import content_words
from evenkeel.metrics.structured.reading import Structure, read_structure
from evenkeel.metrics.structured.tree import flat

if TYPE_CHECKING:
    from evenkeel.core.pair import Answer


def render(answer: Answer) -> str:
    """The answer's text, then one line "call name(arguments)" for each tool call; "" if it is empty."""
    lines = [answer.text.strip()] if answer.text.strip() else []
    lines += [f"call {call.name}({call.arguments})" for call in answer.tool_calls]
    return "\n".join(lines)


def claims(answer: Answer) -> str:
    """What the answer says of the case: its text and the values passed to tools, not the tools' names.

    An answer without tool calls is its text unchanged, JSON included.
    """
    if not answer.tool_calls:
        return answer.text
    lines = [answer.text.strip()] if answer.text.strip() else []
    for call in answer.tool_calls:
        try:
            lines += leaves(json_value(call.arguments.strip() or "{}"))
        except ValueError:
            lines.append(call.arguments)
    return "\n".join(lines)


_DATA: Final = frozenset(("json", "yaml", "xml"))
HARD_KINDS: Final = frozenset(("url", "email", "date", "time", "identifier", "number"))
"""Details that read the same in every language and wording."""


class Statements(NamedTuple):
    """An answer, read."""

    reading: Reading
    words: frozenset[str]
    """Those that carry content; names of fields and headings are the form's."""

    def details(self, *, hard_only: bool) -> frozenset[Detail]:
        """Its details, or those that need no translation."""
        return hard(self.reading) if hard_only else self.reading.details


def hard(reading: Reading) -> frozenset[Detail]:
    """The details of a text that read the same in every language."""
    return frozenset(detail for detail in reading.details if detail.kind in HARD_KINDS)


def read_statements(answer: Answer) -> Statements:
    """Read an answer so that the same content says the same in any format."""
    text = claims(answer)
    found = None if answer.tool_calls else read_structure(text)
    if not isinstance(found, Structure):
        return Statements(read_details(text), content_words(text))
    plain = flat(found.tree)
    # Values of data are read one by one: each is a slot or a sentence of its own.
    values = json.dumps(found.tree, ensure_ascii=False) if found.format in _DATA else plain
    return Statements(read_details(values), content_words(plain))
