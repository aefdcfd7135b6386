"""Summaries of support cases."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evenkeel.simulate.condition import Condition
from evenkeel.simulate.phrases import ENGLISH
from evenkeel.simulate.tasks.layout import UNKNOWN, Items, TaskName, Template, mentions
from evenkeel.simulate.told import put

if TYPE_CHECKING:
    import random

    from evenkeel.simulate.cases import Case
    from evenkeel.simulate.phrases import Phrases
    from evenkeel.simulate.told import Told


class CaseSummary:
    """The main problem, the key events and the resolution of a case."""

    name: Final = TaskName.CASE_SUMMARY
    template: Final = Template(
        system="",
        before=(
            "You help a service desk to hand over its work. Read the support case below and summarise it for "
            "the engineer on the next shift.\n\n"
            "Write about these parts:\n"
            "- Main problem: what is broken, and for whom\n"
            "- Key events: what happened, in order\n"
            "- Resolution: what helped\n\n"
            "Quote identifiers exactly as they are written, and add nothing that the case does not say.\n\n"
            "Here is the case:"
        ),
        after=(
            "Respond in JSON, in this form and without anything around it:\n"
            "{\n"
            '  "ticket": "<the ticket>",\n'
            '  "main_problem": "<what is broken, and for whom>",\n'
            '  "key_events": "<what happened, in order>",\n'
            '  "resolution": "<what helped>"\n'
            "}"
        ),
    )

    def input(self, case: Case, _: random.Random) -> str:
        """The case as the service desk wrote it."""
        return case.text

    def asked_by(self, words: str) -> bool:
        """Whether two of the parts are named."""
        return mentions(words, ("main_problem", "key_events", "resolution"), 2)

    def items(self, told: Told) -> Items:
        """Ticket, problem, events and resolution."""
        return (
            ("ticket", told.ticket or UNKNOWN),
            ("main_problem", told.problem),
            ("key_events", told.event),
            ("resolution", told.fix),
        )

    def prose(self, told: Told, phrases: Phrases) -> str:
        """A good summary has a line for each part, a different one runs on."""
        return joined(told, phrases, ("Main problem", "Key events", "Resolution"))


def joined(told: Told, phrases: Phrases, titles: tuple[str, str, str]) -> str:
    """The three parts as free text, in lines with titles (English, good) or in a row."""
    parts = (told.problem, told.event, told.fix)
    if told.condition is Condition.GOOD and phrases is ENGLISH:
        first, *others = titles
        heads = (f"{first}{put(' in {}', told.ticket)}", *others)
        return "\n".join(f"{head}: {part}" for head, part in zip(heads, parts, strict=True))
    text = (" " if phrases.spaced else "").join(parts)
    return put(f"{phrases.labels.ticket} {{}}: ", told.ticket) + text
