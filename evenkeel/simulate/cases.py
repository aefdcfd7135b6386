"""Support cases made up from the catalogue: the traffic of the demo and of the tests.

A case is plain text of 120 to 200 words, as a service desk would write it, with both sides of one
incident and two of every identifier. The wording around the clauses varies with the seed.
"""

from __future__ import annotations

import random
import tomllib
from dataclasses import dataclass
from importlib.resources import files
from typing import Final

from evenkeel.simulate.recognition import Details, SideDetails
from evenkeel.simulate.topics import TOPICS, Topic

INSTRUCTIONS: Final = (
    "Summarise the support case below for the engineer on the next shift. Name the main problem, "
    "the key events and the resolution, quote identifiers exactly as they are written, and add "
    "nothing that the case does not say."
)
"""Task of `summary_prompt`."""

# Stock sentences and parts of names.
_STOCK: Final = tomllib.loads(files(__package__).joinpath("cases.toml").read_text("utf-8"))
_YEAR: Final = 2026
# Factor: by the end at least this many times as many people were affected.
_SPREAD: Final = 3


@dataclass(frozen=True, slots=True)
class SupportCase:
    """A support case and what it was made from."""

    seed: int
    topic: Topic
    details: Details
    text: str
    """120 to 200 words in four paragraphs."""


def make_case(seed: int) -> SupportCase:
    """The support case of a seed; the same seed always gives the same case.

    Two seeds give different texts, barring a collision of ten random identifiers.
    """
    rng = random.Random(seed)
    topic = rng.choice(TOPICS)
    details = _make_details(rng)
    slots = _slots(details)
    asides = rng.sample(_STOCK["asides"], 2)
    first, second = topic.first, topic.second

    def stock(name: str) -> str:
        return str(rng.choice(_STOCK[name]))

    paragraphs = (
        f"{stock('openings')} {_sentence(first.problem)} {stock('first_seen')} {asides[0]}",
        f"There is more: {second.problem}. {stock('second_seen')} {asides[1]}",
        f"What happened: at {{time_a}} {first.event}. Later, at {{time_b}}, {second.event}.",
        (
            f"How it was resolved: following article {{article}}, {first.fix}. Under change {{change}}, "
            f"{second.fix}. {stock('closings')}"
        ),
    )
    # Slots are filled last: the stock sentences hold some of their own.
    text = "\n\n".join(paragraphs).format_map(slots)
    return SupportCase(seed=seed, topic=topic, details=details, text=text)


def summary_prompt(case: SupportCase) -> str:
    """Write what an application would send as the user message: instructions, then the case."""
    return f"{INSTRUCTIONS}\n\n{case.text}"


def _sentence(clause: str) -> str:
    return f"{clause[0].upper()}{clause[1:]}."


def _make_details(rng: random.Random) -> Details:
    """Random identifiers, the first side's before the second side's in the order of `read_details`."""
    hosts: list[str] = []
    for site in rng.sample(_STOCK["sites"], 2):
        hosts.append(f"{site}-{rng.choice(_STOCK['roles'])}-{rng.randrange(1, 100):02d}")
    # The smaller value is the first side's, as `read_details` reads them back.
    host_a, host_b = sorted(hosts)
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
