"""Whether evenkeel's memory stays where it is: many requests, many streams left half-way, large bodies.

    python -m benchmarks.soak [--requests 1000000] [--streams 100000]
    python -m benchmarks.soak --whole [--minutes 30] [--rate 5]

Starts `evenkeel proxy` with one request in ten sampled, in front of a model that is cheap to ask,
and prints resident memory and open files before and after each load, the peak during it, and the
slope over the second half of it. The loads, one after the other:

1. requests of 1 KB over 64 connections, with `wrk`;
2. streams whose clients leave after the first event, and a tenth as many clients that leave while
   they wait for an answer; at the end the model must have no connection left but the idle ones;
3. one upload of a gigabyte;
4. one reader of an endless stream that stops reading.

With `--whole` it watches all of `evenkeel up` instead, under a steady load: see `benchmarks.soak_whole`.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import shutil
import socket
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

import uvloop

from benchmarks.proxy.contenders import CHAT, DRAINED, Evenkeel, Site
from benchmarks.proxy.load import KB, Wrk, request_bytes, text_body
from benchmarks.proxy.machine import (
    HOST,
    Cores,
    NotMeasured,
    free_port,
    machine_line,
    raise_file_limit,
    stop_when_told,
)
from benchmarks.proxy.upstream import Manner, Model

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.proxy.machine import Running

_SLICES = 20
_CONNECTIONS = 64
_LEAVERS = 32
_WAIT_S = 0.005
_STALL_S = 10.0
_SETTLE_S = 2.0
_PATIENCE_S = 300.0
_PIECE = bytes(1 << 20)


@dataclass(frozen=True, slots=True)
class Phase:
    """What one load did."""

    name: str
    count: int
    seconds: float
    before_mb: float
    peak_mb: float
    after_mb: float
    files_before: int
    files_after: int
    slope: float | None
    """MB for each further million, by least squares over the second half of the load."""
    upstream_files: int
    """Open files of the model afterwards: a connection that was not given up would show."""


class Soak:
    """A running evenkeel and what is seen of it."""

    def __init__(self, program: Running, model: Model, port: int, folder: Path) -> None:
        self.port = port
        self.folder = folder
        self.model = model
        self.phases: list[Phase] = []
        self._program = program
        self._points: list[tuple[int, float]] = []

    @contextlib.contextmanager
    def phase(self, name: str) -> Iterator[list[int]]:
        """Watch one load; the caller puts its count into the list at the end."""
        program = self._program
        program.forget_peak()
        before, files_before, started = program.rss_mb(), program.open_files(), time.monotonic()
        self._points = []
        print(f"{name} …", flush=True)
        done: list[int] = []
        yield done
        seconds = time.monotonic() - started
        peak = program.peak_mb()
        # Closed connections are noticed, and idle memory given back, a moment later.
        time.sleep(_SETTLE_S)
        after, files_after = program.rss_mb(), program.open_files()
        phase = Phase(
            name,
            done[0],
            seconds,
            before,
            peak,
            after,
            files_before,
            files_after,
            slope(self._points[len(self._points) // 2 :]),
            self.model.program.open_files(),
        )
        self.phases.append(phase)
        print(f"  {phase.seconds:.0f} s, {before:.1f} → {after:.1f} MB, peak {peak:.1f}", flush=True)

    def point(self, count: int) -> None:
        """Note the memory after so many."""
        self._points.append((count, self._program.rss_mb()))


def slope(points: list[tuple[int, float]]) -> float | None:
    """MB for each million, by least squares; None for fewer than three points."""
    if len(points) < 3:  # noqa: PLR2004 - two points always lie on a line
        return None
    mean_x = sum(x for x, _ in points) / len(points)
    mean_y = sum(y for _, y in points) / len(points)
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    if not spread:
        return None
    return 1e6 * sum((x - mean_x) * (y - mean_y) for x, y in points) / spread


def ask(soak: Soak, count: int) -> None:
    """Plain requests."""
    soak.model.behave(Manner())
    wrk = Wrk(CHAT, {}, text_body(KB), soak.folder)
    with soak.phase(f"{count:,} requests") as done:
        asked, deadline = 0, time.monotonic() + _PATIENCE_S
        seconds = 1.0
        while asked < count and time.monotonic() < deadline:
            counted = wrk.run(soak.port, _CONNECTIONS, seconds)
            if not counted.requests:
                raise NotMeasured("nothing was answered")
            asked += counted.requests
            soak.point(asked)
            seconds = min(10.0, max(0.5, count / _SLICES * counted.seconds / counted.requests))
        done.append(asked)


class _Leaver(asyncio.Protocol):
    """A client that goes away before its answer is complete."""

    def __init__(self, request: bytes, after_s: float | None) -> None:
        self._request = request
        self._after_s = after_s
        self.left = asyncio.Event()

    def itself(self) -> _Leaver:
        """What the loop asks for as a factory of protocols."""
        return self

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._transport.write(self._request)
        if self._after_s is not None:
            asyncio.get_running_loop().call_later(self._after_s, self._transport.abort)

    def data_received(self, data: bytes) -> None:
        # The first event has come when the head has come and a line of the body.
        if b"data: " in data:
            self._transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - the protocol's signature
        self.left.set()


async def _leave(port: int, request: bytes, count: int, after_s: float | None) -> None:
    loop = asyncio.get_running_loop()
    share = count // _LEAVERS

    async def one() -> None:
        for _ in range(share):
            leaver = _Leaver(request, after_s)
            await loop.create_connection(leaver.itself, HOST, port)
            await leaver.left.wait()

    async with asyncio.timeout(_PATIENCE_S):
        await asyncio.gather(*(one() for _ in range(_LEAVERS)))


def leave(soak: Soak, count: int, after_s: float | None) -> None:
    """Clients that leave: at the first event of a stream, or after a time in which nothing comes."""
    waiting = after_s is not None
    soak.model.behave(Manner(delay_s=60.0) if waiting else Manner(events=1000, pause_s=0.05))
    request = request_bytes(CHAT, {}, text_body(KB, stream=not waiting))
    name = "clients that leave while waiting" if waiting else "streams left at the first event"
    each = max(_LEAVERS, count // _SLICES // _LEAVERS * _LEAVERS)
    with soak.phase(f"{count:,} {name}") as done:
        left = 0
        while left < count:
            uvloop.run(_leave(soak.port, request, each, after_s))
            left += each
            soak.point(left)
        done.append(left)


def upload(soak: Soak, megabytes: int) -> None:
    """One large request body."""
    soak.model.behave(Manner())
    request = request_bytes(CHAT, {}, b"")
    head = request.replace(b"Content-Length: 0", b"Content-Length: %d" % (megabytes * len(_PIECE)))
    with (
        soak.phase(f"one upload of {megabytes:,} MB") as done,
        socket.create_connection((HOST, soak.port), _PATIENCE_S) as sock,
    ):
        sock.sendall(head)
        for _ in range(megabytes):
            sock.sendall(_PIECE)
        if not sock.recv(65536).startswith(b"HTTP/1.1 200"):
            raise NotMeasured("the upload was not answered with 200")
        done.append(1)


def stall(soak: Soak) -> None:
    """One reader that reads no more."""
    soak.model.behave(Manner(events=50_000_000))
    request = request_bytes(CHAT, {}, text_body(KB, stream=True))
    with (
        soak.phase(f"one reader stalled for {_STALL_S:g} s") as done,
        socket.create_connection((HOST, soak.port), _PATIENCE_S) as sock,
    ):
        sock.sendall(request)
        sock.recv(65536)
        time.sleep(_STALL_S)
        done.append(1)


def table(phases: list[Phase]) -> str:
    """The phases as Markdown."""
    lines = [
        "| load | s | MB before | peak | after | MB / 10⁶, at the end | files before | after | model's |",
        "|---" + "|---:" * 8 + "|",
    ]
    for phase in phases:
        rising = "–" if phase.slope is None else f"{phase.slope:+.2f}"
        lines.append(
            f"| {phase.name} | {phase.seconds:.0f} | {phase.before_mb:.1f} | {phase.peak_mb:.1f} "
            f"| {phase.after_mb:.1f} | {rising} | {phase.files_before} | {phase.files_after} "
            f"| {phase.upstream_files} |"
        )
    return "\n".join(lines)


def main() -> int:
    """Run the loads and print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.soak",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--requests", type=int, default=1_000_000)
    parser.add_argument("--streams", type=int, default=100_000)
    parser.add_argument("--upload-mb", type=int, default=1024)
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--whole", action="store_true", help="All of evenkeel up, for many minutes.")
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--rate", type=float, default=5.0, help="Requests per second of --whole.")
    options = parser.parse_args()
    if options.whole:
        from benchmarks import soak_whole  # noqa: PLC0415 - each of the two without what the other needs

        stop_when_told()
        return soak_whole.run(options)
    if shutil.which("wrk") is None:
        sys.exit("benchmarks.soak: wrk is not installed (apt-get install wrk); nothing measured")
    raise_file_limit()
    stop_when_told()
    machine = machine_line()
    try:
        cores = Cores.choose()
    except NotMeasured as reason:
        sys.exit(f"benchmarks.soak: {reason}; nothing measured")
    os.sched_setaffinity(0, cores.rest)
    with tempfile.TemporaryDirectory(prefix="evenkeel-soak-") as name:
        folder = Path(name)
        port = free_port()
        with (
            Model.running(port, cores.rest, folder) as model,
            Evenkeel().start(Site(folder, folder, port, cores.of_proxy(1), cores.rest)) as place,
        ):
            assert place.program is not None
            soak = Soak(place.program, model, place.doors[0].port, folder)
            ask(soak, options.requests)
            leave(soak, options.streams, None)
            leave(soak, options.streams // 10, _WAIT_S)
            upload(soak, options.upload_mb)
            stall(soak)
            stored = int((folder / DRAINED).read_text().splitlines()[-1])
    print(f"\n{machine}\n\n{table(soak.phases)}\n\n{stored:,} sampled exchanges were stored.")
    if options.json is not None:
        found = {"machine": machine, "stored": stored, "phases": [asdict(phase) for phase in soak.phases]}
        options.json.write_text(json.dumps(found, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
