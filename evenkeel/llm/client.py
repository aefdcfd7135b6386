"""The client for every model that evenkeel itself asks: judge and rewriter.

A `ModelClient` keeps to the pace of its limits, tries again where that may help, leaves a failing server
alone, does without parameters that a server rejects, reserves the cost of a call before it is sent, and
reports each request to an observer. It never raises for what a server does: that is a `Fault`.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self
from urllib.parse import urlsplit

from evenkeel.core.budget import NOTHING, Spend, booked
from evenkeel.llm.chat import ChatRequest, Completion, ParameterSupport, read_reply
from evenkeel.llm.encodings import UnreadableBody
from evenkeel.llm.faults import BETWEEN_ATTEMPTS, UNHEALTHY, Fault, fault_of, sentence_of
from evenkeel.llm.limits import Breaker, Pauses
from evenkeel.llm.observer import UNOBSERVED, ModelCall
from evenkeel.llm.price import free, with_cache_writes
from evenkeel.llm.providers import stores_unasked
from evenkeel.llm.wire import FLEX_TIMES, MissingResponse, Wire

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from evenkeel.core.budget import CallBudget
    from evenkeel.llm.observer import CallObserver
    from evenkeel.llm.price import Price
    from evenkeel.llm.wire import RawResponse

# Share of an unusually long reply that is still expected after the next one: half of it after 69.
_FADING: Final = 0.99
# A server in order answers a small question well within this.
_CANARY_S: Final = 15.0
# Longest wait of one call alone between two attempts. It keeps its place in the worker meanwhile.
_LONGEST_OWN_PAUSE_S: Final = 8.0
# A pause so short is everybody's without a look at whose it is.
_BRIEF_S: Final = 0.1
# Bound of a prompt's tokens from which on a call is long; most prompts have a third or a quarter of it.
_LONG: Final = 16_000
# A model that reasons needs room before it writes the first word of its reply.
_LEAST_LIMIT: Final = 4096
# Calls in a row after which what cured an unexplained rejection is left out for good.
_BELIEVED_AFTER: Final = 3
# A usual reply's length at most, for estimates; longer ones raise it for a while.
_USUAL_REPLY_TOKENS: Final = 300
# A reply may be four times as long as they usually are at most, and 4,096 tokens in any case.
_LIMIT_FACTOR: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A model behind a server, and how it is asked."""

    base_url: str
    """Up to and including the version, e.g. "https://api.openai.com/v1"."""
    name: str
    """Name as the server knows it."""
    api_key: str = field(default="", repr=False)
    """Sent as a bearer token. "" for servers that need none."""
    timeout_s: float = 60.0
    """Limit for each attempt as a whole."""
    max_retries: int = 2
    """Attempts after the first, with growing pauses."""
    concurrency: int = 4
    """Calls under way at the same time."""


class _Call(NamedTuple):
    """A call, with what holds for all its attempts."""

    request: ChatRequest
    budget: CallBudget | None
    canary: ChatRequest | None


class ModelClient:
    """A model behind any OpenAI-compatible server.

    At most `concurrency` calls are under way, at the pace of `limits`. 408, 409, 429, 5xx, timeouts and lost
    connections are tried again. A server that keeps failing is left alone for a while (see `Breaker`).

    A 429 makes all callers wait, as long as its `Retry-After` says, unless it is about one request. It is, if
    the server says so or answers the `canary`, a small known request. That request then fails alone. Five
    failed calls in a row, for whatever reason, open the breaker only if the canary fails as well, and the
    canary is what tries an open one.

    Belongs to one event loop. Close it, or use it as an async context manager.
    """

    def __init__(
        self,
        model: Model,
        *,
        breaker: Breaker | None = None,
        pauses: Pauses | None = None,
        price: Price = free,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        observer: CallObserver = UNOBSERVED,
        budget: CallBudget | None = None,
    ) -> None:
        """Build the client; nothing is sent.

        By default the breaker opens for 30 s after five failures in a row, pauses last a minute at most, and
        calls are free. `budget` pays for calls whose caller brings none.
        """
        self.model = model.name
        self.base_url = model.base_url
        self.concurrency = model.concurrency
        self._api_key = model.api_key
        url, _, query = model.base_url.partition("?")
        self._url = url.rstrip("/")
        self._query = f"?{query}" if query else ""
        # No compression is asked for: a few kilobytes can stand for gigabytes.
        headers = {
            "authorization": f"Bearer {model.api_key or 'none'}",
            "accept-encoding": "identity",
            "user-agent": "evenkeel",
        }
        self._wire = Wire(headers=headers)
        self._timeout_s = model.timeout_s
        self._max_retries = model.max_retries
        self._slots = asyncio.Semaphore(model.concurrency)
        # Long calls, and those that can wait, may take minutes; they have half of the places, so that others
        # find one.
        self._slow_slots = asyncio.Semaphore(max(1, model.concurrency // 2))
        self._asking_canary: asyncio.Future[Completion | Fault] | None = None
        self._longest_reply = _USUAL_REPLY_TOKENS
        self._breaker = breaker or Breaker()
        self._pauses = pauses or Pauses()
        self._price = price
        self._sleep = sleep
        self._observer = observer
        self._budget = budget
        self._accepted = ParameterSupport()
        # Calls in a row that were answered after a rejection that named no parameter.
        self._unexplained = 0

    def __repr__(self) -> str:
        return f"ModelClient(model={self.model!r}, host={urlsplit(self.base_url).hostname!r})"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections. Calls under way fail."""
        await self._wire.close()

    def spend(self, prompt_tokens: int, completion_tokens: int = 0) -> Spend:
        """Return tokens with their price, answered at once and without the server's cache."""
        return Spend(
            prompt_tokens + completion_tokens, self._price(self.model, prompt_tokens, completion_tokens)
        )

    def cost(self, got: Completion) -> Spend:
        """Return what a reply cost, as far as the server reports it."""
        prompt, completion = got.prompt_tokens or 0, got.completion_tokens or 0
        priced = with_cache_writes(prompt, got.cache_write_tokens)
        usd = self._price(self.model, priced, completion, got.tier, min(got.cached_tokens, prompt))
        return Spend(prompt + completion, usd)

    def usual_spend(self, prompt_tokens: int) -> Spend:
        """Return the cost of a prompt of so many tokens, with a reply as long as they usually are at most."""
        return self.spend(prompt_tokens, self._longest_reply)

    def estimate(self, request: ChatRequest) -> Spend:
        """Return what a request may cost: an upper bound, as long as the server heeds the limit."""
        return self.spend(request.bound, self._limited(request).limit_tokens or 0)

    def _limited(self, request: ChatRequest) -> ChatRequest:
        """The request with a limit of the reply, far above usual ones: without it nobody knows the cost."""
        most = max(_LEAST_LIMIT, _LIMIT_FACTOR * self._longest_reply * request.answers)
        return replace(request, limit_tokens=request.limit_tokens or most)

    async def chat(
        self,
        request: ChatRequest,
        *,
        budget: CallBudget | None = None,
        canary: ChatRequest | None = None,
    ) -> Completion | Fault:
        """Ask a chat model, leaving out what the server rejects.

        Args:
            request: What is asked.
            budget: Reserves each request before it is sent and books what it cost. Default: the endpoint's.
            canary: A small request that any server in order answers. Default: none, so that every 429 is
                everybody's.

        Returns: a completion, or a `Fault` with a reason: "timeout", "rate_limited" (also: not asked, because
            that would have meant to wait for too long), "unauthorized", "connection", "server_error" (after
            the retries); "too_long", "refused" (the server says that it is this request); "bad_request"
            (another 4xx that leaving out parameters did not cure); "bad_schema" (no completion);
            "circuit_open", "budget" (not asked).
        """
        call = _Call(self._limited(request), budget, canary)
        outcome = await self._attempts(call)
        reason = outcome.reason if isinstance(outcome, Fault) else None
        if reason == "budget":
            self._breaker.abandon()
        elif reason != "circuit_open":
            ok = reason is None or (canary is None and reason not in UNHEALTHY)
            if not ok and canary is not None and self._breaker.opens_next:
                ok = _says_nothing_bad(await self._ask_canary(call))
            self._breaker.record(ok=ok)
        return outcome

    async def probe(self, request: ChatRequest, *, budget: CallBudget | None = None) -> Completion | Fault:
        """Ask a small question once, without retries, queue and breaker.

        A server that asked for a pause is not disturbed.
        """
        left_s = self._pauses.pause_left_s
        if left_s:
            return Fault("rate_limited", f"The endpoint asked to be left alone for another {left_s:.0f} s.")
        return await self._attempt(self._limited(request), min(self._timeout_s, _CANARY_S), budget)

    @property
    def pause_left_s(self) -> float:
        """Seconds for which the endpoint wants to be left alone, 0 if it does not."""
        return self._pauses.pause_left_s

    async def _attempts(self, call: _Call) -> Completion | Fault:
        """Queue, send, and send again while that may help."""
        patience_s = self._pauses.longest_wait_s
        outcome: Completion | Fault = Fault(
            "rate_limited", f"Not asked: it would have had to wait for more than {patience_s:g} s."
        )
        allowed = False
        try:
            for attempt in range(self._max_retries + 1):
                async with AsyncExitStack() as places:
                    if call.request.flex or call.request.bound > _LONG:
                        await places.enter_async_context(self._slow_slots)
                    await places.enter_async_context(self._slots)
                    waited_s = await self._pauses.rest(patience_s)
                    if waited_s is None:
                        # An endpoint that wants such a pause is out of order, as the breaker shall know.
                        return outcome
                    patience_s -= waited_s
                    # Asked behind the queue, so that calls that waited while it opened are held back too.
                    if not allowed:
                        tries = self._breaker.is_open
                        allowed = self._breaker.allow()
                        if not allowed or (tries and not await self._closes(call)):
                            return Fault("circuit_open", "The endpoint failed repeatedly; it is left alone.")
                    outcome = await self._attempt(call.request, self._timeout_s, call.budget)
                if not isinstance(outcome, Fault):
                    return outcome
                if not await self._may_repeat(outcome, call, attempt):
                    return outcome
        except BaseException:
            if allowed:
                # A trial call that was cancelled tells nothing: the next call may try again soon.
                self._breaker.abandon()
            raise
        return outcome

    async def _attempt(
        self, request: ChatRequest, limit_s: float, budget: CallBudget | None
    ) -> Completion | Fault:
        """Make one attempt; one that can wait is made at once where the server has no room for it in time."""
        if request.flex and self._accepted.flex:
            got = await self._agreed(request, FLEX_TIMES * limit_s, budget)
            if not (isinstance(got, Fault) and (got.no_room or got.reason == "timeout")):
                return got
        return await self._agreed(replace(request, flex=False), limit_s, budget)

    async def _agreed(
        self, request: ChatRequest, limit_s: float, budget: CallBudget | None
    ) -> Completion | Fault:
        """Send a request, and again without what the server rejects; what worked is remembered."""
        clock = asyncio.get_running_loop().time
        deadline = clock() + limit_s
        accepted: ParameterSupport | None = self._accepted
        got: Completion | Fault | None = None
        explained = True
        while accepted is not None:
            left_s = min(limit_s, deadline - clock())
            got = await self._booked(request, accepted.parameters(request), left_s, budget)
            if not isinstance(got, Fault):
                self._unexplained = 0 if explained else self._unexplained + 1
                if explained or self._unexplained >= _BELIEVED_AFTER:
                    self._accepted = accepted
                # The next reply is expected to be as long as the longest of late.
                written = (got.completion_tokens or 0) // request.answers
                self._longest_reply = max(_USUAL_REPLY_TOKENS, written, int(self._longest_reply * _FADING))
                return got
            explained = explained and accepted.explains(got.complaint)
            accepted = accepted.after(got.complaint, request) if got.complaint else None
        assert got is not None
        return got

    async def _booked(
        self, request: ChatRequest, parameters: dict[str, Any], limit_s: float, budget: CallBudget | None
    ) -> Completion | Fault:
        """Send one request, reserved before and settled after."""
        budget = budget or self._budget
        send = partial(self._sent, request, parameters, limit_s)
        if budget is None:
            return await send()
        estimate = self.estimate(request)

        def spent(got: Completion | Fault) -> Spend:
            if isinstance(got, Fault):
                return NOTHING if got.unbilled else estimate
            is_reported = got.prompt_tokens and got.completion_tokens is not None
            return self.cost(got) if is_reported and not got.is_dearer else estimate

        got = await booked(budget, estimate, send, spent)
        return Fault("budget", "The day's budget does not allow another call.") if got is None else got

    async def _sent(
        self, request: ChatRequest, parameters: dict[str, Any], limit_s: float
    ) -> Completion | Fault:
        """Send one request on the wire and read its reply."""
        call = ModelCall(
            request.purpose,
            "chat",
            self.model,
            self.base_url,
            prompt=request.prompt,
            content=lambda: request.messages,
        )
        messages = []
        for message in request.messages:
            messages.append({"role": message.role, "content": message.content})
        members = {"model": self.model, "messages": messages, **parameters}
        if stores_unasked(self.base_url):
            members["store"] = False
        body = json.dumps(members).encode()
        with self._observer.call(call) as report:
            url = f"{self._url}/chat/completions{self._query}"
            response = await self._wire.post(url, body, list(report.headers.items()), limit_s)
            reply = _reply_of(response, self._api_key)
            if isinstance(reply, Fault):
                report.ended(reply.reason)
                return reply
            completion, answer = read_reply(reply)
            report.ended(answer)
            return completion

    async def _ask_canary(self, call: _Call) -> Fault | None:
        """Ask the call's canary; those who want to know at the same time share one request.

        Returns: None if it was answered.
        """
        assert call.canary is not None
        if self._asking_canary is None or self._asking_canary.done():
            asking = self.probe(call.canary, budget=call.budget)
            self._asking_canary = asyncio.ensure_future(asking)
        got = await asyncio.shield(self._asking_canary)
        return got if isinstance(got, Fault) else None

    async def _closes(self, call: _Call) -> bool:
        """Return whether the call that tries an open breaker may go out; a canary decides, if any."""
        if call.canary is None:
            return True
        ok = _says_nothing_bad(await self._ask_canary(call))
        self._breaker.record(ok=ok)
        return ok

    async def _may_repeat(self, fault: Fault, call: _Call, attempt: int) -> bool:
        """Wait before the next attempt, with all others if the server wants fewer calls.

        The first attempt has the number 0. Returns: whether another may help, if one is left.
        """
        wait_s = fault.asked_pause_s or BETWEEN_ATTEMPTS.pause_s(attempt + 1)
        if fault.throttled:
            # While all rest, the canary would have to rest as well.
            asks = call.canary is not None and not self._pauses.pause_left_s
            if not asks or wait_s < _BRIEF_S or await self._ask_canary(call) is not None:
                self._pauses.pause(wait_s)
                return fault.passing
            if wait_s > _LONGEST_OWN_PAUSE_S:
                return False
        if fault.passing and attempt < self._max_retries:
            await self._sleep(wait_s)
        return fault.passing


def _reply_of(response: RawResponse | MissingResponse, api_key: str) -> dict[str, Any] | Fault:
    """Return the members of a reply, or why there are none."""
    if isinstance(response, MissingResponse) or not response.is_success:
        return fault_of(response, api_key)
    try:
        reply = json.loads(response.body())
    except (UnreadableBody, ValueError, RecursionError) as error:
        return Fault("bad_schema", f"The reply cannot be read: {error}")
    if not isinstance(reply, dict):
        return Fault("bad_schema", "The reply is no JSON object.")
    if not reply.get("choices") and sentence_of(response.error()):
        return fault_of(response, api_key)
    return reply


def _says_nothing_bad(refused: Fault | None) -> bool:
    """Return whether the canary was answered, or not asked for want of budget."""
    return refused is None or refused.reason == "budget"
