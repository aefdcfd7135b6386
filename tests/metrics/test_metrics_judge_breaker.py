"""The circuit breaker, by an injected clock."""

from __future__ import annotations

from evenkeel.llm.limits import Breaker


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def tripped(clock: Clock) -> Breaker:
    breaker = Breaker(failures=3, open_s=10.0, clock=clock)
    for _ in range(3):
        assert breaker.allow()
        breaker.record(ok=False)
    return breaker


def test_failures_in_a_row_open_it() -> None:
    """Three failures open; a success between them starts the count again."""
    breaker = Breaker(failures=3, open_s=10.0, clock=Clock())
    for ok in (False, False, True, False, False):
        breaker.record(ok=ok)
        assert breaker.allow()
    breaker.record(ok=False)
    assert breaker.is_open
    assert not breaker.allow()


def test_after_the_pause_one_trial_goes_out() -> None:
    """At ten seconds one call may try; the next has to wait for its outcome or another pause."""
    clock = Clock()
    breaker = tripped(clock)
    clock.now += 9.9
    assert not breaker.allow()
    clock.now += 0.1
    assert breaker.allow()
    assert not breaker.allow()


def test_a_trial_that_succeeds_closes_it() -> None:
    """One success and everything goes out again."""
    clock = Clock()
    breaker = tripped(clock)
    clock.now += 10
    assert breaker.allow()
    breaker.record(ok=True)
    assert not breaker.is_open
    assert all(breaker.allow() for _ in range(5))


def test_a_trial_that_fails_starts_another_pause() -> None:
    """Ten more seconds from the failure on."""
    clock = Clock()
    breaker = tripped(clock)
    clock.now += 10
    assert breaker.allow()
    clock.now += 5
    breaker.record(ok=False)
    clock.now += 9.9
    assert not breaker.allow()
    clock.now += 0.1
    assert breaker.allow()


def test_a_trial_that_was_cancelled_is_given_back() -> None:
    """Nothing was learned, so the next call may try at once."""
    clock = Clock()
    breaker = tripped(clock)
    clock.now += 10
    assert breaker.allow()
    breaker.abandon()
    assert breaker.allow()
