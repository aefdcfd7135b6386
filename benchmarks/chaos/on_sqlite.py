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

from benchmarks.chaos import faults
from benchmarks.chaos.scene import KEYS, PUBLISHED_S, Scene, acting, skipped_by_workers, until
from benchmarks.chaos.stage import Process, evenkeel, series, trials_counted
from benchmarks.chaos.traffic import Door
from benchmarks.chaos.witness import seen_by_sqlite, watch_sqlite
from benchmarks.machine import NotMeasured

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator

    from benchmarks.chaos.account import Evidence
    from benchmarks.chaos.faults import Fault
    from benchmarks.chaos.scene import Options

_DISK_MB: Final = 192
_PATIENCE_S: Final = 60.0
_POLL_S: Final = 0.1


def children_of(pid: int) -> dict[str, int]:
    """Process ids of a supervisor's children, by the names they go by."""
    children: dict[str, int] = {}
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in map(int, (task / "children").read_text().split()):
            command = Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0")
            children[command[-2].decode()] = child
    return children


class OnSqlite(Scene):
    """A supervisor with its proxy and its worker."""

    def __init__(self, folder: Path, disk: Path) -> None:
        """Args: folder: for logs. disk: for the store; all of it is used."""
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
        self.scraped.urls["up"] = f"http://127.0.0.1:{self.admin}"
        self._one_at_a_time = asyncio.Lock()

    @property
    def database(self) -> Path:
        """The store's file."""
        return self.disk / "data" / "evenkeel.db"

    async def begin(self) -> None:
        """Start everything, and let the database take note of what its queue accepts."""
        await self.start("upstream", "judge", "up")
        await self._answers()
        await until(lambda: bool(series(self.scraped.urls["up"], "evenkeel_queue_waiting")), "the console")
        watch_sqlite(self.database)

    async def act(self, fault: Fault) -> None:
        """Let a fault happen."""
        target, name = fault.kind.target, fault.kind.name
        if target == "disk":
            await self._fill(fault.for_s)
        elif target in {"upstream", "judge"} or name.startswith("clock"):
            await self.act_on_process(fault)
        elif target == "up":
            async with self._one_at_a_time:
                await self.act_on_process(fault)
                await self._answers()
        else:
            async with self._one_at_a_time:
                await self._act_on_child(fault)

    async def _act_on_child(self, fault: Fault) -> None:
        target = fault.kind.target
        pid = children_of(self.roles["up"].pid).get(target)
        if pid is None:
            return  # it is being started again
        if fault.kind.name == "freeze":
            os.kill(pid, signal.SIGSTOP)
            await asyncio.sleep(fault.for_s)
            os.kill(pid, signal.SIGCONT)
            return
        os.kill(pid, signal.SIGKILL)
        await until(
            lambda: children_of(self.roles["up"].pid).get(target, pid) != pid, f"a new {target}", 30.0
        )
        if target == "proxy":
            await self._answers()

    async def _fill(self, for_s: float) -> None:
        """Take all room on the disk, again and again: what is freed meanwhile too."""
        filler = self.disk / "filler"
        until_s = time.monotonic() + for_s
        with filler.open("wb", buffering=0) as file:
            while time.monotonic() < until_s:
                with contextlib.suppress(OSError):
                    while True:
                        file.write(bytes(4096))
                await asyncio.sleep(_POLL_S)
        filler.unlink()

    async def _answers(self) -> None:
        """Wait until the proxy answers anything at all."""

        def asked() -> bool:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{self.data}/v1/models", timeout=5).close()
            except urllib.error.HTTPError:
                return True
            return True

        await until(asked, "the proxy answers", _PATIENCE_S)

    async def settle(self) -> list[str]:
        """Wait until the queue is empty and the monitor has seen all; returns what waits still."""

        def waiting() -> list[str]:
            connection = sqlite3.connect(self.database, timeout=10.0)
            with contextlib.closing(connection):
                return [one for (one,) in connection.execute("SELECT id FROM exchanges")]

        await until(lambda: not waiting(), "the queue is empty")
        await until(self._all_folded, "the monitor has counted every verdict", _PATIENCE_S)
        return waiting()

    def folded(self) -> int:
        """Rated trials that the monitor counts."""
        return trials_counted(self.scraped.urls["up"])

    def _all_folded(self) -> bool:
        rated = {one.id for one in seen_by_sqlite(self.database).verdicts if not one.failure}
        return self.folded() == len(rated)

    def left_alone(self) -> Counter[str]:
        """What workers left alone, by reason, as they published it."""
        with contextlib.closing(sqlite3.connect(self.database, timeout=10.0)) as connection:
            rows = connection.execute("SELECT body FROM counters").fetchall()
        return skipped_by_workers(json.loads(body) for (body,) in rows)

    def kinds(self) -> list[faults.Kind]:
        """What can go wrong here."""
        return [*faults.of_one_machine(), *faults.of_models()]


@contextlib.contextmanager
def small_disk(place: Path) -> Iterator[Path]:
    """A file system of its own while the context lasts.

    Raises: NotMeasured where that is not permitted.
    """
    place.mkdir(parents=True, exist_ok=True)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={_DISK_MB}m", "evenkeel-chaos", str(place)]
    try:
        subprocess.run(mount, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise NotMeasured(f"no file system can be mounted here: {error}") from error
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


async def run(folder: Path, options: Options) -> Evidence:
    """Play the scenario and collect what is known afterwards."""
    with small_disk(folder / "disk") as disk:
        async with acting(OnSqlite(folder, disk)) as scene:
            await scene.begin()
            doors = [Door("proxy", "127.0.0.1", scene.data)]
            traffic = await scene.perform(doors, options, scene.kinds(), scene.act)
            waiting = await scene.settle()
            await scene.scraped.read()
            folded = {"the monitor": scene.folded()}
            await asyncio.sleep(PUBLISHED_S)
            skipped = scene.left_alone()
            return scene.evidence(traffic, seen_by_sqlite(scene.database), waiting, skipped, folded)
