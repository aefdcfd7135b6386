"""Closeness in meaning as something to wait for: an encoder of this machine, or an endpoint's."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from evenkeel.core.budget import Spend
    from evenkeel.core.pair import Pair
    from evenkeel.core.verdict import Failure
    from evenkeel.metrics.similarity.embeddings import Embeddings

_GATHER_S = 0.005
_MOST_PAIRS = 32


@dataclass(frozen=True, slots=True)
class Measured:
    """A score that may have cost something."""

    outcome: float | Failure
    """A ratio in [0, 1], or why there is none."""
    tokens: int = 0
    """Spent on it, also if it failed."""
    cost_usd: float = 0.0


class Meaning(Protocol):
    """How close two answers are in meaning. Belongs to one event loop."""

    @property
    def encoder(self) -> str:
        """The model whose vectors are compared: scores of two encoders are on two scales."""
        ...

    def on_scale(self, pair: Pair) -> bool:
        """Whether cut-offs on the score mean anything for this pair."""
        ...

    def expense(self, texts_chars: int) -> Spend:
        """Upper estimate of what one measurement costs, by the characters of both answers together."""
        ...

    async def measure(self, pair: Pair) -> Measured:
        """The score of a pair; a `Failure` for whatever a model or a network can do."""
        ...


def endpoint_encoder(model: str) -> str:
    """Name of the encoder that a model behind an endpoint is."""
    return f"{model} (endpoint)"


class PairBatches:
    """Gives pairs that arrive at about the same time to one call.

    A batch is what has gathered within some milliseconds, or while all calls that may be under way
    are.
    """

    def __init__(
        self,
        measure_all: Callable[[Sequence[Pair]], Awaitable[Sequence[Measured]]],
        *,
        at_once: int = 1,
        most_pairs: int = _MOST_PAIRS,
        gather_s: float = _GATHER_S,
    ) -> None:
        """Set the sizes; nothing is called.

        Args:
            measure_all: Measures several pairs, in their order.
            at_once: Calls under way together.
            most_pairs: Pairs in a call; an encoder reads two texts for each.
            gather_s: How long the first pair waits for others, in seconds.
        """
        self._measure_all = measure_all
        self._at_once = at_once
        self._most_pairs = most_pairs
        self._gather_s = gather_s
        self._waiting: list[tuple[Pair, asyncio.Future[Measured]]] = []
        self._calls: set[asyncio.Task[None]] = set()

    async def measure(self, pair: Pair) -> Measured:
        """What the call says of this pair. Raises what the call raises."""
        future: asyncio.Future[Measured] = asyncio.get_running_loop().create_future()
        self._waiting.append((pair, future))
        if len(self._calls) < self._at_once:
            call = asyncio.create_task(self._work())
            self._calls.add(call)
            call.add_done_callback(self._calls.discard)
        return await future

    async def _work(self) -> None:
        while self._waiting:
            if len(self._waiting) < self._most_pairs:
                await asyncio.sleep(self._gather_s)
            batch, self._waiting = self._waiting[: self._most_pairs], self._waiting[self._most_pairs :]
            # Whoever was cancelled meanwhile needs no score.
            batch = [(pair, future) for pair, future in batch if not future.done()]
            if batch:
                await self._call(batch)

    async def _call(self, batch: Sequence[tuple[Pair, asyncio.Future[Measured]]]) -> None:
        try:
            found = await self._measure_all([pair for pair, _ in batch])
            for (_, future), measured in zip(batch, found, strict=True):
                if not future.done():
                    future.set_result(measured)
        except Exception as error:  # noqa: BLE001 - handed on to those who wait
            for _, future in batch:
                if not future.done():
                    future.set_exception(error)
        finally:
            for _, future in batch:
                future.cancel()  # of those who still wait, when the loop is closing; else without effect


class EncoderMeaning:
    """The local encoder, off the loop, with the pairs of all who wait in one batch."""

    def __init__(self, embeddings: Embeddings, *, gather_s: float = _GATHER_S) -> None:
        """Put a wait around an encoder.

        Args:
            embeddings: What encodes.
            gather_s: How long the first pair waits for others, in seconds.
        """
        self._embeddings = embeddings
        # One call at a time: a second thread would only take the processor from the first.
        self._batches = PairBatches(self._in_a_thread, gather_s=gather_s)

    @property
    def encoder(self) -> str:
        """The encoder's name."""
        return self._embeddings.encoder

    def on_scale(self, pair: Pair) -> bool:
        """Not for texts in a language the encoder does not know."""
        return self._embeddings.on_scale(pair)

    def expense(self, texts_chars: int) -> Spend:
        """Nothing."""
        return self._embeddings.expense(texts_chars)

    async def measure(self, pair: Pair) -> Measured:
        """What `Embeddings.score` gives."""
        return await self._batches.measure(pair)

    async def _in_a_thread(self, pairs: Sequence[Pair]) -> list[Measured]:
        return [Measured(score) for score in await asyncio.to_thread(self._embeddings.score_all, pairs)]
