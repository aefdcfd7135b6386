"""uvicorn as this project uses it: one ASGI application on given sockets, stopped by its owner."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

import uvicorn

if TYPE_CHECKING:
    import socket
    import ssl
    from collections.abc import AsyncIterator, Iterator

    from litestar.types import ASGIApp


@contextlib.asynccontextmanager
async def serving(
    app: ASGIApp, sockets: list[socket.socket], tls: ssl.SSLContext | None = None
) -> AsyncIterator[None]:
    """Serve an application on listening sockets while the block runs; requests under way get 2 s.

    Args:
        app: What is served.
        sockets: Bound and listening.
        tls: What the connections are encrypted with; None = not at all.
    """
    server = _Server(
        uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            proxy_headers=False,  # else whoever asks from this machine could say to ask from elsewhere
            lifespan="on",
            timeout_graceful_shutdown=2,
            ssl_context_factory=None if tls is None else lambda _config, _default: tls,
        )
    )
    task = asyncio.create_task(server.serve(sockets))
    try:
        yield
    finally:
        server.should_exit = True
        await task


class _Server(uvicorn.Server):
    """uvicorn without its signal handlers: a process here ends in its own order."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the signals alone."""
        yield
