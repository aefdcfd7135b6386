"""The pace of calls and the circuit breaker, by an injected clock: nothing here waits for real."""

import asyncio

import pytest

from evenkeel.llm.chat import ChatRequest, Completion
from evenkeel.llm.faults import asked_pause_s
from evenkeel.llm.limits import Breaker, Pauses
from evenkeel.llm.observer import ObservedMessage
from tests.cases import cases
from tests.llm.scripted import Clock, error, run, said

CASES = cases(__file__)

REQUEST = ChatRequest("judge", (ObservedMessage("user", "Do both say the same?"),), schema={})
GOOD = said("Yes.")
YES = Completion("Yes.", 100, 20)


class Time(Clock):
    """A clock, and pauses that go by it."""

    def pauses(self, **settings):
        return Pauses(clock=self, sleep=self.sleep, **settings)


# --- the limits of an endpoint


def test_one_429_slows_all_callers():
    """Nobody asks during its Retry-After of 30 s; then its own repetition and the others go out."""
    time = Time()
    seen = []

    def answer(_):
        seen.append(time.now - 1000)
        return error(429, headers=("retry-after: 30",)) if len(seen) == 1 else GOOD

    async def scene(endpoint, _):
        return await asyncio.gather(*(endpoint.chat(REQUEST) for _n in range(3)))

    assert run(answer, scene, pauses=time.pauses(), max_retries=1, concurrency=1) == [YES] * 3
    assert seen == [0, 30, 30, 30]


def test_a_pause_longer_than_the_patience_fails_without_asking():
    """A minute's pause against a patience of 50 s: the 429 itself, two refusals, and another try later."""
    time = Time()
    breaker = Breaker(failures=3, clock=time)

    async def scene(endpoint, server):
        """Ask with a patience that the pause exceeds, and again once it is over."""
        reasons = [(await endpoint.chat(REQUEST)).reason for _n in range(3)]
        # The breaker opens, so that exchanges are held instead of replayed for nothing.
        asked, was_open = len(server.asked), breaker.is_open
        time.now += 100
        return reasons, asked, was_open, await endpoint.chat(REQUEST)

    script = [error(429, headers=("retry-after: 100",)), GOOD]
    outcome = run(script, scene, pauses=time.pauses(longest_wait_s=50), breaker=breaker, max_retries=2)
    assert outcome == (["rate_limited"] * 3, 1, True, YES)


@pytest.mark.parametrize(("headers", "seconds"), CASES["pauses"])
def test_how_long_an_endpoint_asks_to_be_left_alone(headers, seconds):
    """Milliseconds before seconds before a date, which is read by the server's own clock."""
    assert asked_pause_s(headers) == seconds


# --- the breaker


def test_the_breaker_opens_tries_and_closes():
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
