"""One call to a judge: a question in, a ruling or a failure out, and what it cost.

The judge's endpoint on the wire: one question sent, and again without what the endpoint rejects.

What an endpoint accepts: parameters that a server rejects are dropped, and stay dropped.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, Self

import openai
from openai.types.chat import ChatCompletion

from evenkeel.core.budget import Spend
from evenkeel.core.verdict import Failure
from evenkeel.llm.client import Calls, bounded_client
from evenkeel.llm.faults import Fault, fault
from evenkeel.llm.limits import RateLimits
from evenkeel.llm.observer import UNOBSERVED, CallResult, ModelCall, Said, result_of
from evenkeel.llm.price import Price, free
from evenkeel.metrics.judge.cache import CarefulCache, ruling_key
from evenkeel.metrics.judge.prompts import PROBE, question_tokens_at_most, reminded
from evenkeel.metrics.judge.reply import Reply, Ruling, Unreadable, Usage, read_completion, reported
from evenkeel.metrics.protocol import SCALE

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from evenkeel.llm.limits import Breaker
    from evenkeel.llm.observer import CallObserver
    from evenkeel.metrics.judge.cache import JudgeCache
    from evenkeel.metrics.judge.prompts import Question


Output = Literal["json_schema", "json_object", "plain"]
_NEXT: dict[Output, Output] = {"json_schema": "json_object", "json_object": "plain"}

_ABOUT_FORMAT = ("response_format", "json_schema", "json_object", "structured output", "schema")


def _schema(scale: Sequence[int]) -> dict[str, Any]:
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


@dataclass(frozen=True, slots=True)
class Accepted:
    """The optional parameters an endpoint has not rejected so far."""

    output: Output = "json_schema"
    temperature: bool = True
    seed: bool = True

    def parameters(self, seed: int, scale: Sequence[int] = SCALE) -> dict[str, Any]:
        """The optional part of a request body that asks for a rating on this scale."""
        body: dict[str, Any] = {}
        if self.output == "json_schema":
            schema = {"name": "ruling", "strict": True, "schema": _schema(scale)}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        elif self.output == "json_object":
            body["response_format"] = {"type": "json_object"}
        if self.temperature:
            body["temperature"] = 0
        if self.seed:
            body["seed"] = seed
        return body

    def after(self, complaint: str) -> Accepted | None:
        """What to try after a 400 with this message; None if nothing is left to leave out.

        A parameter that the message names goes first. A message that names none is taken to be
        about the output format, the commonest cause, and then about the rest.
        """
        said = complaint.lower()
        if self.output in _NEXT and any(word in said for word in _ABOUT_FORMAT):
            return replace(self, output=_NEXT[self.output])
        if self.temperature and "temperature" in said:
            return replace(self, temperature=False)
        if self.seed and "seed" in said:
            return replace(self, seed=False)
        if self.output in _NEXT:
            return replace(self, output=_NEXT[self.output])
        if self.temperature or self.seed:
            return replace(self, temperature=False, seed=False)
        return None


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


_PROBE_TIMEOUT_S = 15.0
_REPLY_TOKENS = 300
_FADING = 0.99
"""How much of an unusually long reply is still expected after the next one: half of it after 69."""
_USAGE: tuple[Usage, Usage] = ("prompt_tokens", "completion_tokens")
_REPAIRABLE = frozenset({"empty", "bad_schema", "out_of_scale"})
"""Odd replies that a reminder of the form may cure. A refusal is an answer."""


class Judge:
    """A model behind any OpenAI-compatible endpoint, asked for ratings.

    Asks for structured output, temperature 0 and a fixed seed, and does without what the endpoint
    rejects. At most `concurrency` calls are under way, at the pace of `limits`. 408, 409, 429, 5xx, timeouts
    and lost connections are tried again; a 429 makes all callers wait, as long as its `Retry-After`
    says. An endpoint that keeps failing is left alone for a while (see `Breaker`). Rulings may be
    remembered in a cache.

    Belongs to one event loop. Close it, or use it as an async context manager.
    """

    def __init__(
        self,
        *,
        base_url: str,
        model: str,
        api_key: str,
        timeout_s: float = 60.0,
        max_retries: int = 2,
        concurrency: int = 4,
        breaker: Breaker | None = None,
        price: Price = free,
        limits: RateLimits | None = None,
        cache: JudgeCache | None = None,
        repairs: int = 0,
        reply_tokens: int = _REPLY_TOKENS,
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
            cache: Remembers rulings. Default: none.
            repairs: Times an unreadable reply is followed by the same question with a reminder of the form.
            reply_tokens: A usual reply's length at most, for estimates; longer ones raise it for
                a while. Models that reason need some thousand.
            sleep: Waits so many seconds between attempts of one call.
            observer: Told of each attempt.
        """
        self.model = model
        self._wire = Wire(
            base_url=base_url, model=model, api_key=api_key, timeout_s=timeout_s, observer=observer
        )
        self._timeout_s = timeout_s
        self._limits = limits or RateLimits()
        self._calls = Calls(
            concurrency=concurrency,
            max_retries=max_retries,
            breaker=breaker,
            limits=self._limits,
            sleep=sleep,
        )
        self._price = price
        self._cache = CarefulCache(cache) if cache is not None else None
        self._repairs = repairs
        self._reply_tokens = self._longest_reply = reply_tokens

    def __repr__(self) -> str:
        return f"Judge(model={self.model!r}, host={self._wire.host!r})"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections. Calls under way fail."""
        await self._wire.close()

    @property
    def cache_faults(self) -> int:
        """Times the cache could not be read or written, and the judge did without it."""
        return self._cache.faults if self._cache else 0

    def expense(self, prompt_tokens: int, *, calls: int = 1) -> Spend:
        """What some calls of so many prompt tokens cost, with replies as long as they usually are at most."""
        tokens = prompt_tokens + self._longest_reply
        return Spend(calls * tokens, calls * self._price(self.model, prompt_tokens, self._longest_reply))

    async def ask(self, question: Question, *, vote: int = 0, fresh: bool = False) -> Reply:
        """Ask one question.

        Args:
            question: What is asked.
            vote: Number of the call among several on the same question: each has another seed, where
                the endpoint takes one, and is remembered for itself.
            fresh: Ask even if the ruling is remembered, and do not remember this one: for measuring the
                judge's own noise.

        Returns: a reply whose outcome is a `Ruling`, or a `Failure` named after the prompt with a
            reason: "timeout", "rate_limited" (also: not asked, because that would have meant to wait for
            longer than the limits allow), "unauthorized", "connection", "server_error" (after the
            retries); "bad_request" (a 4xx that leaving out options did not cure); "refused", "empty",
            "bad_schema", "out_of_scale", "truncated" (a reply without a usable rating; tokens are
            counted all the same); "circuit_open" (not asked). Never raises for any of these.
        """
        key = ruling_key(self._wire.base_url, self.model, question, vote)
        cache = None if fresh else self._cache
        if cache:
            remembered = await cache.get(key)
            if remembered is not None:
                return Reply(remembered, prompt_version=question.prompt_version, cached=True)
        reply = await self._asked(question, vote)
        for _ in range(self._repairs):
            if isinstance(reply.outcome, Ruling) or reply.outcome.reason not in _REPAIRABLE:
                break
            # What was spent on the unreadable reply is part of the price.
            reply = (await self._asked(reminded(question), vote)).plus(reply)
        if cache and isinstance(reply.outcome, Ruling):
            await cache.put(key, reply.outcome)
        return reply

    async def check(self) -> Failure | None:
        """Ask a trivial question once, without retries, to see whether the judge is usable.

        Returns: None if it answered with a rating, else the `Failure`, as `ask` gives it. Neither
            asks nor tells the breaker and the cache; does not disturb an endpoint that asked for a pause.
        """
        question = PROBE.fill(
            {"FIRST TEXT": "The ferry leaves at noon.", "SECOND TEXT": "At noon the ferry leaves."}
        )
        if left_s := self._limits.pause_left_s:
            fault = Fault("rate_limited", f"The endpoint asked to be left alone for another {left_s:.0f} s.")
            return _failure(question, fault)
        expected = self._expected_tokens(question)
        self._limits.count(1, expected)
        limit_s = min(self._timeout_s, _PROBE_TIMEOUT_S)
        got = await self._wire.complete(question, 0, limit_s, self._repeated)
        self._learn(got, expected)
        outcome = self._reply(question, got).outcome
        return outcome if isinstance(outcome, Failure) else None

    async def _asked(self, question: Question, vote: int) -> Reply:
        """A reply to one question, after as many attempts as it takes."""

        async def send(expected: int) -> ChatCompletion | Fault:
            got = await self._wire.complete(question, vote, self._timeout_s, self._repeated)
            self._learn(got, expected)
            return got

        return self._reply(question, await self._calls.make(send, lambda: self._expected_tokens(question)))

    def _repeated(self) -> None:
        """Count a request that the endpoint made necessary by rejecting another."""
        self._limits.count(1, 0)

    def _expected_tokens(self, question: Question) -> int:
        return question_tokens_at_most(question) + self._longest_reply

    def _learn(self, got: ChatCompletion | Fault, expected: int) -> None:
        """Correct what the call took from the limits, and how long a reply is expected to be."""
        if isinstance(got, Fault):
            return
        prompt_tokens, completion_tokens = (reported(got, field) for field in _USAGE)
        if prompt_tokens:
            self._limits.count(0, prompt_tokens + completion_tokens - expected)
        faded = int(self._longest_reply * _FADING)
        self._longest_reply = max(self._reply_tokens, completion_tokens, faded)

    def _reply(self, question: Question, got: ChatCompletion | Fault) -> Reply:
        if isinstance(got, Fault):
            return Reply(_failure(question, got), prompt_version=question.prompt_version)
        prompt_tokens, completion_tokens = (reported(got, field) for field in _USAGE)
        read = read_completion(got, question.scale)
        return Reply(
            _failure(question, Fault(read.reason, read.detail)) if isinstance(read, Unreadable) else read,
            prompt_tokens,
            completion_tokens,
            self._price(self.model, prompt_tokens, completion_tokens),
            question.prompt_version,
        )


def _failure(question: Question, fault: Fault) -> Failure:
    return Failure(question.prompt, question.version, fault.reason, fault.detail)
