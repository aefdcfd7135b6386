"""Lanes: routes at run time. A lane holds what a request on its route needs, resolved once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from proxy.sampling import threshold

if TYPE_CHECKING:
    from proxy.counters import RouteCounters
    from proxy.pool import Pool
    from proxy.routing import Route


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on memory and patience that hold for all routes."""

    max_exchange_bytes: int = 4 << 20
    """Both bodies of a captured exchange together; larger ones are skipped."""
    max_replay_bytes: int = 1 << 20
    """How much of an unanswered request is kept for sending it again."""
    max_waiting_bytes: int = 256 << 10
    """Request bytes held while the upstream is being connected."""
    max_pipelined_bytes: int = 64 << 10
    """Bytes of later requests held while an earlier one is answered."""
    max_idle_upstream: int = 512
    """Unused connections kept for each upstream."""
    upstream_idle_s: float = 60.0
    """How long they are kept."""
    client_idle_s: float = 300.0
    """How long a client may be silent between two requests."""
    client_head_s: float = 30.0
    """How long a request head may take to arrive."""
    linger_s: float = 2.0
    """How long a closing connection waits for the client to read the answer and close too."""


class Lane:
    """One route at run time."""

    __slots__ = ("authority", "bound", "capture", "counters", "pool", "route", "where")

    def __init__(self, route: Route, pool: Pool, counters: RouteCounters) -> None:
        self.route = route
        self.pool = pool
        self.counters = counters
        self.authority = route.upstream.authority
        self.capture = route.capture
        self.bound = threshold(route.sampling_rate)
        """What request ids are compared with, see `sampling`."""
        self.where = f"The upstream {route.upstream} of route '{route.name}'"
        """Start of a message about this upstream."""
