"""The relay with a queue that forgets: what storing testing costs can be told from it.

python -m benchmarks.proxy.relay PORT UPSTREAM SAMPLING_RATE
"""

from __future__ import annotations

import asyncio
import gc
import socket
import sys
from typing import TYPE_CHECKING

import uvloop

from benchmarks.proxy.machine import HOST
from evenkeel.proxy import Counters, DataPlane, HandOff, Route, RouteTable, Upstream

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.core.exchange import Exchange


class _Forget:
    """A queue that takes everything at once."""

    def put(self, exchanges: Sequence[Exchange]) -> int:
        """Forget the exchanges."""
        return len(exchanges)


async def relay(port: int, upstream: str, sampling_rate: float) -> None:
    """Relay until killed."""
    routes = RouteTable([Route("default", Upstream.parse(upstream), sampling_rate=sampling_rate)])
    handoff = HandOff(_Forget(), Counters(), max_bytes=64 << 20)
    handoff.start()
    plane = DataPlane(routes, handoff)
    await plane.serve([socket.create_server((HOST, port), backlog=4096)])
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
    await asyncio.Event().wait()


if __name__ == "__main__":
    uvloop.run(relay(int(sys.argv[1]), sys.argv[2], float(sys.argv[3])))
