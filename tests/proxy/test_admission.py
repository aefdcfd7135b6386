"""Limits on connections: who is turned away, how, and that nobody else notices."""

import contextlib
import socket
import struct

import pytest

from evenkeel.proxy import Limits
from evenkeel.proxy.admission import counted_as
from tests.proxy.conftest import eventually, relay
from tests.proxy.plain import GET, OK, POST, error_of

HEAD = b"HEAD / HTTP/1.1\r\nHost: x\r\n\r\n"
EVENT = b"5\r\nfirst\r\n"
LAST = b"4\r\nlast\r\n0\r\n\r\n"


async def ended(client):
    """Return all that came until the relay closed, or reset the connection."""
    received = b""
    with contextlib.suppress(ConnectionResetError):
        received = await client.rest()
    return received


async def test_one_too_many_is_answered_and_the_others_are_served():
    """Over the limit a request gets a 503 that the SDK repeats; who leaves makes room for another."""
    async with relay(OK, limits=Limits(max_connections=2)) as rig:
        first, second, third = [await rig.client() for _ in range(3)]
        third.send(POST)
        answer = await third.rest()
        status, error = error_of(answer)
        assert (status, error["code"], error["type"]) == (503, "too_many_connections", "server_error")
        assert b"\r\nretry-after: 1\r\n" in answer
        assert b"\r\nconnection: close\r\n" in answer
        for client in (first, second, first):
            assert await client.ask(POST) == OK
        assert rig.counter("proxy_connections") == 2
        assert rig.counter("proxy_connections_refused", reason="full") == 1
        assert rig.counter("proxy_connections_open") == 2
        assert rig.counter("proxy_connections_limit") == 2
        first.leave()
        await eventually(lambda: rig.counter("proxy_connections_open") == 1)
        fourth = await rig.client()
        assert await fourth.ask(POST) == OK
        assert rig.counter("proxy_connections_refused") == 1
        assert rig.upstream.received.count(b"POST") == 4


async def test_the_answer_to_head_has_no_body():
    async with relay(OK, limits=Limits(max_connections=1)) as rig:
        await rig.client()
        answer = await rig.exchange(HEAD)
        assert answer.startswith(b"HTTP/1.1 503 ")
        assert answer.endswith(b"\r\n\r\n")


async def test_a_stream_goes_on_while_others_are_turned_away():
    """An answer under way arrives to its end, however many come and are refused meanwhile."""

    def begin(wire):
        wire.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + EVENT)

    async with relay(begin, limits=Limits(max_connections=1)) as rig:
        streaming = await rig.client()
        streaming.send(GET)
        await streaming.until(EVENT)
        for _ in range(20):
            refused = await rig.client()
            refused.send(GET)
            heard = await ended(refused)
            assert not heard or error_of(heard)[0] == 503
            refused.leave()
        rig.upstream.wires[0].write(LAST)
        assert await streaming.until(LAST) == LAST
        assert rig.counter("proxy_connections_refused") == 20


async def test_who_says_nothing_is_not_waited_for():
    """An eighth, at least one, may wait to be told; the next is closed at once, the first in a while."""
    async with relay(OK, limits=Limits(max_connections=1, linger_s=0.05)) as rig:
        served = await rig.client()
        silent = await rig.client()
        assert await ended(await rig.client()) == b""
        assert await ended(silent) == b""
        assert (await rig.exchange(POST)).startswith(b"HTTP/1.1 503 ")
        assert await served.ask(POST) == OK
        assert rig.counter("proxy_connections_refused") == 3


def seen(rig):
    """Connections that were accepted or refused."""
    return rig.counter("proxy_connections") + rig.counter("proxy_connections_refused")


async def test_who_resets_the_connection_makes_room_again():
    """A reset before anything is sent, in a head, in a request or after a refusal is counted once."""
    limits = Limits(max_connections=4)
    async with relay(lambda wire: None, limits=limits) as rig:
        for number, sent in enumerate((b"", b"POST / HT", POST, HEAD) * 3, start=1):
            for _ in range(6):
                with socket.create_connection(("127.0.0.1", rig.port)) as client:
                    client.send(sent)
                    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            await eventually(lambda come=6 * number: seen(rig) == come)
            await eventually(lambda: rig.counter("proxy_connections_open") == 0)
        await eventually(lambda: not rig.plane._turned_away)


async def test_draining_waits_for_nobody_who_was_turned_away():
    async with relay(OK, limits=Limits(max_connections=1, linger_s=60.0)) as rig:
        served, refused = await rig.client(), await rig.client()
        assert await served.ask(POST) == OK
        await rig.plane.drain(5)
        assert await ended(refused) == b""


@pytest.mark.parametrize(
    ("peername", "counted"),
    [
        (("192.0.2.7", 4000), "192.0.2.7"),
        (("::ffff:192.0.2.7", 4000, 0, 0), "192.0.2.7"),
        (("2001:db8:1:2:3:4:5:6", 4000, 0, 0), "2001:db8:1:2::"),
        (("2001:db8:1:2:ffff::9", 4000, 0, 0), "2001:db8:1:2::"),
        (("fe80::1%eth0", 4000, 0, 2), "fe80::"),
        ("", ""),
        (None, ""),
    ],
)
def test_peers_are_counted_by_address_or_network(peername, counted):
    """IPv6 counts by 64 bits, of which one host has all addresses; IPv4 written as IPv6 by the address."""
    assert counted_as(peername) == counted
