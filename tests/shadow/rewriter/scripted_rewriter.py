"""A rewriter that asks scripted models, and what tests ask it."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import asynccontextmanager
from dataclasses import dataclass

from evenkeel.llm.limits import Pauses
from evenkeel.shadow.perturbations.protocol import RewriteTask
from evenkeel.shadow.rewriter import Rewriter
from tests.llm import scripted
from tests.llm.scripted import KEY, Clock, MemoryCache, Scripted, endpoint_of, serving

TEXT = "Our customer reports that the export of invoice INC-48213 fails, and she needs it within 3 hours."
TASK = RewriteTask("paraphrase", TEXT)
GOOD = "The client says that exporting invoice INC-48213 does not work; she must have it within 3 hours."
BETTER = "Exporting invoice INC-48213 is broken, says our client, who has to have it within 3 hours."


def said(content, **message):
    """A completion with this reply, and 300 + 30 tokens of usage."""
    return scripted.said(content, (300, 30), **message)


def wrote(text):
    """A completion with this text between its tags."""
    return said(f"Sure! <rewritten>\n{text}\n</rewritten> Anything else?")


class CountedBudget:
    """A budget with a limit."""

    def __init__(self, limit=10**9):
        self.limit = limit
        self.spent = 0
        self.reserved = 0
        self.open = 0

    def reserve(self, estimate):
        if self.spent + self.reserved + estimate.tokens > self.limit:
            return False
        self.reserved += estimate.tokens
        self.open += 1
        return True

    def settle(self, estimate, spent):
        self.reserved -= estimate.tokens
        self.open -= 1
        self.spent += spent.tokens


@dataclass
class Scene:
    """Everything a test looks at."""

    rewriter: Rewriter
    model: Scripted
    budget: CountedBudget
    counts: Counter[str]


@asynccontextmanager
async def staged(script, *, limit=10**9, cache=None, **settings):
    """A rewriter connected to scripted models; all are stopped at the end."""
    clock = Clock()
    shared = {"timeout_s": 5.0} | {
        name: settings.pop(name)
        for name in ("timeout_s", "concurrency", "breaker", "price")
        if name in settings
    }
    async with serving(script) as server:
        endpoint = endpoint_of(
            base_url=server.url,
            model="scripted",
            api_key=KEY,
            pauses=Pauses(clock=clock, sleep=clock.sleep),
            **shared,
        )
        counts = Counter()
        rewriter = Rewriter(
            endpoint,
            cache=cache or MemoryCache(),
            count=lambda outcome: counts.update([outcome]),
            **settings,
        )
        async with rewriter:
            yield Scene(rewriter, server, CountedBudget(limit), counts)


def play(script, *, task=TASK, act=None, **settings):
    """Return the outcome of a task, or of an act, and the scene afterwards; every reservation is settled."""

    async def run():
        async with staged(script, **settings) as scene:
            outcome = await (act(scene) if act else scene.rewriter.rewrite(task, scene.budget))
        assert scene.budget.open == 0
        assert scene.budget.reserved == 0
        return outcome, scene

    return asyncio.run(run())
