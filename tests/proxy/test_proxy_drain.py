"""The shutdown: what may finish, and for how long."""

from __future__ import annotations

import asyncio

import pytest

from tests.proxy.plain import OK, POST


async def test_drain_lets_requests_finish_and_closes_the_rest(relay):
    """Idle connections close at once; an answer in flight says close, arrives, and is the last."""
    async with relay(lambda wire: None) as rig:
        idle = await rig.client()
        busy = await rig.client()
        busy.send(POST)
        await asyncio.wait_for(rig.upstream.accepted.wait(), 5)
        await asyncio.wait_for(rig.upstream.wires[0].started.wait(), 5)
        draining = asyncio.create_task(rig.plane.drain(5))
        assert await idle.rest() == b""
        with pytest.raises(OSError):  # noqa: PT011 - refused or reset, by platform
            await (await rig.client()).read(1)
        rig.upstream.wires[0].write(OK)
        assert await busy.rest() == b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"
        await asyncio.wait_for(draining, 1)


async def test_drain_is_finite(relay):
    """What has not finished in time is dropped."""
    async with relay(lambda wire: None) as rig:
        client = await rig.client()
        client.send(POST)
        await asyncio.wait_for(rig.upstream.accepted.wait(), 5)
        await rig.plane.drain(0.05)
        assert rig.counter("proxy_in_flight") == 0
        await asyncio.wait_for(rig.upstream.wires[0].lost.wait(), 1)
