"""The roles on a Redis with a replica, watched by three Sentinels: primaries die and are replaced.

Every write that matters waits for the replica (`storage.redis.replicas: 1`). What only a primary had when
it was lost no longer exists; the witness reads all that both servers ever wrote, and then what is there.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from typing import TYPE_CHECKING, Final

import redis

from benchmarks.chaos import faults
from benchmarks.chaos.on_redis import MONITORS, PROXIES, WORKERS, OnRedis
from benchmarks.chaos.scene import PREFIX, acting, until
from benchmarks.chaos.stage import Process, redis_answers, redis_server
from benchmarks.chaos.witness import Logged, Seen, seen_by_redis
from evenkeel.stores.redis.connection import Host, RedisPlace, RedisStore
from tests.kit.records import altered

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from benchmarks.chaos.account import Evidence
    from benchmarks.chaos.faults import Fault
    from benchmarks.chaos.scene import Options

_GROUP: Final = "chaos"
_HOST: Final = "127.0.0.1"
_LINK_EVERY_S: Final = 0.2
_SENTINELS: Final = 3
_NODES: Final = ("redis-a", "redis-b")


class OnSentinel(OnRedis):
    """The roles, two servers and three Sentinels."""

    def __init__(self, folder: Path, fsync: str) -> None:
        """Args: folder: for everything. fsync: how Redis writes its log."""
        self._sentinels: list[int] = []
        self.gone = 0
        """Exchanges that a primary had written when it was lost with them."""
        super().__init__(folder, None, fsync)
        del self.roles["redis"]
        self._nodes = {name: next(self.ports) for name in _NODES}
        first = self._nodes[_NODES[0]]
        for name, port in self._nodes.items():
            more = ("--aof-use-rdb-preamble", "no")
            if port != first:
                more += ("--replicaof", f"{_HOST} {first}")
            command = redis_server(_HOST, port, folder / name, *more, fsync=fsync)
            self.roles[name] = Process(name, command, folder)
        for number, port in enumerate(self._sentinels):
            own = folder / f"sentinel-{number}"
            own.mkdir()
            config = own / "sentinel.conf"
            config.write_text(
                f"port {port}\nbind {_HOST}\ndir {own}\nlogfile {own / 'sentinel.log'}\n"
                f"sentinel monitor {_GROUP} {_HOST} {first} 2\n"
                f"sentinel down-after-milliseconds {_GROUP} 1000\n"
                f"sentinel failover-timeout {_GROUP} 6000\n"
            )
            self.roles[f"sentinel-{number}"] = Process(
                f"sentinel-{number}", ["redis-server", config, "--sentinel"], folder
            )

    def _more(self) -> Mapping[str, object]:
        if not self._sentinels:
            self._sentinels = [next(self.ports) for _ in range(_SENTINELS)]
        return {
            "sentinels": [f"{_HOST}:{port}" for port in self._sentinels],
            "sentinel_master": _GROUP,
            "replicas": 1,
        }

    async def begin(self) -> None:
        """Start everything."""
        await self.start(*_NODES, "upstream", "judge")
        for port in self._nodes.values():
            await redis_answers(port)
        await self.start(*(f"sentinel-{number}" for number in range(_SENTINELS)))
        await until(
            lambda: self._sentinel("SENTINEL", "REPLICAS", _GROUP) != [], "Sentinels know the replica", 60
        )
        await self.start(*WORKERS, *MONITORS, *PROXIES)

    def _sentinel(self, *command: str) -> list[object]:
        for port in self._sentinels:
            with (
                contextlib.suppress(redis.RedisError),
                redis.Redis(port=port, socket_timeout=2.0, decode_responses=True) as client,
            ):
                found: list[object] = client.execute_command(*command)
                return found
        raise redis.ConnectionError("no Sentinel answers")

    def primary(self) -> str:
        """Which node the Sentinels name."""
        _, port = self._sentinel("SENTINEL", "GET-MASTER-ADDR-BY-NAME", _GROUP)
        return next(name for name, mine in self._nodes.items() if mine == int(str(port)))

    async def act(self, fault: Fault) -> None:
        """Let a fault happen."""
        target, name = fault.kind.target, fault.kind.name
        if target not in {"primary", "replica"}:
            await self.act_on_process(fault)
            return
        primary = await asyncio.to_thread(self.primary)
        node = next(one for one in _NODES if (one == primary) == (target == "primary"))
        if name == "switch":
            with contextlib.suppress(redis.RedisError):  # refused where the replica is not ready for it
                await asyncio.to_thread(self._sentinel, "SENTINEL", "FAILOVER", _GROUP)
        elif name == "kill":
            self.roles[node].kill()
            await asyncio.sleep(fault.for_s)
            self.roles[node].start()
            await redis_answers(self._nodes[node])
        else:
            await self.act_on_process(altered(fault, kind=fault.kind._replace(target=node)))
        await until(self._in_step, "the replica follows the primary", 60.0)

    def _in_step(self) -> bool:
        with redis.Redis(port=self._nodes[self.primary()], socket_timeout=2.0) as client:
            found = client.info("replication")
        return found["role"] == "master" and found.get("slave0", {}).get("state") == "online"

    def kinds(self) -> list[faults.Kind]:
        """What can go wrong here; proxies live on, so that what they counted is known in full."""
        roles = [kind for kind in faults.of_roles((), WORKERS, MONITORS) if not kind.name.startswith("clock")]
        return [*roles, *faults.of_failover(), *faults.of_models()]

    def store(self) -> RedisStore:
        """As the roles find it."""
        guards = tuple(Host(_HOST, port) for port in self._sentinels)
        place = RedisPlace(url="redis://x/0", sentinels=guards, sentinel_master=_GROUP, prefix=PREFIX)
        return RedisStore(place)

    def aof(self) -> list[Path]:
        """All that both servers ever wrote."""
        return sorted(self.folder.glob("written/*"), key=lambda path: path.stat().st_ctime)

    async def link(self) -> None:
        """Keep what a server deletes when it takes over the other's data."""
        kept = self.folder / "written"
        kept.mkdir()
        while True:
            for name in _NODES:
                for path in (self.folder / name / "appendonlydir").glob("*.aof"):
                    with contextlib.suppress(OSError):
                        place = kept / f"{name}-{path.stat().st_ino}-{path.name}"
                        if not place.exists():
                            os.link(path, place)
            await asyncio.sleep(_LINK_EVERY_S)

    def seen(self) -> Seen:
        """What is there at the end, of all that was ever put."""
        written = seen_by_redis(self.aof(), PREFIX)
        store = self.store()
        with contextlib.closing(store):
            client = store.client
            log = client.xrange(store.key("main", "log"))
            dead = client.xrange(store.key("main", "dead"))
            waiting = client.hkeys(store.key("main", "exchange-ids"))
        verdicts = [
            Logged.read(fields[b"id"].decode(), fields[b"exchange"].decode(), fields[b"body"])
            for _, fields in log
        ]
        letters = {fields[b"id"].decode(): fields[b"reason"].decode() for _, fields in dead}
        there = {one.exchange for one in verdicts} | set(letters) | {one.decode() for one in waiting}
        accepted = {one: request for one, request in written.accepted.items() if one in there}
        self.gone = len(written.accepted) - len(accepted)
        return Seen(accepted, verdicts, letters)

    def _rated(self) -> int:
        return len({one.id for one in self.seen().verdicts if not one.failure})


async def run(folder: Path, options: Options) -> Evidence:
    """Play the scenario and collect what is known afterwards."""
    async with acting(OnSentinel(folder, options.fsync)) as scene:
        linking = asyncio.create_task(scene.link())
        await scene.begin()
        traffic = await scene.perform(scene.doors, options, scene.kinds(), scene.act)
        waiting = await scene.settle()
        await scene.scraped.read()
        linking.cancel()
        seen = await asyncio.to_thread(scene.seen)
        print(f"  {scene.gone} exchanges were lost with a primary that had not confirmed them", flush=True)
        skipped = await asyncio.to_thread(scene.left_alone)
        folded = await asyncio.to_thread(scene.folded)
        return scene.evidence(traffic, seen, waiting, skipped, folded)
