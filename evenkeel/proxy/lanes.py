"""Lanes: routes at run time. A lane holds what a request on its route needs, resolved once.

A lane also decides what is sampled, by the random bits that the request's id is made of.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkeel.proxy.credentials import redacted

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from evenkeel.proxy.counters import RouteCounters
    from evenkeel.proxy.pool import Pool
    from evenkeel.proxy.routing import ProxyRoute


# Multiplications are in 64 bits. The constants are SplitMix64's (Steele, Lea and Flood 2014).
_MASK = (1 << 64) - 1


def request_id(drawn: int) -> int:
    """Scatter 64 random bits evenly over 64 bits; a bijection.

    A request is sampled if its random bits are below its lane's bound. The id therefore determines whether it
    is sampled, and the sample at a lower rate is a subset of the sample at a higher one. Ids of sampled
    requests are still spread evenly.

    Source: the finalizer of SplitMix64 (Steele, Lea, Flood 2014), Stafford's variant 13.
    """
    value = (drawn ^ (drawn >> 30)) * 0xBF58476D1CE4E5B9 & _MASK
    value = (value ^ (value >> 27)) * 0x94D049BB133111EB & _MASK
    return value ^ (value >> 31)


def threshold(rate: float) -> int:
    """Turn a rate in [0, 1] into a lane's bound: 0 for none, 2**64 for all."""
    return min(1 << 64, max(0, round(rate * (1 << 64))))


class Lane:
    """A route at run time."""

    __slots__ = (
        "bound",
        "counters",
        "embedded_at",
        "first",
        "has_key",
        "injection",
        "injections",
        "listened",
        "pool",
        "pools",
        "route",
    )

    def __init__(self, route: ProxyRoute, pools: Sequence[Pool], counters: RouteCounters) -> None:
        self.route = route
        self.pools = tuple(pools)
        """Pools in the order of the route's upstreams."""
        self.first = self.pools[0]
        self.pool = self.first
        """Pool that new requests use at the moment."""
        self.counters = counters
        self.listened = 0
        """WebSockets that are sampled now."""
        self.embedded_at = float("-inf")
        """Unix time in seconds at which a request for embeddings was captured last."""
        self.bound = threshold(route.sampling_rate)
        """Bound for the random bits of a request: below it, the request is sampled."""
        self.injections = dict(zip(self.pools, route.injections(), strict=True))
        """Injection for each pool: the fields that replace the client's credentials."""
        self.injection = self.injections[self.pool]
        """Injection for `pool`."""
        self.has_key = bool(route.inject) or any(route.fallback_inject)
        """True if any upstream is sent a key that the client need not have."""

    def choose(self, now: float) -> None:
        """Send new requests to the first upstream that does not rest, or if all do to the first."""
        self.pool = self.another((), now) or self.first
        self.injection = self.injections[self.pool]

    def another(self, tried: Collection[Pool], now: float) -> Pool | None:
        """Return the next upstream for a request that could not be sent, preferably one not resting."""
        left = []
        for pool in self.pools:
            if pool not in tried:
                left.append(pool)
        return next((pool for pool in left if pool.resting_until <= now), left[0] if left else None)

    def foreign(self, pool: Pool) -> bool:
        """Return whether an upstream belongs to another origin than the client's credentials."""
        injection = self.injections[pool]
        return injection is not None and injection.exclusive

    def target(self, received: bytes, pool: Pool) -> bytes:
        """Return the request target for an upstream; for another origin, without keys in the query."""
        if self.foreign(pool):
            received = redacted(received).encode("latin-1")
        return self.route.target(received, pool.upstream)

    def where(self, pool: Pool) -> str:
        """Start of a message about an upstream of this route, which clients read: without its address."""
        index = self.pools.index(pool)
        return f"{f'Fallback {index}' if index else 'The upstream'} of route '{self.route.name}'"
