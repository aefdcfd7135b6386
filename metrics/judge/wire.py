"""The judge's endpoint on the wire: one question sent, and again without what the endpoint rejects."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import openai
from openai.types.chat import ChatCompletion

from metrics.judge.endpoint import Accepted
from metrics.judge.faults import Fault, fault

if TYPE_CHECKING:
    from collections.abc import Callable

    from metrics.judge.prompts import Question

_SEED = 7
"""Any fixed number: it only asks the endpoint to answer the same question the same way."""


class Wire:
    """A client of an OpenAI-compatible endpoint that never raises for what the endpoint does.

    Asks for structured output, temperature 0 and a fixed seed, and does without what was rejected before.
    """

    def __init__(self, *, base_url: str, model: str, api_key: str, timeout_s: float) -> None:
        self.base_url = base_url
        self._model = model
        self._api_key = api_key
        # The SDK falls back to an environment variable for None and insists on some value. It must
        # not retry by itself: nobody else would learn of a 429.
        self._client = openai.AsyncOpenAI(
            base_url=base_url, api_key=api_key or "none", timeout=timeout_s, max_retries=0
        )
        self._accepted = Accepted()

    @property
    def host(self) -> str:
        """Name of the endpoint's host."""
        return self._client.base_url.host

    async def close(self) -> None:
        """Close the connections. Calls under way fail."""
        await self._client.close()

    async def complete(
        self, question: Question, vote: int, limit_s: float, repeated: Callable[[], None]
    ) -> ChatCompletion | Fault:
        """The completion, leaving out what the endpoint rejects; what worked is remembered.

        Args:
            question: What is asked.
            vote: Number of the call among several on the same question; each has another seed.
            limit_s: For all of it, in seconds.
            repeated: Called before each request after the first.
        """
        # The SDK's limit is on each silence: an endpoint that drips bytes never meets it.
        try:
            async with asyncio.timeout(limit_s):
                return await self._negotiate(question, vote, repeated)
        except TimeoutError:
            return Fault("timeout", f"No complete reply within {limit_s:g} s.", passing=True)

    async def _negotiate(
        self, question: Question, vote: int, repeated: Callable[[], None]
    ) -> ChatCompletion | Fault:
        accepted: Accepted | None = self._accepted
        rejected: Fault | None = None
        while accepted is not None:
            if rejected:
                repeated()
            try:
                completion = await self._send(question, accepted.parameters(_SEED + vote, question.scale))
            except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
                rejected = fault(error, self._api_key)
                accepted = accepted.after(str(error))
            except Exception as error:  # noqa: BLE001 - named boundary: any endpoint, any SDK error
                return fault(error, self._api_key)
            else:
                self._accepted = accepted
                return completion
        assert rejected is not None
        return rejected

    async def _send(self, question: Question, options: dict[str, Any]) -> ChatCompletion:
        messages: list[Any] = [{"role": m.role, "content": m.content} for m in question.messages]
        completion: object = await self._client.chat.completions.create(
            model=self._model, messages=messages, **options
        )
        if not isinstance(completion, ChatCompletion):
            # The SDK hands a body that is not declared as JSON through as text.
            raise TypeError("the endpoint's reply is not a chat completion")
        return completion
