"""Redaction in a process of its own beside the data plane.

A few kilobytes may inflate to megabytes, and looking at those takes seconds: the process that forwards must
not spend them. Nothing is stored before it was looked at, and nothing raw leaves the machine.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import weakref
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Final

from evenkeel.shadow.protection.detectors import ProtectionError

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenkeel.core.exchange import Exchange
    from evenkeel.shadow.protection.redaction import RedactedExchange, Redactor

_READY: Final = ""
# Time for the process to load its detectors; Presidio's models take seconds.
_START_S: Final = 60.0
_LIMIT_S: Final = 10.0
# Redaction waits for the process that forwards, never the other way round.
_NICENESS: Final = 10


class RedactionProcess:
    """Redacts exchanges in another process, one at a time. Belongs to one thread after `start`."""

    def __init__(self, make: Callable[[], Redactor]) -> None:
        """Prepare; `start` begins.

        `make` makes the redactor in the other process, so it must be a function of a module. An exchange that
        takes longer than `_LIMIT_S` has the process killed, and the next one gets another.
        """
        self._make = make
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe: Connection | None = None
        self._end: Callable[[], object] | None = None

    def start(self) -> None:
        """Start the process and wait until it is ready.

        Raises: ProtectionError if the redactor cannot be made.
        """
        ours, theirs = Pipe()
        command = [sys.executable, "-m", __name__, str(theirs.fileno())]
        self._process = subprocess.Popen(  # noqa: S603 - Python itself, and a number
            command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL
        )
        theirs.close()
        self._pipe = ours
        self._end = weakref.finalize(self, _ended, self._process, ours)
        try:
            ours.send(self._make)
            problem = ours.recv() if ours.poll(_START_S) else "it did not start in time"
        except (OSError, EOFError):
            problem = "it ended at once"
        if problem != _READY:
            self.close()
            raise ProtectionError(f"exchanges cannot be redacted: {problem}")

    def redact(self, exchange: Exchange) -> RedactedExchange:
        """Return the exchange redacted.

        Raises: TimeoutError if it takes too long; OSError, EOFError or ProtectionError if it fails.
        """
        if self._pipe is None:
            self.start()
        assert self._pipe is not None
        try:
            self._pipe.send(exchange)
            if not self._pipe.poll(_LIMIT_S):
                raise TimeoutError(f"redaction takes more than {_LIMIT_S:g} s")
            outcome: RedactedExchange | str = self._pipe.recv()
        except (OSError, EOFError):
            self.close()
            raise
        if isinstance(outcome, str):
            raise ProtectionError(outcome)
        return outcome

    def close(self) -> None:
        """End the process, which also ends with this object."""
        if self._end is not None:
            self._end()
        self._process = self._pipe = self._end = None


def _ended(process: subprocess.Popen[bytes], pipe: Connection) -> None:
    pipe.close()
    process.kill()
    process.wait()


def _serve(pipe: Connection) -> None:
    """Redact what comes until the other end is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # which a terminal sends to all; the data plane still drains
    os.nice(_NICENESS)
    try:
        redactor: Redactor = pipe.recv()()
    except ProtectionError as error:
        pipe.send(str(error))
        return
    pipe.send(_READY)
    while True:
        try:
            exchange = pipe.recv()
        except EOFError:
            return
        try:
            pipe.send(redactor.redact(exchange))
        except Exception as error:  # noqa: BLE001 - named boundary: what a detector stumbles over stays here
            pipe.send(type(error).__name__)  # the error itself may hold text


if __name__ == "__main__":
    _serve(Connection(int(sys.argv[1])))
