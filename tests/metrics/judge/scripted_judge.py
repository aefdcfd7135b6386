"""A judge that asks a scripted server."""

import asyncio
import json
from contextlib import asynccontextmanager

from evenkeel.core.pair import Answer, Pair
from evenkeel.metrics.judge import Judge
from evenkeel.metrics.judge.prompts import SIMILARITY
from tests.llm import scripted
from tests.llm.scripted import KEY, endpoint_of, said, serving

PAIR = Pair(Answer("The VPN is down."), Answer("The VPN does not work."), "")
QUESTION = SIMILARITY.fill({"REFERENCE ANSWER": PAIR.reference.text, "CANDIDATE ANSWER": PAIR.candidate.text})


def error(status, message="scripted", **canned):
    """An error of a server that wants no pause worth mentioning."""
    return scripted.error(status, message, **({"headers": ("retry-after-ms: 1",)} | canned))


def rated(rating, explanation="because"):
    """A completion in due form."""
    return said(json.dumps({"explanation": explanation, "rating": rating}))


GOOD = rated(3, "the same")


def judge_at(url, *, cache=None, repairs=0, flex=False, **settings):
    """A judge behind an address."""
    endpoint = endpoint_of(base_url=url, **({"model": "scripted", "api_key": KEY} | settings))
    return Judge(endpoint, cache=cache, repairs=repairs, flex=flex)


@asynccontextmanager
async def judging(script, **settings):
    """A judge connected to a scripted server; both are stopped at the end."""
    async with serving(script) as server:
        settings = {"timeout_s": 5.0, "max_retries": 0} | settings
        async with judge_at(server.url, **settings) as judge:
            yield judge, server


def ask(script, times=1, **settings):
    """Replies to one question asked some times in a row."""

    async def scene(judge, server):
        return [await judge.ask(QUESTION) for _ in range(times)], server

    return run(script, scene, **settings)


def run(script, scene, **settings):
    async def staged():
        async with judging(script, **settings) as (judge, server):
            return await scene(judge, server)

    return asyncio.run(staged())
