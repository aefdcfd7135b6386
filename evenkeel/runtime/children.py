"""What a child process gets from the supervisor, and how it notices that the supervisor is gone.

The supervisor writes one JSON line to the child's standard input and keeps the pipe open; to some it writes
another when there are new settings. The pipe ends when the supervisor ends, however it ends, so no child
outlives it.
"""

from __future__ import annotations

import io
import json
import signal
import socket
import sys
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenkeel.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True)
class Briefing:
    """A child's part."""

    role: str
    source: str
    """Names the process in the counter store."""
    settings: Settings
    sockets: tuple[int, ...]
    """File descriptors of listening sockets."""

    def to_line(self) -> bytes:
        """One line of JSON."""
        fields = {
            "role": self.role,
            "source": self.source,
            "settings": self.settings.model_dump(mode="json"),
            "sockets": self.sockets,
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
        )

    def open_sockets(self) -> list[socket.socket]:
        """The listening sockets."""
        return [socket.socket(fileno=descriptor) for descriptor in self.sockets]


def receive() -> Briefing:
    """Read the briefing from standard input."""
    # Meant for the supervisor, which tells its children; it ends a process that does not expect it.
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    return Briefing.from_line(_lines().readline())


def when_orphaned(act: Callable[[], object], told: Callable[[Briefing], object] = lambda _: None) -> None:
    """Call `act` from a thread once the supervisor has gone.

    Args:
        act: Ends the process.
        told: Called in that thread with each briefing that comes after the first.
    """

    def watch() -> None:
        lines = _lines()
        while line := lines.readline():
            told(Briefing.from_line(line))
        act()

    threading.Thread(target=watch, name="supervisor-watch", daemon=True).start()


def _lines() -> io.FileIO:
    # Without a buffer: one would take the next line too, and its lock, held at interpreter shutdown, is a
    # fatal error.
    return io.FileIO(sys.stdin.fileno(), closefd=False)
