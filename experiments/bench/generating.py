"""The body of `evenkeel bench generate`."""

from __future__ import annotations

import asyncio
import json
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from evenkeel import __version__
from evenkeel.core.figures import number, usd
from evenkeel.core.verdict import Failure
from evenkeel.experiments.bench.arguments import STOPPED
from evenkeel.experiments.bench.generate import requests, write_item
from evenkeel.experiments.bench.models import model_at
from evenkeel.experiments.bench.reading import ItemError, builtin_items, read_items, written
from evenkeel.experiments.calibrate.progress import stage
from evenkeel.experiments.kit.terminal import confirmation, plain_console, price
from evenkeel.llm.budget import Prices, estimate_tokens
from evenkeel.settings import SettingsError
from evenkeel.shadow.replay import Replayer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from rich.console import Console

    from evenkeel.experiments.bench.items import Item
    from evenkeel.experiments.bench.models import ModelUnderTest

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
    if not may(f"about {number(calls)} calls to {model.name}, {said}"):
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
