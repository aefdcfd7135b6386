"""Requests through the proxy, made of seeded cases: the same seed asks the same questions."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import httpx2

from benchmarks.live_changes.deployment import MODEL, NotMeasured
from evenkeel.simulate import make_prompt

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_AT_ONCE: Final = 6
_TIMEOUT_S: Final = 60


@dataclass(frozen=True, slots=True)
class Manner:
    """How an application asks at one time."""

    tasks: Mapping[str, float]
    """Share of each task among its requests; they add up to 1."""
    model: str = MODEL
    version: str = "p1"
    """What it says about its prompt; "" = nothing."""
    system: str = ""
    """Said before the task's own prompt."""
    every: int = 1
    """It asks about every so-many-th case."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request of one route."""

    route: str
    body: dict[str, object]
    headers: dict[str, str]


def requests_of(manners: Mapping[str, Manner], numbers: range, seed: int) -> list[Request]:
    """The requests of all routes, in turns.

    Args:
        manners: by route.
        numbers: of the cases.
        seed: chooses the tasks and the cases.
    """
    found = []
    for number in numbers:
        for route, manner in manners.items():
            if number % manner.every:
                continue
            rng = random.Random(f"{seed} {route} {number}")
            (task,) = rng.choices(list(manner.tasks), list(manner.tasks.values()))
            messages = make_prompt(task, rng.getrandbits(48))
            if manner.system:
                messages = [{"role": "system", "content": manner.system}, *messages]
            headers = {"x-evenkeel-prompt-version": manner.version} if manner.version else {}
            found.append(Request(route, {"model": manner.model, "messages": messages}, headers))
    return found


def send(proxy: str, requests: Sequence[Request]) -> None:
    """Send them, some at a time, and wait for all answers.

    Raises:
        NotMeasured: if one is not answered with success.
    """
    with (
        httpx2.Client(base_url=proxy, timeout=_TIMEOUT_S) as client,
        ThreadPoolExecutor(_AT_ONCE) as pool,
    ):

        def one(request: Request) -> None:
            path = f"/{request.route}/v1/chat/completions"
            status = client.post(path, json=request.body, headers=request.headers).status_code
            if status != httpx2.codes.OK:
                raise NotMeasured(f"{path} was answered with {status}")

        for _ in pool.map(one, requests):
            pass
