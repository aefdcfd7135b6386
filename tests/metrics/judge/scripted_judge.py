"""A judge that asks a scripted server."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from evenkeel.core.pair import Answer, Pair
from evenkeel.metrics.judge import Judge
from evenkeel.metrics.judge.prompts import SIMILARITY
from tests.llm import scripted
from tests.llm.scripted import KEY, Canned, Scripted, endpoint_of, said, serving

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from tests.llm.scripted import Script

PAIR = Pair(Answer("The VPN is down."), Answer("The VPN does not work."), "")
QUESTION = SIMILARITY.fill({"REFERENCE ANSWER": PAIR.reference.text, "CANDIDATE ANSWER": PAIR.candidate.text})


def error(status: int, message: str = "scripted", **canned: Any) -> Canned:
    """An error of a server that wants no pause worth mentioning."""
    return scripted.error(status, message, **({"headers": ("retry-after-ms: 1",)} | canned))


def rated(rating: int, explanation: str = "because") -> Canned:
    """A completion in due form."""
    return said(json.dumps({"explanation": explanation, "rating": rating}))


GOOD = rated(3, "the same")


def judge_at(url: str, *, cache: Any = None, repairs: int = 0, flex: bool = False, **settings: Any) -> Judge:
    """A judge behind an address."""
    endpoint = endpoint_of(base_url=url, **({"model": "scripted", "api_key": KEY} | settings))
    return Judge(endpoint, cache=cache, repairs=repairs, flex=flex)


@asynccontextmanager
async def judging(script: Script, **settings: Any) -> AsyncIterator[tuple[Judge, Scripted]]:
    """A judge connected to a scripted server; both are stopped at the end."""
    async with serving(script) as server:
        settings = {"timeout_s": 5.0, "max_retries": 0} | settings
        async with judge_at(server.url, **settings) as judge:
            yield judge, server


def ask(script: list[Canned], times: int = 1, **settings: Any) -> tuple[list[Any], Scripted]:
    """Replies to one question asked some times in a row."""

    async def scene(judge: Judge, server: Scripted) -> tuple[list[Any], Scripted]:
        return [await judge.ask(QUESTION) for _ in range(times)], server

    result: tuple[list[Any], Scripted] = run(script, scene, **settings)
    return result


def run(script: Any, scene: Callable[[Judge, Scripted], Awaitable[Any]], **settings: Any) -> Any:
    async def staged() -> Any:
        async with judging(script, **settings) as (judge, server):
            return await scene(judge, server)

    return asyncio.run(staged())
