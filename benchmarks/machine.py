"""Programs on chosen cores, with their processor time and memory as the kernel counts them.

    python -m benchmarks.machine DATABASE

Empties evenkeel's queue in place of workers and prints the number of exchanges. At the rates of a benchmark
no number of workers could replay the samples: the queue would be full after seconds, and the benchmark would
only measure how drops are counted.
"""

from __future__ import annotations

import contextlib
import os
import platform
import re
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

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


HOST = "127.0.0.1"

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
# Longest time until a program listens: large Python programs import for half a minute.
_START_S = 90.0
_STOP_S = 5.0  # after which a program that was asked to stop is killed
_PAIR = 2  # cores that generator and upstream share on larger machines


class NotMeasured(Exception):  # noqa: N818 - an outcome that is reported, not an error
    """Reason for which something cannot be measured here, as the report gives it."""


@dataclass(frozen=True, slots=True)
class Cores:
    """Cores of the machine, by their use."""

    rest: tuple[int, ...]
    """Cores of the load generator and the upstream."""
    free: tuple[int, ...]
    """Cores left for the proxies."""

    @classmethod
    def choose(cls) -> Cores:
        """Choose up to two of the allowed cores for the rest, and the others for the proxies.

        Raises: NotMeasured on a machine with one core.
        """
        allowed = sorted(os.sched_getaffinity(0))
        if len(allowed) == 1:
            raise NotMeasured("one core only: generator and proxy cannot be kept apart")
        rest = allowed[:2] if len(allowed) > _PAIR else allowed[:1]
        return cls(tuple(rest), tuple(allowed[len(rest) :]))

    def of_proxy(self, processes: int) -> tuple[int, ...]:
        """Return a core for each process of a proxy, or as many as are free."""
        return self.free[-processes:]


@dataclass(frozen=True, slots=True)
class Program:
    """Running program that was started here."""

    pid: int
    popen: subprocess.Popen[bytes]

    def tree(self) -> list[int]:
        """Return the process ids of the program and all of its living descendants."""
        pids = [self.pid]
        for pid in pids:
            pids += child_pids(pid)
        return pids

    def cpu_s(self) -> float:
        """Return the processor time of the whole tree so far, user and kernel, in seconds."""
        return sum(self.cpu_by_process().values())

    def cpu_by_process(self) -> dict[int, float]:
        """Return the processor time of each process so far, in seconds."""
        return {pid: _cpu_s(pid) for pid in self.tree()}

    def rss_mb(self) -> float:
        """Return the resident memory of the whole tree in MB; shared pages count for each process."""
        return sum(_status_mb(pid, "VmRSS") for pid in self.tree())

    def peak_mb(self) -> float:
        """Return the sum of each process's highest resident memory since `forget_peak`, in MB."""
        return sum(_status_mb(pid, "VmHWM") for pid in self.tree())

    def forget_peak(self) -> None:
        """Reset the highest resident memory of each process."""
        for pid in self.tree():
            with contextlib.suppress(OSError):
                Path(f"/proc/{pid}/clear_refs").write_text("5")

    def stop(self) -> None:
        """End the program; then kill its process group, which holds all descendants."""
        self.popen.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.popen.wait(_STOP_S)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self.popen.wait()


def child_pids(pid: int) -> list[int]:
    """Return the process ids of a process's children; none if it has ended."""
    children: list[int] = []
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            children += map(int, (task / "children").read_text().split())
    return children


def _cpu_s(pid: int) -> float:
    """Return the processor time of a process's living threads, in seconds.

    The scheduler counts nanoseconds. The ticks of `/proc/PID/stat` are 10 ms, which is too coarse to compare
    two programs over a few seconds at a tenth of a core.
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
    match = re.search(rf"^{field}:\s+(\d+) kB", text, re.MULTILINE)
    return int(match[1]) / 1024 if match else 0.0


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
) -> Iterator[Program]:
    """Run a program on some cores while the context lasts, which begins when it listens.

    Args:
        command: Command to run.
        cores: Cores to run on.
        log: File for its output.
        port: Port on which it will listen; None does not wait.
        cwd: Folder to run in.
        env: Variables in addition to those of this process.
        stdin: As for `subprocess.Popen`.

    Raises: NotMeasured if it does not listen in time.
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
            # With a group of its own, Ctrl-C reaches only this benchmark, which then stops it by id.
            process_group=0,
        )
    program = Program(popen.pid, popen)
    try:
        if port is not None:
            _wait_for(program, port, log)
        yield program
    finally:
        program.stop()


def _wait_for(program: Program, port: int, log: Path) -> None:
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
def undisturbed(programs: Sequence[Program]) -> Iterator[None]:
    """Run this process and the programs, if any, at real-time priority while the context lasts.

    This makes times below a millisecond reliable on a machine that others use, because the kernel then runs
    these processes first. The load must leave both cores idle for most of the time.

    Raises: NotMeasured if that is not allowed.
    """
    if not programs:
        yield
        return
    try:
        _schedule(programs, os.SCHED_RR, 1)
        yield
    except PermissionError as error:
        raise NotMeasured("real-time priority needs root") from error
    finally:
        _schedule(programs, os.SCHED_OTHER, 0)


def _schedule(programs: Sequence[Program], policy: int, priority: int) -> None:
    for program in programs:
        for pid in program.tree():
            with contextlib.suppress(OSError):
                for task in Path(f"/proc/{pid}/task").iterdir():
                    os.sched_setscheduler(int(task.name), policy, os.sched_param(priority))
    # This process takes the times, so it has a higher priority.
    os.sched_setscheduler(0, policy, os.sched_param(2 * priority))


def free_port() -> int:
    """Return a port that is free now."""
    with socket.socket() as sock:
        sock.bind((HOST, 0))
        port: int = sock.getsockname()[1]
        return port


def stop_when_told() -> None:
    """Unwind on SIGTERM as on Ctrl-C, so that everything started here is stopped."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))


def raise_file_limit() -> None:
    """Raise the limit of open files as far as allowed, for this process and all that it starts."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def busy_s(core: int) -> float:
    """Return the seconds that a core has been busy since the machine started.

    They include time stolen by the machine's host.
    """
    match = re.search(rf"^cpu{core} (.*)$", Path("/proc/stat").read_text(), re.MULTILINE)
    assert match is not None
    user, nice, system, _, _, irq, softirq, steal = map(int, match[1].split()[:8])
    return (user + nice + system + irq + softirq + steal) / _TICKS_PER_S


def machine_line() -> str:
    """Describe in one line the machine on which this was measured."""
    match = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    model = match[1].strip() if match else platform.machine()
    memory_gb = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30)
    return (
        f"{len(os.sched_getaffinity(0))} cores ({model}), {memory_gb:.0f} GB, "
        f"{platform.system()} {platform.release()}, Python {platform.python_version()}, "
        f"load average at the start {os.getloadavg()[0]:.1f}"
    )


_EVERY_S = 0.2  # between two looks at the queue
_PATIENCE_S = 5.0  # for a database that evenkeel has locked


def drain(path: Path) -> None:
    """Empty the queue in a database again and again, until killed."""
    while not path.exists():
        time.sleep(_EVERY_S)
    connection = sqlite3.connect(path, timeout=_PATIENCE_S, isolation_level=None)
    total = 0
    while True:
        time.sleep(_EVERY_S)
        try:
            deleted = connection.execute("DELETE FROM exchanges").rowcount
        except sqlite3.OperationalError:
            # The database is locked for longer than the patience, or has no table yet.
            continue
        if deleted:
            total += deleted
            print(total, flush=True)


if __name__ == "__main__":
    drain(Path(sys.argv[1]))
