"""SIMULATED model or judge of a chaos run, with a control log of its answers.

    python -m benchmarks.chaos.upstream --host 127.0.0.1 --port 9000 --log calls.log [--latency 0.05]

The log has a line for each event of a request that carries `x-chaos-id`: `S id` for its arrival, `E id
status` for its last byte, handed to the connection, and `L id` for an earlier end. Replays and calls of the
judge carry no such header and are not logged. A line is written in one piece, so killing the process loses
none.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import struct
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from evenkeel.simulate import ModelState, Simulation, create_app

if TYPE_CHECKING:
    from litestar.types import ASGIApp, Message, Receive, Scope, Send

ID_HEADER: Final = "x-chaos-id"
FAULT_HEADER: Final = "x-chaos-fault"
"""Request header that asks for a fault: a status, or "reset" or "cut" of the connection."""
_KEEP_ALIVE_S: Final = 75
# Option SO_LINGER on, for 0 seconds: closing a connection sends a reset instead of an orderly end.
_LINGER_NOT: Final = struct.pack("ii", 1, 0)


class BreakableProtocol(HttpToolsProtocol):
    """Protocol of uvicorn that lets the application break its connection."""

    def on_message_begin(self) -> None:
        """Offer the transport to the application."""
        super().on_message_begin()
        self.scope["extensions"] = {"transport": {"transport": self.transport}}


class FaultInjector:
    """Application that fails as requests ask it to."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or fail as the request asks."""
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        fault = headers.get(FAULT_HEADER)
        if fault is None:
            await self._app(scope, receive, send)
            return
        if fault.isdecimal():
            body = json.dumps({"error": {"message": "Failed on demand.", "type": "server_error"}}).encode()
            length = (b"content-length", str(len(body)).encode())
            kind = (b"content-type", b"application/json")
            await send({"type": "http.response.start", "status": int(fault), "headers": [kind, length]})
            await send({"type": "http.response.body", "body": body, "more_body": False})
            return
        transport: Any = (scope["extensions"] or {})["transport"]["transport"]
        if fault == "reset":
            raw = transport.get_extra_info("socket")
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_NOT)
            transport.abort()
            # The server learns of the loss a moment later; it would report an earlier return as a bug.
            await receive()
            return

        async def send_half(message: Message) -> None:
            if message["type"] != "http.response.body":
                await send(message)
            elif not transport.is_closing():
                # The client sees an answer that ends in the middle.
                half = message["body"][: len(message["body"]) // 2]
                await send({"type": "http.response.body", "body": half, "more_body": True})
                transport.abort()

        await self._app(scope, receive, send_half)
        await receive()


class CallLogger:
    """Application that logs its answers."""

    def __init__(self, app: ASGIApp, log: int) -> None:
        self._app = app
        self._log = log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer and log the answer."""
        request = dict(scope["headers"]).get(ID_HEADER.encode(), b"").decode()
        if not request:
            await self._app(scope, receive, send)
            return
        self._write(f"S {request}")
        status = 0
        complete = False

        async def send_and_log(message: Message) -> None:
            nonlocal status, complete
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)
            if message["type"] == "http.response.body" and not message.get("more_body"):
                complete = True
                self._write(f"E {request} {status}")

        try:
            await self._app(scope, receive, send_and_log)
        finally:
            if not complete:
                self._write(f"L {request}")

    def _write(self, line: str) -> None:
        os.write(self._log, f"{line}\n".encode())


class ControlLog(NamedTuple):
    """Contents of the control log."""

    arrivals: Counter[str]
    """Number of arrivals of each request."""
    answered: dict[str, int]
    """Status of each request's last complete answer."""


def read_log(path: Path) -> ControlLog:
    """Read a control log."""
    log = ControlLog(Counter(), {})
    for line in path.read_text().splitlines() if path.exists() else ():
        event, request, *status = line.split()
        if event == "S":
            log.arrivals[request] += 1
        elif event == "E":
            log.answered[request] = int(status[0])
    return log


def main() -> None:
    """Serve until told to stop."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.chaos.upstream", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--log", type=Path, required=True)
    parser.add_argument("--latency", type=float, default=0.0)
    options = parser.parse_args()
    log = os.open(options.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    model = ModelState("simulated-1", fragility=0.02, noise=0.03, latency_s=options.latency)
    listener = socket.create_server((options.host, options.port), backlog=2048)
    print("SIMULATED, listening", flush=True)
    server = uvicorn.Server(
        uvicorn.Config(
            CallLogger(FaultInjector(create_app(Simulation([model]))), log),
            http=BreakableProtocol,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            timeout_keep_alive=_KEEP_ALIVE_S,
            timeout_graceful_shutdown=1,
        )
    )
    server.run(sockets=[listener])


if __name__ == "__main__":
    main()
