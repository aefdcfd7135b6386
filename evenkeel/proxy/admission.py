"""Admission of connections: limits on their number, and the refusal of those beyond the limits."""

from __future__ import annotations

import asyncio
from ipaddress import IPv6Address
from typing import TYPE_CHECKING

from evenkeel.proxy.errors import ForwardingFault, error_response

if TYPE_CHECKING:
    from evenkeel.proxy.limits import Limits

# At most this many refused connections get a 503 at the same time; the rest are closed without an answer.
_MOST_REFUSALS = 64
# At most an eighth more connections than the limit may stay open to receive the 503.
_REFUSALS_DIVISOR = 8
# Bits of the host part of an IPv6 address. One subscriber usually owns a whole /64, so all its addresses
# count as one client.
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
    """Refuse a connection over the limit: with a 503, unless too many refused ones already wait for theirs.

    Args:
        transport: The connection.
        waiting: Refused connections that still wait for their answer; this one joins and leaves them.
        limits: Limits on their number and on the time they may take.
    """
    is_answered = len(waiting) < min(_MOST_REFUSALS, max(1, limits.max_connections // _REFUSALS_DIVISOR))
    transport.set_protocol(TurnedAway(transport, waiting, limits.linger_s if is_answered else 0.0))


class TurnedAway(asyncio.Protocol):
    """A refused connection, kept open until its request has been answered with the refusal."""

    def __init__(self, transport: asyncio.Transport, waiting: set[TurnedAway], patience_s: float) -> None:
        """Wait for the request.

        Args:
            transport: The connection.
            waiting: Set that this connection adds itself to, and removes itself from when it closes.
            patience_s: Seconds to wait for the request; 0 = close at once.
        """
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
        without_body = data.startswith(b"HEAD ")
        self.transport.write(error_response(ForwardingFault.CROWDED, close=True, bare=without_body))
        # Closing with unread bytes would reset the connection, and the answer could be lost.
        self.transport.write_eof()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - the protocol's signature
        """Stop waiting for a request of the connection."""
        self._waiting.discard(self)
        if self._timer is not None:
            self._timer.cancel()
