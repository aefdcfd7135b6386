"""Limits of the data plane that hold for all routes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on connections, memory and patience that hold for all routes."""

    max_connections: int = 65_536
    """Connections of clients at once; in each process of `evenkeel` what the settings and the limit on open
    files leave."""
    max_exchange_bytes: int = 4 << 20
    """Both bodies of a captured exchange together; larger ones are skipped."""
    max_replay_bytes: int = 1 << 20
    """Bytes of an unanswered request that are kept for sending it again."""
    max_waiting_bytes: int = 256 << 10
    """Request bytes held while the upstream is being connected."""
    max_pipelined_bytes: int = 64 << 10
    """Bytes of later requests held while an earlier one is answered."""
    max_idle_upstream: int = 512
    """Unused connections kept for each upstream."""
    upstream_idle_s: float = 60.0
    """Seconds that they are kept; less where the upstream was seen to close them sooner."""
    upstream_rest_s: float = 5.0
    """Seconds for which an upstream that could not be reached is passed over, on routes with another one."""
    client_idle_s: float = 300.0
    """Seconds that a client may be silent between two requests."""
    client_head_s: float = 30.0
    """Seconds that a request head may take to arrive."""
    linger_s: float = 2.0
    """Seconds that a closing connection waits for the client to read the answer and close too."""
