"""How well templates are told from input, and how soon an edit of one is noticed.

    python -m benchmarks.templates [--seed 1] [--edits 12]

For each of ten made-up routes (`templates.toml`), whose templates are known word by word, 50 requests each:
precision and recall of the characters labelled template, the worst request from the 20th on and the mean of
them; how many of the sampled one-word edits were reported as a new version and after how many requests;
versions seen in 500 requests without an edit (1 is right); and the time to observe and classify a request.
With the public data beside the repository the fields are also filled from it.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import random
import re
import time
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from evenkeel.shadow.prompt.segments import SlotText
from evenkeel.shadow.prompt.template import TemplateLearner
from tests.kit.public import DATA
from tests.kit.recorded import rows_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from evenkeel.shadow.prompt.segments import Block

    Values = Callable[[random.Random], dict[str, str]]


_ARTICLE_SHARE: Final = 0.3
"""Of the documents, that are known articles."""
_SMALL_TALK_SHARE: Final = 0.1
"""Of the questions, that ask nothing."""
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
        values[field] = rng.choice(articles) if articles and rng.random() < _ARTICLE_SHARE else prose(rng, 5)
    values["question"] = (
        rng.choice(("hello", "thanks")) if rng.random() < _SMALL_TALK_SHARE else question(rng)
    )
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


_FROM = 20
_SETTLED = 40
"""Requests before an edit."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """Characters labelled template against those that are."""

    precision: float
    recall: float


def agreement(filled: Filled, blocks: Sequence[Sequence[Block]]) -> Agreement:
    """Precision and recall over all slots of a request; 1 where nothing is to be found."""
    hits = labelled = right = 0
    for truth, cut in zip(filled.template, blocks, strict=True):
        at = 0
        for block in cut:
            marks = truth[at : at + len(block.text)]
            at += len(block.text)
            right += sum(marks)
            if block.kind == "template":
                labelled += len(marks)
                hits += sum(marks)
    return Agreement(hits / labelled if labelled else 1.0, hits / right if right else 1.0)


def labelling(route: Route, values: Values, rng: random.Random, requests: int = 50) -> list[Agreement]:
    """Agreement of each request from the 20th on, classified after it was observed."""
    learner = TemplateLearner()
    found: list[Agreement] = []
    for number in range(1, requests + 1):
        filled = fill(route, values(rng))
        learner.observe(route.name, filled.slots, str(number))
        if number >= _FROM:
            found.append(agreement(filled, learner.classifier(route.name)(filled.slots)))
    return found


@dataclass(frozen=True, slots=True)
class Noticed:
    """What followed an edit."""

    after: int | None
    """Requests with the edit until another version was reported; None if none was."""
    changes: int
    """How often the reported version changed in all requests after the edit; 1 is right."""


def edit(route: Route, edited: Route, values: Values, rng: random.Random, after: int = 25) -> Noticed:
    """Send requests of a route, then of its edited form."""
    learner = TemplateLearner()
    last = reported(route, values, rng, _SETTLED, learner)[-1]
    names = reported(edited, values, rng, after, learner, begin=_SETTLED)
    changes, noticed = 0, None
    for number, name in enumerate(names, 1):
        if name != last:
            changes += 1
            noticed = noticed or number
            last = name
    return Noticed(noticed, changes)


def unchanged(route: Route, values: Values, rng: random.Random, requests: int = 500) -> int:
    """How many different versions are reported for a template that never changes."""
    return len({name for name in reported(route, values, rng, requests) if name is not None})


def reported(
    route: Route,
    values: Values,
    rng: random.Random,
    count: int,
    learner: TemplateLearner | None = None,
    begin: int = 0,
) -> list[str | None]:
    """The fingerprint reported for each of some requests, None while it is unknown."""
    learner = learner or TemplateLearner()
    names: list[str | None] = []
    for number in range(begin, begin + count):
        slots = fill(route, values(rng)).slots
        learner.observe("route", slots, str(number))
        version = learner.version("route", slots)
        names.append(version.fingerprint if version else None)
    return names


def milliseconds(route: Route, values: Values, rng: random.Random, requests: int = 60) -> tuple[float, float]:
    """Time to observe and classify a request, from the 20th on, and characters of a request; means."""
    learner = TemplateLearner()
    spent, size = 0.0, 0
    for number in range(requests):
        slots = fill(route, values(rng)).slots
        begun = time.perf_counter()
        learner.observe("route", slots, str(number))
        learner.classifier("route")(slots)
        if number >= _FROM:
            spent += time.perf_counter() - begun
            size += sum(len(slot.text) for slot in slots)
    counted = requests - _FROM
    return 1e3 * spent / counted, size / counted


def from_articles(rng: random.Random) -> Values:
    """Made-up values whose documents come from a small knowledge base three times in ten."""
    articles = [prose(rng, 6) for _ in range(3)]
    return lambda chance: made_up(chance, articles)


def from_data() -> Values | None:
    """Values from the public data; None where it is absent."""
    if not DATA.is_dir():
        return None
    with gzip.open(DATA / "it_tickets" / "soba101_500_tickets.csv.gz", "rt", encoding="utf-8") as file:
        tickets = list(csv.DictReader(file))
    questions = [row["turns"] for row in rows_of("mt_bench/en_question.jsonl.gz")]
    chats = [
        text.splitlines() for path in sorted((DATA / "ubuntu_irc").rglob("*.txt*")) if (text := _read(path))
    ]
    intents = json.loads((DATA / "pbss" / "prompts.json").read_text(encoding="utf-8"))
    phrasings = [text for text in _strings(intents) if text.count(" ") > 2]  # noqa: PLR2004 - no names

    def values(chance: random.Random) -> dict[str, str]:
        filled = made_up(chance)
        for field in ("issue", "notes", "letter", "doc1", "doc2", "doc3", "doc4", "answer"):
            ticket = chance.choice(tickets)
            filled[field] = chance.choice((ticket["description"], ticket["resolution"]))
        turns = chance.choice(questions)
        filled["text"], filled["follow_up"] = turns[0], turns[-1]
        filled["question"] = chance.choice(phrasings)
        filled["review"] = chance.choice(tickets)["short_description"]
        chat = chance.choice(chats)
        start = chance.randrange(max(len(chat) - 30, 1))
        filled["chat"] = "\n".join(chat[start : start + chance.randint(5, 30)])
        return filled

    return values


def _read(path: Path) -> str:
    if path.suffix == ".gz":
        with gzip.open(path, "rt", encoding="utf-8", errors="replace") as file:
            return file.read()
    return path.read_text(encoding="utf-8", errors="replace")


def _strings(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for one in inner for text in _strings(one)]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Templates told from input, edits noticed.")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--edits", type=int, default=12, help="one-word edits per route; 0 for every word")
    parser.add_argument("--requests", type=int, default=500, help="requests without an edit")
    options = parser.parse_args()
    sources = {"made up": from_articles(random.Random(options.seed))}
    data = from_data()
    if data is None:
        print("The public data is absent: made-up values only.")
    else:
        sources["public data"] = data
    for name, values in sources.items():
        print(f"\nfields filled from: {name}")
        print(
            f"{'route':28} {'precision':>14} {'recall':>14} {'edits':>9} {'after':>6} {'once':>5}"
            f" {'versions':>8} {'ms':>6} {'chars':>6}"
        )
        for route in ROUTES:
            print(_row(route, values, options.seed, options.edits, options.requests), flush=True)


def _row(route: Route, values: Values, seed: int, edits: int, requests: int) -> str:
    rng = random.Random(f"{seed} {route.name}")
    found = labelling(route, values, rng)
    precisions, recalls = [one.precision for one in found], [one.recall for one in found]
    places = word_places(route)
    chosen = places if edits == 0 else rng.sample(places, min(edits, len(places)))
    noticed = [edit(route, with_word(route, place, "altered"), values, rng) for place in chosen]
    in_time = [one for one in noticed if one.after is not None and one.after <= 5]  # noqa: PLR2004 - requests
    slowest = max((one.after or 0 for one in noticed), default=0)
    once = sum(one.changes == 1 for one in noticed)
    spent, size = milliseconds(route, values, rng)
    return (
        f"{route.name:28} {min(precisions):6.3f} ({sum(precisions) / len(found):5.3f})"
        f" {min(recalls):6.3f} ({sum(recalls) / len(found):5.3f})"
        f" {len(in_time):4}/{len(noticed):<4} {slowest:6} {once:5}"
        f" {unchanged(route, values, rng, requests):8}"
        f" {spent:6.2f} {size:6.0f}"
    )


if __name__ == "__main__":
    main()
