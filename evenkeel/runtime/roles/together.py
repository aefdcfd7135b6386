"""`evenkeel up` on a Redis: proxies, a worker and a monitor under one supervisor."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from evenkeel.runtime.preflight import missing_keys, unreachable_upstreams
from evenkeel.runtime.reload import supervised
from evenkeel.runtime.standalone import data_plane_children, supervised_counters
from evenkeel.runtime.supervisor import Briefing, Child, Supervisor

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

    from evenkeel.runtime.reload import Follower

log = logging.getLogger("evenkeel")


def run_together(
    follower: Follower, data: list[socket.socket], admin: socket.socket, ready: Callable[[], None]
) -> None:
    """Serve until SIGINT or SIGTERM.

    Args:
        follower: has settings with a `redis`, and the numbers of the ports.
        data: listening sockets of the data plane, one for each process.
        admin: that of the monitor.
        ready: prints the banner.

    Raises:
        StoreError: the Redis cannot be used.
    """
    settings = follower.reloader.running
    problems = [*missing_keys(settings), *unreachable_upstreams(settings)]

    def started() -> None:
        ready()
        for problem in problems:
            log.error("%s", problem)

    briefing = Briefing("redis-worker", "", settings, ())
    children = [
        *data_plane_children(settings, data),
        Child("worker", briefing),
        Child("monitor", replace(briefing, role="monitor", sockets=(admin.fileno(),))),
    ]
    with supervised_counters(settings) as counters:
        supervisor = Supervisor(children, ended=counters.retire)
        asyncio.run(supervised(supervisor, follower, counters, ready=started))
