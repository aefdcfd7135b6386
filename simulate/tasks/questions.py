"""Questions on four labelled documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evenkeel.simulate.condition import Condition
from evenkeel.simulate.tasks.layout import Items, TaskName, Template, mentions
from evenkeel.simulate.told import put

if TYPE_CHECKING:
    import random

    from evenkeel.simulate.cases import Case
    from evenkeel.simulate.phrases import Phrases
    from evenkeel.simulate.told import Told

_QUESTIONS: Final = (
    "What went wrong, how did it come about, and what helped?",
    "Which trouble is on record, where does it come from, and what was done about it?",
    "Can you tell me what the trouble was, what led to it and how it ended?",
)
_SOURCES: Final = {
    Condition.GOOD: ("Doc 1", "Doc 2"),
    Condition.DIFFERENT: ("Doc 3", "Doc 4"),
    Condition.WORSE: (),
}


class Questions:
    """An answer out of four documents, with the documents that it rests on."""

    name: Final = TaskName.QUESTIONS
    template: Final = Template(
        system="",
        before=(
            "Answer the question with the help of the documents, and with nothing else. If they do not hold "
            "the answer, say so. Cite the documents that you used by their labels."
        ),
        after=(
            "Output instructions:\n"
            "- Reply in the following JSON format and with no other text.\n"
            "- Copy identifiers as they are.\n\n"
            "{\n"
            '  "answer": "<the answer>",\n'
            '  "sources": ["<label of a document used>"]\n'
            "}"
        ),
    )

    def input(self, case: Case, rng: random.Random) -> str:
        """Four documents, two for each side of the incident, and a question on them."""
        first, second = case.topic.first, case.topic.second
        one, two, all_of_it = case.details.first, case.details.second, case.details
        documents = (
            (
                f"Case {all_of_it.ticket} was opened on {one.date}. The report says that {first.problem}. "
                f"Host {one.host}, version {one.version}, logged error {one.code}; {one.people} people were "
                f"affected."
            ),
            (
                f"At {one.time} {first.event}. Following article {all_of_it.article}, {first.fix}. The "
                f"case was closed on {two.date}."
            ),
            (
                f"A later note says that {second.problem}. Host {two.host}, version {two.version}, logged "
                f"error {two.code}; by then {two.people} people were affected."
            ),
            f"At {two.time}, {second.event}. Under change {all_of_it.change}, {second.fix}.",
        )
        labelled = [f"Doc {number}: {text}" for number, text in enumerate(documents, start=1)]
        return "\n\n".join((*labelled, f"Question: {rng.choice(_QUESTIONS)}"))

    def asked_by(self, words: str) -> bool:
        """Whether two of the documents are there."""
        return mentions(words, ("doc 1", "doc 2", "doc 3", "doc 4"), 2)

    def items(self, told: Told) -> Items:
        """The answer and its sources; a worse answer has none."""
        ticket = put("{}: ", told.ticket)
        return (
            ("answer", f"{ticket}{told.problem} {told.event} {told.fix}"),
            ("sources", _SOURCES[told.condition]),
        )

    def prose(self, told: Told, phrases: Phrases) -> str:
        """The answer with its sources in brackets behind it."""
        text = (" " if phrases.spaced else "").join((told.problem, told.event, told.fix))
        sources = "".join(f" [{label}]" for label in _SOURCES[told.condition])
        return f"{put(f'{phrases.labels.ticket} {{}}: ', told.ticket)}{text}{sources}"
