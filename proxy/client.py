"""The client side: reads requests, sends them upstream, and writes the answers.

One request at a time and in order. All that is decided about bytes is decided in the modules
without I/O; this one holds the state between them.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from enum import IntEnum
from typing import TYPE_CHECKING, cast

from proxy.capture import CAPTURED_STATUS, Capture, capturable
from proxy.counters import ABORTED
from proxy.errors import Fault, error_response, status_of
from proxy.framing import LAST_CHUNK, ChunkError, ChunkReader, Framing, MessageError, chunk
from proxy.liveness import TcpInfo, request_unread, tcp_info
from proxy.request_head import RequestHead, parse_request, render_request
from proxy.response_head import ResponseHead, can_keep_alive, render_response
from proxy.retrying import may_repeat
from proxy.sampling import sampled

if TYPE_CHECKING:
    from proxy.lanes import Lane
    from proxy.server import DataPlane
    from proxy.upstream import UpstreamConnection


class _State(IntEnum):
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


_IDLE = _State.IDLE
_UPLOAD = _State.UPLOAD
_WAIT = _State.WAIT
_TUNNEL = _State.TUNNEL
_LINGER = _State.LINGER
_CLOSED = _State.CLOSED

_NONE = Framing.NONE
_LENGTH = Framing.LENGTH
_CHUNKED = Framing.CHUNKED
_CLOSE = Framing.CLOSE

# Why nothing is read from the client at the moment.
_UPSTREAM_SLOW = 1
_PIPELINE_FULL = 2

_JOIN_UP_TO_BYTES = 16 << 10
"""A larger body is written beside its head rather than copied behind it."""


class ClientConnection(asyncio.Protocol):
    """A connection from an application."""

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
        "_quiet_s",
        "_sent",
        "_sent_bytes",
        "_started",
        "_state",
        "_status",
        "_unsent",
        "_upstream",
        "_writable",
        "transport",
    )

    transport: asyncio.Transport
    _head: RequestHead
    _lane: Lane

    def __init__(self, plane: DataPlane) -> None:
        self._plane = plane
        self._state = _IDLE
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
        self._left = 0
        self._chunks: ChunkReader | None = None
        self._capture: Capture | None = None
        self._started = 0.0
        self._answering = False
        self._status = 0
        self._keep_alive = True
        self._chunk_out = False

    # From the application

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Join the data plane's open connections."""
        self.transport = cast("asyncio.Transport", transport)
        self._plane.joined(self)

    def data_received(self, data: bytes) -> None:
        """Read bytes of a request."""
        state = self._state
        if state is _IDLE:
            pending = self._pending
            if pending:
                data = pending + data
                # Without a line feed no head has become complete: do not read all of it again.
                if b"\n" not in data[len(pending) - 1 :] and len(data) < self._plane.limits.max_pipelined_bytes:
                    self._pending = data
                    return
            else:
                self._quiet_s = 0.0
            self._read_request(data)
        elif state is _UPLOAD:
            self._quiet_s = 0.0
            self._read_body(data, 0)
        elif state is _WAIT:
            self._quiet_s = 0.0
            self._pending += data
            if len(self._pending) > self._plane.limits.max_pipelined_bytes:
                self._hold(_PIPELINE_FULL)
        elif state is _TUNNEL:
            self._quiet_s = 0.0
            if self._upstream is not None:
                self._upstream.transport.write(data)

    def _read_request(self, data: bytes) -> None:
        plane = self._plane
        started = plane.timer()
        while data.startswith(b"\r\n"):
            data = data[2:]
        self._pending = b""
        try:
            head = None if data in {b"", b"\r"} else parse_request(data)
        except MessageError as error:
            self._refuse(error.fault, error.detail)
            return
        if head is None:
            self._pending = data
            return
        match = plane.routes.match(head.target)
        if match is None:
            path = head.target.partition(b"?")[0].decode("latin-1")
            self._refuse(Fault.NO_ROUTE, repr(path[:200]), bare=head.method == b"HEAD")
            return
        route, target = match
        self._lane = lane = plane.lanes[route.name]
        counters = lane.counters
        counters.in_flight += 1
        self._head = head
        self._started = started
        self._answering = False
        self._quiet_s = 0.0
        if lane.capture and head.method == b"POST" and capturable(head):
            self._sample(head, lane)
        pieces = render_request(head, target, lane.authority)

        end = head.end
        size = len(data)
        framing = head.framing
        body = b""
        if framing is _NONE:
            self._state = _WAIT
            if size > end:
                self._pending = data[end:]
        elif framing is _LENGTH:
            self._left = left = head.length - size + end
            if left > 0:
                body = data[end:]
                self._state = _UPLOAD
            else:
                self._state = _WAIT
                if left < 0:
                    body = data[end:left]
                    self._pending = data[left:]
                else:
                    body = data[end:]
            if self._capture is not None:
                self._captured(self._capture.add_request(body))
        else:
            self._state = _UPLOAD
            self._chunks = ChunkReader()

        if len(body) <= _JOIN_UP_TO_BYTES:
            pieces.append(body)
            body = b""
        out = b"".join(pieces)
        upstream = lane.pool.take()
        self._sent_bytes = len(out) + len(body)
        if upstream is None:
            self._sent = None
            self._unsent = [out, body] if body else [out]
            self._connecting = lane.pool.connect(self, route.timeouts.connect_s)
        else:
            self._upstream = upstream
            upstream.begin(self, head.method)
            upstream.transport.write(out)
            self._sent = [out]
            if body:
                upstream.transport.write(body)
                self._sent.append(body)
            if not self._writable:
                upstream.transport.pause_reading()
        counters.overhead.observe(plane.timer() - started)
        if framing is _CHUNKED and size > end:
            self._read_body(data, end)

    def _sample(self, head: RequestHead, lane: Lane) -> None:
        if head.replay:
            lane.counters.skip("replay")
            return
        lane.counters.eligible += 1
        plane = self._plane
        request_id = plane.next_id()
        if sampled(request_id, lane.bound):
            lane.counters.sampled += 1
            self._capture = Capture(
                request_id, lane.route.name, head, plane.clock(), plane.limits.max_exchange_bytes
            )

    def _read_body(self, data: bytes, position: int) -> None:
        if self._head.framing is _LENGTH:
            self._left = left = self._left - len(data)
            if left < 0:
                self._pending = data[left:]
                data = data[:left]
            done = left <= 0
            out = payload = data
        else:
            chunks = self._chunks
            assert chunks is not None
            try:
                payload = chunks.feed(data, position)
            except ChunkError as error:
                self._fail(Fault.MALFORMED, str(error))
                return
            done = chunks.done
            out = chunk(payload)
            if done:
                out += LAST_CHUNK
                self._pending = chunks.rest
                self._chunks = None
        if self._capture is not None:
            self._captured(self._capture.add_request(payload))
        if done:
            self._state = _WAIT
        if out:
            self._send(out)

    def _send(self, out: bytes) -> None:
        """Write more of a request, or keep it until the upstream is connected."""
        self._sent_bytes += len(out)
        upstream = self._upstream
        if upstream is None:
            self._unsent.append(out)
            if self._sent_bytes > self._plane.limits.max_waiting_bytes:
                self._hold(_UPSTREAM_SLOW)
            return
        upstream.quiet_s = 0.0
        if self._sent is not None:
            if self._sent_bytes > self._plane.limits.max_replay_bytes:
                self._sent = None
            else:
                self._sent.append(out)
        upstream.transport.write(out)

    # From the upstream

    def connected(self, upstream: UpstreamConnection) -> None:
        """The connection asked for is there."""
        self._connecting = None
        self._upstream = upstream
        upstream.begin(self, self._head.method)
        for out in self._unsent:
            upstream.transport.write(out)
        self._unsent = []
        if not self._writable:
            upstream.transport.pause_reading()
        if upstream.writable:
            self._release(_UPSTREAM_SLOW)

    def not_connected(self, fault: Fault, detail: str) -> None:
        """The connection asked for could not be made."""
        self._connecting = None
        self._fail(fault, detail)

    @property
    def upgrade_offered(self) -> bool:
        """Whether the current request may be answered with 101."""
        return self._head.upgrade

    def interim(self, head: ResponseHead) -> None:
        """An answer that is not the final one, such as 100 Continue. HTTP/1.0 has none."""
        if self._head.minor:
            self._sent = None
            self.transport.write(render_response(head, minor=1, keep_alive=True) or head.raw[: head.end])

    def answer_head(self, head: ResponseHead, payload: bytes | None, *, done: bool) -> None:
        """The answer begins.

        Args:
            head: Its head.
            payload: What came of its body; None for all that follows the head in `head.raw`.
            done: Whether that is all of it.
        """
        request = self._head
        minor = request.minor
        self._lane.counters.first_byte.observe(self._plane.timer() - self._started)
        self._sent = None
        self._answering = True
        self._status = status = head.status
        # An answer that comes before the request is complete ends the connection: nobody knows
        # whether the client will send the rest.
        self._keep_alive = keep_alive = (
            request.keep_alive and self._state is _WAIT and not self._plane.draining and can_keep_alive(head, minor)
        )
        framing = head.framing
        self._chunk_out = chunk_out = minor == 1 and (framing is _CHUNKED or framing is _CLOSE)
        rendered = render_response(head, minor=minor, keep_alive=keep_alive)
        capture = self._capture
        if capture is not None:
            if status != CAPTURED_STATUS:
                self._skip("status")
            else:
                capture.add_answer(head)
                if payload is None:
                    payload = head.raw[head.end :]
                self._captured(capture.add_response(payload))
        if rendered is None and payload is None and not chunk_out:
            self.transport.write(head.raw)
        else:
            start = head.raw[: head.end] if rendered is None else rendered
            if payload is None:
                payload = head.raw[head.end :]
            if chunk_out:
                payload = chunk(payload) + LAST_CHUNK if done else chunk(payload)
            self.transport.write(start + payload)
        if done:
            self._finish()

    def answer(self, payload: bytes, *, done: bool) -> None:
        """The answer goes on, or with `done` ends."""
        if self._capture is not None:
            self._captured(self._capture.add_response(payload))
        if self._chunk_out:
            payload = chunk(payload) + LAST_CHUNK if done else chunk(payload)
        if payload:
            self.transport.write(payload)
        if done:
            self._finish()

    def upstream_failed(self, fault: Fault, detail: str, info: TcpInfo | None = None) -> None:
        """The answer will not come, or not to its end.

        Args:
            fault: Why.
            detail: What was found.
            info: What the kernel knew of the connection when it was found closed.
        """
        upstream = self._upstream
        assert upstream is not None
        self._upstream = None
        upstream.abandon()
        plane = self._plane
        if fault is Fault.CLOSED and self._sent is not None and upstream.used:
            unread = request_unread(info, tls=upstream.tls, elapsed_s=plane.timer() - self._started)
            if may_repeat(self._head, plane.retry, unread=unread):
                self._lane.counters.retries += 1
                self._unsent = self._sent
                self._sent = None
                self._connecting = self._lane.pool.connect(self, self._lane.route.timeouts.connect_s)
                return
        self._fail(fault, detail)

    def switch(self, head: ResponseHead, payload: bytes) -> None:
        """The upstream leaves HTTP as the client asked: from here on bytes pass both ways."""
        upstream = self._upstream
        assert upstream is not None
        self._state = _TUNNEL
        self._answering = True
        self._status = head.status
        start = render_response(head, minor=1, keep_alive=True) or head.raw[: head.end]
        self.transport.write(start + payload)
        if self._pending:
            upstream.transport.write(self._pending)
            self._pending = b""
        self._release(_PIPELINE_FULL)

    def upstream_half_closed(self) -> bool | None:
        """The upstream's half of a tunnel ended. Returns True if the other half goes on."""
        if self._half_closed or not self.transport.can_write_eof():
            return None
        self._half_closed = True
        self.transport.write_eof()
        return True

    def upstream_hung_up(self) -> None:
        """The tunnel ended."""
        self._upstream = None
        self._settle(self._status // 100)
        self._state = _CLOSED
        self.transport.close()
