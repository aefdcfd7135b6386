"""Which requests are sampled, and which of several upstreams a request goes to."""

import asyncio
import contextlib
import socket
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.proxy import Limits, Timeouts, Upstream
from evenkeel.proxy.counters import RouteCounters
from evenkeel.proxy.lanes import Lane, request_id, threshold
from evenkeel.proxy.pool import Pool
from evenkeel.proxy.routing import ProxyRoute
from tests.proxy.conftest import eventually, fake_upstream, relay
from tests.proxy.plain import OK

DRAWN = st.integers(0, 2**64 - 1)


@given(DRAWN, DRAWN)
def test_no_two_requests_have_one_id(one, other):
    """The number that is drawn and the id made of it determine each other."""
    assert (request_id(one) == request_id(other)) is (one == other)


@given(DRAWN)
def test_rates_zero_and_one_are_exact(drawn):
    """Nothing is below the bound of 0, everything below that of 1."""
    assert threshold(0.0) <= drawn < threshold(1.0)


def test_ids_of_a_sample_are_like_any_others():
    """Half of 2,000 ids are even and a tenth are in the lowest tenth, give or take five deviations."""
    ids = [request_id(number << 40) for number in range(2_000)]
    assert abs(sum(drawn % 2 == 0 for drawn in ids) - 1_000) < 112
    assert abs(sum(drawn < threshold(0.1) for drawn in ids) - 200) < 67


POST = b"POST /v1/x?q HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi"


@contextlib.asynccontextmanager
async def failing_over(answer=OK, path="", **options):
    """A relay whose first upstream answers so, or is somewhere else, and the second one with OK."""
    async with fake_upstream(OK) as second:
        fallbacks = [f"http://127.0.0.1:{second.port}{path}"]
        async with relay(answer, fallbacks=fallbacks, **options) as rig:
            yield rig, second


@pytest.mark.parametrize("size", [2, 40_000])
async def test_refused_request_goes_to_the_next_upstream(unused_port, size):
    """The client sees the second one's answer; path, host and body are what that one needs."""
    body = b"b" * size
    async with failing_over(
        url=f"http://127.0.0.1:{unused_port}/first/base",
        rules={"inject": ((b"x-key", b"k"),), "share_credentials": True},
        path="/2",
    ) as (rig, second):
        answer = await rig.ask(
            b"POST /v1/x?q HTTP/1.1\r\nHost: localhost\r\nX-A: 1\r\nContent-Length: %d\r\n\r\n" % size + body
        )
        assert answer == OK
        assert second.received == (
            b"POST /2/x?q HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nX-A: 1\r\nContent-Length: %d\r\n"
            b"x-key: k\r\n\r\n" % (second.port, size) + body
        )
        assert rig.counter("proxy_failovers") == 1
        assert rig.counter("proxy_upstream_errors", reason="upstream_refused") == 1
        assert rig.counter("proxy_requests", status_class="2xx") == 1
        assert rig.counter("proxy_requests", status_class="5xx") == 0


async def test_an_exchange_says_which_upstream_answered(unused_port):
    """A captured exchange names the fallback that took it, so that its replays go there too."""
    async with failing_over(url=f"http://127.0.0.1:{unused_port}") as (rig, _):
        answer = await rig.ask(
            b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}"
        )
        assert answer == OK
        await eventually(lambda: rig.queue.exchanges)
        assert rig.queue.exchanges[0].upstream == 1


async def test_upload_that_arrives_during_the_failover_is_whole(deaf_port):
    """Pieces that come while the first upstream is being tried reach the second, in order."""
    async with failing_over(upstream_port=deaf_port, timeouts=Timeouts(connect_s=0.1)) as (rig, second):
        client = await rig.client()
        client.send(b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n")
        await asyncio.sleep(0.02)  # a second segment, while the first upstream is deaf
        assert await client.ask(b"3\r\ntwo\r\n0\r\n\r\n") == OK
        assert second.wires[0].bodies == [b"onetwo"]
        assert rig.counter("proxy_upstream_errors", reason="upstream_connect_timeout") == 1


async def test_failed_upstream_is_passed_over_and_then_asked_again(unused_port):
    """During its rest it is not tried; after it, it is the first choice again."""
    late = [0.0]
    async with failing_over(
        upstream_port=unused_port,
        limits=Limits(linger_s=0.04),
        timer=lambda: time.perf_counter() + late[0],
    ) as (rig, second):
        client = await rig.client()
        for _ in range(5):
            assert await client.ask(POST) == OK
        assert rig.counter("proxy_failovers") == 1
        assert second.wires[0].requests == 5
        late[0] = rig.plane.limits.upstream_rest_s
        assert await client.ask(POST) == OK
        lane = rig.plane.lanes["main"]
        # By the sweep or by this request: the first was asked, refused, and rests again.
        while rig.counter("proxy_failovers") < 2:
            assert await client.ask(POST) == OK
        assert lane.pool is not lane.first


def test_choice_of_an_upstream_by_rest_and_order():
    """The first that does not rest; if all do, the first; for a retry one that was not tried."""
    upstreams = [Upstream.parse(f"http://127.0.0.1:{port}") for port in (1, 2, 3)]
    route = ProxyRoute("r", upstreams[0], fallbacks=tuple(upstreams[1:]))
    one, two, three = pools = [Pool(upstream, Limits(), None) for upstream in route.upstreams]
    lane = Lane(route, pools, RouteCounters())
    one.resting_until = 10.0
    lane.choose(9.9)
    assert lane.pool is two
    lane.choose(10.0)
    assert lane.pool is one
    two.resting_until = three.resting_until = 20.0
    assert lane.another((one,), 15.0) is two
    assert lane.another((one, two), 15.0) is three
    assert lane.another((one,), 20.0) is two
    assert lane.another((one, two, three), 20.0) is None
    one.resting_until = 30.0
    lane.choose(15.0)
    assert lane.pool is one


async def test_all_upstreams_down_is_a_502_that_names_the_last(unused_port):
    """Each is tried once a request, resting or not."""
    with socket.socket() as bound:  # bound, not listening: refuses
        bound.bind(("127.0.0.1", 0))
        other = bound.getsockname()[1]
        fallbacks = [f"http://127.0.0.1:{other}"]
        async with relay(OK, upstream_port=unused_port, fallbacks=fallbacks) as rig:
            client = await rig.client()
            for number in (1, 2):
                text = await client.ask(POST)
                assert text.startswith(b"HTTP/1.1 502 ")
                assert b"Fallback 1 of route 'main' refused" in text
                assert b"127.0.0.1" not in text
                assert rig.counter("proxy_upstream_errors", reason="upstream_refused") == 2 * number
                assert rig.counter("proxy_failovers") == number
            assert rig.counter("proxy_in_flight") == 0


async def test_upstream_that_hangs_up_unanswered_is_left_for_safe_requests():
    """A GET goes on to the next upstream; a POST that may have been read does not."""
    async with failing_over(lambda wire: wire.close()) as (rig, second):
        client = await rig.client()
        assert (await client.ask(POST)).startswith(b"HTTP/1.1 502 ")
        assert second.wires == []
        assert await client.ask(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n") == OK
        assert rig.counter("proxy_failovers") == 1


async def test_stale_connection_is_no_reason_to_leave_an_upstream():
    """A kept connection that dies unanswered is replaced by one to the same upstream."""

    def answer(wire):
        if wire.requests == 2:
            wire.close()
        else:
            wire.write(OK)

    async with failing_over(answer) as (rig, second):
        client = await rig.client()
        for _ in range(2):
            assert await client.ask(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n") == OK
        assert (rig.counter("proxy_retries"), rig.counter("proxy_failovers")) == (1, 0)
        assert second.wires == []


async def test_answer_that_broke_off_is_not_asked_for_elsewhere():
    """The client knows the truth after the first byte: truncated, or a 502."""

    def answer(wire):
        wire.write(b"HTTP/1.1 200 OK\r\nConte")
        wire.close()

    async with failing_over(answer) as (rig, second):
        assert b'"upstream_answer_truncated"' in await rig.ask(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert second.wires == []


async def test_cookies_are_cut_only_where_the_upstream_is_of_another_origin(unused_port):
    """A connection answers two routes with one head: the route that it is a fallback of gets no cookies."""
    with_cookie = OK.replace(b"\r\n", b"\r\nSet-Cookie: s=1\r\n", 1)
    async with fake_upstream(with_cookie) as shared:
        own = ProxyRoute("own", Upstream.parse(f"http://127.0.0.1:{shared.port}"), "/own")
        async with relay(
            OK,
            url=f"http://127.0.0.1:{unused_port}",
            fallbacks=[f"http://127.0.0.1:{shared.port}"],
            others=[own],
        ) as rig:
            client = await rig.client()
            for path, cookie in ((b"/v1/x", False), (b"/own/v1/x", True)) * 2:
                answer = await client.ask(POST.replace(b"/v1/x?q", path))
                assert (b"Set-Cookie" in answer) is cookie
            assert len(shared.wires) == 1
