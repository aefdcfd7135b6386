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

With `--whole` it watches all of `evenkeel up` under a steady load from outside: a SIMULATED model, judge and
rewriter; clients that stream, clients that leave within an answer, and bodies up to 128 kB. Every few seconds
the kernel is asked what each process of `up` has: resident memory, open files, sockets among them, threads.
The first half, in which caches fill, is left out. The rest is averaged by the minute, since neighbouring
readings are alike, and a line is fitted to it; "flat" means that zero lies within two standard errors of its
slope, "nearly flat" that it rises by less than 1 % an hour. Tasks of an event loop cannot be seen from
outside: each that waits for a connection holds a socket, which can.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import random
import shutil
import socket
import sys
import tempfile
import time
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, cast

import uvloop
from scipy.stats import linregress

from benchmarks import kit
from benchmarks.chaos.stage import Process, evenkeel, free_ports, trials_counted
from benchmarks.chaos.traffic import Door, Mix, Traffic
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
    from collections.abc import Iterator, Sequence

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


def slope(points: Sequence[tuple[float, float]]) -> float | None:
    """MB for each million, by least squares; None for fewer than three points, and for one place only."""
    if len(points) < 3 or points[0][0] == points[-1][0]:  # noqa: PLR2004 - two points always lie on a line
        return None
    return 1e6 * line(points).per_hour / 3600


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
    head = ("load", "s", "MB before", "peak", "after", "MB / 10⁶, at the end")
    rows = [
        [
            *(phase.name, f"{phase.seconds:.0f}"),
            *(f"{mb:.1f}" for mb in (phase.before_mb, phase.peak_mb, phase.after_mb)),
            "–" if phase.slope is None else f"{phase.slope:+.2f}",
            *(str(count) for count in (phase.files_before, phase.files_after, phase.upstream_files)),
        ]
        for phase in phases
    ]
    return "\n".join(kit.table([*head, "files before", "after", "model's"], rows))


_EVERY_S: Final = 5.0
_BLOCK_S: Final = 60.0
_WARM_UP: Final = 1 / 2
_SEED: Final = 1
_FEWEST_BLOCKS: Final = 5
_NEARLY: Final = 0.01
_MB: Final = 1 << 20
_SAMPLED: Final = 0.4
_PAGE: Final = os.sysconf("SC_PAGE_SIZE")


class Reading(NamedTuple):
    """One process at one moment."""

    at_s: float
    """Since the start of the load."""
    rss_mb: float
    files: int
    sockets: int
    threads: int


class Slope(NamedTuple):
    """A fitted line, per hour."""

    per_hour: float
    error: float
    """Standard error of `per_hour`."""
    mean: float

    @property
    def flat(self) -> bool:
        """Whether zero lies within two standard errors."""
        return abs(self.per_hour) <= 2 * self.error

    @property
    def nearly_flat(self) -> bool:
        """Whether it rises by less than 1 % of the mean an hour: windows of a day fill that fast."""
        return self.per_hour < _NEARLY * self.mean


@dataclass(frozen=True, slots=True)
class Row:
    """One figure of one process."""

    process: str
    what: str
    slope: Slope | None
    lowest: float
    highest: float


def block_means(points: Sequence[tuple[float, float]], block_s: float) -> list[tuple[float, float]]:
    """The mean place and value of each block of time; blocks without a point are left out."""
    blocks: dict[int, list[tuple[float, float]]] = {}
    for at, value in points:
        blocks.setdefault(int(at // block_s), []).append((at, value))
    return [
        (sum(at for at, _ in block) / len(block), sum(value for _, value in block) / len(block))
        for _, block in sorted(blocks.items())
    ]


def slope_of(points: Sequence[tuple[float, float]], block_s: float = _BLOCK_S) -> Slope | None:
    """Least squares over means of blocks; None for fewer than five blocks. Times are in seconds."""
    blocks = block_means(points, block_s)
    if len(blocks) < _FEWEST_BLOCKS:
        return None
    return line(blocks)


def line(points: Sequence[tuple[float, float]]) -> Slope:
    """Least squares over three points or more, whose places are in seconds."""
    found = linregress(*zip(*points, strict=True))
    mean = sum(value for _, value in points) / len(points)
    return Slope(float(found.slope) * 3600, float(found.stderr) * 3600, mean)


def read(pid: int, at_s: float) -> Reading | None:
    """What the kernel knows of a process; None once it has ended."""
    place = Path(f"/proc/{pid}")
    try:
        pages = int((place / "statm").read_text().split()[1])
        files = list((place / "fd").iterdir())
        sockets = sum(_points_to_socket(file) for file in files)
        threads = len(list((place / "task").iterdir()))
    except OSError:
        return None
    return Reading(at_s, pages * _PAGE / _MB, len(files), sockets, threads)


def _points_to_socket(file: Path) -> bool:
    try:
        return os.readlink(file).startswith("socket:")  # noqa: PTH115 - the target is no path
    except OSError:
        return False


def parts_of(pid: int) -> dict[str, int]:
    """The supervisor and its children, by the names they go by."""
    found = {"supervisor": pid}
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in map(int, (task / "children").read_text().split()):
            command = Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0")
            found[command[-2].decode()] = child
    return found


def rows_of(readings: dict[str, list[Reading]]) -> list[Row]:
    """Slopes of all figures of all processes, after the warm-up."""
    rows = []
    for process, found in sorted(readings.items()):
        end = found[-1].at_s
        kept = [one for one in found if one.at_s >= end * _WARM_UP]
        for what in ("rss_mb", "files", "sockets", "threads"):
            values = [float(getattr(one, what)) for one in kept]
            points = list(zip([one.at_s for one in kept], values, strict=True))
            rows.append(Row(process, what, slope_of(points), min(values), max(values)))
    return rows


def table_of_processes(rows: Sequence[Row]) -> str:
    """The rows as Markdown."""
    head = ("process", "figure", "mean", "lowest–highest", "slope per hour", "verdict")
    return "\n".join(kit.table(head, map(_told, rows)))


def _told(row: Row) -> tuple[str, ...]:
    if row.slope is None:
        return (row.process, row.what, "–", f"{row.lowest:g}–{row.highest:g}", "–", "too short")
    verdict = "flat" if row.slope.flat else "nearly flat" if row.slope.nearly_flat else "not flat"
    span = f"{row.lowest:.1f}–{row.highest:.1f}"
    slope = f"{row.slope.per_hour:+.2f} ± {row.slope.error:.2f}"
    return (row.process, row.what, f"{row.slope.mean:.1f}", span, slope, verdict)


async def _soak(folder: Path, minutes: float, rate: float) -> tuple[Traffic, dict[str, list[Reading]]]:
    ports = free_ports()
    upstream, judge, data, admin = (next(ports) for _ in range(4))
    settings = {
        "routes": [
            {
                "upstream": f"http://127.0.0.1:{upstream}",
                "sampling_rate": _SAMPLED,
                "perturbations": ["general.casing", "general.spelling", "general.paraphrase"],
                "trials_per_exchange": 1,
            }
        ],
        "listen": {"port": data},
        "admin": {"port": admin, "open_on_loopback": True},
        "data_dir": str(folder / "data"),
        "judge": {"base_url": f"http://127.0.0.1:{judge}/v1", "model": "simulated-judge"},
        "rewriter": {"base_url": f"http://127.0.0.1:{judge}/v1", "model": "simulated-rewriter"},
        "budget": {"tokens_per_day": None, "usd_per_day": None},
        "scoring": {"embeddings": False},
        "simulated": True,
    }
    config = folder / "soak.yaml"
    config.write_text(json.dumps(settings))
    served = [sys.executable, "-m", "benchmarks.chaos.upstream", "--latency", "0.1"]
    simulated = [
        Process(name, [*served, "--port", str(port), "--log", folder / f"{name}.calls"], folder)
        for name, port in (("model", upstream), ("judge", judge))
    ]
    keys = {"EVENKEEL_JUDGE_API_KEY": "k", "EVENKEEL_REWRITER_API_KEY": "k"}
    up = Process("up", evenkeel("up", config), folder, ready="console +http", environment=keys)
    readings: dict[str, list[Reading]] = {}
    async with AsyncExitStack() as stack:
        for process in (*simulated, up):
            process.start()
            stack.push_async_callback(process.end)
            await process.serving()
        mix = Mix(streams=0.5, faults=0.01, leavers=0.15, large=0.1)
        traffic = Traffic([Door("up", "127.0.0.1", data)], random.Random(_SEED), rate=rate, mix=mix)
        load = asyncio.create_task(traffic.run())
        began = time.monotonic()
        said = 0
        while (elapsed_s := time.monotonic() - began) < minutes * 60:
            await asyncio.sleep(_EVERY_S)
            for name, pid in parts_of(up.pid).items():
                reading = read(pid, elapsed_s)
                if reading is not None:
                    readings.setdefault(name, []).append(reading)
            if elapsed_s // 60 > said:
                said = int(elapsed_s // 60)
                memory = ", ".join(f"{name} {found[-1].rss_mb:.0f} MB" for name, found in readings.items())
                print(f"{said} min: {traffic.tally()}; {memory}", flush=True)
        traffic.stop.set()
        await load
        trials = await asyncio.to_thread(trials_counted, f"http://127.0.0.1:{admin}")
        print(f"{trials} trials", flush=True)
    return traffic, readings


def watch_whole(options: argparse.Namespace) -> int:
    """Run it and print the table; 1 if a request failed or something is not even nearly flat."""
    machine = machine_line()
    with tempfile.TemporaryDirectory(prefix="evenkeel-soak-") as name:
        traffic, readings = asyncio.run(_soak(Path(name), options.minutes, options.rate))
    rows = rows_of(readings)
    failed = [one for one in traffic.requests if one.outcome == "failed"]
    print(f"\n{machine}\n\n{table_of_processes(rows)}\n\n{traffic.tally()}, in {options.minutes:g} minutes.")
    for one in failed[:10]:
        print(f"failed: {one}")
    if options.json is not None:
        found = {
            "machine": machine,
            "requests": len(traffic.requests),
            "failed": len(failed),
            "rows": [asdict(row) for row in rows],
            "readings": readings,
        }
        options.json.write_text(json.dumps(found, indent=1) + "\n")
    return int(
        bool(failed) or any(row.slope and not (row.slope.flat or row.slope.nearly_flat) for row in rows)
    )


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
        stop_when_told()
        return watch_whole(options)
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
