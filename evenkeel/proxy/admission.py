"""Admission of connections: limits on their number, and the refusal of those beyond the limits."""

from __future__ import annotations

import asyncio
from ipaddress import IPv6Address
from typing import TYPE_CHECKING

from evenkeel.proxy.errors import ForwardingFault, error_response

if TYPE_CHECKING:
    from evenkeel.proxy.limits import Limits

# Connections above the limit that are read once to be told 503; further ones are closed in silence.
_MOST_TOLD = 64
# Divisor of the connection limit: one eighth more connections may be open briefly, to receive the refusal.
_TOLD_SHARE = 8
# Bits of the host part of an IPv6 address. One subscriber usually has the whole network, so they are not
# counted apart.
_HOST_BITS = 64


def counted_as(peername: object) -> str:
    """Return the name under which a peer is counted: its IPv4 address or its IPv6 /64 network.

    Clients of a Unix socket, and clients gone before their address could be read, are counted under "".
    """
    host = peername[0] if isinstance(peername, tuple) else ""
    if ":" not in host:
        return str(host)
    address = IPv6Address(host.partition("%")[0])
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(IPv6Address(int(address) >> _HOST_BITS << _HOST_BITS))


def turn_away(transport: asyncio.Transport, waiting: set[TurnedAway], limits: Limits) -> None:
    """Close a connection that is one too many: with an answer to its request if few others wait for theirs.

    Args:
        transport: The connection.
        waiting: Refused connections that still wait for their answer; this one joins and leaves them.
        limits: Limits on their number and on the time they may take.
    """
    is_told = len(waiting) < min(_MOST_TOLD, max(1, limits.max_connections // _TOLD_SHARE))
    transport.set_protocol(TurnedAway(transport, waiting, limits.linger_s if is_told else 0.0))


class TurnedAway(asyncio.Protocol):
    """A refused connection, kept open until its request has been answered with the refusal."""

    def __init__(self, transport: asyncio.Transport, waiting: set[TurnedAway], patience_s: float) -> None:
        """Args: transport: the connection. waiting: joined and left. patience_s: 0 = close at once."""
        self.transport = transport
        self._waiting = waiting
        self._answered = False
        self._timer: asyncio.TimerHandle | None = None
        if patience_s:
            waiting.add(self)
            self._timer = asyncio.get_running_loop().call_later(patience_s, transport.abort)
        else:
            transport.abort()

    def data_received(self, data: bytes) -> None:
        """Answer the request at its first bytes; what follows them is thrown away until the client closes."""
        if self._answered or self.transport.is_closing():
            return
        self._answered = True
        bare = data.startswith(b"HEAD ")
        self.transport.write(error_response(ForwardingFault.CROWDED, close=True, bare=bare))
        # Closing with unread bytes would reset the connection, and the answer could be lost.
        self.transport.write_eof()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - the protocol's signature
        """Stop waiting for a request of the connection."""
        self._waiting.discard(self)
        if self._timer is not None:
            self._timer.cancel()
