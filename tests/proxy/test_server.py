"""The data plane over its life: other routes while requests are forwarded, and its end."""

import asyncio

from evenkeel.proxy import ProxyRoute, RouteTable, Upstream
from tests.proxy.conftest import PATIENCE_S, fake_upstream, relay
from tests.proxy.plain import OK, POST, error_of

OTHER = OK.replace(b"ok", b"on")


def table(*routes):
    """Routes from (name, port, prefix)."""
    return RouteTable(
        [
            ProxyRoute(name, Upstream.parse(f"http://127.0.0.1:{port}"), prefix)
            for name, port, prefix in routes
        ]
    )


async def test_a_request_under_way_finishes_where_it_began():
    """The old upstream answers it; the next request of its connection goes to the new one."""
    async with relay(lambda wire: None) as rig, fake_upstream(OTHER) as other:
        client = await rig.client()
        client.send(POST)
        await rig.upstream.begun()
        rig.plane.reroute(table(("main", other.port, "")))
        rig.upstream.wires[0].write(OK)
        assert await client.answer() == OK
        assert await client.ask(POST) == OTHER
        assert rig.counter("proxy_requests", route="main", status_class="2xx") == 2
        assert rig.counter("proxy_in_flight") == 0
        # Its upstream has no route any more: the connection is not kept.
        await asyncio.wait_for(rig.upstream.wires[0].lost.wait(), PATIENCE_S)


async def test_a_request_on_a_route_that_is_gone_finishes():
    """Removing a route refuses its next request, on a connection that stays open; it comes back as it was."""
    async with relay(lambda wire: None) as rig:
        before = rig.plane.routes
        client = await rig.client()
        client.send(POST)
        await rig.upstream.begun()
        rig.plane.reroute(table(("new", rig.upstream.port, "/new")))
        rig.upstream.wires[0].write(OK)
        assert await client.answer() == OK
        status, _ = error_of(await client.ask(POST))
        assert status == 404
        rig.plane.reroute(before)
        rig.upstream.answer = OK
        again = await rig.client()
        assert await again.ask(POST) == OK
        assert rig.counter("proxy_requests", route="main", status_class="2xx") == 2


async def test_connections_to_an_upstream_that_stays_are_kept():
    """A new route to it, and another sampling rate, use the connection that is there."""
    async with relay(OK) as rig:
        client = await rig.client()
        assert await client.ask(POST) == OK
        rig.plane.reroute(table(("main", rig.upstream.port, ""), ("new", rig.upstream.port, "/new")))
        assert await client.ask(POST.replace(b" / ", b" /new/ ")) == OK
        assert len(rig.upstream.wires) == 1
        assert rig.upstream.wires[0].received.startswith(POST.partition(b"\r\n")[0])
        assert rig.counter("proxy_requests", route="new", status_class="2xx") == 1


async def test_a_rest_of_an_upstream_outlasts_the_change(unused_port):
    """A route that had moved to its fallback does not go back to the dead upstream because of a reload."""
    async with fake_upstream(OK) as fallback:
        urls = [f"http://127.0.0.1:{fallback.port}"]
        async with relay(OK, upstream_port=unused_port, fallbacks=urls) as rig:
            client = await rig.client()
            assert await client.ask(POST) == OK
            rig.plane.reroute(rig.plane.routes)
            assert await client.ask(POST) == OK
            assert rig.counter("proxy_failovers", route="main") == 1


async def test_drain_is_finite():
    async with relay(lambda wire: None) as rig:
        client = await rig.client()
        client.send(POST)
        await asyncio.wait_for(rig.upstream.accepted.wait(), PATIENCE_S)
        await rig.plane.drain(0.05)
        assert rig.counter("proxy_in_flight") == 0
        await asyncio.wait_for(rig.upstream.wires[0].lost.wait(), PATIENCE_S)
