"""The client side: reads requests, sends them upstream, and writes the answers."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from bisect import bisect_left
from enum import IntEnum
from typing import TYPE_CHECKING, Protocol, cast

from evenkeel.proxy.capture import CAPTURED_STATUS, Capture, capturable, of_embeddings, unread
from evenkeel.proxy.conversation import Conversation, Tap, is_conversation
from evenkeel.proxy.counters import ABORTED
from evenkeel.proxy.errors import ForwardingFault, error_response, status_of
from evenkeel.proxy.framing import LAST_CHUNK, ChunkError, ChunkReader, Framing, MessageError, chunk
from evenkeel.proxy.headers import cuts_of, merged
from evenkeel.proxy.lanes import request_id
from evenkeel.proxy.request_head import MAX_HEAD_BYTES, parse_request, render_request
from evenkeel.proxy.response_head import STATUS_END, render_response
from evenkeel.proxy.retry import may_repeat, request_unread, tcp_info

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from evenkeel.proxy.callers import Callers
    from evenkeel.proxy.counters import RouteCounters
    from evenkeel.proxy.handoff import HandOff
    from evenkeel.proxy.lanes import Lane
    from evenkeel.proxy.limits import Limits
    from evenkeel.proxy.pool import Pool
    from evenkeel.proxy.request_head import RequestHead
    from evenkeel.proxy.response_head import ResponseHead
    from evenkeel.proxy.retry import TcpInfo
    from evenkeel.proxy.routing import ProxyRoute, RouteTable
    from evenkeel.proxy.upstream import UpstreamConnection


class State(IntEnum):
    """State of a client's connection."""

    IDLE = 0
    """Between requests, or in the middle of a head."""
    UPLOAD = 1
    """A request's body is arriving; its answer may be on the way already."""
    WAIT = 2
    """The request is complete; its answer is not."""
    TUNNEL = 3
    LINGER = 4
    """Closing: what the client still sends is thrown away until it closes."""
    CLOSED = 5


# Bound here because a module's global is found faster than an enumeration's member.
_IDLE = State.IDLE
_UPLOAD = State.UPLOAD
_WAIT = State.WAIT
_TUNNEL = State.TUNNEL
_LINGER = State.LINGER
_NONE = Framing.NONE
_LENGTH = Framing.LENGTH
_CHUNKED = Framing.CHUNKED
_CLOSE = Framing.CLOSE

# Reasons why reading from the client is paused; a bit each, so that each ends by itself.
_UPSTREAM_SLOW = 1
_PIPELINE_FULL = 2

_CARRIAGE_RETURN = 13
_FIRST_SERVER_ERROR = 500
# Seconds between two requests for embeddings that are captured: only a few become reference prompts.
_EMBEDDINGS_EVERY_S = 300.0
# Most WebSockets of a route that are sampled at once: each may keep a few megabytes of its conversation.
_MOST_LISTENED = 256
# Size in bytes above which the request head keeps no copy of the body.
_LARGE_BYTES = 16 << 10


class Plane(Protocol):
    """Parts of the data plane that a client's connection uses."""

    callers: Callers
    """Decides who may use the keys of routes that have one."""
    clock: Callable[[], float]
    """Unix time in seconds."""
    timer: Callable[[], float]
    """Monotonic time in seconds."""
    draining: bool
    """True if no further requests are taken."""
    handoff: HandOff
    """Takes captured exchanges."""
    lanes: Mapping[str, Lane]
    """Routes at run time, by name."""
    limits: Limits
    routes: RouteTable
    unrouted: RouteCounters
    """Counts requests that belong to no route."""

    def joined(self, client: ClientConnection) -> None:
        """Count a client that connected, or turn it away."""

    def left(self, client: ClientConnection) -> None:
        """Forget a client whose connection is gone."""

    def draw(self) -> int:
        """Return 64 random bits, which decide whether a request is sampled."""

    def rest(self, pool: Pool) -> None:
        """Pass an upstream over for a while, because it could not be reached."""


class ClientConnection(asyncio.Protocol):
    """A connection from an application: one request at a time, in order.

    Modules without I/O decide where a message ends, what is rewritten and when a request is repeated; this
    class holds the state between those decisions.
    """

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
        "_last",
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
        "_tap",
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
    """Pool of the upstream that the request goes to."""

    def __init__(self, plane: Plane) -> None:
        self._plane = plane
        self._state = State.IDLE
        # Previous head of this connection, used to read the next one faster.
        self._last: RequestHead | None = None
        # Bytes not yet understood: part of a head, or requests that came early.
        self._pending = b""
        self._held = 0
        self._writable = True
        self._quiet_s = 0.0
        self._half_closed = False
        self._upstream: UpstreamConnection | None = None
        self._connecting: asyncio.Task[None] | None = None
        # Bytes that wait until the upstream is connected.
        self._unsent: list[bytes] = []
        # Bytes sent on a reused connection or on a route with fallbacks, kept for sending them again; None if
        # that is not possible.
        self._sent: list[bytes] | None = None
        self._sent_bytes = 0
        # Upstreams that the request could not be sent to.
        self._tried: tuple[Pool, ...] = ()
        self._left = 0
        self._chunks: ChunkReader | None = None
        self._capture: Capture | None = None
        # Hands over what passes in a tunnel that is sampled.
        self._tap: Tap | None = None
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
                self._hold(_PIPELINE_FULL)
        elif state is _TUNNEL:
            self._quiet_s = 0.0
            if self._upstream is not None:
                self._upstream.transport.write(data)
                if self._tap is not None:
                    self._tap.passed(data, by_client=True)
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
            head = parse_request(data, self._last)
        except MessageError as error:
            self._refuse(error.fault, error.detail)
            return
        if head is None:
            self._pending = data
            return
        self._pending = b""
        match = plane.routes.find(head.target, head.raw, head.end)
        if match is None:
            path = head.target.partition(b"?")[0].decode("latin-1")
            self._refuse(ForwardingFault.NO_ROUTE, repr(path[:200]), bare=head.method == b"HEAD")
            return
        self._quiet_s = 0.0
        self._started = started
        self._begin(head, *match)

    def _begin(self, head: RequestHead, route: ProxyRoute, target: bytes) -> None:
        plane = self._plane
        lane = plane.lanes[route.name]
        if lane.has_key and (refused := plane.callers.refused(head, named=bool(route.hosts))):
            self._refuse(refused.fault, refused.detail, bare=head.method == b"HEAD")
            return
        self._head = self._last = head
        self._lane = lane
        self._pool = pool = lane.pool
        if pool is not lane.first:
            target = lane.target(head.target, pool)
        self._tried = ()
        counters = lane.counters
        counters.in_flight += 1
        self._answering = False
        data = head.raw
        end = head.end
        stop = len(data)
        if end + head.length == stop and head.framing is not _CHUNKED:
            self._state = _WAIT
        else:
            stop = self._begin_upload(head, data)
        self._sample(head, lane, stop)
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

        Takes nothing of a chunked body, which is read like the pieces that come later.
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

    def _sample(self, head: RequestHead, lane: Lane, stop: int) -> None:
        """Decide whether an exchange is captured, of which the request has arrived up to `stop`."""
        plane = self._plane
        bound = lane.bound
        if not capturable(head.method, head.target):
            if head.method != b"POST":
                return
            lane.counters.leave_unread(unread(head.target))
            now = plane.clock()
            if not bound or now < lane.embedded_at + _EMBEDDINGS_EVERY_S or not of_embeddings(head.target):
                return
            lane.embedded_at, bound = now, 1 << 64
        if head.replay:
            lane.counters.skip("replay")
            return
        lane.counters.eligible += 1
        drawn = plane.draw()
        if drawn < bound:
            lane.counters.sampled += 1
            peer = self.transport.get_extra_info("peername")
            self._capture = capture = Capture(
                request_id(drawn),
                lane.route.name,
                head,
                plane.clock(),
                plane.limits.max_exchange_bytes,
                stop=stop,
                address=peer[0] if isinstance(peer, tuple) else "",
                known_by_key=not lane.has_key or bool(lane.route.key_fingerprints),
            )
            self._captured(capture.fits)

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
                self._fail(ForwardingFault.MALFORMED, str(error))
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

    def _refuse(self, fault: ForwardingFault, detail: str, *, bare: bool = False) -> None:
        # Closed, since nobody knows where the next request would begin.
        self._plane.unrouted.requests[status_of(fault) // 100] += 1
        self.transport.write(error_response(fault, detail=detail, close=True, bare=bare))
        self._close(linger=True)

    def eof_received(self) -> bool | None:
        """Treat the end of the client's data as leaving, except in a tunnel.

        A client may have closed its sending half only. Writing alone would show that, and an answer nobody
        reads still has to be paid for.
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
        """Leave the data plane, and give up the current request."""
        self._plane.left(self)
        self._client_left()

    def pause_writing(self) -> None:
        """Read slower from the upstream: the client does not keep up."""
        self._writable = False
        if self._upstream is not None and not self._upstream.transport.is_closing():
            self._upstream.transport.pause_reading()

    def resume_writing(self) -> None:
        """Read from the upstream again: the client has caught up."""
        self._writable = True
        if self._upstream is not None and not self._upstream.transport.is_closing():
            self._upstream.transport.resume_reading()

    # From the upstream

    def connected(self, upstream: UpstreamConnection) -> None:
        """Send the request on a connection that has been made."""
        self._connecting = None
        self._upstream = upstream
        self._pool.resting_until = 0.0
        upstream.begin(self, self._head)
        for out in self._unsent:
            upstream.transport.write(out)
        # On a route with fallbacks, a request is kept until the upstream has certainly read it.
        if (upstream.used or len(self._lane.pools) > 1) and (
            self._sent_bytes <= self._plane.limits.max_replay_bytes
        ):
            self._sent = self._unsent
        self._unsent = []
        if not self._writable:
            upstream.transport.pause_reading()
        if upstream.writable:
            self._release(_UPSTREAM_SLOW)

    def not_connected(self, fault: ForwardingFault, detail: str) -> None:
        """Send the request elsewhere, or fail it: no connection could be made."""
        self._connecting = None
        if not self._sent_elsewhere(self._unsent, fault):
            self._fail(fault, detail)

    @property
    def upgrade_offered(self) -> bool:
        """Return whether the current request may be answered with 101."""
        return self._head.upgrade

    def interim(self, head: ResponseHead) -> None:
        """Pass on an answer that is not the final one, such as 100 Continue. HTTP/1.0 has none."""
        if self._head.minor:
            self._sent = None
            self.transport.write(render_response(head, minor=1, keep_alive=True) or head.raw[: head.end])

    def answer_head(self, head: ResponseHead, payload: bytes | None, *, done: bool) -> None:
        """Begin the answer to the client.

        Args:
            head: Its head.
            payload: Part of its body that has arrived; None for all that follows the head in `head.raw`.
            done: True if that is the whole body.
        """
        request = self._head
        minor = request.minor
        self._status = status = head.status
        plane = self._plane
        first_byte_s = plane.timer() - self._started
        # As `Histogram.observe`, without the call.
        histogram = self._lane.counters.first_byte[status // 100]
        histogram.counts[bisect_left(histogram.bounds, first_byte_s)] += 1
        histogram.total_s += first_byte_s
        self._sent = None
        self._answering = True
        # An answer that comes before the request is complete ends the connection: nobody knows
        # whether the client will send the rest. So does one whose end an HTTP/1.0 client only sees
        # by a close.
        self._keep_alive = keep_alive = (
            request.keep_alive
            and self._state is _WAIT
            and not plane.draining
            and (minor == 1 or head.framing is _NONE or head.framing is _LENGTH)
        )
        if self._pool is not self._lane.first:
            self._keep_cookies_apart(head)
        framing = head.framing
        self._chunk_out = chunk_out = minor == 1 and framing is _CLOSE
        if keep_alive and not chunk_out and not head.edits and minor == head.minor == 1:
            rendered = None
        else:
            rendered = render_response(head, minor=minor, keep_alive=keep_alive)
        capture = self._capture
        if capture is not None:
            if status != CAPTURED_STATUS:
                self._skip("status")
            else:
                self._captured(
                    capture.add_answer(
                        head,
                        payload,
                        chunked=minor == 1 and framing is _CHUNKED,
                        upstream=self._lane.pools.index(self._pool),
                    )
                )
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

    def _keep_cookies_apart(self, head: ResponseHead) -> None:
        """Remove the cookies that an upstream of another origin sets: the first one would be sent them."""
        if self._lane.foreign(self._pool):
            cuts = cuts_of(head.raw, STATUS_END, head.end, {b"set-cookie", b"set-cookie2"})
            head.edits = merged(head.edits, cuts)
            # The connection's next answer may be to a request for which it is the first upstream.
            head.known = None

    def answer(self, payload: bytes, *, done: bool) -> None:
        """Send more of the answer to the client, and end it if `done`."""
        if self._capture is not None:
            self._captured(self._capture.add_response(payload))
        if self._chunk_out:
            payload = chunk(payload) + LAST_CHUNK if done else chunk(payload)
        if payload:
            self.transport.write(payload)
        if done:
            self._finish()

    def upstream_failed(self, fault: ForwardingFault, detail: str, info: TcpInfo | None = None) -> None:
        """Repeat the request, or fail it: the answer will not come, or not to its end.

        Args:
            fault: Why.
            detail: Finding that explains the fault.
            info: Kernel's state of the connection when it was found closed.
        """
        upstream = self._upstream
        assert upstream is not None
        self._upstream = None
        upstream.abandon()
        plane = self._plane
        sent = self._sent
        if fault is ForwardingFault.CLOSED and sent is not None:
            unread = request_unread(info, tls=upstream.tls, elapsed_s=plane.timer() - self._started)
            if may_repeat(self._head, unread=unread):
                if upstream.used:
                    # A kept connection that ends says nothing about the upstream: ask it again.
                    self._lane.counters.retries += 1
                    self._unsent = sent
                    self._sent = None
                    self._connecting = self._pool.connect(self, self._lane.route.timeouts.connect_s)
                    return
                if self._sent_elsewhere(sent, fault):
                    return
        self._fail(fault, detail)

    def _sent_elsewhere(self, sent: list[bytes], fault: ForwardingFault) -> bool:
        """Send a request that its upstream has not read to the route's next one, if there is one.

        Args:
            sent: The request as far as it has arrived, its head at the start of the first piece.
            fault: Fault of its upstream.
        """
        lane = self._lane
        if len(lane.pools) == 1:
            return False
        failed = self._pool
        self._plane.rest(failed)
        self._tried = (*self._tried, failed)
        pool = lane.another(self._tried, self._plane.timer())
        if pool is None:
            return False
        lane.counters.fail(fault.value)
        lane.counters.failovers += 1
        sent[0] = self._rendered_for(pool) + sent[0][len(self._rendered_for(failed)) :]
        self._pool = pool
        self._sent = None
        self._unsent = sent
        upstream = pool.take()
        if upstream is None:
            self._connecting = pool.connect(self, lane.route.timeouts.connect_s)
        else:
            self.connected(upstream)
        return True

    def _rendered_for(self, pool: Pool) -> bytes:
        head = self._head
        lane = self._lane
        return render_request(head, lane.target(head.target, pool), pool.authority, lane.injections[pool])

    def switch(self, head: ResponseHead, payload: bytes) -> None:
        """Turn the connection into a tunnel, as the client asked: from here on bytes pass both ways."""
        upstream = self._upstream
        assert upstream is not None
        self._state = State.TUNNEL
        self._answering = True
        self._status = head.status
        if self._pool is not self._lane.first:
            self._keep_cookies_apart(head)
        self._listen(head)
        start = render_response(head, minor=1, keep_alive=True) or head.raw[: head.end]
        self.transport.write(start + payload)
        if self._tap is not None and payload:
            self._tap.passed(payload, by_client=False)
        if self._pending:
            upstream.transport.write(self._pending)
            if self._tap is not None:
                self._tap.passed(self._pending, by_client=True)
            self._pending = b""
        self._release(_PIPELINE_FULL)

    def _listen(self, answer: ResponseHead) -> None:
        """Decide whether the exchanges of a tunnel are captured: all of them, or none."""
        head, lane, plane = self._head, self._lane, self._plane
        if not is_conversation(head, answer):
            return
        if head.replay:
            lane.counters.skip("replay")
            return
        drawn = plane.draw()
        if drawn >= lane.bound:
            lane.counters.eligible += 1
            return
        if lane.listened >= _MOST_LISTENED:
            lane.counters.skip("websocket_crowd")
            return
        lane.listened += 1
        raw, peer = head.raw[: head.end], self.transport.get_extra_info("peername")
        conversation = Conversation(
            drawn,
            lane.route.name,
            head,
            answer,
            plane.limits.max_exchange_bytes,
            lane.counters,
            upstream=lane.pools.index(self._pool),
            client=lambda names: names.name(
                raw,
                peer[0] if isinstance(peer, tuple) else "",
                known_by_key=not lane.has_key or bool(lane.route.key_fingerprints),
            ),
        )
        self._tap = Tap(conversation, plane.handoff, plane.clock)

    def _stop_listening(self) -> None:
        if self._tap is not None:
            self._tap.passed(b"", by_client=True, ends=True)
            self._tap = None
            self._lane.listened -= 1

    def tunnel(self, data: bytes) -> None:
        """Send bytes of a tunnel to the client."""
        self.transport.write(data)
        if self._tap is not None:
            self._tap.passed(data, by_client=False)

    def upstream_half_closed(self) -> bool | None:
        """End the client's half of a tunnel as the upstream did. Returns True if the other half goes on."""
        if self._half_closed or not self.transport.can_write_eof():
            return None
        self._half_closed = True
        self.transport.write_eof()
        return True

    def upstream_hung_up(self) -> None:
        """Close the connection: the tunnel ended."""
        self._upstream = None
        self._stop_listening()
        self._settle(self._status // 100)
        self._state = State.CLOSED
        self.transport.close()

    def hold_upload(self) -> None:
        """Stop reading the upload: the upstream reads slower than the client sends."""
        self._hold(_UPSTREAM_SLOW)

    def resume_upload(self) -> None:
        """Read the upload again: the upstream has caught up."""
        self._release(_UPSTREAM_SLOW)

    # The end of a request, and of the connection

    def _finish(self) -> None:
        """End a request whose answer is completely written."""
        upstream = self._upstream
        assert upstream is not None
        self._upstream = None
        complete = self._state is _WAIT
        if not complete:
            upstream.abandon()
        else:
            if not self._writable and not upstream.transport.is_closing():
                upstream.transport.resume_reading()
            upstream.pool.put(upstream)
        capture = self._capture
        if capture is not None:
            capture.duration_s = self._plane.timer() - self._started
            self._capture = None
            self._plane.handoff.offer(capture)
        counters = self._lane.counters
        counters.requests[self._status // 100] += 1
        counters.in_flight -= 1
        if not self._keep_alive or self._plane.draining:
            self._close(linger=not complete or bool(self._pending))
            return
        self._state = State.IDLE
        if self._held:
            self._release(_PIPELINE_FULL | _UPSTREAM_SLOW)
        if self._pending:
            self._read_request(self._pending)

    def _fail(self, fault: ForwardingFault, detail: str) -> None:
        """Give the request up, and report the fault if the client can still read an answer."""
        lane = self._lane
        status = status_of(fault)
        if status >= _FIRST_SERVER_ERROR:
            lane.counters.fail(fault.value)
        complete = self._state is _WAIT
        self._drop_upstream()
        if self._answering:
            self._skip("truncated")
            self._settle(ABORTED)
            self._cut_off()
            return
        self._skip("status")
        keep_alive = complete and self._head.keep_alive and not self._plane.draining
        self.transport.write(
            error_response(
                fault,
                where=lane.where(self._pool),
                detail=detail,
                close=not keep_alive,
                bare=self._head.method == b"HEAD",
            )
        )
        self._settle(status // 100)
        if not keep_alive:
            self._close(linger=True)
            return
        self._state = State.IDLE
        self._release(_PIPELINE_FULL | _UPSTREAM_SLOW)
        if self._pending:
            self._read_request(self._pending)

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
            self._release(_PIPELINE_FULL | _UPSTREAM_SLOW)
        else:
            self._state = State.CLOSED
            self.transport.close()

    def _client_left(self) -> None:
        state = self._state
        self._state = State.CLOSED
        self._pending = b""
        if state not in {State.UPLOAD, State.WAIT, State.TUNNEL}:
            return
        if state is State.TUNNEL:
            self._stop_listening()
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
                    self._refuse(ForwardingFault.CLIENT_STALLED, "")
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
        """Return whether the client left while reading from it is paused, so that no event would tell."""
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
            if min(self._quiet_s, upstream.quiet_s) >= timeouts.silence_s:
                self._client_left()
                self.transport.close()
        elif self._answering:
            if upstream.quiet_s >= timeouts.silence_s:
                self._stalled()
        elif self._state is _UPLOAD and not self._held:
            if self._quiet_s >= timeouts.silence_s:
                self._fail(ForwardingFault.CLIENT_STALLED, "")
        elif upstream.quiet_s >= timeouts.silence_s:
            self._fail(ForwardingFault.FIRST_BYTE_TIMEOUT, "")

    def _out_of_time(self, total_s: float | None) -> bool:
        """End a request that has taken all the time it may take. Returns whether it has."""
        if total_s is None or self._state is _TUNNEL or self._plane.timer() - self._started < total_s:
            return False
        waits_for_client = self._state is _UPLOAD and not self._held and not self._answering
        self._fail(ForwardingFault.CLIENT_STALLED if waits_for_client else ForwardingFault.TOTAL_TIMEOUT, "")
        return True

    def _stalled(self) -> None:
        """End a request whose answer stopped: upstream or client does not keep up."""
        if self._writable:
            self._fail(ForwardingFault.IDLE_TIMEOUT, "")
        else:
            self._client_left()
            self.transport.abort()
