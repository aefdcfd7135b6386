"""Rules for sending a request a second time, and the kernel's view of a connection.

A request is repeated only if its connection ended before a byte of the answer came, the request is still in
memory, and doing so cannot run it twice. If the connection was a kept-alive one, the request goes to the same
upstream on a fresh connection; otherwise to the route's next upstream, if there is one. The kernel is asked
only when it matters, never on the usual path. Without `TCP_INFO` there is no proof, so the request counts as
read.
"""

from __future__ import annotations

import socket
import struct
from typing import TYPE_CHECKING, Any, NamedTuple

from evenkeel.proxy.headers import has_idempotency_key

if TYPE_CHECKING:
    import asyncio

    from evenkeel.proxy.request_head import RequestHead


_IDEMPOTENT = frozenset({b"GET", b"HEAD", b"OPTIONS", b"PUT", b"DELETE", b"TRACE"})


# States and offsets of Linux's `struct tcp_info`.
_ESTABLISHED = 1
_CLOSE = 7
# Layout of struct tcp_info, linux/tcp.h: eight single bytes, then 32-bit numbers.
_UNACKED_AT = 24
_MIN_RTT_AT = 148
_SIZE = 152


def may_repeat(head: RequestHead, *, unread: bool) -> bool:
    """Return whether an unanswered request may be sent again.

    Idempotent methods (RFC 9110, 9.2.2) and requests with an `Idempotency-Key` may always be sent again. Any
    other may have an effect, which in an LLM API is nearly all of them: to run and bill a completion twice.

    Args:
        head: The request.
        unread: True if the upstream provably has not read the whole request, see `request_unread`.
    """
    return unread or head.method in _IDEMPOTENT or has_idempotency_key(head.raw, head.end)


class TcpInfo(NamedTuple):
    """The part of the kernel's `TCP_INFO` that is used here."""

    state: int
    unacked: int
    """Number of sent segments that the peer's kernel has not confirmed."""
    min_rtt_s: float
    """Shortest round trip seen on this connection."""

    @property
    def established(self) -> bool:
        """Return whether neither side has closed."""
        return self.state == _ESTABLISHED


def tcp_info(transport: asyncio.BaseTransport) -> TcpInfo | None:
    """Ask the kernel about a connection; None if it can't tell (not TCP, not Linux, closed)."""
    option = getattr(socket, "TCP_INFO", None)
    sock: Any = transport.get_extra_info("socket")
    if option is None or sock is None:
        return None
    try:
        raw = sock.getsockopt(socket.IPPROTO_TCP, option, _SIZE)
    except OSError:
        return None
    if len(raw) < _SIZE:
        return None
    (unacked,) = struct.unpack_from("=I", raw, _UNACKED_AT)
    (min_rtt_us,) = struct.unpack_from("=I", raw, _MIN_RTT_AT)
    return TcpInfo(raw[0], unacked, min_rtt_us / 1e6)


def request_unread(info: TcpInfo | None, *, tls: bool, elapsed_s: float) -> bool:
    """Return whether an upstream that closed provably has not read the whole request.

    Two proofs are accepted. Timing: a close that is seen sooner after the request than the shortest round
    trip was sent before the request arrived. Acknowledgment: a close acknowledges all bytes received before
    it, so if request bytes are unacknowledged, or the peer reset the connection when they arrived, the peer
    had closed first. Under TLS the second does not count, because our own closing alert may be the
    unacknowledged bytes.

    Args:
        info: Kernel's state of the connection when the close was seen; None proves nothing.
        tls: True if the connection carries TLS.
        elapsed_s: Time since the request was written.
    """
    if info is None:
        return False
    if elapsed_s < info.min_rtt_s:
        return True
    return not tls and (info.unacked > 0 or info.state == _CLOSE)
