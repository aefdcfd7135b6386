"""Processes that can be killed and restarted, a second host, and a TCP relay in front of Redis."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, Final

import redis

from benchmarks.machine import NotMeasured, child_pids

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


_CLOCKS: Final = Path(__file__).with_name("clock")
_RESTART_S: Final = 1.0  # before a process that gave up is started again
_START_S: Final = 400.0  # many processes that start together on two cores are slow
_STOP_S: Final = 60.0  # after which a process that was asked to stop is killed
_POLL_S: Final = 0.05


class Process:
    """A program that can be killed and started again; its log is kept from start to start."""

    def __init__(
        self,
        name: str,
        command: Sequence[str | Path],
        folder: Path,
        *,
        ready: str | None = None,
        clock: bool = False,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Prepare a process, which `start` starts.

        Args:
            name: Name in messages and of the log.
            command: Command to run.
            folder: Folder of its log.
            ready: Regular expression for the line of its log which says that it serves.
            clock: True to make its clock adjustable by `set_clock`.
            environment: Variables in addition to those of this process.
        """
        self.name = name
        self.log = folder / f"{name}.log"
        self._command = [str(part) for part in command]
        self._ready = ready
        self._popen: subprocess.Popen[bytes] | None = None
        self._mark = 0
        self._environment = {
            **os.environ,
            "PYTHONUNBUFFERED": "1",
            "EVENKEEL_TELEMETRY__LOG_FORMAT": "text",
            **(environment or {}),
        }
        self.deaths = 0
        """Number of times that it ended after it had served, without being told to."""
        self._served = False
        self._clock = folder / f"{name}.clock" if clock else None
        if self._clock is not None:
            self.set_clock(0)
            self._environment |= {"CHAOS_CLOCK": str(self._clock), "PYTHONPATH": str(_CLOCKS)}

    @property
    def pid(self) -> int:
        """Id of the running process."""
        assert self._popen is not None
        return self._popen.pid

    @property
    def alive(self) -> bool:
        """True if it runs."""
        return self._popen is not None and self._popen.poll() is None

    def start(self) -> None:
        """Start it without waiting."""
        # The log goes on from earlier starts, of which `output` shows nothing.
        self._mark = self.log.stat().st_size if self.log.exists() else 0
        with self.log.open("ab") as output:
            self._popen = subprocess.Popen(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=self._environment,
                process_group=0,
            )

    async def serving(self) -> None:
        """Wait until it says that it serves; if it gives up, start it again, as a service manager does.

        Raises: NotMeasured if it does not say so within some minutes.
        """
        deadline = time.monotonic() + _START_S
        while self._ready is not None and not re.search(self._ready, self.output()):
            if time.monotonic() > deadline:
                raise NotMeasured(f"{self.name} does not serve:\n{self.output()[-2000:]}")
            if not self.alive:
                await asyncio.sleep(_RESTART_S)
                self.start()
            await asyncio.sleep(_POLL_S)
        self._served = True

    async def revive(self) -> None:
        """Start it again if it has ended by itself, and note that."""
        if self._served and not self.alive:
            self.deaths += 1
            self._served = False
            self.start()
            await self.serving()

    def output(self) -> str:
        """Return the text that it has printed since its last start."""
        with self.log.open("rb") as file:
            file.seek(self._mark)
            return file.read().decode(errors="replace")

    def send(self, number: int) -> None:
        """Send a signal if it runs, also to the worker below a supervisor, which would go on otherwise."""
        if not self.alive:
            return
        pids = [self.pid]
        if "worker" in self._command:
            pids += child_pids(self.pid)
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def kill(self) -> None:
        """End it abruptly, as a crash would."""
        self._served = False
        self.send(signal.SIGKILL)
        if self._popen is not None:
            self._popen.wait()

    async def end(self) -> int:
        """Ask it to stop and wait until it has ended; return its exit code."""
        assert self._popen is not None
        self._served = False
        self.send(signal.SIGCONT)
        self.send(signal.SIGTERM)
        deadline = time.monotonic() + _STOP_S
        while self.alive and time.monotonic() < deadline:  # noqa: ASYNC110 - the kernel sends no event
            await asyncio.sleep(_POLL_S)
        self.kill()
        return self._popen.wait()

    def set_clock(self, seconds: float) -> None:
        """Set its clock ahead by some seconds, or back if they are negative."""
        if self._clock is not None:
            fresh = self._clock.with_suffix(".new")
            fresh.write_text(f"{seconds:.0f}\n", encoding="ascii")
            fresh.replace(self._clock)


def evenkeel(role: str, config: Path, *arguments: str) -> list[str | Path]:
    """Return the command of a role."""
    return [sys.executable, "-m", "evenkeel", role, "--config", config, *arguments]


def redis_server(
    host: str, port: int, folder: Path, *arguments: str, fsync: str = "always"
) -> list[str | Path]:
    """Return the command of a Redis that, when killed, loses nothing that it has acknowledged."""
    folder.mkdir(parents=True, exist_ok=True)
    command: list[str | Path] = ["redis-server", "--port", str(port), "--protected-mode", "no"]
    command += ["--bind", "127.0.0.1"] if host == "127.0.0.1" else ["--bind", "127.0.0.1", host]
    command += ["--dir", folder, "--save", "", "--appendonly", "yes", "--appendfsync", fsync]
    # The log of commands is the witness of the run, so nothing may be removed from it.
    command += ["--auto-aof-rewrite-percentage", "0", "--logfile", folder / "redis.log"]
    return [*command, *arguments]


async def redis_answers(port: int, timeout_s: float = 60.0) -> None:
    """Wait until a Redis answers.

    Raises: NotMeasured if it does not.
    """
    deadline = time.monotonic() + timeout_s
    with redis.Redis(port=port, retry=None, socket_timeout=1.0) as client:
        while time.monotonic() < deadline:
            with contextlib.suppress(redis.ConnectionError, redis.TimeoutError, redis.BusyLoadingError):
                await asyncio.to_thread(client.ping)
                return
            await asyncio.sleep(_POLL_S)
    raise NotMeasured(f"the Redis at port {port} does not answer")


def series(url: str, name: str, host: OtherHost | None = None, timeout_s: float = 30.0) -> dict[str, float]:
    """Return the values that a process exports under a name, by name with labels."""
    values = {}
    for line in _fetch(f"{url}/metrics", host, timeout_s).splitlines():
        if line.startswith(name):
            key, _, value = line.rpartition(" ")
            values[key] = float(value)
    return values


def trials_counted(url: str, host: OtherHost | None = None) -> int:
    """Return the number of rated trials that a monitor counts, including dependent ones."""
    return sum(cell["trials"] for cell in json.loads(_fetch(f"{url}/api/cells", host, 30.0))["cells"])


def _fetch(url: str, host: OtherHost | None, timeout_s: float) -> str:
    if host is not None:
        return host.fetch(url)
    with urllib.request.urlopen(url, timeout=timeout_s) as answer:  # noqa: S310 - our own address
        text: str = answer.read().decode()
        return text


class OtherHost:
    """A second host: a network namespace with a cable to this one that can be pulled out."""

    here: Final = "10.213.77.1"
    there: Final = "10.213.77.2"

    def __init__(self, name: str) -> None:
        self._name = name
        self._cable = (f"{name}a"[:15], f"{name}b"[:15])

    @classmethod
    @contextlib.contextmanager
    def made(cls) -> Iterator[OtherHost | None]:
        """Yield a host while the context lasts; None if that is not permitted."""
        host = cls(f"evk{os.getpid()}")
        try:
            host._make()
        except (OSError, subprocess.CalledProcessError):
            host._remove()
            yield None
            return
        try:
            yield host
        finally:
            host._remove()

    def on(self, command: Sequence[str | Path]) -> list[str | Path]:
        """Return a command that runs another one there."""
        return ["ip", "netns", "exec", self._name, *command]

    def fetch(self, url: str) -> str:
        """Return a page that is served there."""
        program = "import sys, urllib.request as r; print(r.urlopen(sys.argv[1], timeout=30).read().decode())"
        command = self.on([sys.executable, "-c", program, url])
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def cut(self) -> None:
        """Pull out the cable: packets vanish without an answer."""
        _ip("-n", self._name, "link", "set", self._cable[1], "down")

    def join(self) -> None:
        """Plug it in again."""
        _ip("-n", self._name, "link", "set", self._cable[1], "up")

    def _make(self) -> None:
        near, far = self._cable
        _ip("netns", "add", self._name)
        _ip("link", "add", near, "type", "veth", "peer", "name", far, "netns", self._name)
        _ip("addr", "add", f"{self.here}/24", "dev", near)
        _ip("link", "set", near, "up")
        _ip("-n", self._name, "addr", "add", f"{self.there}/24", "dev", far)
        _ip("-n", self._name, "link", "set", far, "up")
        _ip("-n", self._name, "link", "set", "lo", "up")

    def _remove(self) -> None:
        for command in (("link", "del", self._cable[0]), ("netns", "del", self._name)):
            with contextlib.suppress(OSError, subprocess.CalledProcessError):
                _ip(*command)


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


def free_ports(host: str = "127.0.0.1") -> Iterator[int]:
    """Yield free ports below those that the kernel gives to clients, so that none is taken by chance."""
    for port in range(20_000 + os.getpid() * 97 % 11_000, 32_000):
        try:
            socket.create_server((host, port)).close()
        except OSError:
            continue
        yield port


class RedisRelay:
    """Relay between clients and a Redis, in this process."""

    def __init__(self, host: str, port: int) -> None:
        """Prepare a relay to an address."""
        self.delay_s = 0.0
        """Seconds by which requests and answers are delayed, each."""
        self._target = (host, port)
        self._server: asyncio.Server | None = None
        self._address = ("", 0)
        self._writers: set[asyncio.StreamWriter] = set()

    async def listen(self, host: str, port: int) -> None:
        """Accept connections."""
        self._address = (host, port)
        self._server = await asyncio.start_server(self._serve, host, port, backlog=1024)

    async def cut(self) -> None:
        """End all connections and accept none."""
        if self._server is not None:
            self._server.close()
            self._server = None
        for writer in list(self._writers):
            writer.transport.abort()

    async def join(self) -> None:
        """Accept connections again."""
        if self._server is None:
            await self.listen(*self._address)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            server_reader, server_writer = await asyncio.open_connection(*self._target)
        except OSError:
            writer.transport.abort()
            return
        self._writers |= {writer, server_writer}
        try:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.gather(self._copy(reader, server_writer), self._copy(server_reader, writer))
        finally:
            self._writers -= {writer, server_writer}

    async def _copy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(1 << 16):
                if self.delay_s:
                    await asyncio.sleep(self.delay_s)
                writer.write(data)
                await writer.drain()
        # The end of one connection ends the other one, as a lost connection does.
        writer.transport.abort()
