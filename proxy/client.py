"""The client side: reads requests and sends them upstream.

One request at a time and in order. All that is decided about bytes is decided in the modules
without I/O; this one and `answering` hold the state between them.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, cast

from evenkeel.proxy.answering import Answering
from evenkeel.proxy.capture import Capture, capturable
from evenkeel.proxy.conversation import PIPELINE_FULL, UPSTREAM_SLOW, State
from evenkeel.proxy.errors import Fault, error_response, status_of
from evenkeel.proxy.framing import ChunkError, ChunkReader, Framing, MessageError
from evenkeel.proxy.lanes import sampled
from evenkeel.proxy.request_head import MAX_HEAD_BYTES, parse_request
from evenkeel.proxy.retry import tcp_info
from evenkeel.proxy.rewriting import render_request

if TYPE_CHECKING:
    import asyncio

    from evenkeel.proxy.lanes import Lane
    from evenkeel.proxy.request_head import RequestHead
    from evenkeel.proxy.routing import Route

# Bound here because a module's global is found faster than an enumeration's member.
_IDLE = State.IDLE
_UPLOAD = State.UPLOAD
_WAIT = State.WAIT
_TUNNEL = State.TUNNEL
_LINGER = State.LINGER
_LENGTH = Framing.LENGTH
_CHUNKED = Framing.CHUNKED

_CARRIAGE_RETURN = 13
_LARGE_BYTES = 16 << 10
"""From this size on a body is not kept in memory longer than it takes to send it."""


class ClientConnection(Answering):
    """A connection from an application."""

    __slots__ = ()

    # From the application

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Join the data plane's open connections."""
        self.transport = cast("asyncio.Transport", transport)
        self._plane.joined(self)

    def data_received(self, data: bytes) -> None:
        """Read bytes of a request."""
        state = self._state
        if state is _IDLE:
            if not self._pending:
                self._quiet_s = 0.0
                self._read_request(data)
            else:
                self._read_more_of_a_head(data)
        elif state is _UPLOAD:
            self._quiet_s = 0.0
            self._read_body(data, 0)
        elif state is _WAIT:
            self._quiet_s = 0.0
            self._pending += data
            if len(self._pending) > self._plane.limits.max_pipelined_bytes:
                self._hold(PIPELINE_FULL)
        elif state is _TUNNEL:
            self._quiet_s = 0.0
            if self._upstream is not None:
                self._upstream.transport.write(data)
        elif state is _LINGER:
            # It is still sending and will read the answer when it has sent all.
            self._quiet_s = 0.0

    def _read_more_of_a_head(self, data: bytes) -> None:
        pending = self._pending
        self._pending = whole = pending + data
        # Without a line feed no head has become complete: do not read all of it again.
        if b"\n" in data or len(whole) > MAX_HEAD_BYTES:
            self._read_request(whole)

    def _read_request(self, data: bytes) -> None:
        plane = self._plane
        started = plane.timer()
        if data[0] == _CARRIAGE_RETURN:
            # Empty lines before a request are skipped (RFC 9112, 2.2).
            while data.startswith(b"\r\n"):
                data = data[2:]
            if data in {b"", b"\r"}:
                self._pending = data
                return
        try:
            head = parse_request(data)
        except MessageError as error:
            self._refuse(error.fault, error.detail)
            return
        if head is None:
            self._pending = data
            return
        self._pending = b""
        match = plane.routes.find(head.target, data, head.end)
        if match is None:
            path = head.target.partition(b"?")[0].decode("latin-1")
            self._refuse(Fault.NO_ROUTE, repr(path[:200]), bare=head.method == b"HEAD")
            return
        self._quiet_s = 0.0
        self._started = started
        self._begin(head, *match)

    def _begin(self, head: RequestHead, route: Route, target: bytes) -> None:
        """Send on what has arrived of a request: its head and perhaps some of its body."""
        plane = self._plane
        self._head = head
        self._lane = lane = plane.lanes[route.name]
        self._pool = pool = lane.pool
        if pool is not lane.first:
            target = route.target(head.target, pool.upstream)
        self._tried = ()
        counters = lane.counters
        counters.in_flight += 1
        self._answering = False
        if lane.capture and capturable(head.method, head.target):
            self._sample(head, lane)
        data = head.raw
        end = head.end
        stop = len(data)
        if end + head.length == stop and head.framing is not _CHUNKED:
            self._state = _WAIT
        else:
            stop = self._begin_upload(head, data)
        if self._capture is not None:
            self._captured(self._capture.add_request(data[end:stop]))
        # One piece: a second one would be a second system call, which costs more than the copy.
        out = render_request(head, target, pool.authority, lane.injection, stop)
        self._sent_bytes = len(out)
        if stop - end > _LARGE_BYTES:
            # The head may live as long as a stream; the body need not.
            head.raw = data[:end]
        upstream = pool.take()
        if upstream is None:
            self._sent = None
            self._unsent = [out]
            self._connecting = pool.connect(self, route.timeouts.connect_s)
        else:
            self._upstream = upstream
            self._sent = [out]
            upstream.begin(self, head)
            upstream.transport.write(out)
            if not self._writable:
                upstream.transport.pause_reading()
        # As `Histogram.observe`, without the call.
        overhead_s = plane.timer() - self._started
        overhead = counters.overhead
        overhead.counts[bisect_left(overhead.bounds, overhead_s)] += 1
        overhead.total_s += overhead_s
        if head.framing is _CHUNKED and len(data) > end:
            self._read_body(data, end)

    def _begin_upload(self, head: RequestHead, data: bytes) -> int:
        """Find where in `data` the body ends, if that is not just at its end.

        Of a body in chunks nothing is taken: it is read like what comes later.
        """
        if head.framing is _CHUNKED:
            self._state = _UPLOAD
            self._chunks = ChunkReader()
            return head.end
        self._left = left = head.length - len(data) + head.end
        if left > 0:
            self._state = _UPLOAD
            return len(data)
        self._state = _WAIT
        self._pending = data[left:]
        return len(data) + left

    def _sample(self, head: RequestHead, lane: Lane) -> None:
        """Decide whether an exchange is captured."""
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
            out = data
        else:
            chunks = self._chunks
            assert chunks is not None
            try:
                out = chunks.forward(data, position)
            except ChunkError as error:
                self._fail(Fault.MALFORMED, str(error))
                return
            done = chunks.done
            if done:
                self._pending = chunks.rest
                self._chunks = None
        if self._capture is not None:
            self._captured(self._capture.add_request(out))
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
                self._hold(UPSTREAM_SLOW)
            return
        upstream.quiet_s = 0.0
        if self._sent is not None:
            if self._sent_bytes > self._plane.limits.max_replay_bytes:
                self._sent = None
            else:
                self._sent.append(out)
        upstream.transport.write(out)

    def _refuse(self, fault: Fault, detail: str, *, bare: bool = False) -> None:
        """Answer a request that belongs to no route, and close."""
        self._plane.unrouted.requests[status_of(fault) // 100] += 1
        self.transport.write(error_response(fault, detail=detail, close=True, bare=bare))
        self._close(linger=True)

    def eof_received(self) -> bool | None:
        """The client has closed, or at least its sending half: both count as leaving.

        The two can't be told apart without writing, and an answer nobody reads costs money.
        """
        if self._state is _TUNNEL and self._upstream is not None:
            transport = self._upstream.transport
            if not self._half_closed and transport.can_write_eof() and not transport.is_closing():
                self._half_closed = True
                transport.write_eof()
                return True
        self._client_left()
        return None

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - the protocol's signature
        """The connection is gone."""
        self._plane.left(self)
        self._client_left()

    def pause_writing(self) -> None:
        """The client reads slower than the upstream answers."""
        self._writable = False
        if self._upstream is not None and not self._upstream.transport.is_closing():
            self._upstream.transport.pause_reading()

    def resume_writing(self) -> None:
        """The client has caught up."""
        self._writable = True
        if self._upstream is not None and not self._upstream.transport.is_closing():
            self._upstream.transport.resume_reading()

    # Time

    def retire(self) -> None:
        """Close when the request being served, if any, is done."""
        if self._state is _IDLE:
            self._close(linger=False)

    def tick(self, elapsed_s: float) -> None:
        """Let time pass, and act on whatever has been quiet for too long."""
        self._quiet_s += elapsed_s
        state = self._state
        limits = self._plane.limits
        if state is _IDLE:
            if self._pending:
                if self._quiet_s >= limits.client_head_s:
                    self._refuse(Fault.CLIENT_STALLED, "")
            elif self._quiet_s >= limits.client_idle_s:
                self._close(linger=False)
        elif state is _LINGER:
            # The patience of a linger begins when the answer has been taken.
            patience_s = limits.client_idle_s if self.transport.get_write_buffer_size() else limits.linger_s
            lingered_s = self._plane.timer() - self._started
            if self._quiet_s >= patience_s or lingered_s >= limits.client_idle_s:
                self.transport.abort()
        elif state is State.CLOSED:
            if self._quiet_s >= limits.client_idle_s:
                self.transport.abort()
        elif self._left_unnoticed():
            self._client_left()
            self.transport.abort()
        else:
            self._tick_request(elapsed_s)

    def _left_unnoticed(self) -> bool:
        """Whether the client left while nothing is read from it, which would tell."""
        info = tcp_info(self.transport) if self._held else None
        return info is not None and not info.established

    def _tick_request(self, elapsed_s: float) -> None:
        timeouts = self._lane.route.timeouts
        if self._out_of_time(timeouts.total_s):
            return
        upstream = self._upstream
        if upstream is None:
            return
        upstream.quiet_s += elapsed_s
        if self._state is _TUNNEL:
            if min(self._quiet_s, upstream.quiet_s) >= timeouts.idle_s:
                self._client_left()
                self.transport.close()
        elif self._answering:
            if upstream.quiet_s >= timeouts.idle_s:
                self._stalled()
        elif self._state is _UPLOAD and not self._held:
            if self._quiet_s >= timeouts.idle_s:
                self._fail(Fault.CLIENT_STALLED, "")
        elif upstream.quiet_s >= timeouts.first_byte_s:
            self._fail(Fault.FIRST_BYTE_TIMEOUT, "")

    def _out_of_time(self, total_s: float | None) -> bool:
        """End a request that has taken all the time it may take. Returns whether it has."""
        if total_s is None or self._state is _TUNNEL or self._plane.timer() - self._started < total_s:
            return False
        waits_for_client = self._state is _UPLOAD and not self._held and not self._answering
        self._fail(Fault.CLIENT_STALLED if waits_for_client else Fault.TOTAL_TIMEOUT, "")
        return True

    def _stalled(self) -> None:
        """An answer stopped: the upstream does not write, or the client does not read."""
        if self._writable:
            self._fail(Fault.IDLE_TIMEOUT, "")
        else:
            self._client_left()
            self.transport.abort()
