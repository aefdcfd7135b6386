"""One model that rewrites, behind any OpenAI-compatible endpoint: a call is paid for, or not made."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import httpx2
import openai
from openai.types.chat import ChatCompletion

from evenkeel.llm.budget import Spend
from evenkeel.llm.client import bounded_client
from evenkeel.llm.faults import described, reason_of
from evenkeel.llm.limits import Breaker
from evenkeel.llm.observer import UNOBSERVED, CallResult, ModelCall, Said, result_of
from evenkeel.llm.price import free
from evenkeel.shadow.replay import retry_after_s
from evenkeel.shadow.rewriter.options import Options
from evenkeel.shadow.rewriter.reply import NoText, read_reply

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from evenkeel.llm.observer import CallObserver
    from evenkeel.llm.price import Price
    from evenkeel.metrics.judge.prompts import Message
    from evenkeel.shadow.rewriter.protocol import Purse

NOTHING: Final = Spend(0, 0.0)

_UNHEALTHY: Final = frozenset({"timeout", "rate_limited", "unauthorized", "connection", "server_error"})
"""Troubles of the endpoint, which open the breaker; the others are about one reply."""
_FIRST_PAUSE_S: Final = 0.5
_BYTES_PER_TOKEN: Final = 4
_LEAST_BYTES_PER_TOKEN: Final = 2
"""Ordinary text of any script, code and digits need fewer tokens than one for two bytes."""
_MESSAGE_TOKENS: Final = 16
"""What a chat template may put around a message."""


@dataclass(frozen=True, slots=True)
class Charge:
    """What a call may cost at most."""

    spend: Spend
    limit_tokens: int
    """The longest reply asked for."""


class ModelEndpoint:
    """Sends requests to one model and books what they cost.

    At most `concurrency` calls are under way. Nothing is retried here: a 429 or 5xx only makes the
    next call wait, as long as `Retry-After` asks for or a growing pause. An endpoint that keeps
    failing is left alone for a while (see `Breaker`).

    Belongs to one event loop.
    """

    def __init__(
        self,
        *,
        base_url: str,
        model: str,
        api_key: str,
        timeout_s: float = 60.0,
        concurrency: int = 4,
        headroom_tokens: int = 512,
        longest_pause_s: float = 20.0,
        breaker: Breaker | None = None,
        price: Price = free,
        clock: Callable[[], float] = time.time,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        observer: CallObserver = UNOBSERVED,
    ) -> None:
        """Build the client; nothing is sent.

        Args:
            base_url: Up to and including the version, e.g. "https://api.openai.com/v1".
            model: Model name as the endpoint knows it.
            api_key: Sent as a bearer token. "" for endpoints that need none.
            timeout_s: Limit for a whole call, in seconds.
            concurrency: Calls under way at the same time.
            headroom_tokens: Added to the longest reply asked for; models that reason need some thousand.
            longest_pause_s: Who asks for a longer pause is not asked again meanwhile: the call fails.
            breaker: Default: opens for 30 s after five failures in a row.
            price: Cost of the tokens; default free.
            clock: Unix time in seconds.
            sleep: Waits so many seconds.
            observer: Told of each request.
        """
        self.model = model
        self._base_url = base_url
        self._observer = observer
        self._api_key = api_key
        self._client = bounded_client(base_url=base_url, api_key=api_key, timeout_s=timeout_s)
        self._timeout_s = timeout_s
        self._slots = asyncio.Semaphore(concurrency)
        self._headroom = headroom_tokens
        self._longest_pause_s = longest_pause_s
        self._breaker = breaker or Breaker()
        self._price = price
        self._clock = clock
        self._sleep = sleep
        self._options = Options()
        self._quiet_until = 0.0
        self._pause_s = _FIRST_PAUSE_S

    def __repr__(self) -> str:
        return f"ModelEndpoint(model={self.model!r}, host={self._client.base_url.host!r})"

    async def close(self) -> None:
        """Close the connections. Calls under way fail."""
        await self._client.close()

    def charge(self, messages: Sequence[Message], text: str, patience: int = 1) -> Charge:
        """What asking this may cost: an upper bound, as long as the endpoint heeds the limit.

        Args:
            messages: The request.
            text: What is rewritten; the reply is taken to need at most three quarters of a token a byte.
            patience: Multiplies the limit, after a reply that was cut off.
        """
        prompt = sum(_size(one.content) // _LEAST_BYTES_PER_TOKEN + _MESSAGE_TOKENS for one in messages)
        limit = (_size(text) * 3 // 4 + self._headroom) * patience
        return Charge(Spend(prompt + limit, self._price(self.model, prompt, limit)), limit)

    async def say(
        self, messages: Sequence[Message], charge: Charge, purse: Purse, *, temperature: float, seed: int
    ) -> str | NoText:
        """Send one request, and again without what the endpoint rejects; each is paid for.

        Returns: the reply's text, or why there is none. Never raises for what an endpoint does.
        """
        async with self._slots:
            if not await self._paused():
                return NoText("rate_limited", "The endpoint asked for a longer pause than is waited for.")
            # Asked behind the queue, so that calls that waited while it opened are held back too.
            if not self._breaker.allow():
                return NoText("circuit_open", "The rewriter failed repeatedly; it is left alone.")
            try:
                said = await self._negotiate(messages, charge, purse, temperature, seed)
            except BaseException:
                # A trial call that was cancelled tells nothing: the next call may try again soon.
                self._breaker.abandon()
                raise
            if isinstance(said, NoText) and said.reason == "budget":
                self._breaker.abandon()
            else:
                self._breaker.record(ok=isinstance(said, str) or said.reason not in _UNHEALTHY)
            return said

    async def _paused(self) -> bool:
        """Wait until calls are welcome again; False if that takes too long."""
        while (wait_s := self._quiet_until - self._clock()) > 0:
            if wait_s > self._longest_pause_s:
                return False
            await self._sleep(wait_s)
        return True

    async def _negotiate(
        self, messages: Sequence[Message], charge: Charge, purse: Purse, temperature: float, seed: int
    ) -> str | NoText:
        options: Options | None = self._options
        said: str | NoText = NoText("bad_request", "")
        while options is not None:
            parameters = options.parameters(charge.limit_tokens, temperature, seed)
            said, complaint = await self._paid(messages, charge, purse, parameters)
            if not complaint:
                self._options = options
                return said
            options = options.after(complaint)
        return said

    async def _paid(
        self, messages: Sequence[Message], charge: Charge, purse: Purse, parameters: dict[str, Any]
    ) -> tuple[str | NoText, str]:
        """One call, reserved before and settled after; with the complaint if it was a 400."""
        if not await asyncio.to_thread(purse.reserve, charge.spend):
            return NoText("budget", "The day's budget does not allow another call."), ""
        # Who gave up on a call (time, a lost connection, cancelled) may have to pay for it all the same.
        spent = charge.spend
        complaint = ""
        try:
            completion = await self._observed(messages, parameters)
            spent = self._spent(messages, completion)
            self._pause_s = _FIRST_PAUSE_S
            return read_reply(completion), ""
        except TimeoutError:
            return NoText("timeout", f"No complete reply within {self._timeout_s:g} s."), ""
        except Exception as error:  # noqa: BLE001 - named boundary: any endpoint, any SDK error
            if isinstance(error, (openai.BadRequestError, openai.UnprocessableEntityError)):
                complaint = str(error)
            if isinstance(error, openai.APIStatusError) or isinstance(error.__cause__, httpx2.ConnectError):
                spent = NOTHING
            self._heed(error)
            return self._trouble(error), complaint
        finally:
            await asyncio.to_thread(purse.settle, charge.spend, spent)

    async def _observed(self, messages: Sequence[Message], parameters: dict[str, Any]) -> ChatCompletion:
        call = ModelCall(
            "rewriter",
            "chat",
            self.model,
            self._base_url,
            content=lambda: [Said(one.role, one.content) for one in messages],
        )
        with self._observer.call(call) as report:
            try:
                async with asyncio.timeout(self._timeout_s):
                    completion = await self._send(messages, parameters, report.headers)
            except TimeoutError:
                report.ended(CallResult(failure="timeout"))
                raise
            except Exception as error:
                report.ended(CallResult(failure=reason_of(error)))
                raise
            report.ended(result_of(completion))
        return completion

    async def _send(
        self, messages: Sequence[Message], parameters: dict[str, Any], headers: Mapping[str, str]
    ) -> ChatCompletion:
        sent: list[Any] = [{"role": one.role, "content": one.content} for one in messages]
        completion: object = await self._client.chat.completions.create(
            model=self.model, messages=sent, extra_headers=headers, **parameters
        )
        if not isinstance(completion, ChatCompletion):
            # The SDK hands a body that is not declared as JSON through as text.
            raise TypeError("the endpoint's reply is not a chat completion")
        return completion

    def _spent(self, messages: Sequence[Message], completion: ChatCompletion) -> Spend:
        prompt = _reported(completion, "prompt_tokens")
        written = _reported(completion, "completion_tokens")
        if prompt is None:
            prompt = sum(_size(one.content) for one in messages) // _BYTES_PER_TOKEN + 1
        if written is None:
            said = read_reply(completion)
            written = _size(said) // _BYTES_PER_TOKEN + 1 if isinstance(said, str) else 0
        return Spend(prompt + written, self._price(self.model, prompt, written))

    def _heed(self, error: Exception) -> None:
        """Keep away for a while from an endpoint that throttles or fails."""
        if not isinstance(error, (openai.RateLimitError, openai.InternalServerError)):
            return
        now = self._clock()
        asked_s = retry_after_s(error.response.headers.get("retry-after"), now)
        self._quiet_until = max(self._quiet_until, now + (self._pause_s if asked_s is None else asked_s))
        self._pause_s = min(2 * self._pause_s, self._longest_pause_s)

    def _trouble(self, error: Exception) -> NoText:
        return NoText(reason_of(error), described(error, self._api_key))


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


def _reported(completion: ChatCompletion, field: str) -> int | None:
    """Tokens as the endpoint reports them; None if it does not, or reports something else."""
    tokens = getattr(completion.usage, field, None)
    return tokens if isinstance(tokens, int) and tokens >= 0 else None
