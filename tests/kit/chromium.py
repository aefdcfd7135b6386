"""The console in a real browser: served on the loopback, looked at with Chromium."""

import asyncio
import socket
import threading
from contextlib import contextmanager

from playwright.sync_api import expect, sync_playwright

from evenkeel.console.server import serving

_FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic"]
_PATIENCE_MS = 240_000


@contextmanager
def browser():
    """A Chromium without a screen, on a machine that may be busy."""
    expect.set_options(timeout=_PATIENCE_MS)
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=_FLAGS, timeout=_PATIENCE_MS
        )
        yield started
        started.close()


@contextmanager
def served(app, port=0):
    """The application on a port of 127.0.0.1, by default a free one, served as the product serves it."""
    listener = socket.create_server(("127.0.0.1", port))
    loop, started, stop = asyncio.new_event_loop(), threading.Event(), asyncio.Event()

    async def serve():
        async with serving(app, [listener]):
            started.set()
            await stop.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    started.wait(240)
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()
        loop.close()
        listener.close()
