"""Measures what becomes of a crowd of clients whose upstream is down: answers, time, memory, who is refused.

Run from the root of the repository:

    python -m benchmarks.crowd --clients 10000

The clients connect as fast as they can and send one chat request of 2 kB each, to three upstreams in turn:
one that refuses, one that neither accepts nor refuses, one that takes the request and says nothing. Needs two
open files a client in the proxy and one here (`ulimit -n`). Each proxy waits 5 s to connect, and 5 s for the
first byte.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import resource
import socket
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from tests.kit.relaying import running, settings_file

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

_BODY = b'{"model": "m", "messages": [{"role": "user", "content": "%b"}]}' % (b"x" * 2000)
_REQUEST = (
    b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    b"Content-Length: %d\r\nConnection: close\r\n\r\n%b" % (len(_BODY), _BODY)
)
_WAIT_S = 5
_AT_ONCE = 500
_PATIENCE_S = 120


def main() -> int:
    """Measure the three upstreams and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--clients", type=int, default=10_000)
    options = parser.parse_args()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, hard), hard))
    print(
        "| upstream | answers | all ended after | memory of the proxy before, at most | a new request then |"
    )
    print("|---|---|---|---|---|")
    for name in ("refuses", "neither accepts nor refuses", "says nothing"):
        print(f"| {name} | {asyncio.run(_measure(name, options.clients))} |", flush=True)
    return 0


async def _measure(name: str, clients: int) -> str:
    async with _upstream(name) as url:
        with tempfile.TemporaryDirectory() as folder:
            waits = {"connect_s": _WAIT_S, "first_byte_s": _WAIT_S}
            config = settings_file(Path(folder), routes=[{"upstream": url, "timeouts": waits}])
            with running("proxy", Path(folder), "--config", str(config), admin=True) as proxy:
                before = _memory_mb(proxy.process.pid, "VmRSS")
                started = time.monotonic()
                turn = asyncio.Semaphore(_AT_ONCE)
                heard = Counter(
                    await asyncio.gather(*(_ask(proxy.port, turn, number % 200) for number in range(clients)))
                )
                took_s = time.monotonic() - started
                most = _memory_mb(proxy.process.pid, "VmHWM")
                again = await _ask(proxy.port, turn, 0)
    answers = ", ".join(f"{number:,} × {status}" for status, number in sorted(heard.items()))
    return f"{answers} | {took_s:.1f} s | {before} MB, {most} MB | {again}"


async def _ask(port: int, turn: asyncio.Semaphore, host: int) -> str:
    """The status of the answer, or how the connection ended without one."""
    try:
        async with asyncio.timeout(_PATIENCE_S):
            async with turn:  # connecting only: what follows is done by all at once
                # From several addresses, because one has too few ports.
                local = (f"127.0.1.{host + 1}", 0)
                reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=local)
            writer.write(_REQUEST)
            line = await reader.readline()
            writer.transport.abort()
    except TimeoutError:
        return "nothing"
    except OSError:
        return "closed"
    return line.split(b" ")[1].decode() if line else "closed"


@contextlib.asynccontextmanager
async def _upstream(name: str) -> AsyncIterator[str]:
    with socket.socket() as sock, contextlib.ExitStack() as fillers:
        sock.bind(("127.0.0.1", 0))
        host, port = sock.getsockname()
        if name == "neither accepts nor refuses":
            sock.listen(0)
            for _ in range(4):
                filler = fillers.enter_context(socket.socket())
                filler.setblocking(False)
                filler.connect_ex((host, port))
        server = None
        if name == "says nothing":
            server = await asyncio.start_server(_silent, sock=sock, backlog=4096)
        try:
            yield f"http://{host}:{port}"
        finally:
            if server is not None:
                server.close()


async def _silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while await reader.read(1 << 16):
            pass
    writer.close()


def _memory_mb(pid: int, name: str) -> int:
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    return round(int(next(line for line in lines if line.startswith(f"{name}:")).split()[1]) / 1024)


if __name__ == "__main__":
    sys.exit(main())
