"""The data plane: forwards requests, samples some, hands those over.

A *route* names traffic of one kind and says which *upstream* it goes to; at run time it is a
*lane*, with its pool of connections and its counters. A *head* is the first part of a message, up
to the empty line; it is read strictly and edited in place, so that what nobody needs to change
does not change. *Framing* is how the end of a body is found. A *capture* holds references to the
bytes of a sampled exchange while they pass; the *hand-off* takes it to the queue from a thread of
its own.

The modules `routing`, `credentials`, `headers`, `framing`, `request_head`, `response_head`, `retry`,
`capture` and `errors` decide and do no I/O. `client` and `upstream` are the two ends of a relayed request as
asyncio protocols; `lanes` samples and chooses among upstreams, `pool` connects, `admission` turns away what
`limits` do not allow, `server` listens.

Nothing behind the hand-off can change a user's response.
"""

from __future__ import annotations

from evenkeel.proxy.counters import Counters
from evenkeel.proxy.handoff import HandOff
from evenkeel.proxy.limits import Limits
from evenkeel.proxy.routing import ProxyRoute, RouteTable, Timeouts, Upstream
from evenkeel.proxy.server import DataPlane

__all__ = ["Counters", "DataPlane", "HandOff", "Limits", "ProxyRoute", "RouteTable", "Timeouts", "Upstream"]
