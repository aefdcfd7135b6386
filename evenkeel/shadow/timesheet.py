"""Limit on the processor time of an exchange, watched from another process.

A regular expression that never ends holds the interpreter, so its own process cannot stop it. A worker
therefore notes, in memory shared with its supervisor, which thread computes for which exchange, and up to
which processor time. The supervisor compares that with the kernel's count (`/proc`), kills a worker that is
over, and marks the exchange, which the next worker gives up; the others are free again when their lease ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import mmap
import os
import resource
import struct
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from evenkeel.core.exchange import ProcessorTimeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import Future

# Rows of the sheet. A worker has up to 33 threads.
_ROWS: Final = 64
# Row of a working thread: its kernel id (0 while idle), its limit in processor seconds, the exchange.
_WORK: Final = struct.Struct("<qd48s")
# In place of a thread's id: its exchange exceeded its time.
_OVER: Final = -1
# Place of the heartbeat, a number that changes as long as the worker's event loop runs.
_BEAT_AT: Final = _ROWS * _WORK.size
_BYTES: Final = _BEAT_AT + 8
# Threads of the executor; `asyncio` uses the same number by default.
_THREADS: Final = min(32, (os.cpu_count() or 1) + 4)
_TICK_S: Final = 1.0
_SPARE_S: Final = 10.0
# Processor seconds that threads of an exchange still get while it is given up.
_GRACE_S: Final = 1.0
_TICKS_PER_S: Final = os.sysconf("SC_CLK_TCK")


class Timesheet:
    """Memory shared by worker and supervisor.

    The process that creates it passes the descriptor to its child.
    """

    def __init__(self, descriptor: int) -> None:
        """Map a sheet that `blank` made, here or in the parent."""
        self.descriptor = descriptor
        if descriptor >= 0:
            os.truncate(descriptor, _BYTES)
        self._memory = mmap.mmap(descriptor, _BYTES)

    @classmethod
    def blank(cls) -> Timesheet:
        """Return an empty sheet.

        If the kernel cannot share it (other than Linux), no worker is ever killed.
        """
        return cls(os.memfd_create("timesheet") if hasattr(os, "memfd_create") else -1)

    def begin(self, row: int, until_s: float, exchange_id: str) -> None:
        """Note that the calling thread computes for an exchange up to a second of its processor time."""
        self.end(row)  # The thread's id is written last: until then nobody reads the rest.
        _WORK.pack_into(self._memory, row * _WORK.size, 0, until_s, exchange_id.encode()[:48])
        struct.pack_into("<q", self._memory, row * _WORK.size, threading.get_native_id())

    def end(self, row: int) -> None:
        """Note that the thread of a row is at rest."""
        struct.pack_into("<q", self._memory, row * _WORK.size, 0)

    def beat(self) -> None:
        """Note that the worker's event loop runs."""
        struct.pack_into("<q", self._memory, _BEAT_AT, time.monotonic_ns())

    def heartbeat(self) -> int:
        """Return a number that changes with each beat; 0 before the first."""
        return int(struct.unpack_from("<q", self._memory, _BEAT_AT)[0])

    def over(self, pid: int) -> list[str]:
        """Return the exchanges for which threads of a process have exceeded their processor time.

        A thread that computes for no exchange in particular has the id "".
        """
        before = self._late(pid)
        over = []
        # Read twice: a row may have been written in between.
        for row, exchange_id in self._late(pid).items():
            if before.get(row) == exchange_id:
                over.append(exchange_id)
        return over

    def _late(self, pid: int) -> dict[int, str]:
        late: dict[int, str] = {}
        for row, (thread, until_s, exchange_id) in enumerate(self._rows()):
            if thread and _processor_s(pid, thread) > until_s:
                late[row] = exchange_id
        return late

    def mark(self, exchange_ids: list[str]) -> None:
        """Mark exchanges of a killed worker as having exceeded their time."""
        for row, (_, _, exchange_id) in enumerate(self._rows()):
            if exchange_id in exchange_ids:
                struct.pack_into("<q", self._memory, row * _WORK.size, _OVER)

    def left(self) -> list[str]:
        """Return the exchanges for which the previous worker was killed."""
        return sorted({exchange_id for thread, _, exchange_id in self._rows() if thread == _OVER} - {""})

    def _rows(self) -> Iterator[tuple[int, float, str]]:
        for thread, until_s, exchange_id in _WORK.iter_unpack(self._memory[:_BEAT_AT]):
            yield thread, until_s, exchange_id.rstrip(b"\0").decode()

    def clear(self) -> None:
        """Erase all rows."""
        self._memory[:] = bytes(_BYTES)


def _processor_s(pid: int, thread: int) -> float:
    """Return the processor seconds of a thread, or -inf if it has ended or there is no `/proc`."""
    try:
        stat = Path(f"/proc/{pid}/task/{thread}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return -inf
    user, system = stat.rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / _TICKS_PER_S


@dataclass(slots=True)
class _Account:
    """Processor time that an exchange has used."""

    exchange_id: str
    cancel: Callable[[], object]
    spent_s: float = 0.0
    over: bool = False


_ACCOUNT: Final[ContextVar[_Account | None]] = ContextVar("account", default=None)


class Deadline:
    """Bounds the processor time of each exchange in this process; to be used in its event loop."""

    def __init__(self, sheet: Timesheet, limit_s: float) -> None:
        """Replace the loop's default executor by one whose threads are watched.

        `limit_s` is the processor time of an exchange, all its threads together.
        """
        self._sheet = sheet
        self._limit_s = limit_s
        self._lock = threading.Lock()
        self._loop = asyncio.get_running_loop()
        self._loop.set_default_executor(_Executor(sheet, self._computed))

    @contextlib.contextmanager
    def __call__(self, exchange_id: str) -> Iterator[None]:
        """Limit the computing time of an exchange while the block runs, in a task of its own.

        Raises: ProcessorTimeError if it was too much.
        """
        task = asyncio.current_task()
        assert task is not None
        account = _Account(exchange_id, task.cancel)
        token = _ACCOUNT.set(account)
        try:
            yield
        except asyncio.CancelledError:
            if account.over and task.uncancel() == 0:
                raise ProcessorTimeError from None
            raise
        finally:
            _ACCOUNT.reset(token)

    async def tick(self) -> None:
        """Note every second that the event loop is running, so that a loop that hangs is killed as well.

        A limit on the process's processor time lets the kernel kill it if the supervisor is gone or unable
        to look.
        """
        hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
        while True:
            self._sheet.begin(0, time.thread_time() + self._limit_s, "")
            self._sheet.beat()
            soft = int(time.process_time() + 2 * self._limit_s + _SPARE_S)
            if hard == resource.RLIM_INFINITY or soft < hard:
                resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))
            await asyncio.sleep(_TICK_S)

    def _computed(self, account: _Account, seconds: float) -> float:
        """Book what a thread has computed. Return the processor seconds that the next one may use.

        Called with 0 before a thread begins.
        """
        with self._lock:
            account.spent_s += seconds
            left_s = self._limit_s - account.spent_s
            late = left_s < 0 and not account.over
            account.over |= late
        if late:
            # In slices, each short enough: the exchange is given up without ending the process.
            with contextlib.suppress(RuntimeError):  # The loop has ended.
                self._loop.call_soon_threadsafe(account.cancel)
        return max(_GRACE_S, left_s)


class _Executor(ThreadPoolExecutor):
    """Executor whose threads note the exchange for which they compute."""

    def __init__(self, sheet: Timesheet, computed: Callable[[_Account, float], float]) -> None:
        super().__init__(_THREADS, thread_name_prefix="worker")
        self._sheet = sheet
        self._computed = computed
        self._rows = itertools.count(1)  # The first is the event loop's.
        self._local = threading.local()

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Submit a call as `ThreadPoolExecutor` does, on behalf of the caller's exchange."""
        account = _ACCOUNT.get()
        if account is None:
            return super().submit(function, *args, **kwargs)
        return super().submit(self._watched, account, function, args, kwargs)

    def _watched(
        self, account: _Account, function: Callable[..., Any], args: Any, kwargs: dict[str, Any]
    ) -> Any:
        row = getattr(self._local, "row", None)
        if row is None:
            row = self._local.row = next(self._rows)
        begun_s = time.thread_time()
        self._sheet.begin(row, begun_s + self._computed(account, 0.0), account.exchange_id)
        try:
            return function(*args, **kwargs)
        finally:
            self._sheet.end(row)
            self._computed(account, time.thread_time() - begun_s)
