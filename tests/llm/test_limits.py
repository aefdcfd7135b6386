"""The pace of calls and the circuit breaker, by an injected clock: nothing here waits for real."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.llm.chat import ChatRequest, Completion
from evenkeel.llm.faults import asked_pause_s
from evenkeel.llm.limits import Breaker, Bucket, RateLimits
from evenkeel.llm.observer import ObservedMessage
from tests.llm.scripted import Canned, Clock, Scripted, endpoint_of, error, said, serving

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from evenkeel.llm.client import Endpoint

REQUEST = ChatRequest("judge", (ObservedMessage("user", "Do both say the same?"),), schema={})
GOOD = said("Yes.")
YES = Completion("Yes.", 100, 20)


class Time(Clock):
    """A clock, and limits that go by it."""

    def limits(self, **settings: Any) -> RateLimits:
        return RateLimits(clock=self, sleep=self.sleep, **settings)


def test_a_tenth_may_go_at_once_and_the_rest_at_a_steady_pace() -> None:
    """Of 60 a minute six go at once; then (60 - 6 + 1) / 60 a second run in, one in 12/11 s."""
    time = Time()
    bucket = Bucket(60, time)
    waits = []
    for _ in range(8):
        waits.append(round(bucket.wait_s(1), 6))
        bucket.take(1)
    assert waits == [0, 0, 0, 0, 0, 0, round(12 / 11, 6), round(24 / 11, 6)]


def test_a_few_a_minute_are_spread_over_it() -> None:
    """Of three a minute one goes at once and one each 20 seconds."""
    bucket = Bucket(3, Time())
    for wait_s in (0, 20, 40):
        assert bucket.wait_s(1) == pytest.approx(wait_s)
        bucket.take(1)


@pytest.mark.parametrize("per_minute", [0, 0.5, -1, float("nan")])
def test_a_limit_that_lets_nothing_through_is_refused(per_minute: float) -> None:
    """Less than one a minute is a mistake in the settings, said at the start."""
    with pytest.raises(ValueError, match="at least 1"):
        RateLimits(requests_per_minute=per_minute)


@given(
    st.integers(1, 300),
    st.lists(st.tuples(st.integers(1, 40), st.floats(0, 30)), min_size=1, max_size=60),
)
def test_no_minute_holds_more_than_its_limit(per_minute: int, arrivals: list[tuple[int, float]]) -> None:
    """However calls arrive, those that went out within any 60 seconds are within the limit."""
    time = Time()
    bucket = Bucket(per_minute, time)
    fits = max(1.0, per_minute / 10)
    went: list[tuple[float, int]] = []
    for wanted, quiet_s in arrivals:
        amount = int(min(wanted, fits))
        went.append((time.now + bucket.wait_s(amount), amount))
        bucket.take(amount)
        time.now += quiet_s
    for start, _ in went:
        within = sum(amount for at, amount in went if start <= at < start + 60 - 1e-6)
        assert within <= per_minute


def test_who_would_wait_too_long_is_not_let_into_the_line() -> None:
    """At one a minute and a patience of 100 s there is room for the next call and one behind it."""
    limits = Time().limits(requests_per_minute=1)
    assert [limits.line_up(100) for _ in range(4)] == [True, True, False, False]
    limits.step_out()
    assert limits.line_up(100)
    assert not limits.line_up(119)
    assert limits.line_up(120.001)


def test_a_call_cancelled_while_it_waits_frees_its_place() -> None:
    """The next one waits as if it had never come."""
    time = Time()

    async def never(_: float) -> None:
        await asyncio.Event().wait()

    limits = RateLimits(requests_per_minute=1, clock=time, sleep=never)

    async def scene() -> float | None:
        await limits.admit(100)
        waiting = asyncio.create_task(limits.admit(100))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        limits._sleep = time.sleep
        return await limits.admit(100)

    assert asyncio.run(scene()) == pytest.approx(60)


def test_a_pause_that_begins_while_a_call_waits_is_kept() -> None:
    """Six seconds for its turn and four more of a pause of ten; a hundred are too many and free the turn."""
    time = Time()
    limits = time.limits(requests_per_minute=10)

    async def pause_for(seconds: float) -> float | None:
        async def sleep(wait_s: float) -> None:
            limits.pause(seconds)
            limits._sleep = time.sleep
            await time.sleep(wait_s)

        limits._sleep = sleep
        return await limits.admit(55)

    async def scene() -> list[float | None]:
        await limits.admit(60)
        kept = await pause_for(10)
        # Four seconds have passed since that turn, so the next one is two away.
        refused = await pause_for(100)
        time.now += 200
        return [kept, refused, limits._wait_s(1)]

    assert asyncio.run(scene()) == [pytest.approx(10), None, 0]


# --- the limits of an endpoint


def run(script: Any, scene: Callable[[Endpoint, Scripted], Awaitable[Any]], **options: Any) -> Any:
    async def staged() -> Any:
        async with (
            serving(script) as server,
            endpoint_of(
                base_url=server.url, model="m", api_key="", **({"timeout_s": 5.0, "max_retries": 0} | options)
            ) as endpoint,
        ):
            return await scene(endpoint, server)

    return asyncio.run(staged())


def paced(time: Time, times: int, script: Any, **options: Any) -> list[float]:
    """When each of some requests in a row had its answer."""

    async def scene(endpoint: Endpoint, _: Scripted) -> list[float]:
        at = []
        for _n in range(times):
            await endpoint.chat(REQUEST)
            at.append(time.now - 1000)
        return at

    found: list[float] = run(script, scene, **options)
    return found


def test_calls_held_up_do_not_go_out_in_a_heap() -> None:
    """At ten a minute, three calls that waited a minute for a slow fourth still go out six seconds apart."""
    time = Time()
    sent: list[float] = []

    def answer(_: dict[str, Any]) -> Canned:
        sent.append(time.now - 1000)
        if len(sent) == 1:
            time.now += 60
        return GOOD

    async def scene(endpoint: Endpoint, _: Scripted) -> None:
        await asyncio.gather(*(endpoint.chat(REQUEST) for _n in range(4)))

    run(answer, scene, limits=time.limits(requests_per_minute=10), concurrency=1)
    assert sent == pytest.approx([0, 60, 66, 72])


def test_an_endpoint_keeps_to_its_requests_a_minute() -> None:
    """At ten a minute one goes at once, the second after six seconds; one without a parameter counts, too."""
    time = Time()
    assert paced(time, 3, [GOOD], limits=time.limits(requests_per_minute=10)) == pytest.approx([0, 6, 12])
    time = Time()
    rejects = [error(400, "no seed"), GOOD]
    assert paced(time, 2, rejects, limits=time.limits(requests_per_minute=10)) == pytest.approx([0, 12])


def test_a_call_that_would_queue_for_too_long_is_not_made() -> None:
    """The fault is "rate_limited" without a request, and the breaker hears nothing of it."""
    time = Time()
    breaker = Breaker(failures=1)

    async def scene(endpoint: Endpoint, server: Scripted) -> Any:
        await endpoint.chat(REQUEST)
        return await endpoint.chat(REQUEST), len(server.asked)

    limits = time.limits(requests_per_minute=1, longest_wait_s=59)
    got, requests = run([GOOD], scene, limits=limits, breaker=breaker)
    assert (got.reason, requests, breaker.is_open) == ("rate_limited", 1, False)
    assert "59 s" in got.detail


def test_one_429_slows_all_callers() -> None:
    """While its Retry-After of 30 s lasts nobody asks; then its own repetition and the others go out."""
    time = Time()
    seen: list[float] = []

    def answer(_: dict[str, Any]) -> Canned:
        seen.append(time.now - 1000)
        return error(429, headers=("retry-after: 30",)) if len(seen) == 1 else GOOD

    async def scene(endpoint: Endpoint, _: Scripted) -> list[Any]:
        return await asyncio.gather(*(endpoint.chat(REQUEST) for _n in range(3)))

    assert run(answer, scene, limits=time.limits(), max_retries=1, concurrency=1) == [YES] * 3
    assert seen == [0, 30, 30, 30]


def test_a_pause_longer_than_the_patience_fails_without_asking() -> None:
    """A minute's pause against a patience of 50 s: the 429 itself, two refusals, and another try later."""
    time = Time()
    breaker = Breaker(failures=3, clock=time)

    async def scene(endpoint: Endpoint, server: Scripted) -> Any:
        reasons = [(await endpoint.chat(REQUEST)).reason for _n in range(3)]
        # The breaker opens, so that exchanges are held instead of replayed for nothing.
        asked, was_open = len(server.asked), breaker.is_open
        time.now += 100
        return reasons, asked, was_open, await endpoint.chat(REQUEST)

    script = [error(429, headers=("retry-after: 100",)), GOOD]
    found = run(script, scene, limits=time.limits(longest_wait_s=50), breaker=breaker, max_retries=2)
    assert found == (["rate_limited"] * 3, 1, True, YES)


def test_an_endless_pause_ends_after_a_minute() -> None:
    """A Retry-After of a day does not switch an endpoint off for a day."""
    limits = Time().limits()
    limits.pause(86_400)
    assert limits.pause_left_s == 60


@pytest.mark.parametrize(("status", "everybody"), [(429, True), (500, False)])
def test_pauses_between_attempts_grow(status: int, everybody: bool) -> None:  # noqa: FBT001 - a case
    """Half a second, then one; after a 429 for all callers, after a 500 for this call alone."""
    time, own = Time(), Clock()

    async def scene(endpoint: Endpoint, server: Scripted) -> Any:
        return await endpoint.chat(REQUEST), len(server.asked)

    script = [error(status), error(status), GOOD]
    assert run(script, scene, limits=time.limits(), sleep=own.sleep, max_retries=2) == (YES, 3)
    assert (time.waited, own.waited) == (([0.5, 1.0], []) if everybody else ([], [0.5, 1.0]))


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after-ms": "250", "retry-after": "7"}, 0.25),
        ({"retry-after-ms": "?", "retry-after": "7"}, 7.0),
        ({"retry-after": "Wed, 01 Jan 2025 00:01:30 GMT", "date": "Wed, 01 Jan 2025 00:00:00 GMT"}, 90.0),
        ({"retry-after": "Wed, 01 Jan 2025 00:00:00 GMT", "date": "Wed, 01 Jan 2025 00:01:00 GMT"}, 0.0),
        ({"retry-after": "Wed, 01 Jan 2025 00:01:30 GMT"}, None),
    ],
)
def test_how_long_an_endpoint_asks_to_be_left_alone(headers: dict[str, str], seconds: float | None) -> None:
    """Milliseconds before seconds before a date, which is read by the server's own clock."""
    assert asked_pause_s(headers) == seconds


# --- the breaker


def test_the_breaker_opens_tries_and_closes() -> None:
    """Three failures in a row open it for ten seconds; then one call at a time may try."""
    clock = Clock()
    breaker = Breaker(failures=3, open_s=10.0, clock=clock)
    for ok in (False, False, True, False, False):
        breaker.record(ok=ok)
        assert breaker.allow()
    breaker.record(ok=False)
    assert breaker.is_open
    clock.now += 9.9
    assert not breaker.allow()
    clock.now += 0.1
    assert (breaker.allow(), breaker.allow()) == (True, False)
    breaker.abandon()  # nothing was learned, so the next call may try at once
    assert breaker.allow()
    clock.now += 5
    breaker.record(ok=False)  # another pause, from the failure on
    clock.now += 9.9
    assert not breaker.allow()
    clock.now += 0.1
    assert breaker.allow()
    breaker.record(ok=True)
    assert not breaker.is_open
    assert all(breaker.allow() for _ in range(5))
