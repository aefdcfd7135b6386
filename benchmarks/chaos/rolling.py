"""Every role restarted under load, one after another, as an upgrade does it.

Workers and monitors are stopped with SIGTERM and started again. Of the proxies, every other round starts the
new one first, on another port, and lets clients go there. Clients have no special treatment: they keep their
connections, and open new ones where the last answer said "close", or the proxy closed, or a new one refuses.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from typing import TYPE_CHECKING, Final

from benchmarks.chaos.account import Evidence, Line
from benchmarks.chaos.faults import Happened
from benchmarks.chaos.on_redis import MONITORS, PROXIES, WORKERS, OnRedis
from benchmarks.chaos.scene import KEYS, PREFIX, acting
from benchmarks.chaos.stage import Process, evenkeel
from benchmarks.chaos.traffic import Door, Mix, Traffic
from benchmarks.chaos.upstream import read_log
from benchmarks.chaos.witness import seen_by_redis

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.chaos.scene import Options
    from benchmarks.chaos.traffic import Request

_ORDER: Final = tuple(name for pair in zip(WORKERS, MONITORS, PROXIES, strict=True) for name in pair)


class Rolling(OnRedis):
    """The roles, and their restarts."""

    def __init__(self, folder: Path, fsync: str) -> None:
        """Args: folder: for everything. fsync: how Redis writes its log."""
        super().__init__(folder, None, fsync)
        self.codes: Counter[int] = Counter()

    async def restart(self, name: str) -> None:
        """Stop one and start it again."""
        process = self.roles[name]
        began = time.time()
        self.codes[await process.end()] += 1
        process.start()
        await process.serving()
        self.happened.append(Happened("restart", name, began, time.time()))

    async def replace(self, number: int, traffic: Traffic) -> None:
        """Start a proxy in the place of another, let clients go there, and stop the former one."""
        name = PROXIES[number]
        before, began = self.roles[name], time.time()
        port, admin = next(self.ports), next(self.ports)
        command = evenkeel("proxy", self.near, "--port", str(port), "--admin-port", str(admin))
        after = Process(name, command, self.folder, ready="base URL", environment=KEYS)
        after.start()
        await after.serving()
        traffic.doors[number] = Door(f"{name} at {port}", "127.0.0.1", port)
        self.roles[name] = after
        self.codes[await before.end()] += 1
        self.scraped.urls[f"{name} at {port}"] = f"http://127.0.0.1:{admin}"
        self.happened.append(Happened("replace", name, began, time.time()))


def of_restarts(evidence: Evidence, codes: Counter[int]) -> tuple[list[Line], list[Request]]:
    """What clients saw of it."""
    cuts = Counter(
        "closed with a request on its way" if cut.what == "before the answer" and cut.reused else cut.what
        for one in evidence.requests
        for cut in one.cuts
    )
    failed = [one for one in evidence.requests if one.outcome == "failed"]
    within = cuts["within the answer"] + cuts["no answer in time"]
    outcomes = Counter(one.outcome for one in evidence.requests)
    wrong = sum(count for code, count in codes.items() if code)
    raced = cuts["closed with a request on its way"]
    return [
        Line("processes stopped with SIGTERM", codes.total()),
        Line("  that ended with another code than 0", wrong, bad=wrong > 0),
        Line("requests", len(evidence.requests)),
        Line("answered in full", outcomes["answered"]),
        Line("left by the client on purpose", outcomes["left on purpose"]),
        Line("new connections refused by a proxy that stops", cuts["refused"], note="went to the other one"),
        Line(
            "connections accepted and closed unread",
            cuts["before the answer"],
            bad=cuts["before the answer"] > 0,
        ),
        Line("connections closed with a request on its way", raced, note="sent once more; see above"),
        Line("answers cut", within, bad=within > 0),
        Line("failed", len(failed), bad=bool(failed)),
    ], failed


async def run(folder: Path, options: Options) -> tuple[Evidence, Counter[int]]:
    """Restart everything in turn for so many seconds, then settle."""
    async with acting(Rolling(folder, options.fsync)) as scene:
        await scene.begin()
        mix = Mix(faults=0.0)
        traffic = Traffic(scene.doors, random.Random(options.seed), rate=options.rate, mix=mix)
        load = asyncio.create_task(traffic.run())
        scraping = asyncio.create_task(scene.scraped.run())
        await asyncio.sleep(2.0)
        began, turn = time.monotonic(), 0
        while time.monotonic() - began < options.seconds or turn % len(_ORDER):
            name = _ORDER[turn % len(_ORDER)]
            if name in PROXIES and turn // len(_ORDER) % 2:
                await scene.replace(PROXIES.index(name), traffic)
            else:
                await scene.restart(name)
            turn += 1
        traffic.stop.set()
        await load
        scraping.cancel()
        print(f"  {turn} restarts; {traffic.tally()}; settling", flush=True)
        waiting = await scene.settle()
        evidence = Evidence(
            traffic.requests,
            read_log(folder / "upstream.calls"),
            scene.happened,
            seen_by_redis(scene.aof(), PREFIX),
            waiting,
            scene.scraped.by_reason(),
            await asyncio.to_thread(scene.left_alone),
            await asyncio.to_thread(scene.folded),
            scene.deaths,
        )
        return evidence, scene.codes
