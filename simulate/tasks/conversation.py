"""Summaries of support chats."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evenkeel.simulate.tasks.layout import UNKNOWN, Items, TaskName, Template, mentions
from evenkeel.simulate.tasks.summary import joined

if TYPE_CHECKING:
    import random

    from evenkeel.simulate.cases import Case
    from evenkeel.simulate.phrases import Phrases
    from evenkeel.simulate.told import Told

_GREETINGS: Final = (
    "Good day, this is the service desk. What can we do for you?",
    "Thank you for waiting. How may I help?",
    "Welcome to support. Please describe what you see.",
)
_CHECKS: Final = (
    "I see. Please stay with me while I look that up.",
    "Thank you, that helps. One moment.",
    "Understood. I am checking this with the colleagues.",
)
_THANKS: Final = (
    "That works, thank you very much.",
    "All good on our side now.",
    "We can go on with our work, thanks.",
)


class ChatSummary:
    """Issue, actions and outcome of a chat between a customer and an agent."""

    name: Final = TaskName.CHAT_SUMMARY
    template: Final = Template(
        system=(
            "You write short and faithful notes about support chats, for colleagues who were not there. Keep "
            "to what was said, and copy identifiers letter by letter."
        ),
        before="Please write up the chat that follows.\n\nTranscript:",
        after=(
            "Cover these sections:\n"
            "- Customer issue\n"
            "- Agent actions\n"
            "- Outcome\n\n"
            "Return a JSON object with exactly these keys:\n"
            "{\n"
            '  "case_number": "<the ticket>",\n'
            '  "customer_issue": "<what the customer reported>",\n'
            '  "agent_actions": "<what the agent found and did>",\n'
            '  "outcome": "<how it ended>"\n'
            "}"
        ),
    )

    def input(self, case: Case, rng: random.Random) -> str:
        """The case as a chat, one line a turn."""
        first, second = case.topic.first, case.topic.second
        one, two, all_of_it = case.details.first, case.details.second, case.details
        turns = (
            ("Agent", rng.choice(_GREETINGS)),
            (
                "Customer",
                (
                    f"This is {all_of_it.ticket}, open since {one.date}: {first.problem}. Host {one.host} "
                    f"on version {one.version} writes error {one.code}, and {one.people} people are affected."
                ),
            ),
            ("Agent", f"{rng.choice(_CHECKS)} At {one.time} {first.event}."),
            (
                "Customer",
                (
                    f"There is more: {second.problem}. That is host {two.host}, version {two.version}, error "
                    f"{two.code}, with {two.people} people affected by now."
                ),
            ),
            ("Agent", f"{rng.choice(_CHECKS)} At {two.time}, {second.event}."),
            (
                "Agent",
                (
                    f"Following article {all_of_it.article}, {first.fix}. Under change {all_of_it.change}, "
                    f"{second.fix}. I close the case as of {two.date}."
                ),
            ),
            ("Customer", rng.choice(_THANKS)),
        )
        return "\n".join(f"{speaker}: {words}" for speaker, words in turns)

    def asked_by(self, words: str) -> bool:
        """Whether two of the sections are named."""
        return mentions(words, ("customer_issue", "agent_actions", "outcome"), 2)

    def items(self, told: Told) -> Items:
        """Case number, issue, actions and outcome."""
        return (
            ("case_number", told.ticket or UNKNOWN),
            ("customer_issue", told.problem),
            ("agent_actions", told.event),
            ("outcome", told.fix),
        )

    def prose(self, told: Told, phrases: Phrases) -> str:
        """Good notes have a line for each section, different ones run on."""
        return joined(told, phrases, ("Customer issue", "Agent actions", "Outcome"))
