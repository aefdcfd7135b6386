"""The data plane: listens, holds the lanes, lets time pass, drains, and reports its numbers."""

from __future__ import annotations

import asyncio
import random
import secrets
import time
from typing import TYPE_CHECKING, Any

from evenkeel.proxy.admission import turn_away
from evenkeel.proxy.callers import Callers
from evenkeel.proxy.client import ClientConnection
from evenkeel.proxy.lanes import Lane
from evenkeel.proxy.limits import Limits
from evenkeel.proxy.pool import Pool

if TYPE_CHECKING:
    import socket
    import ssl
    from collections.abc import Callable, Mapping, Sequence

    from evenkeel.proxy.admission import TurnedAway
    from evenkeel.proxy.handoff import HandOff
    from evenkeel.proxy.routing import RouteTable, Upstream

UNROUTED = "none"
"""Label of requests that were refused before they had a route."""

# The system cuts it to `net.core.somaxconn`; a burst of clients waits there instead of being refused.
_BACKLOG = 4096
# Connections are looked at in sweeps, not by a timer each: a timeout is late by a quarter at most.
_SWEEPS_PER_TIMEOUT = 4
_SWEEP_RANGE_S = (0.01, 1.0)


class DataPlane:
    """Forwards requests from listening sockets to the upstreams of its routes.

    Timeouts are kept by one sweep over the connections every second or quarter of the shortest
    timeout; a timer for each request would cost more than the rest of its bookkeeping. A timeout
    is therefore late by up to that time, and never early by more.
    """

    def __init__(
        self,
        routes: RouteTable,
        handoff: HandOff,
        *,
        limits: Limits | None = None,
        tls: ssl.SSLContext | None = None,
        callers: Callers | None = None,
        clock: Callable[[], float] = time.time,
        timer: Callable[[], float] = time.perf_counter,
        rng: random.Random | None = None,
    ) -> None:
        """Prepare; `serve` begins.

        Args:
            routes: Routes to forward requests on.
            handoff: Hand-off for sampled exchanges; its counters are this data plane's.
            limits: Bounds on connections, memory and patience.
            tls: For TLS upstreams; None verifies against the system's certificates.
            callers: Callers that may use the keys of routes that have one; None = programs on this machine.
            clock: Unix time in seconds.
            timer: Monotonic time in seconds, for durations.
            rng: Source of request ids; None seeds one from the system, so that processes differ.
        """
        self.routes = routes
        self.handoff = handoff
        self.limits = limits or Limits()
        self.callers = callers or Callers()
        self.clock = clock
        self.timer = timer
        self.counters = handoff.counters
        self.unrouted = self.counters.of(UNROUTED)
        self.draining = False
        self._random = rng or random.Random(secrets.randbits(128))
        self._tls = tls
        self._pools: dict[Upstream, Pool] = {}
        # Pools of upstreams that no route has any more, while requests still use them.
        self._left: list[Pool] = []
        self.lanes: Mapping[str, Lane] = {}
        """Lanes by route name. `reroute` replaces the mapping, so keep no reference to it."""
        self._clients: set[ClientConnection] = set()
        self._turned_away: set[TurnedAway] = set()
        self._servers: list[asyncio.Server] = []
        self._sweep: asyncio.TimerHandle | None = None
        self._gone = asyncio.Event()
        self.reroute(routes)

    def reroute(self, routes: RouteTable, tls: ssl.SSLContext | None = None) -> None:
        """Take other routes for the requests that come from now on; in the event loop's thread, if it runs.

        Requests under way finish as they began: with the upstream, timeouts and credential of the route
        they are on, even if it is gone. Connections of clients stay open, as do those to upstreams that
        a route still has. Counters go on by the route's name. Nothing waits and nothing is lost.

        Args:
            routes: All routes from now on.
            tls: For TLS upstreams that are new, made in advance: reading the system's certificates takes
                tens of milliseconds, in which no request would be forwarded. None as at the start.
        """
        wanted: set[Upstream] = set()
        for route in routes.routes:
            wanted.update(route.upstreams)
        for upstream in self._pools.keys() - wanted:
            pool = self._pools.pop(upstream)
            pool.close()
            if pool.busy:
                self._left.append(pool)
        for upstream in wanted - self._pools.keys():
            self._pools[upstream] = Pool(upstream, self.limits, tls or self._tls)
        lanes = {}
        for route in routes.routes:
            pools = []
            for upstream in route.upstreams:
                pools.append(self._pools[upstream])
            lanes[route.name] = Lane(route, pools, self.counters.of(route.name))
            lanes[route.name].choose(self.timer())
        self.lanes = lanes
        self.routes = routes

    async def serve(self, sockets: Sequence[socket.socket]) -> None:
        """Accept connections on sockets that are bound and listening already; returns at once."""
        loop = asyncio.get_running_loop()
        for sock in sockets:
            self._servers.append(
                await loop.create_server(lambda: ClientConnection(self), sock=sock, backlog=_BACKLOG)
            )
        interval_s = self._sweep_interval_s()
        self._sweep = loop.call_later(interval_s, self._tick, loop, interval_s, self.timer())

    def _sweep_interval_s(self) -> float:
        patience = [self.limits.client_head_s, self.limits.client_idle_s, self.limits.linger_s]
        patience += [self.limits.upstream_idle_s]
        for route in self.routes.routes:
            patience.append(route.timeouts.silence_s)
            if route.timeouts.total_s is not None:
                patience.append(route.timeouts.total_s)
        shortest, longest = _SWEEP_RANGE_S
        return min(longest, max(shortest, min(patience) / _SWEEPS_PER_TIMEOUT))

    def _tick(self, loop: asyncio.AbstractEventLoop, interval_s: float, before: float) -> None:
        now = self.timer()
        # A loop that was held up has not been listening either: nobody was quiet meanwhile.
        elapsed_s = min(now - before, 2 * interval_s)
        next_s = self._sweep_interval_s()
        self._sweep = loop.call_later(next_s, self._tick, loop, next_s, now)
        for client in list(self._clients):
            client.tick(elapsed_s)
        for pool in self._pools.values():
            pool.tick(elapsed_s)
        self._left = [pool for pool in self._left if pool.busy]
        for lane in self.lanes.values():
            lane.choose(now)

    async def drain(self, timeout_s: float) -> None:
        """Stop accepting, let requests finish, then drop what is left after the timeout.

        Idle connections are closed at once; answers that begin from now on say that they are the
        last on their connection.
        """
        self.draining = True
        for server in self._servers:
            server.close()
        for refused in list(self._turned_away):
            refused.transport.abort()
        for client in list(self._clients):
            client.retire()
        if self._clients:
            self._gone.clear()
            try:
                async with asyncio.timeout(timeout_s):
                    await self._gone.wait()
            except TimeoutError:
                for client in list(self._clients):
                    client.transport.abort()
        for pool in (*self._pools.values(), *self._left):
            await pool.abort()
        if self._sweep is not None:
            self._sweep.cancel()
        # Lost connections are reported by the next round of the loop.
        await asyncio.sleep(0)

    def snapshot(self) -> dict[str, list[list[Any]]]:
        """Return all numbers as JSON-able data, see `Counters.snapshot`."""
        numbers = self.counters.snapshot(self.handoff.size_bytes)
        numbers["gauges"] += [
            ["proxy_connections_open", {}, len(self._clients)],
            ["proxy_connections_limit", {}, self.limits.max_connections],
        ]
        return numbers

    # For the connections

    def joined(self, client: ClientConnection) -> None:
        """Serve a client that connected, or turn it away if it is beyond the limits."""
        if len(self._clients) < self.limits.max_connections:
            self.counters.connections += 1
            self._clients.add(client)
        else:
            self.counters.refused += 1
            turn_away(client.transport, self._turned_away, self.limits)

    def left(self, client: ClientConnection) -> None:
        """Forget a client whose connection is gone."""
        self._clients.remove(client)
        if not self._clients:
            self._gone.set()

    def rest(self, pool: Pool) -> None:
        """Pass an upstream that could not be reached over for a while, on routes with another one."""
        now = self.timer()
        pool.resting_until = now + self.limits.upstream_rest_s
        for lane in self.lanes.values():
            lane.choose(now)

    def draw(self) -> int:
        """Return 64 random bits, which decide whether a request is sampled."""
        return self._random.getrandbits(64)
