"""The rewriter: tasks in, valid texts out, each call paid for, each text gone through the gate.

One model that rewrites, behind any OpenAI-compatible endpoint: a call is paid for, or not made.

What a rewriter's endpoint accepts: parameters that it rejects are left out, and stay out.

A completion of the rewriter, read: its text, or why there is none.
"""

from __future__ import annotations

import asyncio
import re
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, Self, get_args

import httpx2
import openai
from openai.types.chat import ChatCompletion

from evenkeel.core.budget import Spend
from evenkeel.llm.client import bounded_client
from evenkeel.llm.faults import described, reason_of
from evenkeel.llm.limits import Breaker
from evenkeel.llm.observer import UNOBSERVED, CallResult, ModelCall, Said, result_of
from evenkeel.llm.price import free
from evenkeel.shadow.replay import retry_after_s
from evenkeel.shadow.rewriter.cache import cache_key
from evenkeel.shadow.rewriter.gate import faults_of, may_stay, passages_to_keep
from evenkeel.shadow.rewriter.prompts import Rejected, marker_tag, request_for
from evenkeel.shadow.rewriter.protocol import Fault, Rejection

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from evenkeel.llm.observer import CallObserver
    from evenkeel.llm.price import Price
    from evenkeel.metrics.judge.prompts import Message
    from evenkeel.shadow.perturbations.protocol import RewriteTask
    from evenkeel.shadow.rewriter.protocol import CallBudget, Count, EqualMeaning, RewriteCache, Trouble


Limit = Literal["max_tokens", "max_completion_tokens", "none"]


@dataclass(frozen=True, slots=True)
class Options:
    """The optional parameters an endpoint has not rejected so far."""

    limit: Limit = "max_tokens"
    """The older name first: every server knows it, and those that want the other one say so."""
    temperature: bool = True
    seed: bool = True

    def parameters(self, limit_tokens: int, temperature: float, seed: int) -> dict[str, Any]:
        """The optional part of a request body."""
        body: dict[str, Any] = {}
        if self.limit != "none":
            body[self.limit] = limit_tokens
        if self.temperature:
            body["temperature"] = temperature
        if self.seed:
            body["seed"] = seed
        return body

    def after(self, complaint: str) -> Options | None:
        """What to try after a 400 with this message; None if nothing is left to leave out.

        A parameter that the message names goes first, then the limit, then the others.
        """
        said = complaint.lower()
        if self.temperature and "temperature" in said:
            return replace(self, temperature=False)
        if self.seed and "seed" in said:
            return replace(self, seed=False)
        if self.limit == "max_tokens":
            return replace(self, limit="max_completion_tokens")
        if self.limit == "max_completion_tokens":
            return replace(self, limit="none")
        if self.temperature or self.seed:
            return replace(self, temperature=False, seed=False)
        return None


_THOUGHT: Final = re.compile(r"\s*<(think|thinking|reasoning)>.*?</\1>", re.DOTALL | re.IGNORECASE)
"""Some servers leave what a reasoning model thought in front of its reply."""
_DECLINES: Final = re.compile(
    r"""
    \s* (?:i['’]m\ (?:very\ |really\ )?sorry|i\ am\ sorry|sorry|i\ apologi[sz]e|unfortunately)?
    [,.:]?\ ? (?:but\ )?
    (?: i(?:\ can(?:no|['’])t|\ can\ not|\ won['’]t|(?:\ a|['’])m\ (?:unable|not\ able)\ to)
        \ (?:help|assist|comply|do\ that|rewrite|translate|paraphrase|fulfil+|provide|process)\b
      | as\ an\ ai\b )
    """,
    re.VERBOSE | re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class NoText:
    """Why a call brought no text."""

    reason: Trouble
    detail: str
    """One sentence for people. Holds no credentials."""


def read_reply(completion: ChatCompletion) -> str | NoText:
    """The text of a reply without white space around it.

    Returns: or `NoText` with the reason "bad_schema", "refused", "truncated" or "empty".
    """
    # The SDK builds its objects without checking them, so any field can be missing or odd.
    choices = completion.choices
    if not isinstance(choices, list) or not choices or getattr(choices[0], "message", None) is None:
        return NoText("bad_schema", "The completion has no message.")
    message, finish = choices[0].message, choices[0].finish_reason
    if message.refusal or finish == "content_filter":
        return NoText("refused", "The model declined.")
    content: object = message.content
    if content is not None and not isinstance(content, str):
        return NoText("bad_schema", "The message is not text.")
    if finish == "length":
        return NoText("truncated", "The reply was cut off at the limit of its length.")
    thought = _THOUGHT.match(content or "")
    text = (content or "")[thought.end() if thought else 0 :].strip()
    return text or NoText("empty", "The reply is empty.")


def declines(text: str) -> bool:
    """Whether a text begins like a refusal in words."""
    return _DECLINES.match(text) is not None


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
        self, messages: Sequence[Message], charge: Charge, purse: CallBudget, *, temperature: float, seed: int
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
        self, messages: Sequence[Message], charge: Charge, purse: CallBudget, temperature: float, seed: int
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
        self, messages: Sequence[Message], charge: Charge, purse: CallBudget, parameters: dict[str, Any]
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


_HOPELESS: Final = frozenset({"budget", "unauthorized", "bad_request", "circuit_open"})
"""Reasons that another attempt with the same model cannot change."""
_FAULTS: Final = frozenset(get_args(Fault))
_FIRST_SEED: Final = 7
"""Any fixed number: the same attempt at the same text should give the same words."""
_REMEMBERED: Final = 1_000
_REST_USES: Final = 50
"""How often a text that was given up is asked for in vain before it is tried again; doubles each time."""
_MEANING: Final = "It does not mean the same as the original."


def _uncounted(outcome: str) -> None:
    del outcome


class _Failed(NamedTuple):
    """An attempt that brought no valid text, and what the next one is to be told."""

    rejection: Rejection
    feedback: Rejected | None
    patience: int


@dataclass(slots=True)
class _GivenUp:
    """A text that failed to the end, and how long it rests."""

    rejection: Rejection
    rounds: int
    """How often all attempts have failed."""
    left: int
    """Uses until the next round."""


class Rewriter:
    """Rewrites texts with a model, and with a stronger one where that does not do.

    Flow: cache → call → gate → up to `attempts` calls, told what was wrong → the stronger model once
    → `Rejection` with the last reason. A few words that come back unchanged twice, as names do, stay as they
    are. Tasks alike that are under way share one outcome. A text whose rewriting fails the gate to the end
    rests for 50 uses, then for 100, 200 and so on, so that it costs little and an instruction that all
    prompts share is not lost because a judge once erred. Of such texts the last 1,000 are remembered.

    Belongs to one event loop. Close it, or use it as an async context manager.
    """

    def __init__(
        self,
        model: ModelEndpoint,
        *,
        cache: RewriteCache,
        stronger: ModelEndpoint | None = None,
        equal_meaning: EqualMeaning | None = None,
        attempts: int = 3,
        count: Count = _uncounted,
    ) -> None:
        """Wire the rewriter, which closes its endpoints when it is closed.

        Args:
            model: Tried first.
            cache: Where accepted texts are kept.
            stronger: Tried once when the first model has failed.
            equal_meaning: Asked last about a text that has passed the gate. False rejects it; None,
                not to be told, lets it pass and is counted: a judge in trouble is no fault of the text.
            attempts: Calls of the first model for one text.
            count: Told each outcome.
        """
        self._model = model
        self._stronger = stronger
        self._models = f"{model.model}\n{stronger.model if stronger else ''}"
        self._cache = cache
        self._equal_meaning = equal_meaning
        self._attempts = attempts
        self._count = count
        self._running: dict[str, asyncio.Task[str | Rejection]] = {}
        self._given_up: dict[str, _GivenUp] = {}

    @classmethod
    def connect(
        cls,
        *,
        base_url: str,
        model: str,
        api_key: str,
        cache: RewriteCache,
        stronger_model: str | None = None,
        timeout_s: float = 60.0,
        concurrency: int = 4,
        headroom_tokens: int = 512,
        price: Price = free,
        equal_meaning: EqualMeaning | None = None,
        count: Count = _uncounted,
        observer: CallObserver = UNOBSERVED,
    ) -> Self:
        """A rewriter whose models are behind one endpoint; nothing is sent.

        Args:
            base_url: Up to and including the version, e.g. "https://api.openai.com/v1".
            model: Tried first, by the name the endpoint knows it by.
            api_key: Sent as a bearer token. "" for endpoints that need none.
            cache: Where accepted texts are kept.
            stronger_model: Tried once when the first has failed.
            timeout_s: Limit for a call, in seconds.
            concurrency: Calls under way at the same time, for each model.
            headroom_tokens: Added to the longest reply asked for; models that reason need some thousand.
            price: Cost of the tokens; default free.
            equal_meaning: As for the constructor.
            count: Told each outcome.
            observer: Told of each request.
        """

        def endpoint(name: str) -> ModelEndpoint:
            return ModelEndpoint(
                base_url=base_url,
                model=name,
                api_key=api_key,
                timeout_s=timeout_s,
                concurrency=concurrency,
                headroom_tokens=headroom_tokens,
                price=price,
                observer=observer,
            )

        stronger = endpoint(stronger_model) if stronger_model else None
        return cls(endpoint(model), cache=cache, stronger=stronger, equal_meaning=equal_meaning, count=count)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Stop what is under way and close the connections."""
        running = list(self._running.values())
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        await self._model.close()
        if self._stronger:
            await self._stronger.close()

    async def rewrite(self, task: RewriteTask, purse: CallBudget) -> str | Rejection:
        """Rewrite one text.

        Returns: a text that has passed the gate, or why there is none. Never raises for what a
            model or its endpoint does; errors of cache and purse come through.
        """
        key = cache_key(task, self._models)
        while key in self._running:
            # Shielded: who stops waiting does not take the text from the others.
            outcome = await asyncio.shield(self._running[key])
            # One route's empty purse says nothing about another's.
            if isinstance(outcome, str) or outcome.reason != "budget":
                self._count("shared")
                return outcome
        running = asyncio.create_task(self._outcome(key, task, purse))
        self._running[key] = running
        running.add_done_callback(lambda _: self._running.pop(key, None))
        return await asyncio.shield(running)

    async def _outcome(self, key: str, task: RewriteTask, purse: CallBudget) -> str | Rejection:
        cached = await asyncio.to_thread(self._cache.get, key)
        if cached is not None:
            self._count("cached")
            return cached
        before = self._given_up.get(key)
        if before is not None and before.left > 0:
            before.left -= 1
            self._count(f"rejected_{before.rejection.reason}")
            return before.rejection
        rounds = before.rounds if before else 0
        outcome = await self._written(task, purse, rounds)
        if isinstance(outcome, str):
            self._given_up.pop(key, None)
            await asyncio.to_thread(self._cache.put, key, outcome)
            self._count("accepted")
            return outcome
        if outcome.reason in _FAULTS:
            self._given_up[key] = _GivenUp(outcome, rounds + 1, _REST_USES << rounds)
            if len(self._given_up) > _REMEMBERED:
                self._given_up.pop(next(iter(self._given_up)))
        self._count(f"rejected_{outcome.reason}")
        return outcome

    async def _written(self, task: RewriteTask, purse: CallBudget, rounds: int) -> str | Rejection:
        failed = _Failed(Rejection("empty"), None, 1)
        first = rounds * (self._attempts + 1)
        for number in range(self._attempts):
            outcome = await self._attempt(self._model, task, purse, failed, first + number)
            if isinstance(outcome, str):
                return outcome
            again = {failed.rejection.reason, outcome.rejection.reason} == {"unchanged"}
            if again and await asyncio.to_thread(may_stay, task.text):
                return task.text
            failed = outcome
            if failed.rejection.reason in _HOPELESS:
                break
            if number + 1 < self._attempts:
                self._count(f"retried_{failed.rejection.reason}")
        if self._stronger and failed.rejection.reason != "budget":
            self._count("stronger")
            outcome = await self._attempt(self._stronger, task, purse, failed, first + self._attempts)
            if isinstance(outcome, str):
                return outcome
            failed = outcome
        return failed.rejection

    async def _attempt(
        self, model: ModelEndpoint, task: RewriteTask, purse: CallBudget, before: _Failed, number: int
    ) -> str | _Failed:
        messages = request_for(task, passages_to_keep(task), before.feedback)
        charge = model.charge(messages, task.text, before.patience)
        # Without some chance a model told of its faults tends to write the same again.
        temperature = 0.0 if number == 0 else 0.5
        said = await model.say(messages, charge, purse, temperature=temperature, seed=_FIRST_SEED + number)
        if isinstance(said, NoText):
            patience = before.patience * (2 if said.reason == "truncated" else 1)
            return _Failed(Rejection(said.reason, said.detail), before.feedback, patience)
        if declines(said) and not declines(task.text):
            return _Failed(Rejection("refused", "The model declined in words."), before.feedback, 1)
        # In a thread: the first question about a language reads the model, which takes half a second.
        faults = await asyncio.to_thread(faults_of, task, said, marker_tag(messages))
        if faults:
            feedback = Rejected(said, tuple(fault.detail for fault in faults))
            return _Failed(Rejection(faults[0].reason, faults[0].detail), feedback, before.patience)
        if await self._means_the_same(task, said) is False:
            return _Failed(Rejection("meaning", _MEANING), Rejected(said, (_MEANING,)), before.patience)
        return said

    async def _means_the_same(self, task: RewriteTask, text: str) -> bool | None:
        if self._equal_meaning is None:
            return True
        same = await self._equal_meaning(task.text, text)
        if same is None:
            self._count("meaning_unknown")
        return same
