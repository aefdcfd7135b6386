"""How well templates are told from input, and how soon an edit of one is noticed.

Run from the root of the repository: python -m benchmarks.templates [--seed 1] [--edits 12]

For each of ten made-up routes, 50 requests each: precision and recall of the characters labelled
template, the worst request from the 20th on and the mean of them; how many of the sampled one-word edits were
reported as a new version and after how many requests; versions seen in 500 requests without an edit
(1 is right); and the time to observe and classify a request. With the public data beside the
repository the fields are also filled from it.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import random
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.template_routes import ROUTES, fill, made_up, prose, with_word, word_places
from evenkeel.shadow.prompt.template import TemplateLearner

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from benchmarks.template_routes import Filled, Route
    from evenkeel.shadow.prompt.segments import Block

    Values = Callable[[random.Random], dict[str, str]]

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
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
    with gzip.open(DATA / "mt_bench" / "en_question.jsonl.gz", "rt", encoding="utf-8") as file:
        questions = [json.loads(line)["turns"] for line in file]
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
