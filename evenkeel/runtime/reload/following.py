"""When settings are read again: on SIGHUP, and when the file has changed."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from typing import TYPE_CHECKING, Final

from evenkeel.runtime.reload.watched import WatchedFile

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenkeel.runtime.reload.reloader import Reloader
    from evenkeel.settings import Settings

_UNWATCHED_S: Final = 3600.0


class Follower:
    """Waits for reasons to reload, as long as the process lives."""

    def __init__(self, reloader: Reloader) -> None:
        """Args: reloader: does it."""
        self.reloader = reloader
        self._file = WatchedFile(reloader.source.path)
        self._asked = asyncio.Event()
        self._at_a_terminal = _terminal()

    async def run(self, apply: Callable[[Settings], None]) -> None:
        """Reload whenever there is a reason, until cancelled.

        Args:
            apply: Called in the event loop with settings that are good and differ.
        """
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, self._hung_up)
        while True:
            poll_s = self.reloader.running.reload.poll_s
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._asked.wait(), poll_s or _UNWATCHED_S)
            asked = self._asked.is_set()
            self._asked.clear()
            found = await asyncio.to_thread(self._reload, asked=asked)
            if found is not None:
                apply(found)

    def _reload(self, *, asked: bool) -> Settings | None:
        if asked:
            self._file.taken()
        elif not (self.reloader.running.reload.poll_s and self._file.look()):
            return None
        return self.reloader.reload()

    def _hung_up(self) -> None:
        if self._at_a_terminal and not _terminal():
            # Nobody asked to reload: the window is closed that evenkeel was started in.
            os.kill(os.getpid(), signal.SIGTERM)
        else:
            self._asked.set()


def _terminal() -> bool:
    """Whether this process has a controlling terminal."""
    try:
        os.close(os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY))
    except OSError:
        return False
    return True
