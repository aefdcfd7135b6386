"""The upstream process, and how it is told what to do."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.proxy.machine import Running, running

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from benchmarks.proxy.upstream import Manner

_ROOT = Path(__file__).parents[2]
_OBEY_S = 10.0


class Model:
    """A running upstream."""

    def __init__(self, program: Running, port: int, log: Path) -> None:
        self.program = program
        self.port = port
        self._log = log
        self._manner: Manner | None = None

    @classmethod
    @contextlib.contextmanager
    def running(cls, port: int, cores: Sequence[int], folder: Path) -> Iterator[Model]:
        """One on a port, while the context lasts."""
        log = folder / "upstream.log"
        command = [sys.executable, "-m", "benchmarks.proxy.upstream", str(port)]
        with running(command, cores=cores, log=log, port=port, cwd=_ROOT, stdin=subprocess.PIPE) as program:
            yield cls(program, port, log)

    def behave(self, manner: Manner) -> None:
        """Make it answer in a manner from the next request on."""
        if manner == self._manner:
            return
        pipe = self.program.popen.stdin
        assert pipe is not None
        before = self._obeyed()
        pipe.write(manner.to_line())
        pipe.flush()
        deadline = time.monotonic() + _OBEY_S
        while self._obeyed() == before:
            if time.monotonic() > deadline:
                raise SystemExit(f"the upstream does not listen: {self._log.read_text()}")
            time.sleep(0.01)
        self._manner = manner

    def _obeyed(self) -> int:
        return self._log.read_bytes().count(b"ok\n")
