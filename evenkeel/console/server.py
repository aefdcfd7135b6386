"""Wrapper of uvicorn: one ASGI application on given sockets, stopped by its owner.

Anybody who reaches the port can open connections, even without a token, and must not keep `/healthz` and
`/metrics` from answering. So three things are limited: the time and size of a request's head; the number of
connections, where the one that has waited longest for a head makes room for a new one; and the requests in
progress, except for probes. With TLS, the handshake counts as part of the wait for the first head.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import TYPE_CHECKING, Any, Final

import uvicorn
from litestar.enums import ScopeType
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

if TYPE_CHECKING:
    import socket
    import ssl
    from collections.abc import AsyncIterator, Iterator

    from litestar.types import ASGIApp, Receive, Scope, Send

# Seconds for a request's head to arrive; on a reused connection they count from its first byte.
_HEAD_S: Final = 10.0
# Seconds for a request to arrive after its head.
_BODY_S: Final = 60.0
_MOST_HEAD_BYTES: Final = 64 << 10
# People have a few each; Prometheus and probes one.
_MOST_CONNECTIONS: Final = 256
# Connections beyond the limit, for probes, while all others have a request in progress.
_RESERVED_CONNECTIONS: Final = 32
# Pause after the system had no file left for a connection; without it the loop would spin.
_ACCEPT_AGAIN_S: Final = 0.05
# Requests in progress at once, besides probes.
_MOST_REQUESTS: Final = 64
# Paths that are answered beside the limit, so that a busy console is not taken for a dead one.
_PROBES: Final = frozenset({"/healthz", "/metrics", "/readyz"})
_TOO_SLOW: Final = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
_BUSY: Final = b"Too many requests are worked on at this port. Ask again in a second.\n"


@contextlib.asynccontextmanager
async def serving(
    app: ASGIApp, sockets: list[socket.socket], tls: ssl.SSLContext | None = None
) -> AsyncIterator[None]:
    """Serve an application on listening sockets while the block runs; requests under way get 2 s."""
    server = _Server(
        uvicorn.Config(
            _Reserving(app),
            http=_Connection,
            backlog=_MOST_CONNECTIONS,  # connections accepted at once, before any of them can be refused
            log_config=None,
            access_log=False,
            proxy_headers=False,  # else a client on this machine could claim another address
            lifespan="on",
            timeout_graceful_shutdown=2,
        ),
        tls,
    )
    task = asyncio.create_task(server.serve(sockets))
    try:
        yield
    finally:
        server.should_exit = True
        await task


class _Server(uvicorn.Server):
    """Uvicorn server without signal handlers, since a process here shuts down in its own order.

    With TLS it accepts connections itself, because asyncio reports a connection only after its handshake, too
    late to count it.
    """

    def __init__(self, config: uvicorn.Config, tls: ssl.SSLContext | None) -> None:
        super().__init__(config)
        self._tls = tls
        self._accepting: list[asyncio.Task[None]] = []

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        if self._tls is None:
            await super().startup(sockets)
            return
        await super().startup([])
        if self.started:
            for sock in sockets or ():
                self._accepting.append(asyncio.create_task(self._accept(sock, self._tls)))

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for task in self._accepting:
            task.cancel()
        await super().shutdown(sockets)

    async def _accept(self, sock: socket.socket, tls: ssl.SSLContext) -> None:
        sock.listen(_MOST_CONNECTIONS)
        sock.setblocking(False)
        loop = asyncio.get_running_loop()
        while True:
            try:
                accepted, _ = await loop.sock_accept(sock)
            except OSError:  # The client has left, or the process has no file descriptor for it.
                await asyncio.sleep(_ACCEPT_AGAIN_S)
                continue
            connection = _Connection(self.config, self.server_state, self.lifespan.state, loop)
            connection.shake_hands(accepted, tls)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class _Connection(HttpToolsProtocol):
    """A connection whose requests have deadlines, and which may be closed to make room for others."""

    _handshake: asyncio.Task[None] | None = None
    _deadline: asyncio.TimerHandle | None = None
    _waits_since: float = 0.0
    _head_bytes: int = 0

    @property
    def waits(self) -> bool:
        """True if no request is in progress: the connection is new, idle, or in the middle of a head."""
        cycle: Any = self.cycle
        return cycle is None or cycle.response_complete

    def shake_hands(self, accepted: socket.socket, tls: ssl.SSLContext) -> None:
        """Count an accepted connection, and complete its TLS handshake in the background."""
        self._handshake = self.loop.create_task(self._encrypt(accepted, tls))
        self._handshake.add_done_callback(lambda _: None if self.transport else accepted.close())
        self._take_place()

    async def _encrypt(self, accepted: socket.socket, tls: ssl.SSLContext) -> None:
        try:
            await self.loop.connect_accepted_socket(lambda: self, accepted, ssl=tls)
        except OSError:  # The client has left, has no certificate, or does not speak TLS.
            self.drop()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Count the connection, unless its TLS handshake has done so already."""
        super().connection_made(transport)
        if self._handshake is None:
            self._take_place()
        self._handshake = None

    def _take_place(self) -> None:
        """Close the connection that has waited longest if there is no room; else refuse this one."""
        # Whoever only opens connections is the first to lose one; requests in progress never are.
        others = self.connections - {self}
        waiting = []
        for task in others:
            if isinstance(task, _Connection) and task.waits:
                waiting.append(task)
        self.connections.add(self)
        if len(others) >= _MOST_CONNECTIONS and waiting:
            min(waiting, key=lambda connection: connection._waits_since).drop()  # noqa: SLF001 - of this class
        elif len(others) >= _MOST_CONNECTIONS + _RESERVED_CONNECTIONS:
            self.drop()
            return
        self._wait(_HEAD_S)

    def drop(self) -> None:
        self.connections.discard(self)  # Now, since others may come before the loop reports the close.
        self._stop_waiting()
        if self._handshake is not None:
            self._handshake.cancel()
        elif self.transport is not None:
            self.transport.abort()

    def shutdown(self) -> None:
        if self._handshake is not None:
            self.drop()
        else:
            super().shutdown()

    def data_received(self, data: bytes) -> None:
        """Read a part of a request, which must arrive in time."""
        waited = self.waits
        if waited and self._deadline is None:
            self._wait(_HEAD_S)
        super().data_received(data)
        if self.waits:
            self._head_bytes += len(data)
            if self._head_bytes > _MOST_HEAD_BYTES:
                self.drop()
            return
        self._head_bytes = 0
        cycle: Any = self.cycle
        if not cycle.more_body:
            self._stop_waiting()
        elif waited:
            self._wait(_BODY_S)

    def on_response_complete(self) -> None:
        """Wait for the next request, which may begin at any later time."""
        self._stop_waiting()
        self._head_bytes = 0
        self._waits_since = time.monotonic()
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait(self, patience_s: float) -> None:
        self._stop_waiting()
        self._waits_since = time.monotonic()
        self._deadline = self.loop.call_later(patience_s, self._give_up)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _give_up(self) -> None:
        self._deadline = None
        if self._handshake is not None:
            self.drop()
        elif not self.transport.is_closing():
            if self.waits:
                self.transport.write(_TOO_SLOW)
            self.transport.close()


class _Reserving:
    """ASGI application that limits the requests in progress, except for probes."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._running = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer 503."""
        if scope["type"] != ScopeType.HTTP or scope["path"] in _PROBES:
            await self._app(scope, receive, send)
            return
        if self._running >= _MOST_REQUESTS:
            headers = [(b"content-type", b"text/plain"), (b"retry-after", b"1"), (b"connection", b"close")]
            await send({"type": "http.response.start", "status": 503, "headers": headers})
            await send({"type": "http.response.body", "body": _BUSY, "more_body": False})
            return
        self._running += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._running -= 1
