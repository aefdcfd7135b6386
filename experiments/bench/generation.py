"""More issues, written by a model; only those that are complete and new are taken."""

from __future__ import annotations

import asyncio
import json
import random
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click
from rapidfuzz import fuzz

from evenkeel import __version__
from evenkeel.core.figures import number, usd
from evenkeel.core.verdict import Failure
from evenkeel.experiments.bench.arguments import STOPPED
from evenkeel.experiments.bench.items import DOCUMENTS, ItemError, builtin_items, item_of, read_items, written
from evenkeel.experiments.bench.models import model_at
from evenkeel.experiments.calibrate.progress import stage
from evenkeel.experiments.kit.arguments import price
from evenkeel.experiments.kit.confirmation import NotConfirmedError, confirmation
from evenkeel.experiments.kit.terminal import plain_console
from evenkeel.llm.price import Prices, estimate_tokens
from evenkeel.settings import SettingsError
from evenkeel.shadow.replay import Replayer

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from rich.console import Console

    from evenkeel.experiments.bench.items import Item
    from evenkeel.experiments.bench.models import ModelUnderTest


ATTEMPTS: Final = 3
"""Calls for one issue; from the second on the model is told what was wrong."""
_LEAST_TURNS: Final = 4
_LEAST_WORDS: Final = 60
_SAME_ISSUE: Final = 85
_SAME_CASE: Final = 80
"""Likeness by words, of 100, from which an issue is taken to be there already."""
_FENCE: Final = re.compile(r"\A\s*```[a-z]*\n(.*)\n```\s*\Z", re.DOTALL)
_SLUG: Final = re.compile(r"[^a-z0-9]+")

_SUBJECTS: Final = (
    "networks and remote access", "printing", "mail and calendars", "sign-in and accounts",
    "storage and backup", "business software", "web sites", "databases", "telephony",
    "computers and screens", "mobile devices",
    "production and warehouse", "software development", "payments and tills", "sensors and buildings",
    "certificates and encryption", "reports and data", "licences", "updates and patches", "meeting rooms",
)  # fmt: skip
_CAUSES: Final = (
    "a setting lost in an update", "a limit that was reached", "two systems that disagree",
    "an account or certificate that ran out", "a change made at the wrong place",
    "a device exchanged for another",
    "load at certain times", "an automatic job that failed unnoticed", "a misunderstanding between teams",
)  # fmt: skip

_REQUEST: Final = """\
Write one realistic support case about {about}, as JSON. Subject: {subject}. Cause: {cause}.

The object has exactly these keys:
- "issue": the problem in one line
- "case": 100 to 160 words for the service desk: what fails and for whom, what was tried in which order, the \
cause, the solution or what is open. Give times, numbers, names of devices and error messages.
- "chat": a chat on the same case between the user and one agent, 6 to 12 turns, one line each, like \
"09:14 Name: text"
- "question": a question that somebody else with this problem would ask
- "documents": {documents} objects with "title" and "text" (30 to 60 words each); the first two together \
answer the question, the others are from the same knowledge base but do not
- "message": what the user first wrote, 40 to 70 words
- "schema": 6 to 8 objects with "name" (snake_case), "type" ("string", "number" or "choice"), "description", \
and for a choice "choices"
- "entities": an object with the slots of the schema that the message fills; leave at least one slot out. \
Copy values word for word from the message, choices apart

Invent all names; no real people or companies. Reply with the JSON object and nothing else."""

_AGAIN: Final = """\
That could not be used: {fault}. Write the whole object again with this put right, and nothing else."""


class Written(NamedTuple):
    """What came of asking for one issue."""

    item: Item | None
    fault: str
    """Why there is none, "" if there is."""


def requests(count: int, about: str, rng: random.Random) -> list[str]:
    """Prompts for so many issues, each on another pair of subject and cause as long as there are any."""
    pairs = [(subject, cause) for subject in _SUBJECTS for cause in _CAUSES]
    drawn: list[tuple[str, str]] = []
    while len(drawn) < count:
        drawn += rng.sample(pairs, min(len(pairs), count - len(drawn)))
    return [
        _REQUEST.format(about=about, subject=subject, cause=cause, documents=DOCUMENTS)
        for subject, cause in drawn
    ]


async def write_item(
    say: Callable[[list[dict[str, str]]], Awaitable[str | None]], request: str, known: Sequence[Item]
) -> Written:
    """One issue, checked; asked for again with what was wrong, up to three times in all.

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
            return Written(None, "no answer")
        found = read_written(text)
        if isinstance(found, str):
            fault = found
        else:
            fault = fault_of(found) or _likeness(found, known)
            if not fault:
                return Written(_named(found, known), "")
        messages += [
            {"role": "assistant", "content": text},
            {"role": "user", "content": _AGAIN.format(fault=fault)},
        ]
    return Written(None, fault)


def read_written(text: str) -> Item | str:
    """The issue that a model wrote, with an id made of its title; or what is wrong with it."""
    fenced = _FENCE.match(text)
    try:
        row = json.loads(fenced[1] if fenced else text)
    except ValueError:
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
_KEY_ENV = "EVENKEEL_SHADOW_API_KEY"


def run_from_command_line(given: Mapping[str, Any], *, confirmed: bool) -> int:
    """Write issues as the options say.

    Returns: the exit code: 0 if all were written, else 1.
    Raises: SettingsError for options and files that cannot be used.
    """
    err = plain_console(stderr=True)
    target: Path = given["target"]
    if not target.absolute().parent.is_dir() or target.is_dir():
        raise SettingsError(f"--out {target}: is no file in a folder that exists")
    model = model_at(
        given["model"],
        given["base_url"],
        key_env=given["api_key_env"] or _KEY_ENV,
        key_header="authorization",
        parameters={},
    )
    try:
        known = [*builtin_items(), *(read_items([target]) if _holds_any(target) else ())]
    except ItemError as error:
        raise SettingsError(str(error)) from error
    prices = Prices({} if given["price"] is None else {given["model"]: price(given["price"])})
    rng = random.Random(f"{given['seed']}:{len(known)}:generate")
    wanted = requests(given["count"], given["about"] or ABOUT, rng)
    calls = round(_CALLS_EACH * len(wanted))
    cost = calls * prices.usd(model.model, estimate_tokens(wanted[0]), _ITEM_TOKENS)
    said = f"about {usd(cost)}" if cost else "no public price known"
    may = confirmation(confirmed=confirmed, in_pipelines=True)
    try:
        may(f"about {number(calls)} calls to {model.name}, {said}")
    except NotConfirmedError:
        click.echo("evenkeel: nothing was asked", err=True)
        return STOPPED
    writing = Writing(model, prices, most_usd=given["max_usd"])
    faults = asyncio.run(_write(writing, wanted, known, target, given["concurrency"], given["timeout"], err))
    click.echo(
        f"{number(len(wanted) - len(faults))} of {number(len(wanted))} issues written to {target}, "
        f"{usd(writing.usd)}"
    )
    for fault in dict.fromkeys(faults):
        click.echo(f"left out, {number(faults.count(fault))}: {fault}", err=True)
    return STOPPED if faults else 0


@dataclass(slots=True)
class Writing:
    """Who writes, and what that has cost."""

    model: ModelUnderTest
    prices: Prices
    most_usd: float | None = None
    usd: float = 0.0

    async def say(self, replayer: Replayer, messages: list[dict[str, str]]) -> str | None:
        """The model's text; None if it gives none, or may not be paid for any more."""
        if self.most_usd is not None and self.usd >= self.most_usd:
            return None
        body = json.dumps({"model": self.model.model, "messages": messages}).encode()
        outcome = await replayer.send(self.model.target, body)
        if isinstance(outcome, Failure):
            return None
        answer = outcome.answer
        asked = answer.prompt_tokens or sum(estimate_tokens(one["content"]) for one in messages)
        said = answer.completion_tokens or estimate_tokens(answer.text)
        self.usd += self.prices.usd(self.model.model, asked, said)
        return answer.text


async def _write(
    writing: Writing,
    wanted: Sequence[str],
    known: list[Item],
    target: Path,
    concurrency: int,
    timeout_s: float,
    err: Console,
) -> list[str]:
    """Why issues are missing, one reason for each."""
    replayer = Replayer(concurrency=concurrency, timeout_s=timeout_s, user_agent=f"evenkeel/{__version__}")
    waiting = iter(wanted)
    faults: list[str] = []

    async def say(messages: list[dict[str, str]]) -> str | None:
        return await writing.say(replayer, messages)

    with stage("writing", "issues", len(wanted), err) as told:

        async def work(add: Callable[[], None]) -> None:
            for request in waiting:
                found = await write_item(say, request, known)
                if found.item is None:
                    faults.append(found.fault)
                else:
                    # At once: a stopped run keeps what it paid for, and the next issue is held against it.
                    known.append(found.item)
                    with target.open("a", encoding="utf-8") as file:
                        file.write(written(found.item) + "\n")
                add()

        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(concurrency):
                    group.create_task(work(told.add))
        finally:
            await replayer.close()
    return faults


def _holds_any(path: Path) -> bool:
    return path.exists() and bool(path.read_bytes().strip())
