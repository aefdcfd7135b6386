"""The judge's endpoint on the wire: one question sent, and again without what the endpoint rejects."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import openai
from openai.types.chat import ChatCompletion

from evenkeel.llm.client import bounded_client
from evenkeel.llm.faults import Fault, fault
from evenkeel.llm.observer import UNOBSERVED, CallResult, ModelCall, Said, result_of
from evenkeel.metrics.judge.endpoint import Accepted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from evenkeel.llm.observer import CallObserver
    from evenkeel.metrics.judge.prompts import Question

_SEED = 7
"""Any fixed number: it only asks the endpoint to answer the same question the same way."""


class Wire:
    """A client of an OpenAI-compatible endpoint that never raises for what the endpoint does.

    Asks for structured output, temperature 0 and a fixed seed, and does without what was rejected before.
    """

    def __init__(
        self,
        *,
        base_url: str,
        model: str,
        api_key: str,
        timeout_s: float,
        observer: CallObserver = UNOBSERVED,
    ) -> None:
        self.base_url = base_url
        self._observer = observer
        self._model = model
        self._api_key = api_key
        self._client = bounded_client(base_url=base_url, api_key=api_key, timeout_s=timeout_s)
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
        call = ModelCall(
            "judge",
            "chat",
            self._model,
            self.base_url,
            prompt=question.prompt_version,
            content=lambda: [Said(one.role, one.content) for one in question.messages],
        )
        with self._observer.call(call) as report:
            got = await self._in_time(question, vote, limit_s, repeated, report.headers)
            report.ended(CallResult(failure=got.reason) if isinstance(got, Fault) else result_of(got))
        return got

    async def _in_time(
        self,
        question: Question,
        vote: int,
        limit_s: float,
        repeated: Callable[[], None],
        headers: Mapping[str, str],
    ) -> ChatCompletion | Fault:
        # The SDK's limit is on each silence: an endpoint that drips bytes never meets it.
        try:
            async with asyncio.timeout(limit_s):
                return await self._negotiate(question, vote, repeated, headers)
        except TimeoutError:
            return Fault("timeout", f"No complete reply within {limit_s:g} s.", passing=True)

    async def _negotiate(
        self, question: Question, vote: int, repeated: Callable[[], None], headers: Mapping[str, str]
    ) -> ChatCompletion | Fault:
        accepted: Accepted | None = self._accepted
        rejected: Fault | None = None
        while accepted is not None:
            if rejected:
                repeated()
            try:
                options = accepted.parameters(_SEED + vote, question.scale)
                completion = await self._send(question, options, headers)
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

    async def _send(
        self, question: Question, options: dict[str, Any], headers: Mapping[str, str]
    ) -> ChatCompletion:
        messages: list[Any] = [{"role": m.role, "content": m.content} for m in question.messages]
        completion: object = await self._client.chat.completions.create(
            model=self._model, messages=messages, extra_headers=headers, **options
        )
        if not isinstance(completion, ChatCompletion):
            # The SDK hands a body that is not declared as JSON through as text.
            raise TypeError("the endpoint's reply is not a chat completion")
        return completion
