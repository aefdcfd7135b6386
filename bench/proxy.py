"""Requests per second through the relay on one core, and through nginx in the same place.

A trivial upstream and the load generator share one core, the proxy under test has the other. Runs
are interleaved, so that a machine that slows down slows all of them. Where other work shares the
cores, compare the processor time per request, which does not count the others' share.

    python -m bench.proxy [--seconds 5] [--rounds 3] [--connections 64] [--kb 1] [--sampling 0.1]

Needs `wrk`; compares with `nginx` if that is installed.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httptools
import uvloop

from proxy import Counters, DataPlane, HandOff, Route, RouteTable, Upstream

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from shadow.handoff import Exchange

HOST = "127.0.0.1"
REST_CORE, PROXY_CORE = 0, 1

SCRIPT = """
wrk.method = "POST"
wrk.path = "/v1/chat/completions"
wrk.headers["Content-Type"] = "application/json"
wrk.headers["Accept"] = "application/json"
wrk.headers["User-Agent"] = "OpenAI/Python"
wrk.headers["Authorization"] = "Bearer not-a-key-just-a-usual-length-of-one-000000000000"
wrk.headers["X-Stainless-Lang"] = "python"
wrk.headers["X-Stainless-OS"] = "Linux"
wrk.body = '{"model":"m","messages":[{"role":"user","content":"' .. string.rep("a", SIZE) .. '"}]}'
"""

NGINX = """
worker_processes 1;
pid PREFIX/nginx.pid;
error_log PREFIX/error.log;
events { worker_connections 4096; }
http {
  access_log off;
  client_body_temp_path PREFIX; proxy_temp_path PREFIX; fastcgi_temp_path PREFIX;
  uwsgi_temp_path PREFIX; scgi_temp_path PREFIX;
  client_max_body_size 0; keepalive_requests 100000000;
  upstream model { server 127.0.0.1:UPSTREAM; keepalive 256; keepalive_requests 100000000; }
  server {
    listen 127.0.0.1:PORT;
    location / {
      proxy_pass http://model; proxy_http_version 1.1; proxy_set_header Connection "";
      proxy_buffering off; proxy_request_buffering off;
    }
  }
}
"""


class Answerer(asyncio.Protocol):
    """The cheapest upstream that still reads its requests."""

    def __init__(self, answer: bytes) -> None:
        self.answer = answer
        self.parser = httptools.HttpRequestParser(self)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self.transport: Any = transport

    def data_received(self, data: bytes) -> None:
        """Feed the parser."""
        self.parser.feed_data(data)

    def on_message_complete(self) -> None:
        """Answer."""
        self.transport.write(self.answer)


class Discard:
    """A queue that takes everything at once."""

    def put(self, exchanges: Sequence[Exchange]) -> int:
        """Forget the exchanges."""
        return len(exchanges)


async def run_upstream(port: int, size: int) -> None:
    """Answer every request with about `size` bytes of JSON."""
    body = b'{"id":"x","choices":[{"message":{"role":"assistant","content":"' + b"b" * size + b'"}}]}'
    head = b"HTTP/1.1 200 OK\r\ndate: Thu, 01 Jan 1970 00:00:00 GMT\r\nserver: bench\r\n"
    head += b"content-type: application/json\r\nx-request-id: 0123456789abcdef\r\ncontent-length: %d\r\n\r\n"
    answer = head % len(body) + body
    await asyncio.get_running_loop().create_server(lambda: Answerer(answer), HOST, port)
    await asyncio.Event().wait()


async def run_relay(port: int, upstream: int, sampling: float) -> None:
    """Relay until killed."""
    routes = RouteTable([Route("bench", Upstream.parse(f"http://{HOST}:{upstream}"), sampling_rate=sampling)])
    handoff = HandOff(Discard(), Counters(), max_bytes=64 << 20)  # type: ignore[arg-type] # only `put` is called
    handoff.start()
    plane = DataPlane(routes, handoff)
    await plane.serve([socket.create_server((HOST, port), backlog=4096)])
    await asyncio.Event().wait()


def free_port() -> int:
    """A port that is free now."""
    with socket.socket() as sock:
        sock.bind((HOST, 0))
        port: int = sock.getsockname()[1]
        return port


def fork(core: int, main: Callable[[], None]) -> int:
    """Run `main` in a child process pinned to a core; returns its process id."""
    pid = os.fork()
    if pid == 0:
        os.sched_setaffinity(0, {core})
        main()
        os._exit(0)
    return pid


def wait_for(port: int) -> None:
    """Wait until something listens."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            socket.create_connection((HOST, port), 1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise SystemExit(f"nothing listens on port {port}")


def cpu_s(pid: int) -> float:
    """Processor time a process and its children that still run have used, in seconds."""
    total = 0.0
    for task in (pid, *map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())):
        fields = Path(f"/proc/{task}/stat").read_text().rpartition(")")[2].split()
        total += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return total


def drive(port: int, script: Path, seconds: float, connections: int) -> float:
    """Requests per second that `wrk` gets from a port."""
    done = subprocess.run(
        [
            "taskset",
            "-c",
            str(REST_CORE),
            "wrk",
            "-t1",
            f"-c{connections}",
            f"-d{seconds:g}s",
            "-s",
            str(script),
            f"http://{HOST}:{port}",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    errors = re.search(r"Non-2xx.*|Socket errors.*", done.stdout)
    if errors:
        print(f"  port {port}: {errors[0]}")
    found = re.search(r"Requests/sec:\s+([0-9.]+)", done.stdout)
    assert found, done.stdout
    return float(found[1])


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--kb", type=int, default=1, help="size of both bodies")
    parser.add_argument("--sampling", type=float, default=0.1)
    parser.add_argument("--loop", choices=("uvloop", "asyncio"), default="uvloop")
    options = parser.parse_args()
    if shutil.which("wrk") is None:
        print("wrk is not installed (apt-get install wrk): nothing measured")
        return 0
    run = uvloop.run if options.loop == "uvloop" else asyncio.run
    size = options.kb << 10
    upstream, relay, nginx = free_port(), free_port(), free_port()
    pids = [
        fork(REST_CORE, lambda: uvloop.run(run_upstream(upstream, size))),
        fork(PROXY_CORE, lambda: run(run_relay(relay, upstream, options.sampling))),
    ]
    ports = {"direct": upstream, "evenkeel": relay}
    owners = dict(zip(ports, pids, strict=True))
    with tempfile.TemporaryDirectory() as folder:
        server: subprocess.Popen[bytes] | None = None
        try:
            if shutil.which("nginx"):
                config = Path(folder, "nginx.conf")
                text = (
                    NGINX.replace("PREFIX", folder)
                    .replace("UPSTREAM", str(upstream))
                    .replace("PORT", str(nginx))
                )
                config.write_text(text)
                server = subprocess.Popen(
                    [
                        "taskset",
                        "-c",
                        str(PROXY_CORE),
                        "nginx",
                        "-p",
                        folder,
                        "-c",
                        str(config),
                        "-g",
                        "daemon off;",
                    ]
                )
                ports["nginx"] = nginx
                owners["nginx"] = server.pid
            script = Path(folder, "post.lua")
            script.write_text(SCRIPT.replace("SIZE", str(size)))
            for port in ports.values():
                wait_for(port)
            rates: dict[str, list[float]] = {name: [] for name in ports}
            costs: dict[str, list[float]] = {name: [] for name in ports}
            for _ in range(options.rounds):
                for name, port in ports.items():
                    before = cpu_s(owners[name])
                    rate = drive(port, script, options.seconds, options.connections)
                    rates[name].append(rate)
                    costs[name].append((cpu_s(owners[name]) - before) / (rate * options.seconds))
        finally:
            for pid in pids:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
            if server is not None:
                server.terminate()
                server.wait()
    medians = {name: statistics.median(found) for name, found in rates.items()}
    for name, rate in medians.items():
        cost_us = statistics.median(costs[name]) * 1e6
        line = f"{name:10} {rate:10,.0f} requests/s {cost_us:7.1f} us processor time each"
        if "nginx" in medians:
            of_nginx = statistics.median(costs["nginx"]) * 1e6 / cost_us
            line += f"   rate {rate / medians['nginx']:.2f} x nginx, by processor time {of_nginx:.2f}"
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
