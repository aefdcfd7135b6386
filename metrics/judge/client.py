"""One call to a judge: a question in, a ruling or a failure out, and what it cost."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import openai
from openai.types.chat import ChatCompletion

from metrics.judge.breaker import Breaker
from metrics.judge.endpoint import Accepted
from metrics.judge.prompts import PROBE
from metrics.judge.reading import Ruling, Unreadable, read_ruling
from metrics.similarity.protocol import Rating
from metrics.verdict import Failure

if TYPE_CHECKING:
    from metrics.judge.prompts import Question

Price = Callable[[str, int, int], float]
"""US dollars for (model, prompt tokens, completion tokens)."""

_SEED = 7
"""Any fixed number: it only asks the endpoint to answer the same question the same way."""
_PROBE_TIMEOUT_S = 15.0
_LONGEST_PAUSE_S = 60.0
"""The SDK waits at most so long between attempts, if the endpoint's Retry-After asks for it."""
_UNHEALTHY = frozenset({"timeout", "rate_limited", "unauthorized", "connection", "server_error"})
"""Failures of the endpoint, which open the breaker; the others are about one reply."""
_DETAIL_CHARS = 300


def free(model: str, prompt_tokens: int, completion_tokens: int) -> float:  # noqa: ARG001 - a Price
    """The default price: nothing."""
    return 0.0


@dataclass(frozen=True, slots=True)
class Reply:
    """What came of one question."""

    outcome: Ruling | Failure
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float = 0.0

    def rating(self) -> Rating:
        """The reply in the form that judges and cheap metrics share."""
        tokens = self.prompt_tokens + self.completion_tokens
        if isinstance(self.outcome, Failure):
            return Rating(self.outcome, tokens=tokens, cost_usd=self.cost_usd)
        return Rating(self.outcome.rating, self.outcome.explanation, tokens=tokens, cost_usd=self.cost_usd)


class _Fault(NamedTuple):
    """A call that brought no completion."""

    reason: str
    detail: str


class Judge:
    """A model behind any OpenAI-compatible endpoint, asked for ratings.

    Asks for structured output, temperature 0 and a fixed seed, and does without what the endpoint
    rejects. At most `concurrency` calls are under way; the SDK retries 408, 409, 429, 5xx and lost
    connections; an endpoint that keeps failing is left alone for a while (see `Breaker`).

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
    ) -> None:
        """Build the client; nothing is sent.

        Args:
            base_url: Up to and including the version, e.g. "https://api.openai.com/v1".
            model: Model name as the endpoint knows it.
            api_key: Sent as a bearer token. "" for endpoints that need none.
            timeout_s: Limit for each attempt, in seconds.
            max_retries: Attempts after the first, by the SDK, with growing pauses.
            concurrency: Calls under way at the same time.
            breaker: Default: opens for 30 s after five failures in a row.
            price: Cost of the tokens; default free.
        """
        self.model = model
        self._api_key = api_key
        # The SDK falls back to an environment variable for None and insists on some value.
        self._client = openai.AsyncOpenAI(
            base_url=base_url, api_key=api_key or "none", timeout=timeout_s, max_retries=max_retries
        )
        self._timeout_s = timeout_s
        # The SDK's limit is on each silence: an endpoint that drips bytes never meets it.
        self._deadline_s = (max_retries + 1) * timeout_s + max_retries * _LONGEST_PAUSE_S
        self._slots = asyncio.Semaphore(concurrency)
        self._breaker = breaker or Breaker()
        self._price = price
        self._accepted = Accepted()

    def __repr__(self) -> str:
        return f"Judge(model={self.model!r}, host={self._client.base_url.host!r})"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections. Calls under way fail."""
        await self._client.close()

    async def ask(self, question: Question) -> Reply:
        """Ask one question.

        Returns: a reply whose outcome is a `Ruling`, or a `Failure` named after the prompt with a
            reason: "timeout", "rate_limited", "unauthorized", "connection", "server_error" (after
            the retries); "bad_request" (a 4xx that leaving out options did not cure); "refused",
            "empty", "bad_schema", "out_of_scale" (a reply without a usable rating; tokens are
            counted all the same); "circuit_open" (not asked). Never raises for any of these.
        """
        async with self._slots:
            # Asked behind the queue, so that calls that waited while it opened are held back too.
            if not self._breaker.allow():
                return Reply(
                    _failure(
                        question, _Fault("circuit_open", "The judge failed repeatedly; it is left alone.")
                    )
                )
            try:
                got = await self._complete(self._client, question, self._deadline_s)
            except BaseException:
                # A trial call that was cancelled tells nothing: the next call may try again soon.
                self._breaker.abandon()
                raise
        if isinstance(got, _Fault):
            self._breaker.record(ok=got.reason not in _UNHEALTHY)
            return Reply(_failure(question, got))
        self._breaker.record(ok=True)
        return self._reply(question, got)

    async def check(self) -> Failure | None:
        """Ask a trivial question once, without retries, to see whether the judge is usable.

        Returns: None if it answered with a rating, else the `Failure`, as `ask` gives it. Neither
            asks nor tells the breaker.
        """
        question = PROBE.fill(
            {"FIRST TEXT": "The ferry leaves at noon.", "SECOND TEXT": "At noon the ferry leaves."}
        )
        limit_s = min(self._timeout_s, _PROBE_TIMEOUT_S)
        got = await self._complete(
            self._client.with_options(max_retries=0, timeout=limit_s), question, limit_s
        )
        outcome = _failure(question, got) if isinstance(got, _Fault) else self._reply(question, got).outcome
        return outcome if isinstance(outcome, Failure) else None

    async def _complete(
        self, client: openai.AsyncOpenAI, question: Question, deadline_s: float
    ) -> ChatCompletion | _Fault:
        try:
            async with asyncio.timeout(deadline_s):
                return await self._negotiate(client, question)
        except TimeoutError:
            return _Fault("timeout", f"No complete reply within {deadline_s:g} s.")

    async def _negotiate(self, client: openai.AsyncOpenAI, question: Question) -> ChatCompletion | _Fault:
        """The completion, leaving out what the endpoint rejects; what worked is remembered."""
        accepted: Accepted | None = self._accepted
        fault = _Fault("bad_request", "")
        while accepted is not None:
            try:
                completion = await self._send(client, question, accepted.parameters(_SEED, question.scale))
            except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
                fault = self._fault("bad_request", error)
                accepted = accepted.after(str(error))
            except Exception as error:  # noqa: BLE001 - named boundary: any endpoint, any SDK error
                return self._fault(_reason(error), error)
            else:
                self._accepted = accepted
                return completion
        return fault

    async def _send(
        self, client: openai.AsyncOpenAI, question: Question, options: dict[str, Any]
    ) -> ChatCompletion:
        messages: list[Any] = [{"role": m.role, "content": m.content} for m in question.messages]
        completion: object = await client.chat.completions.create(
            model=self.model, messages=messages, **options
        )
        if not isinstance(completion, ChatCompletion):
            # The SDK hands a body that is not declared as JSON through as text.
            raise TypeError("the endpoint's reply is not a chat completion")
        return completion

    def _reply(self, question: Question, completion: ChatCompletion) -> Reply:
        prompt_tokens = _count(completion.usage, "prompt_tokens")
        completion_tokens = _count(completion.usage, "completion_tokens")
        read = _read(completion, question.scale)
        outcome = (
            _failure(question, _Fault(read.reason, read.detail)) if isinstance(read, Unreadable) else read
        )
        cost = self._price(self.model, prompt_tokens, completion_tokens)
        return Reply(outcome, prompt_tokens, completion_tokens, cost)

    def _fault(self, reason: str, error: Exception) -> _Fault:
        if reason == "unauthorized":
            # Servers repeat parts of the key in this message.
            return _Fault(reason, "The endpoint rejected the key.")
        detail = " ".join(f"{type(error).__name__}: {error}".split())
        if self._api_key:
            detail = detail.replace(self._api_key, "***")
        return _Fault(reason, detail[:_DETAIL_CHARS])


_REASONS: tuple[tuple[type[Exception], str], ...] = (
    (openai.APITimeoutError, "timeout"),
    (openai.APIConnectionError, "connection"),
    (openai.AuthenticationError, "unauthorized"),
    (openai.PermissionDeniedError, "unauthorized"),
    (openai.RateLimitError, "rate_limited"),
    (openai.InternalServerError, "server_error"),
    (openai.APIStatusError, "bad_request"),
)
"""First match wins: a timeout is a connection error to the SDK, and everything is a status error."""


def _reason(error: Exception) -> str:
    """The failure's reason; what the SDK raises beyond its own errors is an unreadable body."""
    return next((reason for kind, reason in _REASONS if isinstance(error, kind)), "bad_schema")


def _read(completion: ChatCompletion, scale: Sequence[int]) -> Ruling | Unreadable:
    # The SDK builds its objects without checking them, so any field can be missing or odd.
    choices = completion.choices
    if not isinstance(choices, list) or not choices or getattr(choices[0], "message", None) is None:
        return Unreadable("bad_schema", "The judge's completion has no message.")
    message = choices[0].message
    if message.refusal or choices[0].finish_reason == "content_filter":
        return Unreadable("refused", "The judge declined.")
    content: object = message.content
    if content is not None and not isinstance(content, str):
        return Unreadable("bad_schema", "The judge's message is not text.")
    return read_ruling(content, scale)


def _count(usage: object, field: str) -> int:
    """Tokens as the endpoint reports them, 0 if it does not or reports something else."""
    tokens = getattr(usage, field, 0)
    return tokens if isinstance(tokens, int) and tokens > 0 else 0


def _failure(question: Question, fault: _Fault) -> Failure:
    return Failure(question.prompt, question.version, fault.reason, fault.detail)
