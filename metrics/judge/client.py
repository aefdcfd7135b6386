"""One call to a judge: a question in, a ruling or a failure out, and what it cost.

Rulings are remembered by content: the same question to the same judge need not be paid for twice.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
from typing import TYPE_CHECKING, Any, Final, Self

from evenkeel.core.budget import SCORING_BUDGET
from evenkeel.core.verdict import Failure
from evenkeel.llm.client import ChatRequest
from evenkeel.llm.faults import Fault
from evenkeel.metrics.judge.prompts import PROBE, reminded
from evenkeel.metrics.judge.reply import Reply, Ruling, read_ruling

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.core.budget import CallBudget, Spend
    from evenkeel.core.cache import Cache
    from evenkeel.llm.client import Completion, Endpoint
    from evenkeel.metrics.judge.prompts import Question


log = logging.getLogger("evenkeel.judge")


def ruling_key(endpoint: str, model: str, question: Question, vote: int = 0) -> str:
    """SHA-256, in hex, of everything that decides a ruling.

    The order of the texts is part of the question's messages, so swapped sides have a key of their own.

    Args:
        endpoint: base URL: two servers may use one model name.
        model: the judge.
        question: prompt, version, scale and the texts.
        vote: number of the call among several on the same question; each is remembered for itself.
    """
    messages = [[message.role, message.content] for message in question.messages]
    content = [endpoint, model, question.prompt_version, list(question.scale), messages, vote]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


class Rulings:
    """Remembers rulings, never failures, in a cache that may fail: faults are counted and do no harm."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self.faults = 0

    async def get(self, key: str) -> Ruling | None:
        """The ruling; None if there is none, or the cache cannot be read."""
        try:
            body = await asyncio.to_thread(self._cache.get, key)
            return None if body is None else Ruling(*json.loads(body))
        except Exception as error:  # noqa: BLE001 - named boundary: a cache must not stop the judging
            self._note(error)
            return None

    async def put(self, key: str, ruling: Ruling) -> None:
        """Remember a ruling if the cache can be written."""
        body = json.dumps([ruling.rating, ruling.explanation, ruling.initial]).encode()
        try:
            await asyncio.to_thread(self._cache.put, key, body)
        except Exception as error:  # noqa: BLE001 - named boundary: a cache must not stop the judging
            self._note(error)

    def _note(self, error: Exception) -> None:
        self.faults += 1
        if self.faults == 1:
            log.warning("the judge's cache fails (%s: %s); judging goes on", type(error).__name__, error)


_PROBE_TIMEOUT_S: Final = 15.0
_SEED: Final = 7
LONGEST_CHARS: Final = 300_000
"""Of a question. Some 75,000 tokens of English."""
_REPAIRABLE: Final = frozenset({"empty", "bad_schema", "out_of_scale"})
"""Odd replies that a reminder of the form may cure. A refusal is an answer."""


class Judge:
    """A model behind an `Endpoint`, asked for ratings.

    Asks for structured output, temperature 0 and a fixed seed, and does without what the endpoint
    rejects. Rulings may be remembered in a cache.

    Belongs to one event loop. Close it, or use it as an async context manager.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        cache: Cache | None = None,
        repairs: int = 0,
        longest_chars: int = LONGEST_CHARS,
    ) -> None:
        """Put questions to a model; nothing is sent.

        Args:
            endpoint: The model, closed with the judge.
            cache: Remembers rulings. Default: none.
            repairs: Times an unreadable reply is followed by the same question with a reminder of the form.
            longest_chars: A question with more characters is not asked: that fails as "too_long".
        """
        self._endpoint = endpoint
        self._longest_chars = longest_chars
        self._rulings = Rulings(cache) if cache is not None else None
        self._repairs = repairs

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
        """Model name as the endpoint knows it."""
        return self._endpoint.model

    def expense(self, prompt_tokens: int, *, calls: int = 1) -> Spend:
        """What some calls of so many prompt tokens cost, with replies as long as they usually are at most."""
        return self._endpoint.usual_spend(prompt_tokens).times(calls)

    async def ask(
        self, question: Question, *, vote: int = 0, fresh: bool = False, budget: CallBudget | None = None
    ) -> Reply:
        """Ask one question.

        Args:
            question: What is asked.
            vote: Number of the call among several on the same question: each has another seed, where
                the endpoint takes one, and is remembered for itself.
            fresh: Ask even if the ruling is remembered, and do not remember this one: for measuring the
                judge's own noise.
            budget: Reserves each request before it is sent and books what it cost. Default: that of whoever
                scores a pair now.

        Returns: a reply whose outcome is a `Ruling`, or a `Failure` named after the prompt with a reason of
            `Endpoint.chat` ("too_long" also for a question that is not asked for its length), or "refused",
            "empty", "bad_schema", "out_of_scale", "truncated" (a reply without a usable rating; tokens are
            counted all the same). Never raises for any of these.
        """
        chars = sum(len(one.content) for one in question.messages)
        if chars > self._longest_chars:
            fault = Fault("too_long", f"Not asked: {chars} characters are more than {self._longest_chars}.")
            return self._reply(question, fault)
        budget = budget or SCORING_BUDGET.get()
        key = ruling_key(self._endpoint.base_url, self.model, question, vote)
        rulings = None if fresh else self._rulings
        if rulings:
            remembered = await rulings.get(key)
            if remembered is not None:
                return Reply(remembered, prompt_version=question.prompt_version, cached=True)
        reply = self._reply(question, await self._chat(question, vote, budget))
        for _ in range(self._repairs):
            if isinstance(reply.outcome, Ruling) or reply.outcome.reason not in _REPAIRABLE:
                break
            # What was spent on the unreadable reply is part of the price.
            again = reminded(question)
            reply = self._reply(again, await self._chat(again, vote, budget)).plus(reply)
        if rulings and isinstance(reply.outcome, Ruling):
            await rulings.put(key, reply.outcome)
        return reply

    async def _chat(self, question: Question, vote: int, budget: CallBudget | None) -> Completion | Fault:
        return await self._endpoint.chat(_request(question, vote), budget=budget, canary=_KNOWN)

    @property
    def pause_left_s(self) -> float:
        """Seconds for which the endpoint wants to be left alone, 0 if it does not."""
        return self._endpoint.pause_left_s

    async def check(self) -> Failure | None:
        """Ask a trivial question once, without retries, to see whether the judge is usable.

        Returns: None if it answered with a rating, or no budget is left to ask, else the `Failure`, as `ask`
            gives it. Uses neither breaker nor cache; does not disturb an endpoint that asked for a pause.
        """
        outcome = (await self.known()).outcome
        return outcome if isinstance(outcome, Failure) and outcome.reason != "budget" else None

    async def known(self) -> Reply:
        """The reply to the trivial question of `check`; right is `prompts.KNOWN_RATING`."""
        return self._reply(_KNOWN_QUESTION, await self._endpoint.probe(_KNOWN, _PROBE_TIMEOUT_S))

    def _reply(self, question: Question, got: Completion | Fault) -> Reply:
        if isinstance(got, Fault):
            return Reply(_failure(question, got), prompt_version=question.prompt_version)
        read = got.text if isinstance(got.text, Fault) else read_ruling(got.text, question.scale)
        prompt_tokens, completion_tokens = got.prompt_tokens or 0, got.completion_tokens or 0
        return Reply(
            _failure(question, read) if isinstance(read, Fault) else read,
            prompt_tokens,
            completion_tokens,
            self._endpoint.spend(prompt_tokens, completion_tokens).usd,
            question.prompt_version,
        )


def _request(question: Question, vote: int) -> ChatRequest:
    return ChatRequest(
        "judge",
        question.messages,
        prompt=question.prompt_version,
        seed=_SEED + vote,
        schema=ruling_schema(question.scale),
    )


_KNOWN_QUESTION: Final = PROBE.fill(
    {"FIRST TEXT": "The ferry leaves at noon.", "SECOND TEXT": "At noon the ferry leaves."}
)


def ruling_schema(scale: Sequence[int]) -> dict[str, Any]:
    """JSON schema of a ruling on this scale."""
    return {
        "type": "object",
        "properties": {
            # The reason comes first, so that the rating is written after it.
            "explanation": {"type": "string"},
            "rating": {"type": "integer", "enum": list(scale)},
        },
        "required": ["explanation", "rating"],
        "additionalProperties": False,
    }


_KNOWN: Final = _request(_KNOWN_QUESTION, 0)
"""Small and answered by every judge in order: tells a failing judge from a question that it refuses."""


def _failure(question: Question, fault: Fault) -> Failure:
    return Failure(question.prompt, question.version, fault.reason, fault.detail)
