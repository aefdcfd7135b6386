"""evenkeel as users start it: the data plane alone, one request in ten sampled, telemetry on."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.proxy.contenders.protocol import Door, Place
from benchmarks.proxy.machine import HOST, free_port, running
from evenkeel import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from benchmarks.proxy.contenders.protocol import Site
    from benchmarks.proxy.machine import Running

SAMPLING_RATE = 0.1
DATABASE = Path("evenkeel-data", "evenkeel.db")
DRAINED = Path("drained.log")
"""Its last line: how many exchanges have been stored."""

_ROOT = Path(__file__).parents[3]


class Evenkeel:
    """This checkout's `evenkeel proxy`, in one process or several."""

    def __init__(self, processes: int = 1) -> None:
        self.processes = processes
        self.name = "evenkeel" if processes == 1 else f"evenkeel x {processes}"

    @contextlib.contextmanager
    def start(self, site: Site) -> Iterator[Place]:
        """Start it with its data in the site's folder."""
        port = free_port()
        command = [sys.executable, "-m", "evenkeel", "proxy", "--upstream", f"http://{HOST}:{site.upstream}"]
        command += ["--port", str(port), "--sampling-rate", str(SAMPLING_RATE)]
        if self.processes > 1:
            command += ["--processes", str(self.processes)]
        drain = (sys.executable, "-m", "benchmarks.proxy.drain", site.folder / DATABASE)
        with (
            _started(command, site, port) as program,
            running(drain, cores=site.rest, log=site.folder / DRAINED, port=None, cwd=_ROOT),
        ):
            yield Place(program, (Door(self.name, port),), __version__)


class Relay:
    """The same forwarding and sampling with a queue that forgets: the rest is what storing costs."""

    name = "relay"
    processes = 1

    @contextlib.contextmanager
    def start(self, site: Site) -> Iterator[Place]:
        """Start it."""
        port = free_port()
        upstream = f"http://{HOST}:{site.upstream}"
        command = [sys.executable, "-m", "benchmarks.proxy.relay", str(port), upstream, str(SAMPLING_RATE)]
        with _started(command, site, port) as program:
            yield Place(program, (Door("evenkeel, nothing stored", port),), __version__)


def _started(command: list[str], site: Site, port: int) -> AbstractContextManager[Running]:
    log = site.folder / "evenkeel.log"
    environment = {"PYTHONPATH": str(_ROOT)}
    return running(command, cores=site.cores, log=log, port=port, cwd=site.folder, env=environment)
