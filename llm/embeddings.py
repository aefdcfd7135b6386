"""An OpenAI-compatible `/embeddings` on the wire: texts sent, vectors or a fault back, and the price."""

from __future__ import annotations

import asyncio
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

from evenkeel.core.budget import Spend
from evenkeel.llm.client import Calls, bounded_client
from evenkeel.llm.faults import Fault, fault
from evenkeel.llm.limits import RateLimits
from evenkeel.llm.observer import UNOBSERVED, CallResult, ModelCall, result_of
from evenkeel.llm.price import Price, free

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from evenkeel.llm.limits import Breaker
    from evenkeel.llm.observer import CallObserver
    from evenkeel.metrics.similarity.vectors import Vector

_LEAST_BYTES_PER_TOKEN = 2
"""Ordinary text of any script, code and digits need fewer tokens than one for two bytes."""
_CHARS_PER_TOKEN = 4
"""Usual for English; only used where the endpoint reports no usage."""


@dataclass(frozen=True, slots=True)
class Embedded:
    """What came of some texts."""

    vectors: list[Vector] | Fault
    """One for each text, of one length, finite and not zero; or why there are none."""
    tokens: int = 0
    """As the endpoint reports them, also for vectors that cannot be used; else estimated."""
    cost_usd: float = 0.0


class EmbeddingsClient:
    """A model behind any OpenAI-compatible endpoint that has `/embeddings`.

    At most `concurrency` calls are under way, at the pace of `limits`. 408, 409, 429, 5xx, timeouts and
    lost connections are tried again; an endpoint that keeps failing is left alone for a while.

    Belongs to one event loop. Close it, or use it as an async context manager.
    """

    def __init__(
        self,
        *,
        base_url: str,
        model: str,
        api_key: str,
        timeout_s: float = 30.0,
        max_retries: int = 2,
        concurrency: int = 4,
        breaker: Breaker | None = None,
        price: Price = free,
        limits: RateLimits | None = None,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        observer: CallObserver = UNOBSERVED,
    ) -> None:
        """Build the client; nothing is sent.

        Args:
            base_url: Up to and including the version, e.g. "https://api.openai.com/v1".
            model: Model name as the endpoint knows it.
            api_key: Sent as a bearer token. "" for endpoints that need none.
            timeout_s: Limit for each attempt as a whole, in seconds.
            max_retries: Attempts after the first, with growing pauses.
            concurrency: Calls under way at the same time.
            breaker: Default: opens for 30 s after five failures in a row.
            price: Cost of the tokens; default free.
            limits: Requests and tokens a minute. Default: none but what `Retry-After` asks for.
            sleep: Waits so many seconds between attempts of one call.
            observer: Told of each attempt.
        """
        self.model = model
        self.concurrency = concurrency
        self._api_key = api_key
        self._base_url = base_url
        self._observer = observer
        self._client = bounded_client(base_url=base_url, api_key=api_key, timeout_s=timeout_s)
        self._timeout_s = timeout_s
        self._price = price
        self._limits = limits or RateLimits()
        self._calls = Calls(
            concurrency=concurrency,
            max_retries=max_retries,
            breaker=breaker,
            limits=self._limits,
            sleep=sleep,
        )

    def __repr__(self) -> str:
        return f"EmbeddingsClient(model={self.model!r}, host={self._client.base_url.host!r})"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections. Calls under way fail."""
        await self._client.close()

    def expense(self, texts_chars: int) -> Spend:
        """What texts of so many characters cost at most: a token each, as Chinese or Japanese may need."""
        return Spend(texts_chars, self._price(self.model, texts_chars, 0))

    async def embed(self, texts: Sequence[str]) -> Embedded:
        """The texts' vectors.

        Returns: vectors, or a `Fault` with a reason: "timeout", "connection", "rate_limited",
            "unauthorized", "server_error" (after the retries); "bad_request"; "bad_schema" (no usable
            vectors; the tokens are counted all the same); "circuit_open" (not asked). Never raises for
            any of these.
        """

        async def send(expected: int) -> Embedded | Fault:
            return await self._send(texts, expected)

        expected = sum(len(text.encode("utf-8", "replace")) // _LEAST_BYTES_PER_TOKEN + 1 for text in texts)
        got = await self._calls.make(send, lambda: expected)
        if isinstance(got, Fault):
            return Embedded(got)
        return replace(got, cost_usd=self._price(self.model, got.tokens, 0))

    async def _send(self, texts: Sequence[str], expected: int) -> Embedded | Fault:
        with self._observer.call(ModelCall("embeddings", "embeddings", self.model, self._base_url)) as report:
            reply = await self._reply(texts, report.headers)
            report.ended(CallResult(failure=reply.reason) if isinstance(reply, Fault) else result_of(reply))
        if isinstance(reply, Fault):
            return reply
        tokens = _reported(reply) or sum(map(len, texts)) // _CHARS_PER_TOKEN + 1
        self._limits.count(0, tokens - expected)
        try:
            return Embedded(_vectors(reply, len(texts)), tokens)
        except ValueError as error:
            return Embedded(Fault("bad_schema", str(error)), tokens)

    async def _reply(self, texts: Sequence[str], headers: Mapping[str, str]) -> object:
        """What the endpoint says, as the SDK hands it on, or a `Fault`."""
        # The SDK's limit is on each silence: an endpoint that drips bytes never meets it.
        try:
            async with asyncio.timeout(self._timeout_s):
                return await self._client.embeddings.create(
                    model=self.model, input=list(texts), encoding_format="float", extra_headers=headers
                )
        except TimeoutError:
            return Fault("timeout", f"No complete reply within {self._timeout_s:g} s.", passing=True)
        except Exception as error:  # noqa: BLE001 - named boundary: any endpoint, any SDK error
            return fault(error, self._api_key)


def _vectors(reply: object, texts: int) -> list[Vector]:
    """The vectors in the texts' order. The SDK does not check its objects: any field can be missing or odd.

    Raises:
        ValueError: They cannot be used; the message says why.
    """
    data = getattr(reply, "data", None)
    if not isinstance(data, list) or len(data) != texts:
        raise ValueError("The endpoint's reply has not one vector for each text.")
    by_index: dict[object, object] = {
        getattr(item, "index", None): getattr(item, "embedding", None) for item in data
    }
    vectors = [_checked(by_index.get(index)) for index in range(texts)]
    if len({len(vector) for vector in vectors}) > 1:
        raise ValueError("The vectors of one reply have different lengths.")
    return vectors


def _checked(vector: object) -> Vector:
    if not isinstance(vector, list) or not all(isinstance(x, (int, float)) for x in vector):
        raise ValueError("An embedding is not a list of numbers.")
    if not math.isfinite(math.hypot(*vector)) or not any(vector):
        raise ValueError("An embedding is empty, not finite, or zero.")
    return vector


def _reported(reply: object) -> int:
    """Tokens as the endpoint reports them, 0 if it does not or reports something else."""
    tokens = getattr(getattr(reply, "usage", None), "prompt_tokens", 0)
    return tokens if isinstance(tokens, int) and tokens > 0 else 0
