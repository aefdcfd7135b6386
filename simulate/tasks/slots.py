"""Filling the slots of a schema."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from evenkeel.simulate.tasks.layout import UNKNOWN, Items, TaskName, Template, mentions

if TYPE_CHECKING:
    import random

    from evenkeel.simulate.cases import Case
    from evenkeel.simulate.phrases import Phrases
    from evenkeel.simulate.told import Told

_WORDS: Final = {"type": "string"}
SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "subject": {"type": "string", "description": "what the case is about, in two or three words"},
        "ticket": _WORDS,
        "host_name": _WORDS,
        "software_version": _WORDS,
        "error_code": _WORDS,
        "people_affected": {"type": "integer"},
        "time_seen": _WORDS,
        "opened_on": _WORDS,
        "closed_on": _WORDS,
        "reference": {"type": "string", "description": "the article or change that the remedy follows"},
        "symptom": {"type": "string", "description": "one or two sentences"},
        "cause": {"type": "string", "description": "one sentence"},
        "remedy": {"type": "string", "description": "one sentence"},
    },
}
"""The entities of a case, as the prompt shows them."""
_OWN: Final = (
    "host_name",
    "software_version",
    "error_code",
    "people_affected",
    "time_seen",
    "opened_on",
    "closed_on",
)


class SlotFilling:
    """The entities of a case, by the names of a JSON schema."""

    name: Final = TaskName.SLOT_FILLING
    template: Final = Template(
        system=(
            "You extract entities from messages to a service desk. The schema names the slots:\n\n"
            f"{json.dumps(SCHEMA, indent=2)}"
        ),
        before=(
            "Fill every slot of the schema from the message below. Where it names several values for a slot, "
            "take those that belong together. Copy values exactly, write unknown where there is none.\n\n"
            "Message:"
        ),
        after="Respond with the filled slots as one JSON object that follows the schema.",
    )

    def input(self, case: Case, _: random.Random) -> str:
        """The case as one message without paragraphs."""
        return " ".join(case.text.split())

    def asked_by(self, words: str) -> bool:
        """Whether four of the slots are named."""
        return mentions(words, _OWN, 4)

    def items(self, told: Told) -> Items:
        """One item for each slot; those that the answer does not know are "unknown"."""
        return (
            ("subject", told.subject),
            ("ticket", told.ticket or UNKNOWN),
            ("host_name", told.host or UNKNOWN),
            ("software_version", told.version or UNKNOWN),
            ("error_code", told.code or UNKNOWN),
            ("people_affected", int(told.people or 0)),
            ("time_seen", told.time or UNKNOWN),
            ("opened_on", told.opened or UNKNOWN),
            ("closed_on", told.closed or UNKNOWN),
            ("reference", told.reference or UNKNOWN),
            ("symptom", told.problem),
            ("cause", told.event),
            ("remedy", told.fix),
        )

    def prose(self, told: Told, _: Phrases) -> str:
        """A line for each slot."""
        return "\n".join(f"{name}: {value}" for name, value in self.items(told))
