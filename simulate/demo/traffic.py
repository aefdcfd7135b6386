"""An application: support cases, summarised through the real openai SDK, half of them streamed."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import openai

from evenkeel.simulate import make_case, summary_prompt

if TYPE_CHECKING:
    from collections.abc import Callable

_AT_ONCE = 6


class Application:
    """Sends one request after the other to one route, a few at a time."""

    def __init__(self, base_url: str, model: str, first_seed: int) -> None:
        self._client = openai.AsyncOpenAI(base_url=base_url, api_key="demo", max_retries=0)
        self._model = model
        self._seed = first_seed
        self.sent = 0
        self.failed = 0

    async def send(self, count: int, *, progress: Callable[[], None] = lambda: None) -> None:
        """Send `count` requests and wait for all answers."""
        slots = asyncio.Semaphore(_AT_ONCE)

        async def one(seed: int) -> None:
            async with slots:
                try:
                    await self._ask(seed)
                except openai.OpenAIError:
                    self.failed += 1
                self.sent += 1
                progress()

        seeds = range(self._seed, self._seed + count)
        self._seed += count
        await asyncio.gather(*(one(seed) for seed in seeds))

    async def _ask(self, seed: int) -> None:
        prompt = summary_prompt(make_case(seed))
        if seed % 2:
            stream = await self._client.chat.completions.create(
                model=self._model, messages=[{"role": "user", "content": prompt}], stream=True
            )
            async for _ in stream:
                pass
        else:
            await self._client.chat.completions.create(
                model=self._model, messages=[{"role": "user", "content": prompt}]
            )

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()
