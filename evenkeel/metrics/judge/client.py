"""Calls to a judge: each takes a question and returns a ruling or a failure, with its cost.

Rulings are remembered by content: the same question to the same judge need not be paid for twice.
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
from evenkeel.llm.faults import Fault
from evenkeel.metrics.judge.prompts import PROBE, reminded
from evenkeel.metrics.judge.reply import GroupReply, Reply, Ruling, read_ruling, read_rulings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.core.budget import CallBudget, Spend
    from evenkeel.core.cache import Cache
    from evenkeel.llm.chat import Completion
    from evenkeel.llm.client import Endpoint
    from evenkeel.metrics.judge.prompts import Question


log = logging.getLogger("evenkeel.judge")


def ruling_key(endpoint: str, model: str, question: Question, vote: int = 0) -> str:
    """Return the SHA-256, in hex, of everything that decides a ruling.

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
    """Cache of rulings, never of failures. Faults of the store behind it are counted and do no harm."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self.faults = 0

    async def get(self, key: str) -> Ruling | None:
        """Return the ruling; None if there is none, or the cache cannot be read."""
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


# A judge in order answers the small question well within this.
_PROBE_TIMEOUT_S: Final = 15.0
# Any fixed number: with it, servers that heed seeds answer alike.
_SEED: Final = 7
LONGEST_CHARS: Final = 300_000
"""Characters of the longest question; some 75,000 tokens of English."""
# Reasons for unreadable replies that a reminder of the form may cure. A refusal is an answer.
_REPAIRABLE: Final = frozenset({"empty", "bad_schema", "out_of_scale"})


class Judge:
    """Judge: a model behind an `Endpoint`, asked for ratings.

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
        flex: bool = False,
    ) -> None:
        """Put questions to a model; nothing is sent.

        Args:
            endpoint: The model, closed with the judge.
            cache: Remembers rulings. Default: none.
            repairs: Times an unreadable reply is followed by the same question with a reminder of the form.
            longest_chars: A question with more characters is not asked: that fails as "too_long".
            flex: Whether what can wait is asked in the endpoint's flex tier.
        """
        self._endpoint = endpoint
        self._longest_chars = longest_chars
        self._rulings = Rulings(cache) if cache is not None else None
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
        """Return the cost of calls of so many prompt tokens, with the longest of usual replies."""
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
        if fault := self._too_long(question):
            return self._reply(question, fault)
        budget = budget or SCORING_BUDGET.get()
        if fresh or not self._rulings:
            return await self._asked(question, vote, budget)
        key = ruling_key(self._endpoint.base_url, self.model, question, vote)
        # Who asks the same at the same time, as about one reference in several pairs, waits for one answer.
        async with self._asking.setdefault(key, asyncio.Lock()):
            remembered = await self._rulings.get(key)
            if remembered is not None:
                return Reply(remembered, prompt_version=question.prompt_version, cached=True)
            reply = await self._asked(question, vote, budget)
            if isinstance(reply.outcome, Ruling):
                await self._rulings.put(key, reply.outcome)
        return reply

    async def _asked(self, question: Question, vote: int, budget: CallBudget | None) -> Reply:
        """Send a question and return the reply, with reminders of the form if it cannot be read."""
        reply = self._reply(question, await self._chat(question, vote, budget))
        for _ in range(self._repairs):
            if isinstance(reply.outcome, Ruling) or reply.outcome.reason not in _REPAIRABLE:
                break
            # What was spent on the unreadable reply is part of the price.
            again = reminded(question)
            reply = self._reply(again, await self._chat(again, vote, budget)).plus(reply)
        return reply

    async def ask_group(self, question: Question, *, budget: CallBudget | None = None) -> GroupReply:
        """Ask one question about several pairs.

        Args:
            question: Of `Prompt.fill_group`.
            budget: As for `ask`.

        Returns: the outcomes, of which each may be a `Failure` by itself: "missing" or as `ask` has them. Or
            one `Failure` of the whole, as `ask` has them. It is not asked again for either.
        """
        got = self._too_long(question) or await self._chat(question, 0, budget or SCORING_BUDGET.get())
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
        usd = self._endpoint.cost(got).usd
        return GroupReply(outcome, got.prompt_tokens or 0, got.completion_tokens or 0, usd)

    async def remembers(self, question: Question) -> bool:
        """Return whether the first vote on a question is remembered, so that asking it costs nothing."""
        key = ruling_key(self._endpoint.base_url, self.model, question)
        return self._rulings is not None and await self._rulings.get(key) is not None

    async def remember(self, question: Question, ruling: Ruling) -> None:
        """Remember a ruling as the first vote on a question."""
        if self._rulings:
            await self._rulings.put(ruling_key(self._endpoint.base_url, self.model, question), ruling)

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

        Returns: None if it answered with a rating, or no budget is left to ask, else the `Failure`, as `ask`
            gives it. Uses neither breaker nor cache; does not disturb an endpoint that asked for a pause.
        """
        outcome = (await self.known()).outcome
        return outcome if isinstance(outcome, Failure) and outcome.reason != "budget" else None

    async def known(self) -> Reply:
        """Ask the trivial question of `check`; the right rating is `prompts.KNOWN_RATING`."""
        return self._reply(_KNOWN_QUESTION, await self._endpoint.probe(_KNOWN, _PROBE_TIMEOUT_S))

    def _reply(self, question: Question, got: Completion | Fault) -> Reply:
        if isinstance(got, Fault):
            return Reply(_failure(question, got), prompt_version=question.prompt_version)
        read = got.text if isinstance(got.text, Fault) else read_ruling(got.text, question.scale)
        return Reply(
            _failure(question, read) if isinstance(read, Fault) else read,
            got.prompt_tokens or 0,
            got.completion_tokens or 0,
            self._endpoint.cost(got).usd,
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
    """Return the JSON schema of a ruling on this scale, or of the rulings of so many pairs if given."""
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


# Small and answered by every judge in order: tells a failing judge from a question that it refuses.
_KNOWN: Final = _request(_KNOWN_QUESTION, 0)


def _failure(question: Question, fault: Fault) -> Failure:
    return Failure(question.prompt, question.version, fault.reason, fault.detail)
