"""Two proxies, two workers and two monitors on a Redis; with a second host where that is permitted.

They meet faults, or a rolling restart: every role restarted under load, one after another, as an upgrade does
it. Workers and monitors are stopped with SIGTERM and started again. Of the proxies, every other round starts
the new one first, on another port, and lets clients go there. Clients have no special treatment: they keep
their connections, and open new ones where the last answer said "close", or the proxy closed, or a new one
refuses.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import re
import time
from collections import Counter
from typing import TYPE_CHECKING, Final

import redis

from benchmarks.chaos import faults
from benchmarks.chaos.account import Evidence, Line
from benchmarks.chaos.faults import Happened
from benchmarks.chaos.scene import KEYS, PREFIX, PUBLISHED_S, Scene, acting, skipped_by_workers, until
from benchmarks.chaos.stage import (
    OtherHost,
    Process,
    Relay,
    evenkeel,
    redis_answers,
    redis_server,
    trials_counted,
)
from benchmarks.chaos.traffic import Door, Mix, Traffic
from benchmarks.chaos.witness import append_only_files, seen_by_redis
from evenkeel.stores.redis.connection import RedisPlace, RedisStore
from evenkeel.stores.redis.counters import RedisCounterStore
from evenkeel.stores.redis.queue import RedisExchangeQueue

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from benchmarks.chaos.faults import Fault
    from benchmarks.chaos.scene import Options
    from benchmarks.chaos.traffic import Request


PROXIES: Final = ("proxy-1", "proxy-2")
WORKERS: Final = ("worker-1", "worker-2")
MONITORS: Final = ("monitor-1", "monitor-2")
_FULL: Final = "1"
"""`maxmemory` in bytes: every command that needs memory is refused."""


class OnRedis(Scene):
    """The roles on one Redis behind a relay; `worker-2` and `monitor-2` on a host of their own."""

    def __init__(self, folder: Path, other: OtherHost | None, fsync: str) -> None:
        """Args: folder: for everything. other: the second host. fsync: how Redis writes its log."""
        super().__init__(folder, other.here if other else "127.0.0.1")
        self.other = other
        self.redis_port, relay_port = next(self.ports), next(self.ports)
        self.relay = Relay("127.0.0.1", self.redis_port)
        self._relay_port = relay_port
        self.redis_folder = folder / "redis"
        command = redis_server(self.host, self.redis_port, self.redis_folder, fsync=fsync)
        self.roles["redis"] = Process("redis", command, folder)
        self.near = self._config("near", f"redis://{self.host}:{relay_port}/0")
        far = self._config("far", f"redis://{self.host}:{self.redis_port}/0")
        self.doors: list[Door] = []
        for name in PROXIES:
            port = next(self.ports)
            self.doors.append(Door(name, "127.0.0.1", port))
            admin = next(self.ports)
            self.scraped.urls[name] = f"http://127.0.0.1:{admin}"
            command = evenkeel("proxy", self.near, "--port", str(port), "--admin-port", str(admin))
            self._role(name, command, "base URL")
        for name in WORKERS:
            self._role(
                name, self._there(name, evenkeel("worker", far if name[-1] == "2" else self.near)), "queue  "
            )
        for name in MONITORS:
            command = evenkeel("monitor", far if name[-1] == "2" else self.near, "--name", name)
            self._role(name, self._there(name, command), "console  ")

    def _there(self, name: str, command: list[str | Path]) -> list[str | Path]:
        return self.other.on(command) if self.other and name.endswith("2") else command

    def _config(self, name: str, url: str) -> Path:
        return self.write(
            name, self.settings(storage={"redis": {"url": url, "prefix": PREFIX, **self._more()}})
        )

    def _more(self) -> Mapping[str, object]:
        return {}

    def _role(self, name: str, command: list[str | Path], ready: str) -> None:
        self.roles[name] = Process(name, command, self.folder, ready=ready, clock=True, environment=KEYS)

    async def begin(self) -> None:
        """Start everything."""
        await self.start("redis", "upstream", "judge")
        await redis_answers(self.redis_port)
        await self.relay.listen(self.host, self._relay_port)
        await self.start(*WORKERS, *MONITORS, *PROXIES)

    async def act(self, fault: Fault) -> None:
        """Let a fault happen."""
        kind = fault.kind
        if kind.target == "cable":
            assert self.other is not None
            await asyncio.to_thread(self.other.cut)
            await asyncio.sleep(fault.for_s)
            await asyncio.to_thread(self.other.join)
        elif kind.target != "redis" or kind.name == "freeze":
            await self.act_on_process(fault)
        elif kind.name == "kill":
            process = self.roles["redis"]
            process.kill()
            await asyncio.sleep(fault.for_s)
            process.start()
            await redis_answers(self.redis_port)
        elif kind.name == "pause":
            self._ask("CLIENT", "PAUSE", round(fault.for_s * 1000), "ALL")
            await asyncio.sleep(fault.for_s)
        elif kind.name == "full":
            self._ask("CONFIG", "SET", "maxmemory", _FULL)
            await asyncio.sleep(fault.for_s)
            self._ask("CONFIG", "SET", "maxmemory", "0")
        elif kind.name == "slow":
            self.relay.delay_s = fault.amount / 2
            await asyncio.sleep(fault.for_s)
            self.relay.delay_s = 0.0
        else:
            await self.relay.cut()
            await asyncio.sleep(fault.for_s)
            await self.relay.join()

    def _ask(self, *command: object) -> None:
        with redis.Redis(port=self.redis_port, socket_timeout=30.0) as client:
            client.execute_command(*command)

    def kinds(self) -> list[faults.Kind]:
        """What can go wrong here."""
        roles = faults.of_roles(PROXIES, WORKERS, MONITORS)
        return [*roles, *faults.of_models(), *faults.of_redis(cable=self.other is not None)]

    def store(self) -> RedisStore:
        """Past the relay."""
        return RedisStore(RedisPlace(url=f"redis://127.0.0.1:{self.redis_port}/0", prefix=PREFIX))

    def aof(self) -> list[Path]:
        """What the witness reads."""
        return append_only_files(self.redis_folder)

    async def settle(self) -> list[str]:
        """Wait until the queue is empty and the monitors have seen all; returns what waits still."""
        store = self.store()
        with contextlib.closing(store):
            queue = RedisExchangeQueue(store, time.time)

            def empty() -> bool:
                lag = queue.lag()
                return not lag.waiting and not lag.leased

            await until(empty, "the queue is empty")
            await until(self._all_folded, "the monitors have counted every verdict", 60.0)
            rows = store.client.xrange(store.key("main", "exchanges"))
            return [fields[b"id"].decode() for _, fields in rows]

    def folded(self) -> dict[str, int]:
        """Rated trials that each monitor counts."""
        found = {}
        for name in MONITORS:
            match = re.search(r"console +(http://\S+?)/\n", self.roles[name].said())
            assert match is not None
            host = self.other if self.other and name.endswith("2") else None
            found[name] = trials_counted(match[1], host)
        return found

    def _all_folded(self) -> bool:
        return set(self.folded().values()) == {self._rated()}

    def _rated(self) -> int:
        seen = seen_by_redis(self.aof(), PREFIX)
        return len({one.id for one in seen.verdicts if not one.failure})

    def left_alone(self) -> Counter[str]:
        """What workers left alone, by reason, as they published it."""
        store = self.store()
        with contextlib.closing(store):
            return skipped_by_workers(RedisCounterStore(store, time.time).read())


async def run(folder: Path, options: Options) -> Evidence:
    """Play the scenario and collect what is known afterwards."""
    with OtherHost.made() as other:
        async with acting(OnRedis(folder, other, options.fsync)) as scene:
            if other is None:
                print("  no network namespaces here: nothing is cut between hosts", flush=True)
            await scene.begin()
            traffic = await scene.perform(scene.doors, options, scene.kinds(), scene.act)
            waiting = await scene.settle()
            folded = await asyncio.to_thread(scene.folded)
            await asyncio.sleep(PUBLISHED_S)
            skipped = await asyncio.to_thread(scene.left_alone)
            await scene.scraped.read()
            return scene.evidence(traffic, seen_by_redis(scene.aof(), PREFIX), waiting, skipped, folded)


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


async def restart_all(folder: Path, options: Options) -> tuple[Evidence, Counter[int]]:
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
        await asyncio.sleep(PUBLISHED_S)
        skipped = await asyncio.to_thread(scene.left_alone)
        folded = await asyncio.to_thread(scene.folded)
        evidence = scene.evidence(traffic, seen_by_redis(scene.aof(), PREFIX), waiting, skipped, folded)
        return evidence, scene.codes
