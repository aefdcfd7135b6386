"""`evenkeel up` on SQLite, on a disk that can be filled."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks.chaos.faults import kinds_of, of_models
from benchmarks.chaos.scene import KEYS, Scene, closing_scene, until
from benchmarks.chaos.stage import Process, evenkeel, series, trials_counted
from benchmarks.chaos.traffic import ProxyAddress
from benchmarks.chaos.witness import contents_of_sqlite, watch_sqlite
from benchmarks.machine import NotMeasured, child_pids

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.chaos.account import RunEvidence
    from benchmarks.chaos.faults import PlannedFault
    from benchmarks.chaos.scene import Options
    from benchmarks.chaos.witness import StoreContents
    from evenkeel.stores.counters import Snapshot

_DISK_MB: Final = 192  # small, so that a fault fills it in a moment
_PATIENCE_S: Final = 60.0
_POLL_S: Final = 0.1


class OnSqlite(Scene):
    """A supervisor with its proxy and its worker."""

    def __init__(self, folder: Path, disk: Path) -> None:
        """Prepare the processes.

        Args:
            folder: Folder for logs.
            disk: Folder of a file system for the store, which faults fill.
        """
        super().__init__(folder, "127.0.0.1")
        self.disk = disk
        self.data, self.admin = next(self.ports), next(self.ports)
        settings = self.settings(
            listen={"port": self.data},
            access={"port": self.admin, "open_on_loopback": True},
            data_dir=str(disk / "data"),
        )
        command = evenkeel("up", self.write("up", settings))
        self.roles["up"] = Process("up", command, folder, ready="console  ", clock=True, environment=KEYS)
        self.drops.urls["up"] = f"http://127.0.0.1:{self.admin}"
        # Faults of the supervisor and of its children must not overlap.
        self._one_at_a_time = asyncio.Lock()

    @property
    def database(self) -> Path:
        """File of the store."""
        return self.disk / "data" / "evenkeel.db"

    async def begin(self) -> None:
        """Start everything, and make the database record the exchanges that its queue accepts."""
        await self.start("upstream", "judge", "up")
        await self._wait_for_proxy()
        await until(lambda: bool(series(self.drops.urls["up"], "evenkeel_queue_waiting")), "the console")
        watch_sqlite(self.database)

    async def act(self, fault: PlannedFault) -> None:
        """Make a fault happen."""
        target, name = fault.kind.target, fault.kind.name
        if target == "disk":
            await self._fill(fault.for_s)
        elif target in {"upstream", "judge"} or name.startswith("clock"):
            await self.act_on_process(fault)
        elif target == "up":
            async with self._one_at_a_time:
                await self.act_on_process(fault)
                await self._wait_for_proxy()
        else:
            async with self._one_at_a_time:
                await self._act_on_child(fault)

    async def _act_on_child(self, fault: PlannedFault) -> None:
        target = fault.kind.target
        pid = self._child(target)
        if pid is None:
            return  # it is being started again
        if fault.kind.name == "freeze":
            os.kill(pid, signal.SIGSTOP)
            await asyncio.sleep(fault.for_s)
            os.kill(pid, signal.SIGCONT)
            return
        os.kill(pid, signal.SIGKILL)
        await until(lambda: self._child(target) not in {None, pid}, f"a new {target}", 30.0)
        if target == "proxy":
            await self._wait_for_proxy()

    def _child(self, role: str) -> int | None:
        """Return the process id of the supervisor's child with this role; None if there is none."""
        for pid in child_pids(self.roles["up"].pid):
            command = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            if command[-2].decode() == role:
                return pid
        return None

    async def _fill(self, for_s: float) -> None:
        """Fill the disk again and again, also with the space that is freed meanwhile."""
        filler = self.disk / "filler"
        end = time.monotonic() + for_s
        with filler.open("wb", buffering=0) as file:
            while time.monotonic() < end:
                with contextlib.suppress(OSError):
                    while True:
                        file.write(bytes(4096))
                await asyncio.sleep(_POLL_S)
        filler.unlink()

    async def _wait_for_proxy(self) -> None:
        """Wait until the proxy answers, with whatever status."""

        def answers() -> bool:
            with contextlib.suppress(urllib.error.HTTPError):
                urllib.request.urlopen(f"http://127.0.0.1:{self.data}/v1/models", timeout=5).close()
            return True

        await until(answers, "the proxy answers", _PATIENCE_S)

    def waiting(self) -> list[str]:
        """Return the ids of the exchanges in the queue."""
        return self._column("SELECT id FROM exchanges")

    def contents(self) -> StoreContents:
        """Read the contents that the store accepted."""
        return contents_of_sqlite(self.database)

    def counters(self) -> list[Snapshot]:
        """Return the counters that the processes published."""
        return [json.loads(body)[-1] for body in self._column("SELECT body FROM published_counters")]

    def _column(self, query: str) -> list[str]:
        with contextlib.closing(sqlite3.connect(self.database, timeout=10.0)) as connection:
            return [value for (value,) in connection.execute(query)]

    def folded(self) -> dict[str, int]:
        """Return the number of rated trials that the monitor counts."""
        return {"the monitor": trials_counted(self.drops.urls["up"])}


@contextlib.contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    """Mount a small file system while the context lasts.

    Raises: NotMeasured if that is not permitted.
    """
    folder.mkdir(parents=True, exist_ok=True)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={_DISK_MB}m", "evenkeel-chaos", str(folder)]
    try:
        subprocess.run(mount, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise NotMeasured(f"no file system can be mounted here: {error}") from error
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


async def run(folder: Path, options: Options) -> RunEvidence:
    """Play the scenario and collect the evidence."""
    with small_disk(folder / "disk") as disk:
        async with closing_scene(OnSqlite(folder, disk)) as scene:
            await scene.begin()
            proxies = [ProxyAddress("proxy", "127.0.0.1", scene.data)]
            kinds = [*kinds_of("one_machine"), *of_models()]
            return await scene.collect(await scene.perform(proxies, options, kinds))
