"""More issues, written by a model; only those that are complete and new are taken."""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from rapidfuzz import fuzz

from evenkeel.core.figures import number, usd
from evenkeel.core.verdict import Failure
from evenkeel.core.version import VERSION
from evenkeel.lab.bench.items import DOCUMENTS, ItemError, builtin_items, item_of, read_items, written
from evenkeel.llm.price import Prices, estimate_tokens
from evenkeel.release.kit.asking import work_through
from evenkeel.release.kit.progress import progress
from evenkeel.shadow.replay import Replayer

if TYPE_CHECKING:
    import random
    from collections.abc import Awaitable, Callable, Iterable, Sequence
    from pathlib import Path

    from rich.console import Console

    from evenkeel.lab.bench.items import Item
    from evenkeel.lab.bench.models import ModelUnderTest


ATTEMPTS: Final = 3
"""Calls for one issue; from the second on the model reads what was wrong."""
_LEAST_TURNS: Final = 4
_LEAST_WORDS: Final = 60
_SAME_ISSUE: Final = 85
_SAME_CASE: Final = 80
"""Likeness by words, of 100, from which an issue is taken to be there already."""
_FENCE: Final = re.compile(r"\A\s*```[a-z]*\n(.*)\n```\s*\Z", re.DOTALL)
_SLUG: Final = re.compile(r"[^a-z0-9]+")


_WORDS: Final[dict[str, Any]] = tomllib.loads(
    files(__package__).joinpath("generation.toml").read_text("utf-8")
)


def requests(count: int, about: str, rng: random.Random) -> list[str]:
    """Prompts for so many issues, each on another pair of subject and cause as long as there are any."""
    pairs = [(subject, cause) for subject in _WORDS["subjects"] for cause in _WORDS["causes"]]
    drawn: list[tuple[str, str]] = []
    while len(drawn) < count:
        drawn += rng.sample(pairs, min(len(pairs), count - len(drawn)))
    return [
        _WORDS["request"].format(about=about, subject=subject, cause=cause, documents=DOCUMENTS)
        for subject, cause in drawn
    ]


async def write_item(
    say: Callable[[list[dict[str, str]]], Awaitable[str | None]], request: str, known: Sequence[Item]
) -> Item | str:
    """One checked issue, or why there is none; asked for up to three times, each with what was wrong.

    Args:
        say: Messages → the model's text, None if it gave none.
        request: One of `requests`.
        known: Issues that it must not resemble; may grow meanwhile.
    """
    messages = [{"role": "user", "content": request}]
    fault = "no answer"
    for _ in range(ATTEMPTS):
        text = await say(messages)
        if text is None:
            return "no answer"
        found = read_written(text)
        if isinstance(found, str):
            fault = found
        else:
            fault = fault_of(found) or _likeness(found, known)
            if not fault:
                return _named(found, known)
        messages += [
            {"role": "assistant", "content": text},
            {"role": "user", "content": _WORDS["again"].format(fault=fault)},
        ]
    return fault


def read_written(text: str) -> Item | str:
    """The issue that a model wrote, with an id made of its title; or what is wrong with it."""
    fenced = _FENCE.match(text)
    try:
        row = json.loads(fenced[1] if fenced else text)
    except (ValueError, RecursionError):
        return "it is not a JSON object"
    if not isinstance(row, dict):
        return "it is not a JSON object"
    row["id"] = _slug(str(row.get("issue", ""))) or "issue"
    try:
        return item_of(json.dumps(row), "the object")
    except ItemError as error:
        return str(error)


def fault_of(item: Item) -> str:
    """What speaks against an issue whose fields are all there, "" if nothing does."""
    turns = [line for line in item.chat.splitlines() if ":" in line]
    if len(turns) < _LEAST_TURNS:
        return f'the field "chat" has {len(turns)} turns, which is too few'
    words = len(item.case.split())
    if words < _LEAST_WORDS:
        return f'the field "case" has {words} words, which is too few'
    if len({document.text for document in item.documents}) < DOCUMENTS:
        return "two of the documents are the same"
    message = item.message.lower()
    for slot in item.slots:
        value = item.entities.get(slot.name)
        if value is None or slot.choices:
            continue
        if f"{value}".lower().lstrip("-") not in message:
            return f'the message does not hold the value of "{slot.name}" word for word'
    if len(item.entities) == len(item.slots):
        return "the message fills every slot; one at least must be left out"
    return ""


def resembles(item: Item, known: Iterable[Item]) -> Item | None:
    """The first issue that says nearly the same; None if it is new."""
    for other in known:
        alike = fuzz.token_set_ratio(item.issue.lower(), other.issue.lower()) >= _SAME_ISSUE
        if alike or fuzz.token_set_ratio(item.case.lower(), other.case.lower()) >= _SAME_CASE:
            return other
    return None


def _likeness(item: Item, known: Sequence[Item]) -> str:
    other = resembles(item, known)
    return f'there is one like it already ("{other.issue}"); choose another problem' if other else ""


def _named(item: Item, known: Sequence[Item]) -> Item:
    """The issue with an id that no other one has."""
    taken = {other.id for other in known}
    number, name = 2, item.id
    while name in taken:
        name = f"{item.id}-{number}"
        number += 1
    return item.model_copy(update={"id": name})


def _slug(text: str) -> str:
    return "-".join(_SLUG.sub(" ", text.lower()).split()[:8])[:60]


ABOUT = "the IT of an organisation"
_ITEM_TOKENS = 1_500
"""Usual length of an issue."""
_CALLS_EACH = 1.3
"""Usual number of calls for one, those after a fault included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is to be written."""

    model: ModelUnderTest
    """Who writes."""
    prices: Prices
    requests: Sequence[str]
    known: Sequence[Item]
    """Issues that new ones must not resemble."""
    target: Path
    """Issues are appended to it."""
    most_usd: float | None
    concurrency: int
    timeout_s: float

    @property
    def cost(self) -> str:
        """What it may cost, by rule of thumb."""
        calls = round(_CALLS_EACH * len(self.requests))
        usd_each = self.prices.usd(self.model.model, estimate_tokens(self.requests[0]), _ITEM_TOKENS)
        said = f"about {usd(calls * usd_each)}" if usd_each else "no public price known"
        return f"about {number(calls)} calls to {self.model.name}, {said}"


class WrittenIssues(NamedTuple):
    """What came of it."""

    faults: list[str]
    """Why issues are missing, one reason for each."""
    usd: float


def known_issues(target: Path) -> list[Item]:
    """The issues that come along, and those that are in a file already.

    Raises: ItemError.
    """
    there = target.exists() and bool(target.read_bytes().strip())
    return [*builtin_items(), *(read_items([target]) if there else ())]


@dataclass(slots=True)
class Writing:
    """Who writes, and what that has cost."""

    replayer: Replayer
    model: ModelUnderTest
    prices: Prices
    most_usd: float | None = None
    usd: float = 0.0

    async def say(self, messages: list[dict[str, str]]) -> str | None:
        """The model's text; None if it gives none, or may not be paid for any more."""
        if self.most_usd is not None and self.usd >= self.most_usd:
            return None
        body = json.dumps({"model": self.model.model, "messages": messages}).encode()
        outcome = await self.replayer.send(self.model.target, body)
        if isinstance(outcome, Failure):
            return None
        answer = outcome.answer
        asked = answer.prompt_tokens or sum(estimate_tokens(one["content"]) for one in messages)
        said = answer.completion_tokens or estimate_tokens(answer.text)
        self.usd += self.prices.usd(self.model.model, asked, said)
        return answer.text


async def write_issues(wanted: Wanted, err: Console) -> WrittenIssues:
    """Have issues written, each appended to the file as soon as it is there."""
    replayer = Replayer(
        concurrency=wanted.concurrency, timeout_s=wanted.timeout_s, user_agent=f"evenkeel/{VERSION}"
    )
    writing = Writing(replayer, wanted.model, wanted.prices, wanted.most_usd)
    known, faults = list(wanted.known), list[str]()

    with progress("writing", "issues", len(wanted.requests), err) as made:

        async def one(request: str) -> None:
            found = await write_item(writing.say, request, known)
            if isinstance(found, str):
                faults.append(found)
            else:
                # At once: a stopped run keeps what it paid for, and the next issue is held against it.
                known.append(found)
                with wanted.target.open("a", encoding="utf-8") as file:
                    file.write(written(found) + "\n")
            made.add()

        try:
            await work_through(wanted.requests, one, concurrency=wanted.concurrency)
        finally:
            await replayer.close()
    return WrittenIssues(faults, writing.usd)
