"""Two proxies, two workers and two monitors on a Redis, with a second host if that is permitted.

They meet faults or a rolling restart, which restarts every role under load, one after another, as an upgrade
does. Workers and monitors are stopped with SIGTERM and started again. Every other round replaces proxies: it
starts the new one first, on another port, to which clients then go. Clients get no special treatment: they
keep their connections, and open a new one only if the last answer said "close", if the proxy closed it, or if
a new one was refused.
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

from benchmarks.chaos.account import Line, RunEvidence
from benchmarks.chaos.faults import Kind, kinds_of, of_models, of_roles
from benchmarks.chaos.scene import KEYS, PREFIX, Scene, closing_scene
from benchmarks.chaos.stage import (
    OtherHost,
    Process,
    RedisRelay,
    evenkeel,
    redis_answers,
    redis_server,
    trials_counted,
)
from benchmarks.chaos.traffic import ProxyAddress, SimulatedClients
from benchmarks.chaos.witness import append_only_files, contents_of_redis
from evenkeel.stores.counters import CounterStore
from evenkeel.stores.redis.connection import RedisPlace, RedisStore
from evenkeel.stores.redis.documents import RedisDocuments

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from benchmarks.chaos.faults import PlannedFault
    from benchmarks.chaos.scene import Options
    from benchmarks.chaos.traffic import Request
    from benchmarks.chaos.witness import StoreContents
    from evenkeel.stores.counters import Snapshot


PROXIES: Final = ("proxy-1", "proxy-2")
WORKERS: Final = ("worker-1", "worker-2")
MONITORS: Final = ("monitor-1", "monitor-2")
# `maxmemory` in bytes with which Redis refuses every command that needs memory.
_FULL: Final = "1"


class OnRedis(Scene):
    """Roles on one Redis behind a relay; `worker-2` and `monitor-2` are on another host."""

    def __init__(self, folder: Path, other: OtherHost | None, fsync: str) -> None:
        """Prepare the processes.

        Args:
            folder: Folder for logs, settings and data.
            other: The second host; None runs everything on this one.
            fsync: Setting `appendfsync` of Redis.
        """
        super().__init__(folder, other.here if other else "127.0.0.1")
        self.other = other
        self.redis_port = next(self.ports)
        self.relay = RedisRelay("127.0.0.1", self.redis_port)
        self._relay_port = next(self.ports)
        self.redis_folder = folder / "redis"
        command = redis_server(self.host, self.redis_port, self.redis_folder, fsync=fsync)
        self.roles["redis"] = Process("redis", command, folder)
        # The roles on this host use the relay, those on the other one do not.
        self._near = self._config("near", f"redis://{self.host}:{self._relay_port}/0")
        self._far = self._config("far", f"redis://{self.host}:{self.redis_port}/0")
        self.proxies: list[ProxyAddress] = []
        for name in PROXIES:
            port, admin = next(self.ports), next(self.ports)
            self.proxies.append(ProxyAddress(name, "127.0.0.1", port))
            self.drops.urls[name] = f"http://127.0.0.1:{admin}"
            self._add_role(name, "proxy", "base URL", "--port", str(port), "--admin-port", str(admin))
        for name in WORKERS:
            self._add_role(name, "worker", "queue  ")
        for name in MONITORS:
            self._add_role(name, "monitor", "console  ", "--name", name)

    def _add_role(self, name: str, role: str, ready: str, *arguments: str) -> None:
        far = name in {"worker-2", "monitor-2"}
        command = evenkeel(role, self._far if far else self._near, *arguments)
        if far and self.other:
            command = self.other.on(command)
        self.roles[name] = Process(name, command, self.folder, ready=ready, clock=True, environment=KEYS)

    def _config(self, name: str, url: str) -> Path:
        storage = {"redis": {"url": url, "prefix": PREFIX, **self._redis_settings()}}
        return self.write(name, self.settings(storage=storage))

    def _redis_settings(self) -> Mapping[str, object]:
        """Return further settings of `storage.redis`."""
        return {}

    async def begin(self) -> None:
        """Start everything."""
        await self.start("redis", "upstream", "judge")
        await redis_answers(self.redis_port)
        await self.relay.listen(self.host, self._relay_port)
        await self.start(*WORKERS, *MONITORS, *PROXIES)

    async def act(self, fault: PlannedFault) -> None:
        """Make a fault happen."""
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

    def kinds(self) -> list[Kind]:
        """Return the faults that this scene can have."""
        kinds = [*of_roles(PROXIES, WORKERS, MONITORS), *of_models(), *kinds_of("redis")]
        if self.other is not None:
            kinds += kinds_of("cable")
        return kinds

    def store(self) -> RedisStore:
        """Connect to the store without the relay."""
        return RedisStore(RedisPlace(url=f"redis://127.0.0.1:{self.redis_port}/0", prefix=PREFIX))

    def contents(self) -> StoreContents:
        """Read the contents that the store accepted."""
        return contents_of_redis(append_only_files(self.redis_folder), PREFIX)

    def waiting(self) -> list[str]:
        """Return the ids of the exchanges in the queue."""
        with contextlib.closing(self.store()) as store:
            rows = store.client.xrange(store.key("main", "exchanges"))
        return [fields[b"id"].decode() for _, fields in rows]

    def folded(self) -> dict[str, int]:
        """Return the number of rated trials that each monitor counts."""
        counts = {}
        for name in MONITORS:
            match = re.search(r"console +(http://\S+?)/\n", self.roles[name].output())
            assert match is not None
            host = self.other if name.endswith("2") else None
            counts[name] = trials_counted(match[1], host)
        return counts

    def counters(self) -> list[Snapshot]:
        """Return the counters that the processes published."""
        with contextlib.closing(self.store()) as store:
            return list(CounterStore(RedisDocuments(store), time.time).read())


async def run(folder: Path, options: Options) -> RunEvidence:
    """Play the scenario and collect the evidence."""
    with OtherHost.made() as other:
        async with closing_scene(OnRedis(folder, other, options.fsync)) as scene:
            if other is None:
                print("  no network namespaces here: nothing is cut between hosts", flush=True)
            await scene.begin()
            requests = await scene.perform(scene.proxies, options, scene.kinds())
            return await scene.collect(requests)


_ORDER: Final = ("worker-1", "monitor-1", "proxy-1", "worker-2", "monitor-2", "proxy-2")


class Rolling(OnRedis):
    """Roles that are restarted one after another."""

    def __init__(self, folder: Path, fsync: str) -> None:
        """Prepare the processes, all on this host; see `OnRedis`."""
        super().__init__(folder, None, fsync)
        self.codes: Counter[int] = Counter()

    async def restart(self, name: str) -> None:
        """Stop a process and start it again."""
        process = self.roles[name]
        began = time.time()
        self.codes[await process.end()] += 1
        process.start()
        await process.serving()
        self.record("restart", name, began)

    async def replace(self, number: int, clients: SimulatedClients) -> None:
        """Start another proxy, send the clients there, and stop the former one."""
        name = PROXIES[number]
        before = self.roles[name]
        began = time.time()
        port, admin = next(self.ports), next(self.ports)
        command = evenkeel("proxy", self._near, "--port", str(port), "--admin-port", str(admin))
        after = Process(name, command, self.folder, ready="base URL", environment=KEYS)
        after.start()
        await after.serving()
        # Another name keeps the counters of the former proxy apart.
        address = ProxyAddress(f"{name} at {port}", "127.0.0.1", port)
        clients.proxies[number] = address
        self.roles[name] = after
        self.codes[await before.end()] += 1
        self.drops.urls[address.name] = f"http://127.0.0.1:{admin}"
        self.record("replace", name, began)


def of_restarts(evidence: RunEvidence, codes: Counter[int]) -> tuple[list[Line], list[Request]]:
    """Return the account of the requests during restarts, and the requests that failed."""
    cuts = Counter[str]()
    # Connections that the proxy closed just when the client sent its next request.
    raced = 0
    failed = []
    for request in evidence.requests:
        if request.outcome == "failed":
            failed.append(request)
        for cut in request.cuts:
            if cut.what == "before the answer" and cut.reused:
                raced += 1
            else:
                cuts[cut.what] += 1
    within = cuts["within the answer"] + cuts["no answer in time"]
    outcomes = Counter(request.outcome for request in evidence.requests)
    wrong = codes.total() - codes[0]
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


async def restart_all(folder: Path, options: Options) -> tuple[RunEvidence, Counter[int]]:
    """Restart the roles in turn for some seconds, and collect the evidence and the exit codes."""
    async with closing_scene(Rolling(folder, options.fsync)) as scene:
        await scene.begin()
        rng = random.Random(options.seed)
        clients = SimulatedClients(scene.proxies, rng, rate=options.rate, faults=0.0)
        load = asyncio.create_task(clients.run())
        reading = asyncio.create_task(scene.drops.run())
        await asyncio.sleep(2.0)
        began = time.monotonic()
        turn = 0
        # The last round is always completed.
        while time.monotonic() - began < options.seconds or turn % len(_ORDER):
            name = _ORDER[turn % len(_ORDER)]
            if name in PROXIES and turn // len(_ORDER) % 2:
                await scene.replace(PROXIES.index(name), clients)
            else:
                await scene.restart(name)
            turn += 1
        clients.stop.set()
        await load
        reading.cancel()
        print(f"  {turn} restarts; {clients.tally()}; settling", flush=True)
        return await scene.collect(clients.requests), scene.codes
