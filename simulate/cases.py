"""Support cases made up from the catalogue: the traffic of the demo and of the tests.

A case is plain text of 120 to 200 words, as a service desk would write it, with both sides of one
incident and two of every identifier. The wording around the clauses varies with the seed.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Final

from evenkeel.simulate.recognition import Details, SideDetails
from evenkeel.simulate.topics import TOPICS, Topic

INSTRUCTIONS: Final = (
    "Summarise the support case below for the engineer on the next shift. Name the main problem, "
    "the key events and the resolution, quote identifiers exactly as they are written, and add "
    "nothing that the case does not say."
)
"""What `summary_prompt` asks for."""

_OPENINGS: Final = (
    "Case {ticket} was opened on {date_a} by the service desk.",
    "Support case {ticket}, received on {date_a} through the portal.",
    "On {date_a} the service desk took case {ticket} by telephone.",
    "The night shift handed over case {ticket}, open since {date_a}.",
)
_FIRST_SEEN: Final = (
    (
        "It was first noticed on host {host_a} running version {version_a}, with error {code_a} in its log; "
        "{people_a} people were affected at that point."
    ),
    (
        "The first reports named host {host_a}, version {version_a} and error {code_a}; {people_a} "
        "people were affected."
    ),
    "We saw error {code_a} on host {host_a}, running version {version_a}; {people_a} people were affected.",
)
_SECOND_SEEN: Final = (
    (
        "That side of the case concerns host {host_b} on version {version_b} with error {code_b}; by then "
        "{people_b} people were affected."
    ),
    (
        "Here the log of host {host_b}, version {version_b}, repeats error {code_b}, with {people_b} people "
        "affected by then."
    ),
    (
        "By then {people_b} people were affected, and host {host_b} on version {version_b} kept writing "
        "error {code_b}."
    ),
)
_ASIDES: Final = (
    "A restart brought relief for a short while only.",
    "Nothing similar was on record for this month.",
    "The users were told to wait and not to call again.",
    "A colleague could reproduce it in the lab on the first attempt.",
    "The vendor was informed but had no advice at first.",
    "Priority was raised after the daily review.",
)
_CLOSINGS: Final = (
    "The requester confirmed this, and the case was closed on {date_b}.",
    "After a quiet night the case was closed on {date_b}.",
    "No further reports came in; closed on {date_b}.",
)
_SITES: Final = ("BER", "HAM", "LEJ", "MUC", "CGN", "DRS", "NUE", "STR")
_ROLES: Final = ("APP", "DB", "GW", "SRV", "EDGE", "CORE")
_YEAR: Final = 2026
_SPREAD: Final = 3
"""By the end at least this many times as many people were affected."""


@dataclass(frozen=True, slots=True)
class Case:
    """A support case and what it was made from."""

    seed: int
    topic: Topic
    details: Details
    text: str
    """120 to 200 words in four paragraphs."""


def make_case(seed: int) -> Case:
    """The support case of a seed; the same seed always gives the same case.

    Two seeds give different texts, barring a collision of ten random identifiers.
    """
    rng = random.Random(seed)
    topic = rng.choice(TOPICS)
    details = _make_details(rng)
    slots = _slots(details)
    asides = rng.sample(_ASIDES, 2)
    first, second = topic.first, topic.second
    paragraphs = (
        f"{rng.choice(_OPENINGS)} {_sentence(first.problem)} {rng.choice(_FIRST_SEEN)} {asides[0]}",
        f"There is more: {second.problem}. {rng.choice(_SECOND_SEEN)} {asides[1]}",
        f"What happened: at {{time_a}} {first.event}. Later, at {{time_b}}, {second.event}.",
        (
            f"How it was resolved: following article {{article}}, {first.fix}. Under change {{change}}, "
            f"{second.fix}. {rng.choice(_CLOSINGS)}"
        ),
    )
    text = "\n\n".join(paragraphs).format_map(slots)
    return Case(seed=seed, topic=topic, details=details, text=text)


def summary_prompt(case: Case) -> str:
    """What an application would send as the user message: instructions, then the case."""
    return f"{INSTRUCTIONS}\n\n{case.text}"


def _sentence(clause: str) -> str:
    return f"{clause[0].upper()}{clause[1:]}."


def _make_details(rng: random.Random) -> Details:
    """Random identifiers, the first side's before the second side's in the order of `read_details`."""
    host_a, host_b = sorted(
        f"{site}-{rng.choice(_ROLES)}-{rng.randrange(1, 100):02d}" for site in rng.sample(_SITES, 2)
    )
    major = rng.randrange(2, 19)
    code_a, code_b = sorted(f"0x{code:08X}" for code in rng.sample(range(0x80000000, 0x8FFFFFFF), 2))
    month, day = rng.randrange(1, 13), rng.randrange(1, 26)
    start, gap = rng.randrange(6 * 60, 12 * 60), rng.randrange(20, 600)
    people = rng.randrange(11, 90)
    return Details(
        ticket=f"INC-{rng.randrange(10_000, 100_000)}",
        change=f"CHG-{rng.randrange(10_000, 100_000)}",
        article=f"KB{rng.randrange(4_000_000, 6_000_000)}",
        first=SideDetails(
            host=host_a,
            version=f"{major}.{rng.randrange(10)}.{rng.randrange(30)}",
            code=code_a,
            time=_clock(start),
            people=str(people),
            date=f"{_YEAR}-{month:02d}-{day:02d}",
        ),
        second=SideDetails(
            host=host_b,
            version=f"{major + 1}.{rng.randrange(10)}.{rng.randrange(30)}",
            code=code_b,
            time=_clock(start + gap),
            people=str(people * _SPREAD + rng.randrange(90)),
            date=f"{_YEAR}-{month:02d}-{day + rng.randrange(1, 4):02d}",
        ),
    )


def _clock(minutes: int) -> str:
    return f"{minutes // 60:02d}:{minutes % 60:02d}"


def _slots(details: Details) -> dict[str, str]:
    slots = {"ticket": details.ticket, "change": details.change, "article": details.article}
    for suffix, side in (("a", details.first), ("b", details.second)):
        slots.update({f"{name}_{suffix}": value for name, value in side._asdict().items()})
    return slots
