"""Upstream side: reads answers and passes them to the client side."""

from __future__ import annotations

import asyncio
import contextlib
import os
import ssl
from typing import TYPE_CHECKING, Protocol, cast

from evenkeel.core.network import tls_problem
from evenkeel.proxy.errors import ForwardingFault
from evenkeel.proxy.framing import ChunkError, ChunkReader, Framing, MessageError
from evenkeel.proxy.response_head import MAX_HEAD_BYTES, SWITCHING_PROTOCOLS, parse_response
from evenkeel.proxy.retry import TcpInfo, tcp_info

if TYPE_CHECKING:
    from evenkeel.proxy.request_head import RequestHead
    from evenkeel.proxy.response_head import ResponseHead

_LENGTH = Framing.LENGTH
_CHUNKED = Framing.CHUNKED
_CLOSE = Framing.CLOSE
# Interim answers (1xx) come before the answer and are passed on as they are.
_FIRST_FINAL = 200
# More of them at once keep the event loop from all other requests.
_MOST_INTERIM = 100
_LAST_BYTES = 64 << 10


class Downstream(Protocol):
    """Client's side of a request: it asked for a connection, and takes the answer."""

    transport: asyncio.Transport

    @property
    def upgrade_offered(self) -> bool:
        """Return whether the current request may be answered with 101."""
        ...

    def connected(self, upstream: UpstreamConnection) -> None:
        """Take the connection that was asked for."""

    def not_connected(self, fault: ForwardingFault, detail: str) -> None:
        """Handle that no connection could be made."""

    def interim(self, head: ResponseHead) -> None:
        """Pass on an answer that is not the final one."""

    def answer_head(self, head: ResponseHead, payload: bytes | None, *, done: bool) -> None:
        """Begin the answer. A payload of None means all that follows the head in `head.raw`."""

    def answer(self, payload: bytes, *, done: bool) -> None:
        """Take more of the answer, which ends with `done`."""

    def upstream_failed(self, fault: ForwardingFault, detail: str, info: TcpInfo | None = None) -> None:
        """Handle that the answer will not come, or not to its end."""

    def switch(self, head: ResponseHead, payload: bytes) -> None:
        """Turn the connection into a tunnel, as the client asked."""

    def tunnel(self, data: bytes) -> None:
        """Take bytes of a tunnel."""

    def upstream_half_closed(self) -> bool | None:
        """End one half of a tunnel as the upstream did. Returns True if the other half goes on."""

    def upstream_hung_up(self) -> None:
        """Close the connection: the tunnel ended."""

    def hold_upload(self) -> None:
        """Stop reading the upload: the upstream does not keep up."""

    def resume_upload(self) -> None:
        """Read the upload again: the upstream has caught up."""


class Home(Protocol):
    """Pool that keeps connections to one upstream while they are idle."""

    def opened(self, connection: UpstreamConnection) -> None:
        """Count a connection as open."""

    def put(self, connection: UpstreamConnection) -> None:
        """Keep a connection whose answer is complete."""

    def forget(self, connection: UpstreamConnection) -> None:
        """Drop a closing connection, so that it is not taken any more."""

    def expired(self, connection: UpstreamConnection) -> None:
        """Learn from an idle connection that the upstream closes."""

    def closed(self, connection: UpstreamConnection) -> None:
        """Drop a connection that is gone."""


class UpstreamConnection(asyncio.Protocol):
    """A connection to an upstream. Works for one client at a time, or is idle in its pool.

    Where an answer ends is decided here; how the client is sent it is decided by its connection.
    """

    __slots__ = (
        "_buffer",
        "_chunks",
        "_framing",
        "_last",
        "_left",
        "_method",
        "_strip",
        "_tunnel",
        "answered",
        "client",
        "keep_alive",
        "pool",
        "quiet_s",
        "tls",
        "transport",
        "used",
        "writable",
    )

    transport: asyncio.Transport

    def __init__(self, pool: Home, *, tls: bool) -> None:
        self.pool = pool
        self.tls = tls
        self.client: Downstream | None = None
        """Connection of the client whose request is being answered; None while idle."""
        self.quiet_s = 0.0
        """Seconds since the last event on the connection, as far as the sweep has noticed."""
        self.used = False
        """True if the connection answered a request before the current one."""
        self.answered = False
        """True if a byte of the current answer has arrived."""
        self.keep_alive = True
        """True if the connection can be used again after the current answer."""
        self.writable = True
        self._method = b""
        # True if the client cannot read chunks.
        self._strip = False
        self._buffer = b""
        self._framing: Framing | None = None
        # Previous head of this connection, used to read the next one faster.
        self._last: ResponseHead | None = None
        self._left = 0
        self._chunks = ChunkReader()
        self._tunnel = False

    def begin(self, client: Downstream, head: RequestHead) -> None:
        """Expect the answer to a request, which the caller writes."""
        self.client = client
        self._method = head.method
        self._strip = not head.minor
        self._framing = None
        self.answered = False
        self.quiet_s = 0.0

    def hang_up(self) -> None:
        """Close a tunnel that the client has ended. What the client sent before is still delivered."""
        self.client = None
        self.transport.close()

    def abandon(self) -> None:
        """Give the request up: the upstream sees a lost connection at once."""
        self.client = None
        self.transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Join the pool's open connections."""
        self.transport = cast("asyncio.Transport", transport)
        self.pool.opened(self)

    def data_received(self, data: bytes) -> None:
        """Read bytes of an answer."""
        client = self.client
        if client is None:
            # Nobody asked. Most often a 408 before the upstream closes an idle connection.
            self.pool.forget(self)
            self.transport.abort()
            return
        self.quiet_s = 0.0
        framing = self._framing
        if framing is None:
            self.answered = True
            if self._buffer:
                whole = self._buffer + data
                # Without a line feed no head has become complete: do not read all of it again.
                if b"\n" not in data and len(whole) <= MAX_HEAD_BYTES:
                    self._buffer = whole
                    return
                data = whole
                self._buffer = b""
            self._read_head(client, data)
        elif self._tunnel:
            client.tunnel(data)
        elif framing is _LENGTH:
            self._left = left = self._left - len(data)
            if left < 0:
                data = data[:left]
                self.keep_alive = False
            client.answer(data, done=left <= 0)
        elif framing is _CHUNKED:
            payload = self._passed(client, data, 0)
            if payload is not None and (payload or self._chunks.done):
                client.answer(payload, done=self._chunks.done)
        else:
            client.answer(data, done=False)

    def _read_head(self, client: Downstream, data: bytes) -> None:
        for _ in range(_MOST_INTERIM):
            try:
                head = parse_response(data, self._method, self._last)
            except MessageError as error:
                client.upstream_failed(error.fault, error.detail)
                return
            if head is None:
                self._buffer = data
                return
            if head.status >= _FIRST_FINAL:
                self._last = head
                if head.framing is _LENGTH and head.keep_alive and head.end + head.length == len(data):
                    client.answer_head(head, None, done=True)
                else:
                    self._begin_body(client, head, data)
                return
            if head.status == SWITCHING_PROTOCOLS:
                self._switch(client, head, data)
                return
            client.interim(head)
            data = data[head.end :]
            if not data:
                return
        client.upstream_failed(
            ForwardingFault.GARBAGE, f"it begins with more than {_MOST_INTERIM} interim answers"
        )

    def _begin_body(self, client: Downstream, head: ResponseHead, data: bytes) -> None:
        self.keep_alive = head.keep_alive
        self._framing = framing = head.framing
        excess = 0
        if framing is _CHUNKED:
            self._chunks = ChunkReader()
            payload = self._passed(client, data, head.end)
            if payload is not None:
                client.answer_head(head, payload, done=self._chunks.done)
            return
        if framing is _CLOSE:
            self.keep_alive = False
            client.answer_head(head, data[head.end :], done=False)
            return
        self._left = left = head.length - len(data) + head.end
        if left < 0:
            excess = left
            self.keep_alive = False
        client.answer_head(head, data[head.end : excess] if excess else None, done=left <= 0)

    def _passed(self, client: Downstream, data: bytes, position: int) -> bytes | None:
        """Return what the client is sent of `data[position:]`; None, after an error answer, if malformed."""
        chunks = self._chunks
        try:
            payload = chunks.feed(data, position) if self._strip else chunks.forward(data, position)
        except ChunkError as error:
            client.upstream_failed(ForwardingFault.GARBAGE, str(error))
            return None
        if chunks.rest:
            self.keep_alive = False
        return payload

    def _switch(self, client: Downstream, head: ResponseHead, data: bytes) -> None:
        if not client.upgrade_offered:
            client.upstream_failed(ForwardingFault.GARBAGE, "it switched protocols without being asked")
            return
        self._framing = _CLOSE
        self._tunnel = True
        client.switch(head, data[head.end :])

    def eof_received(self) -> bool | None:
        """Handle the end of the upstream's data: the end of an answer, or its loss."""
        client = self.client
        if client is None:
            self.pool.expired(self)
            return None
        if self._tunnel:
            return client.upstream_half_closed()
        self._ended(client, tcp_info(self.transport))
        return None

    def connection_lost(self, exc: Exception | None) -> None:
        """Leave the pool, and tell the client if it still waits."""
        if isinstance(exc, OSError) and not self.tls:
            self._read_last()
        self.pool.closed(self)
        client = self.client
        if client is None:
            return
        if self._tunnel:
            self.client = None
            client.upstream_hung_up()
        elif exc is None:
            self._ended(client, None)
        elif isinstance(exc, ssl.SSLError) and not self.answered:
            # With TLS 1.3 a server refuses the certificate of a client after the handshake.
            client.upstream_failed(ForwardingFault.TLS, tls_problem(exc))
        else:
            client.upstream_failed(ForwardingFault.TRUNCATED if self.answered else ForwardingFault.CLOSED, "")

    def _read_last(self) -> None:
        """Read what came before the connection was lost.

        An upstream that refuses an upload answers and closes; writing to it then fails before it was read.
        """
        self.writable = False  # so that the pool does not keep it
        sock = self.transport.get_extra_info("socket")
        with contextlib.suppress(OSError):
            while self.client is not None and (data := os.read(sock.fileno(), _LAST_BYTES)):
                self.data_received(data)

    def _ended(self, client: Downstream, info: TcpInfo | None) -> None:
        if self._framing is _CLOSE:
            client.answer(b"", done=True)
        elif self.answered:
            client.upstream_failed(ForwardingFault.TRUNCATED, "")
        else:
            client.upstream_failed(ForwardingFault.CLOSED, "", info)

    def pause_writing(self) -> None:
        """Stop the client's upload: the upstream reads slower."""
        self.writable = False
        if self.client is not None:
            self.client.hold_upload()

    def resume_writing(self) -> None:
        """Resume the client's upload: the upstream has caught up."""
        self.writable = True
        if self.client is not None:
            self.client.resume_upload()
