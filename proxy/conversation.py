"""What a client's connection holds: the request being served, and how it ends.

`answering` and `client` add to it what comes from the upstream and from the application.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from enum import IntEnum
from typing import TYPE_CHECKING

from evenkeel.proxy.counters import ABORTED

if TYPE_CHECKING:
    from evenkeel.proxy.capture import Capture
    from evenkeel.proxy.framing import ChunkReader
    from evenkeel.proxy.lanes import Lane
    from evenkeel.proxy.pool import Pool
    from evenkeel.proxy.request_head import RequestHead
    from evenkeel.proxy.server import DataPlane
    from evenkeel.proxy.upstream import UpstreamConnection


class State(IntEnum):
    """Where a client's connection is."""

    IDLE = 0
    """Between requests, or in the middle of a head."""
    UPLOAD = 1
    """A request's body is arriving; its answer may be on the way already."""
    WAIT = 2
    """The request is complete; its answer is not."""
    TUNNEL = 3
    LINGER = 4
    """All is said; what the client still sends is thrown away until it closes."""
    CLOSED = 5


# Why nothing is read from the client at the moment.
UPSTREAM_SLOW = 1
PIPELINE_FULL = 2


class Conversation(asyncio.Protocol):
    """A client's connection: one request at a time, in order."""

    __slots__ = (
        "_answering",
        "_capture",
        "_chunk_out",
        "_chunks",
        "_connecting",
        "_half_closed",
        "_head",
        "_held",
        "_keep_alive",
        "_lane",
        "_left",
        "_pending",
        "_plane",
        "_pool",
        "_quiet_s",
        "_sent",
        "_sent_bytes",
        "_started",
        "_state",
        "_status",
        "_tried",
        "_unsent",
        "_upstream",
        "_writable",
        "transport",
    )

    transport: asyncio.Transport
    _head: RequestHead
    _lane: Lane
    _pool: Pool
    """Of the upstream that the request goes to."""

    def __init__(self, plane: DataPlane) -> None:
        self._plane = plane
        self._state = State.IDLE
        self._pending = b""
        """Bytes not yet understood: part of a head, or requests that came early."""
        self._held = 0
        self._writable = True
        self._quiet_s = 0.0
        self._half_closed = False
        self._upstream: UpstreamConnection | None = None
        self._connecting: asyncio.Task[None] | None = None
        self._unsent: list[bytes] = []
        """What waits for the upstream to be connected."""
        self._sent: list[bytes] | None = None
        """What was sent on a used connection, for sending it again; None if that is not possible."""
        self._sent_bytes = 0
        self._tried: tuple[Pool, ...] = ()
        """Upstreams that the request could not be sent to."""
        self._left = 0
        self._chunks: ChunkReader | None = None
        self._capture: Capture | None = None
        self._started = 0.0
        self._answering = False
        self._status = 0
        self._keep_alive = True
        self._chunk_out = False

    def _cut_off(self) -> None:
        """End an unfinished answer so that it can't be taken for a finished one.

        What came is still delivered. Where the end of the connection is the end of the body, only
        a reset tells the difference.
        """
        self._state = State.CLOSED
        if not self._head.minor:
            sock = self.transport.get_extra_info("socket")
            with contextlib.suppress(OSError):
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.transport.abort()
        else:
            self.transport.close()

    def _close(self, *, linger: bool) -> None:
        """Close after what was written has been sent.

        Closing with unread bytes in the kernel would reset the connection, which can destroy the
        answer before the client has read it; so with `linger` the client closes first.
        """
        self._pending = b""
        if linger and self.transport.can_write_eof() and not self.transport.is_closing():
            self._state = State.LINGER
            self._quiet_s = 0.0
            self._started = self._plane.timer()
            self.transport.write_eof()
            self._release(PIPELINE_FULL | UPSTREAM_SLOW)
        else:
            self._state = State.CLOSED
            self.transport.close()

    def _client_left(self) -> None:
        """The client is gone: so is the reason for its upstream call."""
        state = self._state
        self._state = State.CLOSED
        self._pending = b""
        if state not in {State.UPLOAD, State.WAIT, State.TUNNEL}:
            return
        if state is State.TUNNEL:
            if self._half_closed and self._upstream is not None:
                self._upstream.hang_up()
                self._upstream = None
            self._drop_upstream()
            self._settle(self._status // 100)
            return
        self._drop_upstream()
        self._skip("client_left")
        self._lane.counters.disconnects += 1
        self._settle(ABORTED)

    def _drop_upstream(self) -> None:
        if self._connecting is not None:
            self._connecting.cancel()
            self._connecting = None
        if self._upstream is not None:
            self._upstream.abandon()
            self._upstream = None
        self._unsent = []
        self._sent = None
        self._chunks = None

    def _settle(self, status_class: int) -> None:
        counters = self._lane.counters
        counters.requests[status_class] += 1
        counters.in_flight -= 1

    # Capture and reading

    def _captured(self, room: bool) -> None:  # noqa: FBT001 - takes what the capture returned
        if not room:
            self._skip("too_large")

    def _skip(self, reason: str) -> None:
        if self._capture is not None:
            self._capture = None
            self._lane.counters.skip(reason)

    def _hold(self, reason: int) -> None:
        if not self._held and not self.transport.is_closing():
            self.transport.pause_reading()
        self._held |= reason

    def _release(self, reason: int) -> None:
        if self._held:
            self._held &= ~reason
            if not self._held and not self.transport.is_closing():
                self.transport.resume_reading()

    def _read_request(self, data: bytes) -> None:
        """Serve the next request; `data` is not empty."""
        raise NotImplementedError
