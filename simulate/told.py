"""What an answer tells of a case: in one state and one language, before it has a format.

English tells it with the catalogue's clauses. The other languages have stock clauses around the topic's
name; identifiers are the same everywhere, and they tell which side of the incident is meant.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING

from evenkeel.simulate.condition import Condition
from evenkeel.simulate.phrases import ENGLISH

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenkeel.simulate.details import Details, SideDetails
    from evenkeel.simulate.phrases import Phrases, Triple
    from evenkeel.simulate.topics import Topic


@dataclass(frozen=True, slots=True)
class Told:
    """One state's content. Identifiers that the prompt lacks are "", and all of them in a worse answer."""

    condition: Condition
    subject: str
    """Name of the topic."""
    ticket: str
    host: str
    version: str
    code: str
    people: str
    time: str
    opened: str
    closed: str
    reference: str
    """The article or the change that the remedy follows."""
    problem: str
    """One or two sentences, with their marks and with the identifiers that belong there."""
    event: str
    fix: str

    def values(self) -> dict[str, str]:
        """Everything that is told by names that a schema may use; what is unknown is left out."""
        named = {
            "subject": self.subject,
            "title": self.subject,
            "ticket": self.ticket,
            "case": self.ticket,
            "host": self.host,
            "version": self.version,
            "error": self.code,
            "code": self.code,
            "people": self.people,
            "time": self.time,
            "opened": self.opened,
            "closed": self.closed,
            "date": self.opened,
            "reference": self.reference,
            "article": self.reference,
            "problem": self.problem,
            "issue": self.problem,
            "event": self.event,
            "cause": self.event,
            "fix": self.fix,
            "resolution": self.fix,
            "outcome": self.fix,
        }
        return {name: value for name, value in named.items() if value}


def tell(topic: Topic, details: Details, condition: Condition, phrases: Phrases = ENGLISH) -> Told:
    """The content of the answer to a case: of its first side, its second, or of neither."""
    if condition is Condition.WORSE:
        return _tell_worse(topic, details, phrases)
    good = condition is Condition.GOOD
    side = details.first if good else details.second
    stock = phrases.good if good else phrases.different
    problem, event, fix = (
        _english(topic, details, good=good)
        if stock is None
        else _stock(topic, details, phrases, stock, good=good)
    )
    return Told(
        condition=condition,
        subject=topic.name,
        ticket=details.ticket,
        host=side.host,
        version=side.version,
        code=side.code,
        people=side.people,
        time=side.time,
        opened=details.first.date,
        closed=details.second.date,
        reference=details.article if good else details.change,
        problem=problem,
        event=event,
        fix=fix,
    )


def claimed_numbers(source: str) -> tuple[int, int]:
    """The two numbers of four and five digits that a worse answer claims; they follow from `source`."""
    number = int.from_bytes(blake2b(source.encode(errors="replace"), digest_size=8).digest(), "big")
    return 3_000 + number % 6_000, 20_000 + (number >> 32) % 70_000


def put(template: str, value: str) -> str:
    """A template with its value, or nothing where there is none."""
    return template.format(value) if value else ""


def seen(side: SideDetails) -> str:
    """Where a side was seen, in brackets, as far as the prompt tells."""
    return _listed(
        put(template, value)
        for template, value in (("host {}", side.host), ("version {}", side.version), ("error {}", side.code))
    )


def capitalised(text: str) -> str:
    """The text with its first letter as a capital."""
    return text[:1].upper() + text[1:]


def _english(topic: Topic, details: Details, *, good: bool) -> tuple[str, str, str]:
    first, second = details.first, details.second
    if good:
        problem, event, fix = topic.first
        return (
            f"{capitalised(problem)}{seen(first)}.{put(' {} people were affected.', first.people)}",
            capitalised(f"{put('opened on {}, ', first.date)}{put('at {} ', first.time)}{event}."),
            capitalised(
                f"{put('following article {}, ', details.article)}{fix}{put(', closed on {}', second.date)}."
            ),
        )
    problem, event, fix = topic.second
    return (
        capitalised(f"{put('by then {} people were affected: ', second.people)}{problem}{seen(second)}."),
        capitalised(f"{put('at {}, ', second.time)}{event}."),
        capitalised(
            f"{put('under change {}, ', details.change)}{fix}{put(', opened on {}', first.date)}"
            f"{put(', closed on {}', second.date)}."
        ),
    )


def _stock(
    topic: Topic, details: Details, phrases: Phrases, triple: Triple, *, good: bool
) -> tuple[str, str, str]:
    labels = phrases.labels
    side = details.first if good else details.second
    reference = (labels.article, details.article) if good else (labels.change, details.change)

    def sentence(clause: str, *found: tuple[str, str]) -> str:
        return f"{clause}{_listed(f'{label} {value}' for label, value in found if value)}{phrases.stop}"

    return (
        sentence(
            triple.problem.format(topic=topic.name),
            (labels.host, side.host),
            (labels.version, side.version),
            (labels.code, side.code),
            (labels.people, side.people),
        ),
        sentence(triple.event, (labels.opened, details.first.date), (labels.time, side.time)),
        sentence(triple.fix, reference, (labels.closed, details.second.date)),
    )


def _tell_worse(topic: Topic, details: Details, phrases: Phrases) -> Told:
    devices, minutes = claimed_numbers(repr(details))
    problem, event, fix = phrases.worse
    return Told(
        condition=Condition.WORSE,
        subject=topic.name,
        ticket="",
        host="",
        version="",
        code="",
        people=str(devices),
        time="",
        opened="",
        closed="",
        reference="",
        problem=f"{problem.format(topic=topic.name)}{phrases.stop}",
        event=f"{event.format(devices=devices, minutes=minutes)}{phrases.stop}",
        fix=f"{capitalised(fix)}{phrases.stop}",
    )


def _listed(found: Iterable[str]) -> str:
    parts = [part for part in found if part]
    return f" ({', '.join(parts)})" if parts else ""
