"""The supervisor of `evenkeel up`: starts the child processes and starts them again when they die.

It holds the listening sockets. While a child is being restarted, new connections wait in the
socket's backlog instead of being refused. Children get new settings while they run, or are started again
with them.

The supervisor writes one JSON line, the briefing, to the child's standard input and keeps the pipe open; to
some it writes another when there are new settings. The pipe ends when the supervisor ends, however it ends,
so no child survives it. On its standard output a child writes its counters, a line every second: they are
there to be shown whatever has become of the store.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import io
import json
import logging
import os
import signal
import socket
import sys
import threading
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from evenkeel.core.backoff import Backoff
from evenkeel.core.errors import UserError
from evenkeel.settings import Settings
from evenkeel.stores.counters import Tally, merge

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from evenkeel.shadow.timesheet import Timesheet
    from evenkeel.stores.counters import Snapshot


log = logging.getLogger("evenkeel.runtime.supervisor")

# Connections that wait here while a child restarts.
_BACKLOG = 4096
# A child that fails at its start must not be started in a loop.
_RESTARTS: Final = Backoff(0.1, 10.0)
# Seconds after which a child counts as stable, so that it restarts without a pause.
_STABLE_AFTER_S = 10.0
# A little longer than the data plane drains.
_STOP_GRACE_S = 25.0
# Short against the 20 s of processor time that an exchange may take.
_WATCH_S = 0.5
# Longest line of counters that a child may write.
_LINE_BYTES = 64 << 20
# Name of the sum of the counters of processes that have ended, among those of the children.
_ENDED: Final = ""
# Seconds without a heartbeat after which a worker hangs: it waits for something that never comes.
_HANGS_S = 60.0


class ListenError(UserError):
    """Error that a port cannot be listened on. The message is one line and says what to do."""


def listen_shared(host: str, port: int, count: int, *, option: str) -> list[socket.socket]:
    """Return listening sockets for `count` processes on one port.

    Each process has a socket of its own and the kernel deals connections out evenly; on one socket
    that all share, whoever is awake takes them all.

    Raises:
        ListenError: as `listen`.
    """
    first = listen(host, port, option=option)  # says whether the port is free, which sharing hides
    if count == 1:
        return [first]
    port = first.getsockname()[1]
    first.close()
    return [listen(host, port, option=option, shared=True) for _ in range(count)]


def listen(host: str, port: int, *, option: str, shared: bool = False) -> socket.socket:
    """Return a bound, listening, inheritable socket; port 0 picks a free port.

    Args:
        host: address to listen on.
        port: its port.
        option: the command-line option named in errors.
        shared: lets other sockets of this user listen on the same port.

    Raises:
        ListenError: port in use, not permitted, or no such address.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if shared:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    try:
        sock.bind((host, port))
        sock.listen(_BACKLOG)
    except OSError as error:
        sock.close()
        advice = f"choose another with {option}"
        if isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL:
            advice = "write an address of this machine as the host"
        raise ListenError(f"cannot listen on {host}:{port}: {error.strerror}; {advice}") from error
    sock.setblocking(False)
    sock.set_inheritable(True)
    return sock


@dataclass(frozen=True, slots=True)
class Child:
    """A process to keep alive."""

    name: str
    briefing: Briefing
    follows: bool = False
    """Set if it takes new settings while it runs. One that does not finishes what it holds and is started
    again with them."""
    sheet: Timesheet | None = None
    """Sheet on which the child notes the exchanges that it computes for, if it does so."""

    @property
    def inherited(self) -> list[int]:
        """File descriptors that the child shares with the supervisor."""
        shared = -1 if self.sheet is None else self.sheet.descriptor
        return [socket for socket in (*self.briefing.sockets, shared) if socket >= 0]


class Supervisor:
    """Keeps children alive until asked to stop; then lets them finish, and stops them."""

    def __init__(self, children: Sequence[Child], listening: Sequence[socket.socket] = ()) -> None:
        """Args: children: what to run. listening: sockets of theirs, closed once they are asked to finish."""
        self._children = children
        self._listening = listening
        # Settings that arrived after the start.
        self._settings: Settings | None = None
        # Processes asked to end for new settings.
        self._leaving: set[asyncio.subprocess.Process] = set()
        # Processes killed because an exchange took too much CPU time.
        self._over: set[asyncio.subprocess.Process] = set()
        self._tally = Tally()
        # Latest counters of each child. Replaced as a whole, because other threads read it.
        self._counted: dict[str, Snapshot] = {}
        self._stopping = asyncio.Event()
        self._processes: dict[str, asyncio.subprocess.Process] = {}

    def stop(self) -> None:
        """Ask all children to finish."""
        if not self._stopping.is_set():
            log.info("stopping: what is under way is finished first")
        self._stopping.set()
        # While this process had one open, new connections would wait instead of being refused.
        for sock in self._listening:
            sock.close()
        for process in self._processes.values():
            with contextlib.suppress(ProcessLookupError):
                process.terminate()

    def snapshot(self) -> Snapshot:
        """Return the counters of all children, and of the exchanges that were given up with their worker.

        The counters of a process that ended are kept, its gauges are not.
        """
        return merge([self._tally.snapshot(), *self._counted.values()])

    def renew(self, settings: Settings) -> None:
        """Give all children other settings; must run in the event loop's thread."""
        self._settings = settings
        for child in self._children:
            process = self._processes.get(child.name)
            if process is None or process.returncode is not None or process in self._leaving:
                continue  # It is about to start, and will read `_settings` then.
            if child.follows:
                self._brief(process, child.briefing)
            else:
                self._leaving.add(process)
                with contextlib.suppress(ProcessLookupError):
                    process.terminate()
                asyncio.get_running_loop().call_later(_STOP_GRACE_S, _kill, process)

    async def run(self, *, ready: Callable[[], None] = lambda: None) -> None:
        """Supervise until `stop` is called or a SIGINT or SIGTERM arrives.

        Args:
            ready: called once signals are obeyed; from then on connections wait for the children.
        """
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self.stop)
        ready()
        await asyncio.gather(*(self._keep_alive(child) for child in self._children))
        log.info("stopped")

    async def _keep_alive(self, child: Child) -> None:
        failures = 0
        while not self._stopping.is_set():
            started = time.monotonic()
            process = await self._start(child)
            listening = asyncio.create_task(self._listen(child, process))
            log.info("%s started (pid %d)", child.name, process.pid)
            watching = asyncio.create_task(self._watch(child, process))
            code = await self._finish(child, process)
            watching.cancel()
            await listening
            self._retire(child)
            if self._stopping.is_set():
                return
            if process in self._leaving:
                self._leaving.discard(process)
                log.info("%s has finished; starting it with the new settings", child.name)
                continue
            if process in self._over:
                # Restart at once, however often: the exchange is given up, so the next gets its turn.
                self._over.discard(process)
                continue
            if time.monotonic() - started > _STABLE_AFTER_S:
                failures = 0
            failures += 1
            pause_s = _RESTARTS.pause_s(failures)
            log.error("%s ended (%s); starting it again in %.1f s", child.name, _reason(code), pause_s)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), pause_s)

    async def _watch(self, child: Child, process: asyncio.subprocess.Process) -> None:
        """Kill a process if an exchange takes too much CPU time, or if its event loop stands still."""
        beat, silent_s = 0, 0.0
        while child.sheet is not None:
            await asyncio.sleep(_WATCH_S)
            # Counted in looks, not by a clock: a supervisor that was stopped itself has seen nothing.
            silent_s = silent_s + _WATCH_S if beat and child.sheet.heartbeat() == beat else 0.0
            beat = child.sheet.heartbeat()
            if silent_s >= _HANGS_S:
                log.error("%s hangs: its event loop has not run for %.0f s", child.name, silent_s)
                self._tally.add("worker_errors", where="hang")
                _kill(process)
                return
            over = child.sheet.over(process.pid)
            if not over:
                continue
            # Killed first, so that it cannot overwrite the mark, which is for the next worker.
            _kill(process)
            child.sheet.mark(over)
            named = []
            for exchange_id in over:
                if exchange_id:
                    named.append(exchange_id)
            if not named:
                log.error("%s hangs: its event loop has computed for longer than an exchange may", child.name)
                return
            self._over.add(process)
            # Here, and not by the next worker: that one may not live long enough to publish it.
            self._tally.add("exchanges_dead", len(named), route="", reason="processor_time")
            log.error(
                "%s took too much processor time for exchange %s, which is given up; starting it again",
                child.name,
                ", ".join(named),
            )
            return

    async def _listen(self, child: Child, process: asyncio.subprocess.Process) -> None:
        """Note the counters that a process writes, until it ends."""
        assert process.stdout is not None
        while line := await process.stdout.readline():
            if line.endswith(b"\n"):  # A process that is killed may not finish its last line.
                self._counted = {**self._counted, child.name: json.loads(line)}

    def _retire(self, child: Child) -> None:
        """Add the counters of an ended process to those of earlier ones: the next one begins at zero."""
        counted = dict(self._counted)
        total = merge([counted.pop(child.name, {}), counted.get(_ENDED, {})])
        total["gauges"] = []
        self._counted = {**counted, _ENDED: total}

    async def _start(self, child: Child) -> asyncio.subprocess.Process:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "evenkeel",
            "child",
            child.name,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=_LINE_BYTES,
            pass_fds=child.inherited,
            start_new_session=True,  # Ctrl-C reaches the supervisor, which stops children in order
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        self._processes[child.name] = process
        sheet = child.sheet.descriptor if child.sheet else -1
        self._brief(process, replace(child.briefing, sheet=sheet))
        assert process.stdin is not None
        # A child that ends at once has closed the pipe; `_keep_alive` sees that and starts another.
        with contextlib.suppress(ConnectionError):
            await process.stdin.drain()
        # `stop` may have come while the process was made, and has not seen it.
        if self._stopping.is_set():
            process.terminate()
        return process

    def _brief(self, process: asyncio.subprocess.Process, briefing: Briefing) -> None:
        if self._settings is not None:
            briefing = replace(briefing, settings=self._settings)
        assert process.stdin is not None
        process.stdin.write(briefing.to_line())

    async def _finish(self, child: Child, process: asyncio.subprocess.Process) -> int:
        ending = asyncio.ensure_future(process.wait())
        stopping = asyncio.ensure_future(self._stopping.wait())
        await asyncio.wait({ending, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if not ending.done():
            await asyncio.wait({ending}, timeout=_STOP_GRACE_S)
            if not ending.done():
                log.warning("%s did not finish within %d s and is killed", child.name, _STOP_GRACE_S)
                process.kill()
        stopping.cancel()
        return await ending


def _kill(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        process.kill()


def _reason(code: int) -> str:
    return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"


@dataclass(frozen=True, slots=True)
class Briefing:
    """Settings and sockets of a child process."""

    role: str
    source: str
    """Name of the supervisor in the counter store."""
    settings: Settings
    sockets: tuple[int, ...]
    """File descriptors of listening sockets."""
    sheet: int = -1
    """File descriptor of the `Timesheet`."""
    counters: int = -1
    """File descriptor on which the child writes its counters; known to the child alone."""

    def to_line(self) -> bytes:
        """Return the briefing as a line of JSON."""
        settings = self.settings.model_dump(mode="json")
        # Only values that were set, because limits of alerts report their origin.
        settings["alerts"] = self.settings.alerts.model_dump(mode="json", exclude_unset=True)
        settings["budget"] = self.settings.budget.model_dump(mode="json", exclude_unset=True)
        fields = {
            "role": self.role,
            "source": self.source,
            "settings": settings,
            "sockets": self.sockets,
            "sheet": self.sheet,
        }
        return json.dumps(fields).encode() + b"\n"

    @classmethod
    def from_line(cls, line: bytes) -> Briefing:
        """Read what `to_line` wrote."""
        fields = json.loads(line)
        return cls(
            fields["role"],
            fields["source"],
            Settings(**fields["settings"]),
            tuple(fields["sockets"]),
            fields["sheet"],
        )

    def open_sockets(self) -> list[socket.socket]:
        """Return the listening sockets."""
        return [socket.socket(fileno=descriptor) for descriptor in self.sockets]

    def report(self, snapshot: Snapshot) -> None:
        """Write counters to the supervisor."""
        line = json.dumps(snapshot).encode() + b"\n"
        while line:
            line = line[os.write(self.counters, line) :]


def receive() -> Briefing:
    """Read the briefing from standard input, and keep standard output for counters.

    Raises: SystemExit if the supervisor has gone before it had written it.
    """
    # Meant for the supervisor, which tells its children; it ends a process that does not expect it.
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    line = _next_line()
    if not line:
        raise SystemExit(1)
    # What a library prints goes where logs go, and no process that is started from here keeps the pipe open.
    counters = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return replace(Briefing.from_line(line), counters=counters)


def when_orphaned(act: Callable[[], object], brief: Callable[[Briefing], object] = lambda _: None) -> None:
    """Call `act` from a thread once the supervisor has gone.

    Args:
        act: Ends the process.
        brief: Called in that thread with each briefing that comes after the first.
    """

    def watch() -> None:
        while line := _next_line():
            brief(Briefing.from_line(line))
        act()

    threading.Thread(target=watch, name="supervisor-watch", daemon=True).start()


def _next_line() -> bytes:
    """Return the supervisor's next line; b"" if the supervisor has gone, even in the middle of a line."""
    # Without a buffer: one would take the next line too, and its lock, held at interpreter shutdown, is a
    # fatal error.
    line = io.FileIO(sys.stdin.fileno(), closefd=False).readline()
    return line if line.endswith(b"\n") else b""
