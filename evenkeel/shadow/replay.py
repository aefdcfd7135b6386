"""Replays: requests that send a variant to the original's upstream and read the answer.

A replay gives way. It honours `Retry-After`, and once an upstream throttles, every replay of that route
waits: shadow calls must not take the quota of the application's own requests. Other routes go on.

A refusal is quoted as far as it helps: short, on one line, and without secrets.
"""

from __future__ import annotations

import asyncio
import math
import re
import time
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import urlsplit

import msgspec
from msgspec import UNSET

from evenkeel.core import version
from evenkeel.core.backoff import Backoff
from evenkeel.core.budget import NOTHING, booked
from evenkeel.core.exchange import LOOP_GUARD_HEADER
from evenkeel.core.text import well_formed
from evenkeel.core.tiers import DEARER
from evenkeel.core.verdict import REPLAY, Failure
from evenkeel.llm.encodings import UnreadableBody
from evenkeel.llm.faults import asked_pause_s, fault_of, sentence_of
from evenkeel.llm.limits import Pauses
from evenkeel.llm.observer import NO_REPORT
from evenkeel.llm.providers import stores_unasked
from evenkeel.llm.wire import FLEX_TIMES, MissingResponse, RawResponse, Wire
from evenkeel.shadow.answer import read_answer
from evenkeel.shadow.limits import LONGEST_ANSWER_CHARS, is_too_long
from evenkeel.shadow.prompt import CHAT
from evenkeel.shadow.prompt.members import STREAM_OPTIONS, USAGE_IN_STREAM
from evenkeel.shadow.protection.detectors import API_KEY, EMAIL, JWT, SECRET

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from evenkeel.core.budget import CallBudget, Spend
    from evenkeel.core.pair import Answer
    from evenkeel.core.tiers import Tier
    from evenkeel.llm.observer import CallReport
    from evenkeel.llm.price import Quote
    from evenkeel.shadow.prompt import Api


LONGEST: Final = 200
"""Most characters of an excerpt."""
_MASK: Final = "***"
# Placeholder for the mask until the end, so that no rule mistakes it for one of the upstream's own.
_CUT: Final = "\0"
# Characters of a message that are searched for secrets, before the message is shortened: no secret is cut in
# half.
_READ_CHARACTERS: Final = 2_000
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


def excerpt(response: RawResponse, credentials: Iterable[str] = (), *, message: bool = True) -> str:
    """Return an error body as one line: "invalid_request_error, context_length_exceeded: The …".

    Without `message` its sentence is left out: upstreams put parts of a key that they refuse into it.

    Returns: one line of at most 200 characters, credentials, keys and addresses masked; "" if the body is
        no error that is known.
    """
    error = response.error()
    names: list[str] = []
    for name in _NAMES:
        value = error.get(name)
        if isinstance(value, str | int) and value != "" and str(value) not in names:
            names.append(str(value))
    parts = [", ".join(names), sentence_of(error) if message else ""]
    line = " ".join(well_formed(": ".join(filter(None, parts))).split())
    # First what is not printed, or a key with such characters in it would be whole again without them.
    line = "".join(character for character in line if character.isprintable())
    line = _masked(line[:_READ_CHARACTERS], credentials)
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"


def _masked(text: str, credentials: Iterable[str]) -> str:
    words: set[str] = set()
    for value in credentials:
        words.update((value, *value.split()))
    for word in sorted(words, key=len, reverse=True):
        if len(word) >= _SHORTEST_CREDENTIAL:
            text = text.replace(word, _CUT)
    for pattern in _SECRETS:
        for span in sorted(pattern.find(text), key=lambda match: -match.start):
            text = f"{text[: span.start]}{_CUT}{text[span.end :]}"
    text = _LOOKS_SECRET.sub(lambda match: f"{_CUT}@" if match[0].endswith("@") else _CUT, text)
    return text.replace(_CUT, _MASK)


VERSION = 1
"""Version of the replay policy, recorded in failures."""

# A replay gives way: more attempts would take quota from the application's own requests.
_ATTEMPTS = 3
_THROTTLED_PAUSES: Final = Backoff(2.0, 60.0)
# 529 is Anthropic's, which is overloaded.
_THROTTLED = frozenset({429, 503, 529})
_KEY_UNKNOWN = 401
_INVALID = frozenset({400, 422})
# Of an error body, which may be a whole web page of a gateway.
_COMPLAINT_BYTES = 65_536
_ABOUT_LENGTH = ("context length",)
_ABOUT_LIMIT = ("max_tokens", "max_completion_tokens", "max_output_tokens", *_ABOUT_LENGTH)
_ABOUT_USAGE = ("stream_options", "include_usage")
_ABOUT_TIER = ("service_tier", "flex")
_USAGE: Final = b'"%b":%b' % (STREAM_OPTIONS.encode(), USAGE_IN_STREAM.encode())
_PREVIOUS_UNKNOWN: Final = "previous_response_not_found"
_SERVICE_TIER: Final = re.compile(rb'"service_tier"\s*:\s*"(\w+)"')
FLEX_UNAVAILABLE: Final = "flex_unavailable"
"""Reason of a replay that the flex tier had no room for; it cost nothing."""
FLEX_UNSUPPORTED: Final = "flex_unsupported"
"""Reason of a replay to an endpoint that has no flex tier for its model; it cost nothing."""


@dataclass(frozen=True, slots=True)
class Target:
    """Address and credential of a route's replays."""

    url: str
    """Absolute URL of the upstream call."""
    headers: tuple[tuple[str, str], ...] = ()
    """Headers of the replay, such as the shadow credential. Never logged."""
    unix_path: str | None = None
    """File name of the Unix socket to connect to, in place of the URL's host."""
    route: str = ""
    """Route whose replays wait when the upstream throttles."""
    flex: bool = False
    """True if replays that can wait go to the endpoint's flex tier."""

    def __repr__(self) -> str:
        return f"Target(url={self.url!r}, headers=<{len(self.headers)} hidden>)"


@dataclass(frozen=True, slots=True)
class Replay:
    """Answer to a variant."""

    answer: Answer
    duration_s: float
    tier: Tier | None = None
    """Tier that answered, if it is not the requested one."""
    first_s: float | None = None
    """Seconds until its first token; None if it was not streamed."""


class _Attempt(NamedTuple):
    """Attempt: the response to a request, and its outcome."""

    response: RawResponse | MissingResponse
    outcome: Replay | Failure


class _ReplayForm(NamedTuple):
    """Form of a request that an upstream takes."""

    limit: int = 0
    """Index of the name for the limit of the answer among the API's; there is no limit beyond the last."""
    usage: bool = True
    """True if a stream may be asked for its token counts."""

    def body(self, body: bytes, api: Api, quote: Quote | None) -> bytes:
        """Return a request in this form."""
        limit_tokens = quote.limit_tokens if quote and api.adds_limit else None
        if limit_tokens is not None and self.limit < len(api.limits):
            body = _with_members(body, b'"%b":%d' % (api.limits[self.limit].encode(), limit_tokens))
        if self.usage and api.usage_on_request and _streams_without_options(body):
            body = _with_members(body, _USAGE)
        return body

    def after(self, response: RawResponse, body: bytes) -> _ReplayForm:
        """Return the form without what a response to a request in this form rejects."""
        if _USAGE in body and _rejects(response, _ABOUT_USAGE):
            return self._replace(usage=False)
        return self._replace(limit=self.limit + 1) if _rejects(response, _ABOUT_LIMIT) else self


class Replayer:
    """Sends variants under a concurrency limit shared by all routes."""

    def __init__(
        self,
        *,
        concurrency: int,
        timeout_s: float,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        patience_s: float = math.inf,
    ) -> None:
        """Build the client; nothing is sent.

        `timeout_s` limits one attempt. `patience_s` is how long a replay waits for a throttling upstream, all
        attempts together. One that would wait for longer fails: where replays of several routes share a
        worker, those of one that throttles must not take all places.
        """
        self._timeout_s = timeout_s
        headers = {"user-agent": f"evenkeel/{version.VERSION}", LOOP_GUARD_HEADER.decode(): "1"}
        self._wire = Wire(connections=concurrency, headers=headers)
        self._slots = asyncio.Semaphore(concurrency)
        self._clock = clock
        self._sleep = sleep
        self._patience_s = patience_s
        # Pauses that upstreams asked for, by route and host of the upstream.
        self._pauses: dict[tuple[str, str], Pauses] = {}
        # Form that each upstream takes, by its URL. Only what worked is remembered.
        self._forms: dict[str, _ReplayForm] = {}

    async def close(self) -> None:
        """Close the connections."""
        await self._wire.close()

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
        """Send a variant. Return the upstream's answer, or the reason why there is none.

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
        body = _not_stored(body, api, target.url)
        form = self._forms.get(target.url, _ReplayForm())
        # What cures a request that is too long says nothing about others.
        too_long = False
        pauses = self._pauses_of(target)
        patience_s = self._patience_s
        outcome: Replay | Failure | None = None
        attempt = 1
        while attempt <= _ATTEMPTS:
            rested_s = await self._place(pauses, patience_s)
            if rested_s is None:
                return outcome or _failure(
                    "rate_limited", "not sent: the upstream asked replays of this route to pause"
                )
            patience_s -= rested_s
            sent = form.body(body, api, quote)
            post = partial(self._attempt, target, sent, api, quote, observed)
            try:
                if budget is None:
                    tried: _Attempt | None = await post()
                else:
                    estimate = quote.estimate if quote else NOTHING
                    tried = await booked(budget, estimate, post, partial(_proven, quote=quote, api=api))
            finally:
                self._slots.release()
            if tried is None:
                return outcome or _failure("budget", "the day's budget does not allow the call")
            response, outcome = tried
            if isinstance(response, MissingResponse):
                break
            too_long |= _rejects(response, _ABOUT_LENGTH)
            further = form.after(response, sent)
            if further.body(body, api, quote) != sent:
                form = further
                continue
            if response.is_success and not too_long:
                self._forms[target.url] = form
            if response.status not in _THROTTLED:
                break
            if isinstance(outcome, Failure) and outcome.reason in {"rejected", FLEX_UNAVAILABLE}:
                break
            # What is asked may be nothing at all, and the application's own requests go first.
            pauses.pause(max(asked_pause_s(response.headers) or 0.0, _THROTTLED_PAUSES.pause_s(attempt)))
            attempt += 1
        assert outcome is not None
        return outcome

    async def _attempt(
        self,
        target: Target,
        body: bytes,
        api: Api,
        quote: Quote | None,
        observed: Callable[[], AbstractContextManager[CallReport]],
    ) -> _Attempt:
        is_flex = quote is not None and quote.tier == "flex"
        with observed() as report:
            started = self._clock()
            response = await self._wire.post(
                target.url,
                body,
                [*target.headers, *report.headers.items()],
                self._timeout_s * (FLEX_TIMES if is_flex else 1),
                unix_path=target.unix_path,
            )
            outcome: Replay | Failure
            if isinstance(response, MissingResponse):
                outcome = _failure(response.reason, response.detail)
            else:
                outcome = _read(target, response, self._clock() - started, api)
                outcome = _flexed(response, outcome) if is_flex else outcome
            report.ended(outcome.reason if isinstance(outcome, Failure) else outcome.answer)
        return _Attempt(response, outcome)

    async def _place(self, pauses: Pauses, patience_s: float) -> float | None:
        """Take one of the replay slots once the upstream wants no pause. Hold none while waiting.

        Returns: seconds rested; None, without a place, if it would take more than `patience_s`.
        """
        rested_s = 0.0
        while True:
            more_s = await pauses.rest(patience_s - rested_s)
            if more_s is None:
                return None
            rested_s += more_s
            await self._slots.acquire()
            if not pauses.pause_left_s:
                return rested_s
            self._slots.release()

    def _pauses_of(self, target: Target) -> Pauses:
        key = target.route, target.unix_path or urlsplit(target.url).netloc
        if key not in self._pauses:
            self._pauses[key] = Pauses(clock=self._clock, sleep=self._sleep)
        return self._pauses[key]


def _read(target: Target, response: RawResponse, duration_s: float, api: Api) -> Replay | Failure:
    """Return the answer to a replay, or the failure if the upstream gave none."""
    if not response.is_success:
        credentials = [value for _, value in target.headers]
        # Upstreams repeat parts of a key that they do not know.
        return _refused(response, excerpt(response, credentials, message=response.status != _KEY_UNKNOWN))
    try:
        answer = read_answer(response.content_headers, response.raw, api.answer_reader())
        if is_too_long(answer):
            return _failure(
                "answer_too_long", f"the answer has more than {LONGEST_ANSWER_CHARS:,} characters"
            )
        return Replay(answer, duration_s, first_s=response.first_s if answer.streamed else None)
    except UnreadableBody as error:
        return _failure(error.reason, error.detail)


def _with_members(body: bytes, members: bytes) -> bytes:
    return b"%b,%b}" % (body.rstrip().removesuffix(b"}"), members)


class _Options(msgspec.Struct):
    """Members of a request that say whether and how it is streamed, and whether its answer is kept."""

    stream: Any = None
    stream_options: Any = None
    store: Any = UNSET


def _stated(body: bytes) -> _Options:
    """Return what a request states; nothing for one that cannot be read."""
    try:
        return msgspec.json.decode(body, type=_Options)
    except (msgspec.MsgspecError, RecursionError):
        return _Options()


def _streams_without_options(body: bytes) -> bool:
    """Return whether a request asks for a stream and says nothing about token counts in it."""
    asked = _stated(body)
    return asked.stream is True and asked.stream_options is None


def _not_stored(body: bytes, api: Api, url: str) -> bytes:
    """Return a request whose answer the endpoint does not keep."""
    if api is CHAT and stores_unasked(url) and _stated(body).store is UNSET:
        return _with_members(body, b'"store":false')
    return body


def _rejects(response: RawResponse, words: Iterable[str]) -> bool:
    """Return whether an upstream rejects a request with one of these words."""
    if response.status not in _INVALID:
        return False
    try:
        complaint = response.body()[:_COMPLAINT_BYTES].lower().decode("utf-8", "replace")
    except UnreadableBody:
        return False
    return any(word in complaint for word in words)


def _proven(tried: _Attempt, *, quote: Quote | None, api: Api) -> Spend:
    """Return the proven cost of an attempt, else the estimate."""
    response, outcome = tried
    if quote is None or response.is_free:
        return NOTHING
    if isinstance(response, MissingResponse) or not isinstance(outcome, Replay):
        return quote.estimate
    if api.has_flex and _tier_of(response) in DEARER:
        return quote.estimate
    return quote.proven(outcome.answer, outcome.tier)


def _tier_of(response: RawResponse) -> str:
    """Return the tier that answered a request as the endpoint names it; nothing if it does not."""
    match = _SERVICE_TIER.search(response.body())
    return match[1].decode() if match else ""


def _flexed(response: RawResponse, outcome: Replay | Failure) -> Replay | Failure:
    """Return a flex request's outcome, with the tier that answered or the reason for a refusal."""
    if isinstance(outcome, Replay):
        return replace(outcome, tier="standard") if _tier_of(response) not in ("", "flex") else outcome
    fault = fault_of(response)
    if fault.no_room:
        return _failure(FLEX_UNAVAILABLE, f"the flex tier had no room ({response.status})")
    # Not of the whole body: some servers repeat the request in it.
    complaint = f"{response.error().get('param')} {fault.complaint}".lower()
    if any(word in complaint for word in _ABOUT_TIER):
        return _failure(FLEX_UNSUPPORTED, "the endpoint has no flex tier for this model")
    return outcome


def _refused(response: RawResponse, detail: str) -> Failure:
    """Return an error response as a failure that quotes the upstream."""
    status, reason = response.status, fault_of(response).reason
    # Advice stands behind a semicolon, and whoever has better advice looks for it.
    because = f" ({detail.replace(';', ',')})" if detail else ""
    if reason == "unauthorized":
        return _failure(
            "unauthorized", f"the upstream answered {status} to a replay{because}; set a shadow credential"
        )
    if status in _THROTTLED and reason in {"rate_limited", "server_error"}:
        return _failure("rate_limited", f"the upstream answered {status} {_ATTEMPTS} times{because}")
    if reason == "server_error":
        return _failure("server_error", f"the upstream answered {status}{because}")
    if response.error().get("code") == _PREVIOUS_UNKNOWN:
        return _failure(
            "previous_response_unknown",
            f"the upstream answered {status}: it does not know the response that the request continues; it "
            "knows stored ones of the same project, so set a shadow credential of that project",
        )
    return _failure("rejected", f"the upstream answered {status} to the variant{because}")


def _failure(reason: str, detail: str) -> Failure:
    return Failure(REPLAY, VERSION, reason, detail)
