"""Processes on chosen cores, and what the kernel knows of them.

    python -m benchmarks.machine DATABASE

empties evenkeel's queue in place of workers: at the rates of a benchmark no number of workers could replay
the samples, the queue would be full after seconds, and only the counting of drops would be measured.
Prints how many exchanges there have been.

    python -m benchmarks.machine PORT UPSTREAM SAMPLING_RATE

relays with a queue that forgets: the difference is what storing samples costs.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import platform
import resource
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import uvloop

from evenkeel.proxy import Counters, DataPlane, HandOff, ProxyRoute, RouteTable, Upstream

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from evenkeel.core.exchange import Exchange


HOST = "127.0.0.1"

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_START_S = 90.0
"""How long a program may take until it listens: large Python programs import for half a minute."""
_STOP_S = 5.0
_PAIR = 2


class NotMeasured(Exception):  # noqa: N818 - an outcome that is reported, not an error
    """Something cannot be measured here; the message is the reason that the report gives."""


@dataclass(frozen=True, slots=True)
class Cores:
    """Who runs where."""

    rest: tuple[int, ...]
    """Of the load generator and the upstream."""
    free: tuple[int, ...]
    """Left for the proxies."""

    @classmethod
    def choose(cls) -> Cores:
        """Up to two of the allowed cores for the rest, the others for the proxies.

        Raises: NotMeasured on a machine with one core.
        """
        allowed = sorted(os.sched_getaffinity(0))
        if len(allowed) == 1:
            raise NotMeasured("one core only: generator and proxy cannot be kept apart")
        rest = allowed[:2] if len(allowed) > _PAIR else allowed[:1]
        return cls(tuple(rest), tuple(allowed[len(rest) :]))

    def of_proxy(self, processes: int) -> tuple[int, ...]:
        """A core for each process of a proxy, or as many as there are."""
        return self.free[-processes:]


@dataclass(frozen=True, slots=True)
class Running:
    """A program that was started here."""

    pid: int
    popen: subprocess.Popen[bytes]

    def tree(self) -> list[int]:
        """Its processes: itself and all descendants that live."""
        found = [self.pid]
        for pid in found:
            with contextlib.suppress(OSError):
                for task in Path(f"/proc/{pid}/task").iterdir():
                    found += map(int, (task / "children").read_text().split())
        return found

    def cpu_s(self) -> float:
        """Processor time of the whole tree so far, user and kernel, in seconds."""
        return sum(self.cpu_by_process().values())

    def cpu_by_process(self) -> dict[int, float]:
        """The same for each process."""
        return {pid: _cpu_s(pid) for pid in self.tree()}

    def rss_mb(self) -> float:
        """Resident memory of the whole tree now, in MB. Pages that processes share count for each."""
        return sum(_status_mb(pid, "VmRSS") for pid in self.tree())

    def peak_mb(self) -> float:
        """As `rss_mb`, the highest since `forget_peak` of each process."""
        return sum(_status_mb(pid, "VmHWM") for pid in self.tree())

    def forget_peak(self) -> None:
        """Let the peak begin anew."""
        for pid in self.tree():
            with contextlib.suppress(OSError):
                Path(f"/proc/{pid}/clear_refs").write_text("5")

    def stop(self) -> None:
        """End the program and its descendants, which are a process group: politely, then not."""
        self.popen.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.popen.wait(_STOP_S)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self.popen.wait()


def _cpu_s(pid: int) -> float:
    """Processor time of a process's living threads, in seconds.

    From the scheduler's nanoseconds: the ticks of `/proc/PID/stat` are 10 ms, and a few seconds
    at a tenth of a core are too few of them to compare two programs by.
    """
    spent_ns = 0
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            spent_ns += int((task / "schedstat").read_text().split()[0])
    return spent_ns / 1e9


def _status_mb(pid: int, field: str) -> float:
    try:
        text = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0.0
    line = next((line for line in text.splitlines() if line.startswith(field)), "0 0 kB")
    return int(line.split()[1]) / 1024


@contextlib.contextmanager
def running(
    command: Sequence[str | Path],
    *,
    cores: Sequence[int],
    log: Path,
    port: int | None,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    stdin: int | None = None,
) -> Iterator[Running]:
    """A program pinned to cores while the context lasts, from when it listens.

    Args:
        command: What to run.
        cores: Where.
        log: File for what it prints.
        port: Where it will listen; None does not wait.
        cwd: Folder to run in.
        env: Variables beside those of this process.
        stdin: As for `subprocess.Popen`.

    Raises: NotMeasured if it does not come to listen.
    """
    allowed = ",".join(map(str, cores))
    with log.open("wb") as file:
        popen = subprocess.Popen(
            ["taskset", "-c", allowed, *map(str, command)],
            stdin=stdin if stdin is not None else subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            cwd=cwd,
            env={**os.environ, **(env or {})},
            # A group of its own: Ctrl-C reaches this benchmark only, which then stops it by id.
            process_group=0,
        )
    program = Running(popen.pid, popen)
    try:
        if port is not None:
            _wait_for(program, port, log)
        yield program
    finally:
        program.stop()


def _wait_for(program: Running, port: int, log: Path) -> None:
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline:
        code = program.popen.poll()
        if code is not None:
            raise NotMeasured(f"it ended at its start with code {code}: {_last_line(log)}")
        try:
            socket.create_connection((HOST, port), 1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise NotMeasured(f"it did not listen within {_START_S:g} s: {_last_line(log)}")


def _last_line(log: Path) -> str:
    lines = log.read_text(errors="replace").strip().splitlines()
    return lines[-1][:200] if lines else "it printed nothing"


@contextlib.contextmanager
def undisturbed(programs: Sequence[Running]) -> Iterator[None]:
    """Run this process and the programs, if any, at real-time priority while the context lasts.

    For times of less than a millisecond on a machine that others use: the kernel then lets nobody else go on
    before them. Only for a load that leaves both cores idle for most of the time.

    Raises: NotMeasured where that is not allowed.
    """

    def all_at(policy: int, lowest: int) -> None:
        # This process takes the times: it goes first.
        for pid in (pid for program in programs for pid in program.tree()):
            with contextlib.suppress(OSError):
                for task in Path(f"/proc/{pid}/task").iterdir():
                    os.sched_setscheduler(int(task.name), policy, os.sched_param(lowest))
        os.sched_setscheduler(0, policy, os.sched_param(2 * lowest))

    if not programs:
        yield
        return
    try:
        all_at(os.SCHED_RR, 1)
        yield
    except PermissionError as error:
        raise NotMeasured("real-time priority needs root") from error
    finally:
        all_at(os.SCHED_OTHER, 0)


def free_port() -> int:
    """A port that is free now."""
    with socket.socket() as sock:
        sock.bind((HOST, 0))
        port: int = sock.getsockname()[1]
        return port


def stop_when_told() -> None:
    """Unwind on SIGTERM as on Ctrl-C, so that everything started here is stopped."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))


def raise_file_limit() -> int:
    """Allow this process and all it starts as many open files as it may have; returns how many."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    return most


@dataclass(frozen=True, slots=True)
class CoreTime:
    """How long a core has been busy since the machine started, in seconds."""

    busy_s: float
    stolen_s: float
    """Taken by the machine's host."""

    @classmethod
    def of(cls, core: int) -> CoreTime:
        """Read it now."""
        line = next(
            line for line in Path("/proc/stat").read_text().splitlines() if line.startswith(f"cpu{core} ")
        )
        user, nice, system, _, _, irq, softirq, steal = (
            int(field) / _TICKS_PER_S for field in line.split()[1:9]
        )
        return cls(user + nice + system + irq + softirq + steal, steal)


def machine_line() -> str:
    """One line that says what this was measured on."""
    model = next(
        (
            line.partition(":")[2].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        ),
        platform.machine(),
    )
    memory_gb = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30)
    return (
        f"{len(os.sched_getaffinity(0))} cores ({model}), {memory_gb:.0f} GB, "
        f"{platform.system()} {platform.release()}, Python {platform.python_version()}, "
        f"load average at the start {os.getloadavg()[0]:.1f}"
    )


_EVERY_S = 0.2
_PATIENCE_S = 5.0


def drain(path: Path) -> None:
    """Go on until killed."""
    while not path.exists():
        time.sleep(_EVERY_S)
    connection = sqlite3.connect(path, timeout=_PATIENCE_S, isolation_level=None)
    total = 0
    while True:
        time.sleep(_EVERY_S)
        try:
            gone = connection.execute("DELETE FROM exchanges").rowcount
        except sqlite3.OperationalError:
            # Locked for longer than the patience, or the table is not there yet.
            continue
        if gone:
            total += gone
            print(total, flush=True)


class _Forget:
    """A queue that takes everything at once."""

    def put(self, exchanges: Sequence[Exchange]) -> int:
        """Forget the exchanges."""
        return len(exchanges)


async def relay(port: int, upstream: str, sampling_rate: float) -> None:
    """Relay until killed."""
    routes = RouteTable([ProxyRoute("default", Upstream.parse(upstream), sampling_rate=sampling_rate)])
    handoff = HandOff(_Forget(), Counters(), max_bytes=64 << 20)
    handoff.start()
    plane = DataPlane(routes, handoff)
    await plane.serve([socket.create_server((HOST, port), backlog=4096)])
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
    await asyncio.Event().wait()


if __name__ == "__main__":
    if len(sys.argv) == 2:  # noqa: PLR2004 - the database alone
        drain(Path(sys.argv[1]))
    else:
        uvloop.run(relay(int(sys.argv[1]), sys.argv[2], float(sys.argv[3])))
