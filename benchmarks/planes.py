"""How long pages and scrapes take while the worker computes on hostile exchanges, some of which never end.

Run from the root of the repository:

    python -m benchmarks.planes [--hostile 100] [--endless 20] [--good 20] [--kilobytes 1300]

`evenkeel up` on a data folder, before an upstream that answers with hostile text. Sent in turn: exchanges
of 16 shapes, from a tenth of the size to all of it; ordinary ones; and ones whose reading is made not to come
back (a regular expression that backtracks, planted into the worker). Until all are processed,
`/metrics`, `/healthz` and two pages of the console are asked ten times a second each.
"""

from __future__ import annotations

import argparse
import itertools
import json
import multiprocessing
import os
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import httpx2

from benchmarks.kit import table
from tests.kit.relaying import running

if TYPE_CHECKING:
    from collections.abc import Iterator
    from multiprocessing.connection import Connection

    from tests.kit.relaying import Running

_PIECES: Final = (
    *("a", " ", "\n", "(", '{"a":', "```\n", "| a | b |\n", "- x\n", "# x\n", "İ", "👩‍👩‍👧", "1,"),
    *("Ab1 ", "http://a.b/", "<b>", "$x_1$ "),
)
_PATHS: Final = ("/metrics", "/healthz", "/", "/trials")
_EVERY_S: Final = 0.1
_ENDLESS: Final = "THIS ONE NEVER ENDS"
_PLANTED: Final = f"""
import re, sys
if sys.orig_argv[-2:] == ["child", "worker"]:
    from evenkeel.shadow.original import Reader
    read = Reader.read
    def endless(self, exchange):
        if {_ENDLESS.encode()!r} in exchange.request_body:
            re.match("(a+)+$", "a" * 64 + "!")
        return read(self, exchange)
    Reader.read = endless
"""


def main() -> int:
    """Send, measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--hostile", type=int, default=100)
    parser.add_argument("--endless", type=int, default=20)
    parser.add_argument("--good", type=int, default=20)
    parser.add_argument("--kilobytes", type=int, default=1300)
    parser.add_argument("--processor-s", type=float, default=20.0, help="Setting `shadow.processor_s`.")
    parser.add_argument("--minutes", type=float, default=60.0, help="After so long the rest is left.")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, _upstream() as url:
        (Path(folder) / "sitecustomize.py").write_text(_PLANTED)
        variables = {
            "PYTHONPATH": os.pathsep.join([folder, os.environ.get("PYTHONPATH", "")]),
            "EVENKEEL_SHADOW__PROCESSOR_S": str(options.processor_s),
            "EVENKEEL_SCORING__EMBEDDINGS": "false",
            "EVENKEEL_BUDGET__TOKENS_PER_DAY": "10000000000",
            "EVENKEEL_BUDGET__SPREAD": "false",
            "EVENKEEL_PRICES": '{"*": {"input_usd": 0, "output_usd": 0}}',
        }
        arguments = ("--upstream", url, "--sampling-rate", "1")
        with running("up", Path(folder), *arguments, admin=True, environment=variables) as up:
            _measure(up, options)
    return 0


def _measure(up: Running, options: argparse.Namespace) -> None:
    stopping = threading.Event()
    for path in _PATHS:
        up.page(path)
    idle = {path: _latencies(up, path, threading.Event(), 30) for path in _PATHS}
    begun = time.monotonic()
    with ThreadPoolExecutor(len(_PATHS)) as pool:
        asking = {path: pool.submit(_latencies, up, path, stopping) for path in _PATHS}
        sent = _send(up.url, options)
        while time.monotonic() - begun < options.minutes * 60:
            time.sleep(1.0)
            pipeline = up.get("/api/pipeline")
            if pipeline["waiting"] + pipeline["leased"] == 0:
                break
        time.sleep(2.0)  # until the counters are published
        stopping.set()
        took_s = time.monotonic() - begun
        found = {path: one.result() for path, one in asking.items()}
    rows = [[path, *_figures(idle[path]), *_figures(found[path]), str(len(found[path]))] for path in _PATHS]
    head = ["ms", "idle p50", "p99", "most", "under load p50", "p99", "most", "asked"]
    print("\n".join(table(head, rows)))
    ended = {
        stage: up.metric(f"evenkeel_exchanges_{stage}_total", **labels)
        for stage, labels in (("scored", {}), ("skipped", {}), ("dead", {"reason": "processor_time"}))
    }
    cells = {cell["perturbation"]: cell["trials"] for cell in up.get("/api/cells")["cells"]}
    ended["controls in the log"] = cells.get("baseline.identical", 0)
    left = pipeline["waiting"] + pipeline["leased"]
    starts = up.log.read_text().count("worker started")
    # Counters of a worker's last second are lost with it; verdicts are not.
    print(f"{sent} exchanges in {took_s:.0f} s: {ended}, {left} left; the worker was started {starts} times")


def _send(url: str, options: argparse.Namespace) -> int:
    """Send all of them in turn; returns how many."""
    sizes = itertools.cycle([1.0, 0.1, 0.5])
    hostile = [
        piece * (1 + int(size * options.kilobytes * 1000 / len(piece.encode())))
        for piece, size, _ in zip(itertools.cycle(_PIECES), sizes, range(options.hostile), strict=False)
    ]
    endless = [f"{number}: {_ENDLESS}" for number in range(options.endless)]
    good = [f"Which city is number {number} of the list?" for number in range(options.good)]
    kinds = [kind for kind in (hostile, endless, good) if kind]
    longest = max(map(len, kinds))
    order = sorted(
        (place * longest / len(kind), number, text)
        for number, kind in enumerate(kinds)
        for place, text in enumerate(kind)
    )
    with httpx2.Client(base_url=url, timeout=120) as client:
        for _, _, text in order:
            body = {"model": "hostile-1", "messages": [{"role": "user", "content": text}]}
            client.post("/v1/chat/completions", json=body).raise_for_status()
    return len(order)


def _latencies(up: Running, path: str, stopping: threading.Event, times: int | None = None) -> list[float]:
    """Milliseconds of each answer, asked ten times a second."""
    found: list[float] = []
    with httpx2.Client(base_url=str(up.admin), auth=up.auth, timeout=120) as client:
        while not stopping.wait(_EVERY_S) and (times is None or len(found) < times):
            begun = time.perf_counter()
            client.get(path).raise_for_status()
            found.append((time.perf_counter() - begun) * 1e3)
    return sorted(found)


def _figures(latencies: list[float]) -> list[str]:
    chosen = (latencies[len(latencies) // 2], latencies[int(0.99 * len(latencies))], latencies[-1])
    return [f"{one:.0f}" for one in chosen]


@contextmanager
def _upstream() -> Iterator[str]:
    """An upstream in a process of its own."""
    here, there = multiprocessing.Pipe()
    process = multiprocessing.get_context("fork").Process(target=_answer, args=(there,), daemon=True)
    process.start()
    try:
        yield f"http://127.0.0.1:{here.recv()}"
    finally:
        process.terminate()
        process.join()


def _answer(told: Connection) -> None:
    numbers = itertools.count()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
            number = next(numbers)
            size = min(100_000, sum(len(str(one["content"])) for one in asked["messages"]))
            piece = _PIECES[number % len(_PIECES)]
            message = {"role": "assistant", "content": piece * (1 + size // len(piece))}
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            body = json.dumps({"model": "hostile-1", "choices": [choice]}).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            with suppress(ConnectionError):  # The worker was killed.
                self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    told.send(server.server_address[1])
    server.serve_forever()


if __name__ == "__main__":
    sys.exit(main())
