"""uvicorn as this project uses it: one ASGI application on a socket, stopped by its owner."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import uvicorn

if TYPE_CHECKING:
    from collections.abc import Iterator

    from litestar.types import ASGIApp


class AdminServer(uvicorn.Server):
    """uvicorn without its signal handlers: a process here ends in its own order.

    Run `serve(sockets)` as a task and set `should_exit` to end it.
    """

    def __init__(self, app: ASGIApp) -> None:
        super().__init__(
            uvicorn.Config(app, log_config=None, access_log=False, lifespan="on", timeout_graceful_shutdown=2)
        )

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the signals alone."""
        yield
