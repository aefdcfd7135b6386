"""The answering half of a client's connection: what happens from the upstream's side on."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

from evenkeel.proxy.capture import CAPTURED_STATUS
from evenkeel.proxy.conversation import PIPELINE_FULL, UPSTREAM_SLOW, Conversation, State
from evenkeel.proxy.counters import ABORTED
from evenkeel.proxy.errors import Fault, error_response, status_of
from evenkeel.proxy.framing import LAST_CHUNK, Framing, chunk
from evenkeel.proxy.retry import may_repeat, request_unread
from evenkeel.proxy.rewriting import render_request, render_response

if TYPE_CHECKING:
    from evenkeel.proxy.pool import Pool
    from evenkeel.proxy.response_head import ResponseHead
    from evenkeel.proxy.retry import TcpInfo
    from evenkeel.proxy.upstream import UpstreamConnection

_WAIT = State.WAIT
_NONE = Framing.NONE
_LENGTH = Framing.LENGTH
_CHUNKED = Framing.CHUNKED
_CLOSE = Framing.CLOSE

_FIRST_SERVER_ERROR = 500


class Answering(Conversation):
    """Writes answers as the upstream gives them."""

    __slots__ = ()

    def connected(self, upstream: UpstreamConnection) -> None:
        """The connection asked for is there."""
        self._connecting = None
        self._upstream = upstream
        self._pool.resting_until = 0.0
        upstream.begin(self, self._head)
        for out in self._unsent:
            upstream.transport.write(out)
        # Where there is somewhere else to go, a request is kept until it has certainly been read.
        if (upstream.used or len(self._lane.pools) > 1) and (
            self._sent_bytes <= self._plane.limits.max_replay_bytes
        ):
            self._sent = self._unsent
        self._unsent = []
        if not self._writable:
            upstream.transport.pause_reading()
        if upstream.writable:
            self._release(UPSTREAM_SLOW)

    def not_connected(self, fault: Fault, detail: str) -> None:
        """The connection asked for could not be made."""
        self._connecting = None
        if not self._sent_elsewhere(self._unsent, fault):
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
                capture.add_answer(
                    head,
                    chunked=minor == 1 and framing is _CHUNKED,
                    upstream=self._lane.pools.index(self._pool),
                )
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
        sent = self._sent
        if fault is Fault.CLOSED and sent is not None:
            unread = request_unread(info, tls=upstream.tls, elapsed_s=plane.timer() - self._started)
            if may_repeat(self._head, plane.retry, unread=unread):
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

    def _sent_elsewhere(self, sent: list[bytes], fault: Fault) -> bool:
        """Send a request that its upstream has not read to the route's next one, if there is one.

        Args:
            sent: The request as far as it has arrived, its head at the start of the first piece.
            fault: What its upstream did.
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
        return render_request(
            head, lane.route.target(head.target, pool.upstream), pool.authority, lane.injection
        )

    def switch(self, head: ResponseHead, payload: bytes) -> None:
        """The upstream leaves HTTP as the client asked: from here on bytes pass both ways."""
        upstream = self._upstream
        assert upstream is not None
        self._state = State.TUNNEL
        self._answering = True
        self._status = head.status
        start = render_response(head, minor=1, keep_alive=True) or head.raw[: head.end]
        self.transport.write(start + payload)
        if self._pending:
            upstream.transport.write(self._pending)
            self._pending = b""
        self._release(PIPELINE_FULL)

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
        self._state = State.CLOSED
        self.transport.close()

    def _finish(self) -> None:
        """The answer is complete and written."""
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
            self._release(PIPELINE_FULL | UPSTREAM_SLOW)
        if self._pending:
            self._read_request(self._pending)

    def _fail(self, fault: Fault, detail: str) -> None:
        """No answer, or no more of it, will come: say so if the client can still be told."""
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
        self._release(PIPELINE_FULL | UPSTREAM_SLOW)
        if self._pending:
            self._read_request(self._pending)

    def hold_upload(self) -> None:
        """The upstream reads slower than the client uploads."""
        self._hold(UPSTREAM_SLOW)

    def resume_upload(self) -> None:
        """The upstream has caught up."""
        self._release(UPSTREAM_SLOW)
