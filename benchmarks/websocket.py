"""Latency that the proxy adds to messages of a WebSocket, with and without sampling.

Run from the root of the repository: python -m benchmarks.websocket [--rounds 15] [--turns 100]

An agent's turn is a `response.create` of 2 KB, answered by forty deltas and a `response.completed`. The time
from the request to the last event is measured directly, through a tunnel that is not sampled, and through one
that is. The contenders take turns; a figure is the median of the best round: other work of the machine only
ever adds.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Final

from websockets.sync.client import connect
from websockets.sync.server import serve

from benchmarks.kit import Table
from benchmarks.machine import free_port, machine_line, running

if TYPE_CHECKING:
    from websockets.sync.server import ServerConnection

DELTAS: Final = 40
_DELTA: Final = json.dumps({"type": "response.output_text.delta", "output_index": 0, "delta": "some words "})
_COMPLETED: Final = json.dumps(
    {
        "type": "response.completed",
        "response": {
            "id": "resp_1",
            "status": "completed",
            "model": "m",
            "output": [
                {"type": "message", "content": [{"type": "output_text", "text": "some words " * DELTAS}]}
            ],
        },
    }
)
_CREATE: Final = json.dumps({"type": "response.create", "model": "m", "input": "word " * 400})


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--turns", type=int, default=100, help="turns in a round")
    options = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        upstream = stack.enter_context(serve(_answer, "127.0.0.1", 0, compression=None))
        threading.Thread(target=upstream.serve_forever, daemon=True).start()
        port = upstream.socket.getsockname()[1]
        ports = {"direct": port}
        for name, rate in (("tunnel, not sampled", 0), ("tunnel, sampled", 1)):
            ports[name] = free_port()
            command = [sys.executable, "-m", "evenkeel", "proxy", "--upstream", f"http://127.0.0.1:{port}/v1"]
            command += ["--port", str(ports[name]), "--sampling-rate", str(rate)]
            command += ["--data-dir", str(folder / name)]
            log = folder / f"{rate}.log"
            stack.enter_context(running(command, cores=(0,), log=log, port=ports[name]))
        best = dict.fromkeys(ports, float("inf"))
        for _ in range(options.rounds):
            for name, at in ports.items():
                best[name] = min(best[name], _turn_ms(at, options.turns))
    rows = [(name, f"{best[name]:.2f}", f"{best[name] - best['direct']:+.2f}") for name in ports]
    print(Table("websocket", ("turn", "ms", "added ms"), tuple(rows)).markdown())
    print(machine_line())


def _answer(socket: ServerConnection) -> None:
    for _ in socket:
        for _ in range(DELTAS):
            socket.send(_DELTA)
        socket.send(_COMPLETED)


def _turn_ms(port: int, turns: int) -> float:
    """Return the median of the turns of a connection, in milliseconds."""
    times: list[float] = []
    with connect(f"ws://127.0.0.1:{port}/v1/responses", compression=None) as socket:
        for _ in range(turns):
            begun = time.perf_counter()
            socket.send(_CREATE)
            for _ in range(DELTAS + 1):
                socket.recv()
            times.append(1000 * (time.perf_counter() - begun))
    return median(times)


if __name__ == "__main__":
    main()
