"""The processes of a chaos run: started, waited for, killed, started again, behind a TCP relay."""

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

from benchmarks.machine import NotMeasured

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


_CLOCKS: Final = Path(__file__).with_name("clock")
_RESTART_S: Final = 1.0
_START_S: Final = 400.0
_STOP_S: Final = 60.0
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
        """Prepare; `start` begins.

        Args:
            name: for people, and for the log.
            command: what to run.
            folder: where its log goes.
            ready: a line of its log that says that it serves, as a regular expression.
            clock: whether its clock can be set, see `clock`.
            environment: beside that of this process.
        """
        self.name = name
        self.log = folder / f"{name}.log"
        self.starts = 0
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
        """How often it ended after it had served, without being told to."""
        self._served = False
        self._clock = folder / f"{name}.clock" if clock else None
        if self._clock is not None:
            self.set_clock(0)
            self._environment |= {"CHAOS_CLOCK": str(self._clock), "PYTHONPATH": str(_CLOCKS)}

    @property
    def pid(self) -> int:
        """Its process id."""
        assert self._popen is not None
        return self._popen.pid

    @property
    def alive(self) -> bool:
        """Whether it runs."""
        return self._popen is not None and self._popen.poll() is None

    def start(self) -> None:
        """Start it; returns at once."""
        self.starts += 1
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
        """Wait until it says that it serves; one that gives up is started again, as a service manager does.

        Raises: NotMeasured if it does not say so in some minutes.
        """
        deadline = time.monotonic() + _START_S
        while self._ready is not None and not re.search(self._ready, self.said()):
            if time.monotonic() > deadline:
                raise NotMeasured(f"{self.name} does not serve:\n{self.said()[-2000:]}")
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

    def said(self) -> str:
        """What it has printed since its last start."""
        with self.log.open("rb") as file:
            file.seek(self._mark)
            return file.read().decode(errors="replace")

    def send(self, number: int) -> None:
        """Send a signal, if it runs; to a worker below its supervisor, too, which else goes on by itself."""
        if not self.alive:
            return
        task = Path(f"/proc/{self.pid}/task/{self.pid}/children")
        below = map(int, task.read_text().split()) if "worker" in self._command else ()
        for pid in (self.pid, *below):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def kill(self) -> None:
        """End it as a crash would."""
        self._served = False
        self.send(signal.SIGKILL)
        if self._popen is not None:
            self._popen.wait()

    async def end(self) -> int:
        """Ask it to stop and wait for that; returns its exit code."""
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
        """Let it see a time that is so much later than it is."""
        if self._clock is not None:
            fresh = self._clock.with_suffix(".new")
            fresh.write_text(f"{seconds:.0f}\n", encoding="ascii")
            fresh.replace(self._clock)


def evenkeel(role: str, config: Path, *arguments: str) -> list[str | Path]:
    """The command of a role."""
    return [sys.executable, "-m", "evenkeel", role, "--config", config, *arguments]


def redis_server(
    host: str, port: int, folder: Path, *arguments: str, fsync: str = "always"
) -> list[str | Path]:
    """The command of a Redis that loses nothing it has answered for when it is killed."""
    folder.mkdir(parents=True, exist_ok=True)
    return [
        "redis-server",
        *("--port", str(port), "--bind", *dict.fromkeys(("127.0.0.1", host)), "--protected-mode", "no"),
        *("--dir", folder, "--save", "", "--appendonly", "yes", "--appendfsync", fsync),
        # The log of commands is the witness of this run: nothing is taken out of it.
        *("--auto-aof-rewrite-percentage", "0", "--logfile", folder / "redis.log"),
        *arguments,
    ]


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
    """What a process exports under a name: name with labels → value."""
    text = host.fetch(f"{url}/metrics") if host else _fetch(f"{url}/metrics", timeout_s)
    found = {}
    for line in text.splitlines():
        if line.startswith(name):
            key, _, value = line.rpartition(" ")
            found[key] = float(value)
    return found


def trials_counted(url: str, host: OtherHost | None = None, timeout_s: float = 30.0) -> int:
    """Rated trials that a monitor counts, those that are no observations of their own included."""
    text = host.fetch(f"{url}/api/cells") if host else _fetch(f"{url}/api/cells", timeout_s)
    return sum(cell["trials"] for cell in json.loads(text)["cells"])


def _fetch(url: str, timeout_s: float) -> str:
    with urllib.request.urlopen(url, timeout=timeout_s) as answer:  # noqa: S310 - our own address
        text: str = answer.read().decode()
        return text


class OtherHost:
    """A second host: a network namespace with a cable to this one that can be pulled."""

    here: Final = "10.213.77.1"
    there: Final = "10.213.77.2"

    def __init__(self, name: str) -> None:
        self._name = name
        self._cable = (f"{name}a"[:15], f"{name}b"[:15])

    @classmethod
    @contextlib.contextmanager
    def made(cls) -> Iterator[OtherHost | None]:
        """A host while the context lasts; None where that is not permitted."""
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
        """A command as it runs there."""
        return ["ip", "netns", "exec", self._name, *command]

    def fetch(self, url: str) -> str:
        """A page that is served there."""
        program = "import sys, urllib.request as r; print(r.urlopen(sys.argv[1], timeout=30).read().decode())"
        command = self.on([sys.executable, "-c", program, url])
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def cut(self) -> None:
        """Pull the cable: packets vanish without an answer."""
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
    """Ports that are free now, below those that clients are given: nobody takes one while it is closed."""
    for port in range(20_000 + os.getpid() * 97 % 11_000, 32_000):
        try:
            socket.create_server((host, port)).close()
        except OSError:
            continue
        yield port


class Relay:
    """Between clients and a Redis, in this process."""

    def __init__(self, host: str, port: int) -> None:
        """Args: host, port: where the connections go."""
        self.delay_s = 0.0
        """Added to what is sent and to what is answered."""
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
            onward = await asyncio.open_connection(*self._target)
        except OSError:
            writer.transport.abort()
            return
        self._writers |= {writer, onward[1]}
        try:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.gather(self._copy(reader, onward[1]), self._copy(onward[0], writer))
        finally:
            self._writers -= {writer, onward[1]}

    async def _copy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(1 << 16):
                if self.delay_s:
                    await asyncio.sleep(self.delay_s)
                writer.write(data)
                await writer.drain()
        # Either end takes the other one with it, as a lost connection does.
        writer.transport.abort()
