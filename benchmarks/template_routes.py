"""Ten made-up routes whose templates are known word by word, and values to fill them with."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
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


_SUBJECTS: Final = (
    "the router", "our invoice", "my order", "the mobile app", "this printer", "a customer in Ghent",
    "the night shift", "the payment terminal", "her account", "the delivery van", "our website",
    "the spare battery", "the second monitor", "their contract", "the coffee machine", "a new colleague",
)  # fmt: skip
_VERBS: Final = (
    "stopped working", "arrived late", "shows an error", "was charged twice", "needs a reset",
    "lost its settings", "cannot be opened", "has been moved", "asks for a password", "makes a loud noise",
    "went missing", "was replaced", "overheats quickly", "is waiting for approval",
)  # fmt: skip
_TAILS: Final = (
    "since Monday", "after the update", "in the warehouse", "without any warning", "for the third time",
    "although nobody touched it", "when it rains", "before the weekend", "during the audit",
    "and nobody knows why", "as soon as it is plugged in", "on two floors", "at the counter",
)  # fmt: skip
_OPENINGS: Final = (
    "", "", "", "Hello, ", "I noticed that ", "It seems ", "We found that ", "Please note: ", "Yesterday ",
    "To be clear, ", "As far as I can tell ", "Once more, ",
)  # fmt: skip
_NAMES: Final = ("Mara", "Jonas", "Aiko", "Pedro", "Lien", "Farid", "Greta", "Tomas", "Ines", "Olu")
_PRODUCTS: Final = ("HomeHub", "PayDesk", "RouteOne", "Lumo lamp", "FleetView", "CareLine")
_TIERS: Final = ("gold", "gold", "gold", "silver", "silver", "bronze")
_CODE_NAMES: Final = (
    "total", "rows", "load_all", "parse", "price", "queue", "merge", "limit", "retry", "open_box",
)  # fmt: skip


def sentence(rng: random.Random) -> str:
    """One made-up sentence."""
    text = f"{rng.choice(_OPENINGS)}{rng.choice(_SUBJECTS)} {rng.choice(_VERBS)} {rng.choice(_TAILS)}"
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
    return f"{start} {rng.choice(_SUBJECTS)} {rng.choice(_VERBS)} {rng.choice(_TAILS)}?"


def transcript(rng: random.Random) -> str:
    """A made-up chat between two people, four to fourteen turns."""
    speakers = rng.choice((("Customer", "Agent"), ("Agent", "Customer")))
    return "\n".join(f"{speakers[turn % 2]}: {sentence(rng)}" for turn in range(rng.randint(4, 14)))


def code(rng: random.Random) -> str:
    """A made-up function."""
    name, other = rng.sample(_CODE_NAMES, 2)
    lines = [f"{rng.choice(('def', 'async def', 'def', 'class'))} {name}({other}, n={rng.randrange(100)}):"]
    for _ in range(rng.randint(2, 9)):
        left, right = rng.sample(_CODE_NAMES, 2)
        lines.append(f"    {left} = {right}({other}) {rng.choice('+-*/')} {rng.randrange(100)}")
    last = f"    {rng.choice(('return', 'return', 'yield', 'print'))} {rng.choice(_CODE_NAMES)}"
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
    values["name"] = rng.choice(_NAMES)
    values["product"] = rng.choice(_PRODUCTS)
    values["tier"] = rng.choice(_TIERS)
    values["date"] = f"2026-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}"
    values["chat"] = transcript(rng)
    values["code"] = code(rng)
    values["review"] = sentence(rng)
    values["number"] = str(rng.randrange(10_000, 99_999))
    return values


ROUTES: Final[tuple[Route, ...]] = (
    Route(
        "case summary",
        (
            (
                "user",
                (
                    "You write short summaries for the second line of support.\n\nTier: {{tier}}\n"
                    "Opened: {{date}}\nIssue: {{issue}}\n\nNotes of the first line:\n{{notes}}\n\n"
                    "Summarise the case so that an engineer knows what was tried and what is still open. "
                    "Do not guess causes.\nAnswer in at most three sentences."
                ),
            ),
        ),
        (0,),
    ),
    Route(
        "chat summary",
        (
            (
                "system",
                (
                    "You condense conversations between customers and agents. Keep names of products, "
                    "leave out greetings, and never add advice of your own."
                ),
            ),
            (
                "user",
                (
                    "Below is a chat from our help desk.\n\n{{chat}}\n\nWrite a summary of the chat in plain "
                    "language. Mention what the customer wanted and whether it was solved."
                ),
            ),
        ),
        (0, 1),
    ),
    Route(
        "questions on four documents",
        (
            (
                "user",
                (
                    "Use only the documents below to answer the question. If none of them holds the answer, "
                    "say that you do not know.\n\nDoc 1: {{doc1}}\n\nDoc 2: {{doc2}}\n\nDoc 3: {{doc3}}\n\n"
                    "Doc 4: {{doc4}}\n\nQuestion: {{question}}\n\nCite the number of each document you used "
                    "in square brackets."
                ),
            ),
        ),
        (0,),
    ),
    Route(
        "slot filling",
        (
            ("system", "You fill in forms for a repair shop. Today is {{date}}."),
            (
                "user",
                (
                    "Read the message and fill the slots.\n\nMessage from {{name}}: {{letter}}\n\n"
                    "Respond with a JSON object that follows this schema:\n"
                    '{\n  "device": "what is broken",\n  "since": "when it began, or null",\n'
                    '  "urgent": true,\n  "wishes": ["what the sender asks for"]\n}\n'
                    "Leave out slots the message says nothing about."
                ),
            ),
        ),
        (0, 1),
    ),
    Route(
        "system and user",
        (
            (
                "system",
                (
                    "You help {{name}} with {{product}} questions. Be friendly and brief, stay with what the "
                    "manual says, and offer a call with a technician when a fault could hurt somebody. Never "
                    "ask for passwords."
                ),
            ),
            ("user", "{{question}}"),
        ),
        (0,),
    ),
    Route(
        "few-shot classification",
        (
            (
                "user",
                (
                    "Decide whether a remark about our shop is praise, complaint or other.\n\n"
                    "Remark: The staff found my size in a minute.\nClass: praise\n\n"
                    "Remark: Two of the three plates came broken.\nClass: complaint\n\n"
                    "Remark: Do you sell gift cards?\nClass: other\n\n"
                    "Remark: {{review}}\nClass:"
                ),
            ),
        ),
        (0,),
    ),
    Route(
        "support chat",
        (
            (
                "system",
                (
                    "You are the assistant of a telephone company. Answer questions about tariffs, repairs "
                    "and moving house. When you are not sure, hand over to a person.\n"
                    "Customer number: {{number}}\nContract: {{tier}}"
                ),
            ),
            ("user", "{{earlier}}"),
            ("assistant", "{{answer}}"),
            ("user", "{{follow_up}}"),
        ),
        (0,),
    ),
    Route(
        "extraction with tags",
        (
            (
                "user",
                (
                    "<task>Find every person, place and date in the letter and say what role it plays."
                    "</task>\n<letter>\n{{letter}}\n</letter>\n<rules>\n"
                    "Copy names exactly as they are written.\nSkip names of streets.\n"
                    "Return one finding per line, the kind first, then a dash.\n</rules>"
                ),
            ),
        ),
        (0,),
    ),
    Route(
        "translation",
        (("user", "Translate the following text into formal Dutch and keep its line breaks:\n\n{{text}}"),),
        (0,),
    ),
    Route(
        "code review",
        (
            (
                "user",
                (
                    "Review this change to {{product}} as a careful colleague would.\n\n"
                    "```python\n{{code}}\n```\n\n"
                    "List problems by how much they matter:\n1. wrong results\n2. surprising names\n"
                    "3. missing tests\n\nAuthor's remark: {{review}}\nIf there is nothing to change, write "
                    "only the word fine."
                ),
            ),
        ),
        (0,),
    ),
)
"""Different layouts: one message and several, fields within lines, documents, tags, code, history."""
