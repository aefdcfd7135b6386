"""Replays: sends a variant to the upstream the original went to, and reads the answer.

A replay gives way. It honours `Retry-After`, and once an upstream throttles, every replay of that route waits
that is at least as large as the smallest one refused: shadow calls must not take the quota of the
application's own requests. Other routes go on, and so do smaller requests until one is refused as well.

A refusal is quoted as far as it helps: short, on one line, and without secrets.
"""

from __future__ import annotations

import asyncio
import json
import math
import re
import time
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import httpx2

from evenkeel.core.budget import NOTHING, set_aside
from evenkeel.core.exchange import LOOP_GUARD_HEADER
from evenkeel.core.text import well_formed
from evenkeel.core.verdict import Failure
from evenkeel.llm.faults import about_request, asked_pause_s, has_no_room
from evenkeel.llm.limits import RateLimits
from evenkeel.llm.observer import NO_REPORT, CallResult
from evenkeel.shadow.answer import read_answer
from evenkeel.shadow.encodings import MAX_DECODED_BYTES, UnreadableBody, decode_body
from evenkeel.shadow.limits import LONGEST_ANSWER_CHARS, is_too_long
from evenkeel.shadow.prompt import CHAT
from evenkeel.shadow.protection.detectors import API_KEY, EMAIL, JWT, SECRET

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping

    from evenkeel.core.budget import CallBudget, Spend
    from evenkeel.core.pair import Answer
    from evenkeel.core.tiers import Tier
    from evenkeel.llm.observer import CallReport
    from evenkeel.llm.price import Quote
    from evenkeel.shadow.prompt import Api


LONGEST: Final = 200
"""Characters of an excerpt."""
_MASK: Final = "***"
_CUT: Final = "\0"
"""Stands for the mask meanwhile, so that no rule takes it for one of the upstream's."""
_READ_BYTES: Final = 65_536
"""A larger body is no error message."""
_READ_CHARACTERS: Final = 2_000
"""Of a message: secrets are looked for before it is cut, so that none is cut in half."""
_SHORTEST_CREDENTIAL: Final = 6
_NAMES: Final = ("type", "code")
_SECRETS: Final = (JWT, API_KEY, SECRET, EMAIL)
_LOOKS_SECRET: Final = re.compile(
    r"""
      (?<=://) [^\s/@]{1,200} @                             # who asks, in an address
    | [^\s*"']{0,100} \*{3,} [^\s"']{0,200}                 # masked by the upstream, but not all of it
    | \b (?:sk|pk|rk|key|org|proj|user|acct) [-_] [\w-]{6,200}
    | \b (?=[A-Za-z]{0,99}\d) (?=\d{0,99}[A-Za-z]) [0-9A-Za-z_]{24,200} \b   # long, of letters and digits
    """,
    re.VERBOSE,
)


def excerpt(
    headers: Mapping[str, str], body: bytes, credentials: Iterable[str] = (), *, message: bool = True
) -> str:
    """Type, code and message of an error body: "invalid_request_error, context_length_exceeded: The …".

    Bodies as OpenAI, Azure, Anthropic, vLLM, Ollama and FastAPI write them are known.

    Args:
        headers: Of the response, names in lower case.
        body: As on the wire.
        credentials: What the request was sent with; masked wherever the upstream repeats it.
        message: Whether its sentence is wanted. Upstreams put parts of a key that they refuse into it.

    Returns: one line of at most 200 characters, credentials, keys and addresses masked; "" if the body is
        none of these.
    """
    error = _error(headers, body)
    names = dict.fromkeys(
        str(error[name]) for name in _NAMES if isinstance(error.get(name), str | int) and error[name] != ""
    )
    parts = [", ".join(names)]
    said = next((error[key] for key in ("message", "detail", "msg") if isinstance(error.get(key), str)), "")
    if message:
        parts.append(said)
    line = " ".join(well_formed(": ".join(filter(None, parts))).split())
    # First what is not printed, or a key with such characters in it would be whole again without them.
    line = "".join(character for character in line if character.isprintable())
    line = _masked(line[:_READ_CHARACTERS], credentials)
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"


def _error(headers: Mapping[str, str], body: bytes) -> Mapping[str, Any]:
    """The members of the error, {} if the body is none that is known."""
    try:
        decoded = json.loads(decode_body(headers, body, _READ_BYTES))
    except (UnreadableBody, ValueError, RecursionError):
        return {}
    if not isinstance(decoded, dict):
        return {}
    inner = decoded.get("error", decoded)
    if isinstance(inner, str):
        return {"message": inner}
    return inner if isinstance(inner, dict) else {}


def _masked(text: str, credentials: Iterable[str]) -> str:
    words = {word for value in credentials for word in (value, *value.split())}
    for word in sorted(words, key=len, reverse=True):
        if len(word) >= _SHORTEST_CREDENTIAL:
            text = text.replace(word, _CUT)
    for pattern in _SECRETS:
        for found in sorted(pattern.find(text), key=lambda one: -one.start):
            text = f"{text[: found.start]}{_CUT}{text[found.end :]}"
    text = _LOOKS_SECRET.sub(lambda match: f"{_CUT}@" if match[0].endswith("@") else _CUT, text)
    return text.replace(_CUT, _MASK)


VERSION = 1
"""Version of the replay policy, recorded in failures."""

_ATTEMPTS = 3
_WAIT_LONGEST_S = 60.0
_READ_HEADERS = ("content-type", "content-encoding")
_THROTTLED = frozenset({429, 503})
_KEY_UNKNOWN = 401
_UNAUTHORIZED = frozenset({_KEY_UNKNOWN, 403})
_FIRST_ERROR_STATUS = 400
_FIRST_SERVER_ERROR = 500
_TIMED_OUT = 408
_INVALID = frozenset({400, 422})
_COMPLAINT_BYTES = 65_536
_ABOUT_LIMIT = (b"max_tokens", b"max_completion_tokens", b"max_output_tokens", b"context length")
_FLEX_TIMES: Final = 5
"""How many times as long an answer of the flex tier may take."""
_SERVICE_TIER: Final = re.compile(rb'"service_tier"\s*:\s*"(\w+)"')
FLEX_UNAVAILABLE: Final = "flex_unavailable"
"""Reason of a replay that the flex tier had no room for; it cost nothing."""
FLEX_UNSUPPORTED: Final = "flex_unsupported"
"""Reason of a replay to an endpoint that has no flex tier for its model; it cost nothing."""
_NEVER_SENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)


@dataclass(frozen=True, slots=True)
class Target:
    """Where a route's replays go, and with which credential."""

    url: str
    """Absolute URL of the upstream call."""
    headers: tuple[tuple[str, str], ...] = ()
    """The shadow credential and the like. Never logged."""
    unix_path: str | None = None
    """File name of the Unix socket to connect to, in place of the URL's host."""
    route: str = ""
    """Whose replays wait when the upstream throttles."""
    flex: bool = False
    """Whether replays that can wait go to its flex tier."""

    def __repr__(self) -> str:
        return f"Target(url={self.url!r}, headers=<{len(self.headers)} hidden>)"


@dataclass(frozen=True, slots=True)
class Replay:
    """The answer to a variant."""

    answer: Answer
    duration_s: float
    tier: Tier | None = None
    """In which it was answered, if that is not the one asked for."""


@dataclass(frozen=True, slots=True)
class _Received:
    """A response, its body as it came, still compressed."""

    status_code: int
    headers: httpx2.Headers
    body: bytes


@dataclass(frozen=True, slots=True)
class _Unanswered:
    """An attempt without a response."""

    failure: Failure
    arrived: bool = True
    """False if it certainly never reached the upstream."""


async def _received(response: httpx2.Response) -> _Received:
    """Read a response, whose compression the client would undo without a limit.

    Raises: UnreadableBody "too_large".
    """
    pieces: list[bytes] = []
    room = MAX_DECODED_BYTES
    async for piece in response.aiter_raw():
        room -= len(piece)
        if room < 0:
            raise UnreadableBody("too_large", f"the answer is larger than {MAX_DECODED_BYTES} bytes")
        pieces.append(piece)
    return _Received(response.status_code, response.headers, b"".join(pieces))


class _Throttle:
    """How long the replays of a route to an upstream wait."""

    def __init__(self, limits: RateLimits) -> None:
        self._limits = limits
        self._smallest = 0
        """Bytes of the smallest request that was refused in this pause."""

    def left_s(self, size: int) -> float:
        """Seconds that a request of so many bytes waits."""
        return self._limits.pause_left_s if size >= self._smallest else 0.0

    async def rest(self, size: int, patience_s: float) -> float | None:
        """Wait; returns the seconds waited, None as soon as it is clear that it takes longer."""
        return await self._limits.rest(patience_s) if self.left_s(size) else 0.0

    def refused(self, size: int, pause_s: float) -> None:
        """Note that a request of this size was refused."""
        self._smallest = min(self._smallest, size) if self._limits.pause_left_s else size
        self._limits.pause(pause_s)


class Replayer:
    """Sends variants under a concurrency limit shared by all routes."""

    def __init__(
        self,
        *,
        concurrency: int,
        timeout_s: float,
        clock: Callable[[], float] = time.time,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        user_agent: str = "evenkeel",
        patience_s: float = math.inf,
    ) -> None:
        """Build the clients; nothing is sent.

        Args:
            concurrency: Replays under way at once.
            timeout_s: Limit of one attempt, in seconds.
            clock: Seconds.
            sleep: Waits so many seconds.
            user_agent: Of the requests.
            patience_s: How long a replay waits for a throttling upstream, all attempts together. One that
                would wait for longer fails: where replays of several routes share a worker, those of one
                that throttles must not take all places.
        """
        self._timeout_s = timeout_s
        self._limits = httpx2.Limits(max_connections=concurrency, max_keepalive_connections=concurrency)
        self._headers = {"user-agent": user_agent, LOOP_GUARD_HEADER.decode(): "1"}
        self._clients: dict[str | None, httpx2.AsyncClient] = {}
        self._slots = asyncio.Semaphore(concurrency)
        self._clock = clock
        self._sleep = sleep
        self._patience_s = patience_s
        self._throttles: dict[tuple[str, str], _Throttle] = {}
        """By route and host of the upstream."""
        self._forms: dict[str, int] = {}
        """Which name of the answer's limit each upstream takes, by its URL."""

    async def close(self) -> None:
        """Close the connections."""
        for client in self._clients.values():
            await client.aclose()

    def _client(self, unix_path: str | None) -> httpx2.AsyncClient:
        """The client for TCP, or for one Unix socket."""
        if unix_path not in self._clients:
            self._clients[unix_path] = httpx2.AsyncClient(
                transport=httpx2.AsyncHTTPTransport(uds=unix_path, limits=self._limits, trust_env=False),
                timeout=self._timeout_s,
                headers=self._headers,
                follow_redirects=False,
                trust_env=False,
            )
        return self._clients[unix_path]

    async def send(
        self,
        target: Target,
        body: bytes,
        *,
        api: Api = CHAT,
        observed: Callable[[], AbstractContextManager[CallReport]] = lambda: nullcontext(NO_REPORT),
        budget: CallBudget | None = None,
        quote: Quote | None = None,
    ) -> Replay | Failure:
        """The upstream's answer, or why there is none.

        Args:
            target: Where to.
            body: A request of that API.
            api: Of the request.
            observed: Opened around each attempt; the headers it asks for are sent along.
            budget: Reserves each attempt before it is sent. One that was refused or never arrived is given
                back, and one that is answered settled; any other stays booked.
            quote: What an attempt may cost, and in which tier the body asks for it. A body that states no
                limit of the answer is given this one's, under the name that the upstream takes.

        Returns: the answer, or a `Failure`: "budget" if the first attempt was not allowed, `FLEX_UNAVAILABLE`
            or `FLEX_UNSUPPORTED` if the flex tier did not take it.
        """
        estimate = quote.estimate if quote else NOTHING
        tier: Tier = quote.tier if quote else "standard"
        forms = _limited(body, api, quote)
        throttle = self._throttle_of(target)
        patience_s = self._patience_s
        outcome: Replay | Failure | None = None
        attempt = 1
        while attempt <= _ATTEMPTS:
            rested_s = await self._place(throttle, len(body), patience_s)
            if rested_s is None:
                return outcome or _failure(
                    "rate_limited", "not sent: the upstream asked replays of this route to pause"
                )
            patience_s -= rested_s
            form = min(self._forms.get(target.url, 0), len(forms) - 1)
            try:
                if budget and not await set_aside(budget, estimate):
                    return outcome or _failure("budget", "the day's budget does not allow the call")
                with observed() as report:
                    started = self._clock()
                    timeout_s = self._timeout_s * (_FLEX_TIMES if tier == "flex" else 1)
                    response = await self._post(target, forms[form], report.headers, timeout_s)
                    if isinstance(response, _Unanswered):
                        outcome = response.failure
                    else:
                        outcome = self._read(target, response, self._clock() - started, api, tier)
                    report.ended(_result(outcome))
                if budget:
                    await asyncio.to_thread(budget.settle, estimate, _proven(response, outcome, quote))
            finally:
                self._slots.release()
            if isinstance(response, _Unanswered):
                break
            if form < len(forms) - 1 and _rejects_limit(response):
                self._forms[target.url] = form + 1
                continue
            if response.status_code not in _THROTTLED:
                break
            if isinstance(outcome, Failure) and outcome.reason in {"rejected", FLEX_UNAVAILABLE}:
                break
            asked = asked_pause_s(response.headers)
            throttle.refused(len(body), min(_WAIT_LONGEST_S, 2.0**attempt if asked is None else asked))
            attempt += 1
        assert outcome is not None
        return outcome

    async def _place(self, throttle: _Throttle, size: int, patience_s: float) -> float | None:
        """Take one of the places for replays when the upstream wants no pause; holds none while it waits.

        Returns: seconds rested; None, without a place, if it would take more than `patience_s`.
        """
        rested_s = 0.0
        while True:
            more_s = await throttle.rest(size, patience_s - rested_s)
            if more_s is None:
                return None
            rested_s += more_s
            await self._slots.acquire()
            if not throttle.left_s(size):
                return rested_s
            self._slots.release()

    async def _post(
        self, target: Target, body: bytes, further: Mapping[str, str], timeout_s: float
    ) -> _Received | _Unanswered:
        request = self._client(target.unix_path).stream(
            "POST",
            target.url,
            content=body,
            headers=[("content-type", "application/json"), *target.headers, *further.items()],
            timeout=timeout_s,
        )
        try:
            # The client's own limits are between two bytes: an answer that trickles would never end.
            async with asyncio.timeout(timeout_s), request as response:
                return await _received(response)
        except (httpx2.TimeoutException, TimeoutError) as error:
            late = _failure("timeout", f"no answer in time ({type(error).__name__})")
            return _Unanswered(late, not isinstance(error, _NEVER_SENT))
        except UnreadableBody as error:
            return _Unanswered(_failure(error.reason, error.detail))
        except httpx2.HTTPError as error:
            lost = _failure("connection", f"{type(error).__name__}: {error}")
            return _Unanswered(lost, not isinstance(error, _NEVER_SENT))

    def _throttle_of(self, target: Target) -> _Throttle:
        key = target.route, target.unix_path or httpx2.URL(target.url).netloc.decode()
        if key not in self._throttles:
            self._throttles[key] = _Throttle(RateLimits(clock=self._clock, sleep=self._sleep))
        return self._throttles[key]

    def _read(
        self, target: Target, response: _Received, duration_s: float, api: Api, tier: Tier
    ) -> Replay | Failure:
        outcome = self._answered(target, response, duration_s, api)
        return _flexed(response, outcome) if tier == "flex" else outcome

    def _answered(self, target: Target, response: _Received, duration_s: float, api: Api) -> Replay | Failure:
        headers = {name: response.headers.get(name, "") for name in _READ_HEADERS}
        if response.status_code >= _FIRST_ERROR_STATUS:
            credentials = [value for _, value in target.headers]
            # Upstreams repeat parts of a key that they do not know.
            wordy = response.status_code != _KEY_UNKNOWN
            said = excerpt(headers, response.body, credentials, message=wordy)
            error = _error(headers, response.body)
            own = about_request(response.status_code, map(error.get, _NAMES), str(error.get("message", "")))
            return _refused(response, said, own=own is not None)
        try:
            answer = read_answer(headers, response.body, api.answer_reader())
            if is_too_long(answer):
                return _failure(
                    "answer_too_long", f"the answer has more than {LONGEST_ANSWER_CHARS:,} characters"
                )
            return Replay(answer, duration_s)
        except UnreadableBody as error:
            return _failure(error.reason, error.detail)


def _limited(body: bytes, api: Api, quote: Quote | None) -> list[bytes]:
    """The forms of a request that bound its answer, and last the one that does not, for picky upstreams."""
    if quote is None or quote.limit_tokens is None or not api.adds_limit:
        return [body]
    start = body.rstrip().removesuffix(b"}")
    return [*(b'%b,"%b":%d}' % (start, name.encode(), quote.limit_tokens) for name in api.limits), body]


def _rejects_limit(response: _Received) -> bool:
    """Whether an upstream complains of the limit: its name, or that its model can't write that much."""
    said = response.body[:_COMPLAINT_BYTES].lower()
    return response.status_code in _INVALID and any(word in said for word in _ABOUT_LIMIT)


def _proven(response: _Received | _Unanswered, outcome: Replay | Failure, quote: Quote | None) -> Spend:
    """What an attempt is proven to have cost, else the estimate."""
    if quote is None or _is_free(response):
        return NOTHING
    return quote.proven(outcome.answer, outcome.tier) if isinstance(outcome, Replay) else quote.estimate


def _is_free(response: _Received | _Unanswered) -> bool:
    """Whether an attempt certainly cost nothing; a server may fail, or give up, when the work is done."""
    if isinstance(response, _Unanswered):
        return not response.arrived
    status = response.status_code
    return _FIRST_ERROR_STATUS <= status < _FIRST_SERVER_ERROR and status != _TIMED_OUT


def _flexed(response: _Received, outcome: Replay | Failure) -> Replay | Failure:
    """The outcome of a request of the flex tier: whether that tier took it, and whether it answered."""
    headers = {name: response.headers.get(name, "") for name in _READ_HEADERS}
    if isinstance(outcome, Replay):
        found = _SERVICE_TIER.search(decode_body(headers, response.body))
        return replace(outcome, tier="standard") if found and found[1] != b"flex" else outcome
    error = _error(headers, response.body)
    words = " ".join(str(error.get(name, "")) for name in (*_NAMES, "message", "param"))
    if has_no_room(response.status_code, words):
        return _failure(FLEX_UNAVAILABLE, f"the flex tier had no room ({response.status_code})")
    if response.status_code in _INVALID and ("service_tier" in words or "flex" in words.lower()):
        return _failure(FLEX_UNSUPPORTED, "the endpoint has no flex tier for this model")
    return outcome


def _refused(response: _Received, said: str, *, own: bool) -> Failure:
    """An answer that is an error, with what the upstream says about it.

    Args:
        response: The answer.
        said: Its error in a line.
        own: Whether it is about this variant and no other.
    """
    status = response.status_code
    # Advice stands behind a semicolon, and whoever has better advice looks for it.
    because = f" ({said.replace(';', ',')})" if said else ""
    if status in _UNAUTHORIZED:
        return _failure(
            "unauthorized", f"the upstream answered {status} to a replay{because}; set a shadow credential"
        )
    if status in _THROTTLED and not own:
        return _failure("rate_limited", f"the upstream answered {status} {_ATTEMPTS} times{because}")
    if status >= _FIRST_SERVER_ERROR and not own:
        return _failure("server_error", f"the upstream answered {status}{because}")
    return _failure("rejected", f"the upstream answered {status} to the variant{because}")


def _result(outcome: Replay | Failure) -> CallResult:
    if isinstance(outcome, Failure):
        return CallResult(failure=outcome.reason)
    answer = outcome.answer
    return CallResult(
        answer.model,
        answer.prompt_tokens,
        answer.completion_tokens,
        answer.finish_reason,
        answer.text,
        answer.tool_calls,
        answer.response_id,
    )


def _failure(reason: str, detail: str) -> Failure:
    return Failure("replay", VERSION, reason, detail)
