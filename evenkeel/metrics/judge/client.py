"""Calls to a judge: each takes a question and returns a ruling or a failure, with its cost.

Rulings are cached by content: the same question to the same judge is paid for once.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
from typing import TYPE_CHECKING, Any, Final, Self
from weakref import WeakValueDictionary

from evenkeel.core.budget import SCORING_BUDGET
from evenkeel.core.tiers import SCORING_WAITS
from evenkeel.core.verdict import Failure
from evenkeel.llm.chat import ChatRequest
from evenkeel.llm.client import Model, ModelClient
from evenkeel.llm.faults import Fault
from evenkeel.llm.price import free
from evenkeel.metrics.judge.prompts import PROBE, reminded
from evenkeel.metrics.judge.reply import GroupReply, Reply, Ruling, read_ruling, read_rulings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.core.budget import CallBudget, Spend
    from evenkeel.core.cache import Cache
    from evenkeel.llm.chat import Completion
    from evenkeel.llm.price import Price
    from evenkeel.metrics.judge.prompts import Question


log = logging.getLogger("evenkeel.judge")


def ruling_key(endpoint: str, model: str, question: Question, vote: int = 0) -> str:
    """Return the cache key of a ruling: the SHA-256, in hex, of everything that decides it.

    The order of the texts is part of the question's messages, so swapped sides have a key of their own.

    Args:
        endpoint: Base URL, since two servers may use one model name.
        model: Name of the judge.
        question: Prompt, version, scale and the texts.
        vote: Number of this call among several on the same question; each has its own key.
    """
    messages = []
    for message in question.messages:
        messages.append([message.role, message.content])
    content = [endpoint, model, question.prompt_version, list(question.scale), messages, vote]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


# Arbitrary but fixed: servers that honour seeds then repeat their answers.
_SEED: Final = 7
LONGEST_CHARS: Final = 300_000
"""Most characters of a question, about 75,000 tokens of English."""
# Failures that a reminder of the reply format may cure. A refusal is final.
_REPAIRABLE: Final = frozenset({"empty", "bad_schema", "out_of_scale"})


class Endpoint(ModelClient):
    """Model behind an OpenAI-compatible server, for use without a proxy; see `docs/api.md`."""

    def __init__(
        self, *, base_url: str, model: str, api_key: str = "", timeout_s: float = 60.0, price: Price = free
    ) -> None:
        """Build the client; nothing is sent.

        Args:
            base_url: Up to and including the version, e.g. "https://api.openai.com/v1".
            model: Name as the server knows it.
            api_key: Sent as a bearer token. "" for servers that need none.
            timeout_s: Limit for each attempt as a whole.
            price: Cost of the tokens; default free.
        """
        served = Model(base_url=base_url, name=model, api_key=api_key, timeout_s=timeout_s)
        super().__init__(served, price=price)


class Judge:
    """Model behind a `ModelClient` that is asked for ratings.

    Requests structured output, temperature 0 and a fixed seed, and drops those that the endpoint rejects.

    Belongs to one event loop. Close it, or use it as an async context manager.
    """

    def __init__(
        self,
        endpoint: ModelClient,
        *,
        cache: Cache | None = None,
        repairs: int = 0,
        longest_chars: int = LONGEST_CHARS,
        flex: bool = False,
    ) -> None:
        """Wire it; nothing is sent.

        Args:
            endpoint: Endpoint of the model; closed with the judge.
            cache: Cache of rulings, never of failures. Default: none.
            repairs: Most retries after an unreadable reply, each with a reminder of the reply format.
            longest_chars: Most characters of a question; a longer one fails as "too_long" and is not sent.
            flex: True to use the endpoint's flex tier for questions that can wait.
        """
        self._endpoint = endpoint
        self._longest_chars = longest_chars
        self._cache = cache
        self._cache_failed = False
        self._repairs = repairs
        self._flex = flex
        self._asking: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def __repr__(self) -> str:
        return f"Judge({self._endpoint!r})"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections. Calls under way fail."""
        await self._endpoint.close()

    @property
    def model(self) -> str:
        """Name of the model as the endpoint knows it."""
        return self._endpoint.model

    def expense(self, prompt_tokens: int, *, calls: int = 1) -> Spend:
        """Return the cost of calls with that many prompt tokens each and the longest usual replies."""
        return self._endpoint.usual_spend(prompt_tokens).times(calls)

    async def ask(
        self, question: Question, *, vote: int = 0, fresh: bool = False, budget: CallBudget | None = None
    ) -> Reply:
        """Ask one question.

        Args:
            question: Question to ask.
            vote: Number of this call among several on the same question. Each has its own cache entry, and
                its own seed if the endpoint takes seeds.
            fresh: Neither read nor write the cache, to measure the judge's own noise.
            budget: Reserves each request before it is sent and books its cost. Default: the budget of the
                pair that is being scored.

        Returns: a reply whose outcome is a `Ruling`, or a `Failure` named after the prompt. Its reason is one
            of `ModelClient.chat`, "too_long" for a question over the limit, or, if a reply has no usable
            rating, "refused", "empty", "bad_schema", "out_of_scale" or "truncated"; the tokens of such a
            reply are counted. Never raises for any of these.
        """
        if fault := self._too_long(question):
            return self._reply(question, fault)
        budget = budget or SCORING_BUDGET.get()
        if fresh or self._cache is None:
            return await self._asked(question, vote, budget)
        key = ruling_key(self._endpoint.base_url, self.model, question, vote)
        # Concurrent calls with the same question, as for pairs that share a reference, wait for one answer.
        async with self._asking.setdefault(key, asyncio.Lock()):
            remembered = await self._recalled(key)
            if remembered is not None:
                return Reply(remembered, prompt_version=question.prompt_version, cached=True)
            reply = await self._asked(question, vote, budget)
            if isinstance(reply.outcome, Ruling):
                await self._keep(key, reply.outcome)
        return reply

    async def _asked(self, question: Question, vote: int, budget: CallBudget | None) -> Reply:
        """Send a question and return the reply; retry with a reminder of the format if it cannot be read."""
        reply = self._reply(question, await self._chat(question, vote, budget))
        for _ in range(self._repairs):
            if isinstance(reply.outcome, Ruling) or reply.outcome.reason not in _REPAIRABLE:
                break
            # The price includes the unreadable reply.
            again = reminded(question)
            reply = self._reply(again, await self._chat(again, vote, budget)).plus(reply)
        return reply

    async def ask_group(self, question: Question) -> GroupReply:
        """Ask one question about several pairs.

        Args:
            question: Question made by `Prompt.fill_group`.
            budget: As for `ask`.

        Returns: an outcome for each pair: a ruling, or a `Failure` "missing" or one that `ask` has. If the
            call itself fails, a single `Failure` that `ask` has. Neither is retried.
        """
        got = self._too_long(question) or await self._chat(question, 0, SCORING_BUDGET.get())
        if isinstance(got, Fault):
            return GroupReply(_failure(question, got))
        assert question.pairs is not None
        read = (
            got.text
            if isinstance(got.text, Fault)
            else read_rulings(got.text, question.pairs, question.scale)
        )
        outcome = (
            _failure(question, read)
            if isinstance(read, Fault)
            else [_failure(question, ruling) if isinstance(ruling, Fault) else ruling for ruling in read]
        )
        return GroupReply(outcome, self._endpoint.cost(got))

    async def remembers(self, question: Question, *, vote: int = 0) -> bool:
        """Return whether a vote on a question is cached, so that asking it costs nothing."""
        key = ruling_key(self._endpoint.base_url, self.model, question, vote)
        return await self._recalled(key) is not None

    async def remember(self, question: Question, ruling: Ruling) -> None:
        """Cache a ruling as the first vote on a question."""
        await self._keep(ruling_key(self._endpoint.base_url, self.model, question), ruling)

    async def _recalled(self, key: str) -> Ruling | None:
        if self._cache is None:
            return None
        try:
            body = await asyncio.to_thread(self._cache.get, key)
            return None if body is None else Ruling(*json.loads(body))
        except Exception as error:  # noqa: BLE001 - named boundary: a cache must not stop the judging
            self._note(error)
            return None

    async def _keep(self, key: str, ruling: Ruling) -> None:
        if self._cache is None:
            return
        body = json.dumps([ruling.rating, ruling.explanation, ruling.initial]).encode()
        try:
            await asyncio.to_thread(self._cache.put, key, body)
        except Exception as error:  # noqa: BLE001 - named boundary: a cache must not stop the judging
            self._note(error)

    def _note(self, error: Exception) -> None:
        if not self._cache_failed:
            self._cache_failed = True
            log.warning("the judge's cache fails (%s: %s); judging goes on", type(error).__name__, error)

    def _too_long(self, question: Question) -> Fault | None:
        if question.chars <= self._longest_chars:
            return None
        most = self._longest_chars
        return Fault("too_long", f"Not asked: {question.chars} characters are more than {most}.")

    async def _chat(self, question: Question, vote: int, budget: CallBudget | None) -> Completion | Fault:
        request = _request(question, vote, flex=self._flex and SCORING_WAITS.get())
        return await self._endpoint.chat(request, budget=budget, canary=_KNOWN)

    @property
    def pause_left_s(self) -> float:
        """Seconds for which the endpoint wants no calls; 0 if it accepts them."""
        return self._endpoint.pause_left_s

    async def check(self) -> Failure | None:
        """Ask a trivial question once, without retries, to see whether the judge is usable.

        Uses neither breaker nor cache, and sends nothing while the endpoint wants a pause.

        Returns: None if it answered with a rating, or no budget is left to ask, else the `Failure`, as `ask`
            gives it.
        """
        outcome = (await self.probe()).outcome
        return outcome if isinstance(outcome, Failure) and outcome.reason != "budget" else None

    async def probe(self) -> Reply:
        """Ask the trivial question of `check`; the right rating is `prompts.KNOWN_RATING`."""
        return self._reply(_KNOWN_QUESTION, await self._endpoint.probe(_KNOWN))

    def _reply(self, question: Question, got: Completion | Fault) -> Reply:
        if isinstance(got, Fault):
            return Reply(_failure(question, got), prompt_version=question.prompt_version)
        read = got.text if isinstance(got.text, Fault) else read_ruling(got.text, question.scale)
        return Reply(
            _failure(question, read) if isinstance(read, Fault) else read,
            self._endpoint.cost(got),
            question.prompt_version,
        )


def _request(question: Question, vote: int, *, flex: bool = False) -> ChatRequest:
    return ChatRequest(
        "judge",
        question.messages,
        prompt=question.prompt_version,
        seed=_SEED + vote,
        schema=ruling_schema(question.scale, question.pairs),
        answers=question.pairs or 1,
        flex=flex,
    )


_KNOWN_QUESTION: Final = PROBE.fill(
    {"FIRST TEXT": "The ferry leaves at noon.", "SECOND TEXT": "At noon the ferry leaves."}
)


def ruling_schema(scale: Sequence[int], pairs: int | None = None) -> dict[str, Any]:
    """Return the JSON schema of a ruling on this scale; with `pairs`, of the rulings on that many pairs."""
    # The reason comes first, so that the rating is written after it.
    members = {"explanation": {"type": "string"}, "rating": {"type": "integer", "enum": list(scale)}}
    if pairs is None:
        return _strict(members)
    numbered = {"pair": {"type": "integer", "enum": list(range(1, pairs + 1))}}
    return _strict({"ratings": {"type": "array", "items": _strict(numbered | members)}})


def _strict(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


# Every healthy judge answers this trivial question. So it tells a failing judge from a refused question.
_KNOWN: Final = _request(_KNOWN_QUESTION, 0)


def _failure(question: Question, fault: Fault) -> Failure:
    return Failure(question.prompt, question.version, fault.reason, fault.detail)
