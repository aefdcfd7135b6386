"""Connections to one upstream: the idle ones, and how new ones are made."""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
from typing import TYPE_CHECKING

from evenkeel.core import network
from evenkeel.proxy.errors import ForwardingFault
from evenkeel.proxy.retry import tcp_info
from evenkeel.proxy.upstream import UpstreamConnection

if TYPE_CHECKING:
    from evenkeel.core.endpoint import Upstream
    from evenkeel.proxy.limits import Limits
    from evenkeel.proxy.upstream import Downstream


# Idle seconds below which a closed connection teaches nothing: the upstream went away.
_LEARNED_FROM_S = 1.0
# Share of the observed idle time after which connections are closed. The sweep knows idle times to a second
# only.
_LEARNED_SHARE = 0.75
# Seconds for which a learned idle time holds. Afterwards it may be learned anew.
_LEARNED_FOR_S = 600.0
# Longest answer of a proxy to CONNECT.
_MOST_HEAD_BYTES = 65_536


class Pool:
    """All connections to one upstream. The idle one used last is used first.

    An upstream that closes idle connections may do so while a request is on its way. The pool
    learns how long the upstream waits and closes its connections sooner.
    """

    __slots__ = (
        "_connecting",
        "_learned_for_s",
        "_limits",
        "_open",
        "_patience_s",
        "_tls",
        "authority",
        "closing",
        "idle",
        "resting_until",
        "upstream",
    )

    def __init__(self, upstream: Upstream, limits: Limits, tls: ssl.SSLContext | None) -> None:
        """Prepare; connections are made when needed.

        Args:
            upstream: Endpoint to connect to.
            limits: Limits on the number of idle connections and on how long they are kept.
            tls: For upstreams with TLS; None as the environment says.
        """
        self.upstream = upstream
        self.authority = upstream.authority
        self.resting_until = 0.0
        """Time, by the data plane's timer, until which the upstream is passed over if there is another."""
        self._limits = limits
        # Seconds for which an idle connection is kept.
        self._patience_s = limits.upstream_idle_s
        # Seconds for which a learned `_patience_s` still holds.
        self._learned_for_s = 0.0
        self._tls = (tls or network.trust()) if upstream.tls else None
        self.idle: list[UpstreamConnection] = []
        """Idle connections, the most recently used last."""
        self._open: set[UpstreamConnection] = set()
        self._connecting: set[asyncio.Task[None]] = set()
        self.closing = False

    @property
    def busy(self) -> bool:
        """Return whether any connection is open or being made."""
        return bool(self._open or self._connecting)

    def take(self) -> UpstreamConnection | None:
        """Return an idle connection, or None if there is none that is alive."""
        idle = self.idle
        while idle:
            connection = idle.pop()
            if connection.quiet_s:
                # It has been idle for a while: the upstream's close may be waiting to be read.
                info = tcp_info(connection.transport)
                if info is not None and not info.established:
                    connection.transport.abort()
                    continue
            return connection
        return None

    def put(self, connection: UpstreamConnection) -> None:
        """Keep a connection whose answer is complete, or close it if it is spent or enough are kept."""
        connection.client = None
        idle = self.idle
        if (
            connection.keep_alive
            and connection.writable
            and not self.closing
            and len(idle) < self._limits.max_idle_upstream
        ):
            connection.used = True
            idle.append(connection)
        else:
            connection.transport.close()

    def connect(self, client: Downstream, timeout_s: float) -> asyncio.Task[None]:
        """Make a connection for a client and report it, or the fault, to the client. Cancel to give up."""
        task = asyncio.get_running_loop().create_task(self._connect(client, timeout_s))
        self._connecting.add(task)
        task.add_done_callback(self._connecting.discard)
        return task

    async def _connect(self, client: Downstream, timeout_s: float) -> None:
        detail = ""
        connection = UpstreamConnection(self, tls=self.upstream.tls)
        taken = False
        try:
            async with asyncio.timeout(timeout_s):
                await self._open_transport(connection)
            taken = True
        except TimeoutError:
            fault = ForwardingFault.CONNECT_TIMEOUT
        except ssl.SSLError as error:
            fault, detail = ForwardingFault.TLS, network.tls_problem(error)
        except network.NetworkError as error:
            fault, detail = ForwardingFault.PROXY, str(error)
        except socket.gaierror:
            fault = ForwardingFault.UNRESOLVED
        except ConnectionRefusedError:
            fault = ForwardingFault.REFUSED
        except OSError as error:
            # The loops put addresses into the text of their errors; the system's text has none.
            fault = ForwardingFault.UNREACHABLE
            detail = os.strerror(error.errno) if error.errno else type(error).__name__
        finally:
            # Given up at the very moment the connection was made: nobody else would close it.
            if not taken and connection in self._open:
                connection.transport.abort()
        if not taken:
            client.not_connected(fault, detail)
        elif connection.transport.is_closing():
            client.not_connected(ForwardingFault.CLOSED, detail)
        else:
            client.connected(connection)

    async def _open_transport(self, connection: UpstreamConnection) -> None:
        loop = asyncio.get_running_loop()
        upstream = self.upstream
        if upstream.unix_path is not None:
            await loop.create_unix_connection(lambda: connection, upstream.unix_path)
            return
        name = upstream.host if upstream.tls else None
        proxy = network.proxy_for(upstream.host, upstream.port, tls=upstream.tls)
        if proxy is None:
            await loop.create_connection(
                lambda: connection, upstream.host, upstream.port, ssl=self._tls, server_hostname=name
            )
            return
        tunnel = await _tunnel(proxy, upstream)
        try:
            await loop.create_connection(lambda: connection, sock=tunnel, ssl=self._tls, server_hostname=name)
        except BaseException:
            tunnel.close()
            raise

    def opened(self, connection: UpstreamConnection) -> None:
        """Count a connection as open."""
        self._open.add(connection)

    def forget(self, connection: UpstreamConnection) -> None:
        """Drop a closing connection from the idle ones, so that it is not taken any more."""
        if connection in self.idle:
            self.idle.remove(connection)

    def expired(self, connection: UpstreamConnection) -> None:
        """Learn from an idle connection that the upstream closes, and keep others for a shorter time."""
        if connection.quiet_s >= _LEARNED_FROM_S and connection in self.idle:
            self._patience_s = min(self._patience_s, connection.quiet_s * _LEARNED_SHARE)
            self._learned_for_s = _LEARNED_FOR_S
        self.forget(connection)

    def closed(self, connection: UpstreamConnection) -> None:
        """Drop a connection that is gone."""
        self._open.discard(connection)
        self.forget(connection)

    def tick(self, elapsed_s: float) -> None:
        """Let time pass for idle connections, and close those that were idle for too long."""
        self._learned_for_s -= elapsed_s
        if self._learned_for_s <= 0:
            self._patience_s = self._limits.upstream_idle_s
        for connection in list(self.idle):
            connection.quiet_s += elapsed_s
            if connection.quiet_s >= self._patience_s:
                self.idle.remove(connection)
                connection.transport.close()

    def close(self) -> None:
        """Close idle connections now and the others when they have been used."""
        self.closing = True
        for connection in self.idle:
            connection.transport.close()
        self.idle.clear()

    async def abort(self) -> None:
        """Drop everything at once."""
        self.close()
        for connection in list(self._open):
            connection.transport.abort()
        tasks = list(self._connecting)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _tunnel(proxy: network.ProxyServer, upstream: Upstream) -> socket.socket:
    """Return a socket that leads to an upstream through a proxy, before any TLS.

    Raises: NetworkError if the proxy refuses; OSError if it cannot be reached.
    """
    loop = asyncio.get_running_loop()
    try:
        addresses = await loop.getaddrinfo(proxy.host, proxy.port, type=socket.SOCK_STREAM)
    except socket.gaierror as error:
        raise network.NetworkError(f"the proxy's name {proxy.host} could not be resolved") from error
    family, kind, protocol, _, address = addresses[0]
    tunnel = socket.socket(family, kind, protocol)
    tunnel.setblocking(False)
    try:
        try:
            await loop.sock_connect(tunnel, address)
        except OSError as error:
            raise network.NetworkError(f"the proxy {proxy} could not be reached") from error
        await _open_tunnel(tunnel, proxy, upstream)
    except BaseException:
        tunnel.close()
        raise
    return tunnel


async def _open_tunnel(tunnel: socket.socket, proxy: network.ProxyServer, upstream: Upstream) -> None:
    """Have a proxy connect a socket to an upstream. Raises: NetworkError if it refuses."""
    loop = asyncio.get_running_loop()
    await loop.sock_sendall(tunnel, network.connect_request(proxy, upstream.host, upstream.port))
    head = b""
    # The proxy says nothing after its head until it was sent something, so no byte too many is read.
    while b"\r\n\r\n" not in head:
        piece = await loop.sock_recv(tunnel, _MOST_HEAD_BYTES)
        head += piece
        if not piece or len(head) > _MOST_HEAD_BYTES:
            raise network.NetworkError(f"the proxy {proxy} closed the connection without an answer")
    status_line = head.partition(b"\r\n")[0].decode("latin-1")
    if status_line.split(" ")[1:2] != ["200"]:
        raise network.NetworkError(network.proxy_problem(status_line.partition(" ")[2]))
