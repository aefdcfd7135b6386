"""The SIMULATED model or judge of a chaos run, with a control log of what it answered.

    python -m benchmarks.chaos.upstream --host 127.0.0.1 --port 9000 --log calls.log [--latency 0.05]

A line for each event of a request that carries `x-chaos-id`: `S id` when it came, `E id status` when its
last byte was handed to the connection, `L id` when it ended before that. Replays and calls of the judge
carry no such header; a line `R` counts them. A line is written in one piece, so killing the process
loses none.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import struct
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
_LINGER_NOT: Final = struct.pack("ii", 1, 0)
"""Option SO_LINGER on, for 0 seconds: closing sends a reset instead of an orderly end."""


class BreakableProtocol(HttpToolsProtocol):
    """uvicorn's protocol, which lets the application break its connection."""

    def on_message_begin(self) -> None:
        """Offer the transport to the application."""
        super().on_message_begin()
        self.scope["extensions"] = {"transport": {"transport": self.transport}}


class Faulty:
    """The application, and faults that requests ask for."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or fail as asked."""
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
            # The server learns of the loss a moment later, and takes an earlier return for a bug.
            await receive()
            return

        async def cutting(message: Message) -> None:
            if message["type"] != "http.response.body":
                await send(message)
            elif not transport.is_closing():
                half = message["body"][: len(message["body"]) // 2]
                await send({"type": "http.response.body", "body": half, "more_body": True})
                transport.abort()

        await self._app(scope, receive, cutting)
        await receive()


class Recorded:
    """The application, and a log of what it answers."""

    def __init__(self, app: ASGIApp, log: int) -> None:
        self._app = app
        self._log = log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, and write it down."""
        marked = next(
            (value.decode() for name, value in scope["headers"] if name == ID_HEADER.encode()), None
        )
        if marked is None:
            if scope["path"].startswith("/v1/"):
                self._write("R")
            await self._app(scope, receive, send)
            return
        self._write(f"S {marked}")
        status, complete = 0, False

        async def watched(message: Message) -> None:
            nonlocal status, complete
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)
            if message["type"] == "http.response.body" and not message.get("more_body"):
                complete = True
                self._write(f"E {marked} {status}")

        try:
            await self._app(scope, receive, watched)
        finally:
            if not complete:
                self._write(f"L {marked}")

    def _write(self, line: str) -> None:
        os.write(self._log, f"{line}\n".encode())


class Answers(NamedTuple):
    """What the control log says."""

    came: dict[str, int]
    """How often each request arrived."""
    answered: dict[str, int]
    """Status of its last complete answer."""
    unmarked: int
    """Replays, and calls of the judge."""


def read_log(path: Path) -> Answers:
    """Read a control log."""
    came: dict[str, int] = {}
    answered: dict[str, int] = {}
    unmarked = 0
    for line in path.read_text().splitlines() if path.exists() else ():
        what, _, rest = line.partition(" ")
        name, _, status = rest.partition(" ")
        if what == "S":
            came[name] = came.get(name, 0) + 1
        elif what == "E":
            answered[name] = int(status)
        elif what == "R":
            unmarked += 1
    return Answers(came, answered, unmarked)


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
            Recorded(Faulty(create_app(Simulation([model]))), log),
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
