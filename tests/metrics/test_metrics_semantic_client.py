"""The embeddings endpoint on the wire: tried again, left alone, paced; over HTTP on the loopback."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any

import pytest

from evenkeel.llm.client import Embedded, Endpoint
from evenkeel.llm.faults import Fault
from evenkeel.llm.limits import Breaker, RateLimits
from tests.metrics.test_metrics_semantic_endpoint import KEY, serving, vectors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def scripted(*statuses: int) -> Callable[[dict[str, Any]], tuple[int, Any]]:
    """Answers with these statuses, one after another, 200 with vectors."""
    left: Iterator[int] = iter(statuses)

    def reply(request: dict[str, Any]) -> tuple[int, Any]:
        status = next(left)
        return vectors(request) if status == 200 else (status, {"error": {"message": f"no, {KEY}"}})

    return reply


def embed(url: str, *, times: int = 1, **options: Any) -> tuple[list[Embedded], list[float]]:
    """What a client gets, and the pauses it made between attempts."""
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    async def run() -> list[Embedded]:
        settings: dict[str, Any] = {"timeout_s": 5, "sleep": sleep} | options
        async with Endpoint(base_url=url, model="compass", api_key=KEY, **settings) as client:
            return [await client.embed(["north", "east"]) for _ in range(times)]

    return asyncio.run(run()), pauses


def reason(got: Embedded) -> str:
    assert isinstance(got.vectors, Fault)
    assert KEY not in got.vectors.detail
    return got.vectors.reason


def test_an_error_that_may_pass_is_tried_again() -> None:
    """Two 5xx, half a second and a second of pause, then vectors in the order of the texts."""
    with serving(scripted(500, 503, 200)) as (url, asked):
        (got,), pauses = embed(url)
    assert got == Embedded([[0.0, 1.0], [1.0, 0.0]], 1, 0.0)
    assert pauses == [0.5, 1.0]
    assert len(asked) == 3


def test_an_error_that_stays_is_a_fault_after_the_retries() -> None:
    """Three attempts, no tokens, no price."""
    with serving(scripted(500, 500, 500)) as (url, asked):
        (got,), _ = embed(url)
    assert reason(got) == "server_error"
    assert (got.tokens, got.cost_usd, len(asked)) == (0, 0.0, 3)


def test_a_throttled_call_makes_all_wait() -> None:
    """A 429 without a wish pauses the endpoint for half a second, by the limits' clock."""
    now = [0.0]

    async def pass_time(seconds: float) -> None:
        now[0] += seconds

    limits = RateLimits(clock=lambda: now[0], sleep=pass_time)
    with serving(scripted(429, 200)) as (url, asked):
        (got,), pauses = embed(url, limits=limits)
    assert not isinstance(got.vectors, Fault)
    assert (now[0], pauses, len(asked)) == (0.5, [], 2)


@pytest.mark.parametrize(("status", "expected"), [(400, "bad_request"), (401, "unauthorized")])
def test_an_error_that_cannot_pass_is_not_tried_again(status: int, expected: str) -> None:
    """A mistake of the request or of the key stays one."""
    with serving(scripted(status)) as (url, asked):
        (got,), _ = embed(url)
    assert (reason(got), len(asked)) == (expected, 1)


def test_an_endpoint_that_keeps_failing_is_left_alone() -> None:
    """After two failed calls the third is not sent; a trial after the pause closes the breaker."""
    now = [0.0]
    breaker = Breaker(failures=2, open_s=30.0, clock=lambda: now[0])
    with serving(scripted(500, 500, 200)) as (url, asked):
        got, _ = embed(url, times=3, max_retries=0, breaker=breaker)
        assert [reason(one) for one in got] == ["server_error", "server_error", "circuit_open"]
        assert len(asked) == 2
        now[0] = 31.0
        (trial,), _ = embed(url, max_retries=0, breaker=breaker)
    assert not isinstance(trial.vectors, Fault)
    assert not breaker.is_open


def test_pace_is_kept() -> None:
    """At ten a minute one call goes at once, and a second would have to wait for longer than it may."""
    limits = RateLimits(requests_per_minute=10, longest_wait_s=1.0, clock=lambda: 0.0)
    with serving(vectors) as (url, asked):
        (first, second), _ = embed(url, times=2, limits=limits)
    assert not isinstance(first.vectors, Fault)
    assert (reason(second), len(asked)) == ("rate_limited", 1)


def test_a_slow_endpoint_is_a_timeout_and_a_dead_one_no_connection() -> None:
    """Both after their retries."""
    release = threading.Event()

    def wait(request: dict[str, Any]) -> tuple[int, Any]:
        release.wait(5)
        return vectors(request)

    with serving(wait) as (url, asked):
        (slow,), _ = embed(url, timeout_s=0.05, max_retries=1)
        release.set()
    assert (reason(slow), len(asked)) == ("timeout", 2)
    (dead,), pauses = embed(url)
    assert (reason(dead), pauses) == ("connection", [0.5, 1.0])


def test_the_estimate_is_a_token_a_character() -> None:
    """1,000 characters at a millionth of a dollar a token are a thousandth of one."""
    client = Endpoint(
        base_url="http://127.0.0.1:9/v1", model="m", api_key=KEY, price=lambda _, prompt, __: prompt / 1e6
    )
    assert client.expense(1000) == (1000, pytest.approx(0.001))
    assert KEY not in repr(client)
    asyncio.run(client.close())
