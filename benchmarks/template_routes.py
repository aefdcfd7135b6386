"""Ten made-up routes whose templates are known word by word, and values to fill them with."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from evenkeel.shadow.prompt.segments import SlotText

if TYPE_CHECKING:
    import random
    from collections.abc import Mapping, Sequence

_FIELD: Final = re.compile(r"\{\{(\w+)\}\}")
_WORD: Final = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Route:
    """A route's template: messages with `{{fields}}`."""

    name: str
    messages: tuple[tuple[str, str], ...]
    """Role and text. History and earlier turns are in it where the layout has them."""
    learned: tuple[int, ...]
    """Messages whose text outside the fields is template."""


@dataclass(frozen=True, slots=True)
class Filled:
    """One request of a route."""

    slots: tuple[SlotText, ...]
    template: tuple[tuple[bool, ...], ...]
    """For each character of each slot whether the template put it there."""


def fill(route: Route, values: Mapping[str, str]) -> Filled:
    """The request with each field replaced by its value; "" where there is none."""
    slots: list[SlotText] = []
    labels: list[tuple[bool, ...]] = []
    for number, (role, text) in enumerate(route.messages):
        pieces: list[str] = []
        marks: list[bool] = []
        for index, piece in enumerate(_FIELD.split(text)):
            is_field = index % 2 == 1
            shown = values.get(piece, "") if is_field else piece
            pieces.append(shown)
            marks += [not is_field and number in route.learned] * len(shown)
        slots.append(SlotText(role, "".join(pieces), number))
        labels.append(tuple(marks))
    return Filled(tuple(slots), tuple(labels))


def word_places(route: Route) -> list[tuple[int, int, int]]:
    """Message, start and end of each word of the template."""
    places: list[tuple[int, int, int]] = []
    for number in route.learned:
        text = route.messages[number][1]
        fields = [match.span() for match in _FIELD.finditer(text)]
        places += [
            (number, match.start(), match.end())
            for match in _WORD.finditer(text)
            if not any(start <= match.start() < end for start, end in fields)
        ]
    return places


def with_word(route: Route, place: tuple[int, int, int], word: str) -> Route:
    """The route with one word of its template replaced."""
    number, start, end = place
    messages = list(route.messages)
    role, text = messages[number]
    messages[number] = (role, text[:start] + word + text[end:])
    return replace(route, messages=tuple(messages))


_DATA: Final = tomllib.loads(Path(__file__).with_name("templates.toml").read_text(encoding="utf-8"))
_WORDS: Final[dict[str, list[str]]] = _DATA["words"]
ROUTES: Final = tuple(
    Route(one["name"], tuple((each["role"], each["text"]) for each in one["messages"]), tuple(one["learned"]))
    for one in _DATA["routes"]
)
"""Different layouts: one message and several, fields within lines, documents, tags, code, history."""


def _statement(rng: random.Random) -> str:
    return " ".join(rng.choice(_WORDS[part]) for part in ("subjects", "verbs", "tails"))


def sentence(rng: random.Random) -> str:
    """One made-up sentence."""
    text = rng.choice(_WORDS["openings"]) + _statement(rng)
    text += rng.choice((".", ".", ".", "!", f", ticket {rng.randrange(10_000, 99_999)}."))
    return text[0].upper() + text[1:]


def prose(rng: random.Random, most: int = 8) -> str:
    """A few sentences, sometimes in paragraphs."""
    parts = [sentence(rng) for _ in range(rng.randint(1, most))]
    return "".join(part + (rng.choice((" ", " ", " ", "\n", "\n\n"))) for part in parts).strip()


def question(rng: random.Random) -> str:
    """A made-up question."""
    starts = ("Why is it that", "What can I do when", "How long until", "Is it normal that", "Who knows if")
    start = rng.choice(starts)
    return f"{start} {_statement(rng)}?"


def transcript(rng: random.Random) -> str:
    """A made-up chat between two people, four to fourteen turns."""
    speakers = rng.choice((("Customer", "Agent"), ("Agent", "Customer")))
    return "\n".join(f"{speakers[turn % 2]}: {sentence(rng)}" for turn in range(rng.randint(4, 14)))


def code(rng: random.Random) -> str:
    """A made-up function."""
    name, other = rng.sample(_WORDS["code_names"], 2)
    lines = [f"{rng.choice(('def', 'async def', 'def', 'class'))} {name}({other}, n={rng.randrange(100)}):"]
    for _ in range(rng.randint(2, 9)):
        left, right = rng.sample(_WORDS["code_names"], 2)
        lines.append(f"    {left} = {right}({other}) {rng.choice('+-*/')} {rng.randrange(100)}")
    last = f"    {rng.choice(('return', 'return', 'yield', 'print'))} {rng.choice(_WORDS['code_names'])}"
    return "\n".join([*lines, last])


def made_up(rng: random.Random, articles: Sequence[str] = ()) -> dict[str, str]:
    """A value for every field that a route may have.

    Args:
        rng: Chooses.
        articles: Documents to choose from now and then, as a knowledge base gives the same ones again.
    """
    values = {field: prose(rng) for field in ("issue", "notes", "answer", "letter", "text", "earlier")}
    for field in ("doc1", "doc2", "doc3", "doc4"):
        values[field] = rng.choice(articles) if articles and rng.random() < 0.3 else prose(rng, 5)  # noqa: PLR2004 - a share
    values["question"] = rng.choice(("hello", "thanks")) if rng.random() < 0.1 else question(rng)  # noqa: PLR2004
    values["follow_up"] = question(rng)
    values["name"] = rng.choice(_WORDS["names"])
    values["product"] = rng.choice(_WORDS["products"])
    values["tier"] = rng.choice(_WORDS["tiers"])
    values["date"] = f"2026-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}"
    values["chat"] = transcript(rng)
    values["code"] = code(rng)
    values["review"] = sentence(rng)
    values["number"] = str(rng.randrange(10_000, 99_999))
    return values
