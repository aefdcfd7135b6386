"""Roles on a Redis with a replica, watched by three Sentinels: primaries die and are replaced.

Every write that matters waits for the replica (`storage.redis.replicas: 1`). An entry that only a primary had
when it was lost no longer exists. So the witness reads everything that both servers ever wrote, and then
counts only the entries that still exist.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from typing import TYPE_CHECKING, Final

import redis

from benchmarks.chaos.faults import kinds_of, of_models, of_roles
from benchmarks.chaos.on_redis import MONITORS, PROXIES, WORKERS, OnRedis
from benchmarks.chaos.scene import PREFIX, closing_scene, until
from benchmarks.chaos.stage import Process, redis_answers, redis_server
from benchmarks.chaos.witness import StoreContents, VerdictEntry, contents_of_redis
from evenkeel.stores.redis.connection import RedisPlace, RedisStore
from tests.kit.records import altered

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from benchmarks.chaos.account import RunEvidence
    from benchmarks.chaos.faults import Kind, PlannedFault
    from benchmarks.chaos.scene import Options

_GROUP: Final = "chaos"
_HOST: Final = "127.0.0.1"
_LINK_EVERY_S: Final = 0.2  # often enough to link a file before its server deletes it
_SENTINELS: Final = 3
_NODES: Final = ("redis-a", "redis-b")


class OnSentinel(OnRedis):
    """Roles with two servers and three Sentinels."""

    def __init__(self, folder: Path, fsync: str) -> None:
        """Prepare the processes; see `OnRedis`."""
        self._sentinels: list[int] = []
        self.gone = 0
        """Number of exchanges that were lost with a primary."""
        super().__init__(folder, None, fsync)
        del self.roles["redis"]
        self._nodes = {name: next(self.ports) for name in _NODES}
        first = self._nodes[_NODES[0]]
        for name, port in self._nodes.items():
            command = redis_server(_HOST, port, folder / name, "--aof-use-rdb-preamble", "no", fsync=fsync)
            if port != first:
                command += ["--replicaof", f"{_HOST} {first}"]
            self.roles[name] = Process(name, command, folder)
        for number, port in enumerate(self._sentinels):
            name = f"sentinel-{number}"
            own = folder / name
            own.mkdir()
            config = own / "sentinel.conf"
            config.write_text(
                f"port {port}\nbind {_HOST}\ndir {own}\nlogfile {own / 'sentinel.log'}\n"
                f"sentinel monitor {_GROUP} {_HOST} {first} 2\n"
                f"sentinel down-after-milliseconds {_GROUP} 1000\n"
                f"sentinel failover-timeout {_GROUP} 6000\n"
            )
            self.roles[name] = Process(name, ["redis-server", config, "--sentinel"], folder)

    def _redis_settings(self) -> Mapping[str, object]:
        # The base class asks before the servers are prepared: only then ports are known.
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
                reply: list[object] = client.execute_command(*command)
                return reply
        raise redis.ConnectionError("no Sentinel answers")

    def primary(self) -> str:
        """Return the node that the Sentinels call the primary."""
        _, port = self._sentinel("SENTINEL", "GET-MASTER-ADDR-BY-NAME", _GROUP)
        first = _NODES[0]
        return first if self._nodes[first] == int(str(port)) else _NODES[1]

    async def act(self, fault: PlannedFault) -> None:
        """Make a fault happen."""
        target, name = fault.kind.target, fault.kind.name
        if target not in {"primary", "replica"}:
            await self.act_on_process(fault)
            return
        primary = await asyncio.to_thread(self.primary)
        replica = _NODES[1] if primary == _NODES[0] else _NODES[0]
        node = primary if target == "primary" else replica
        if name == "switch":
            with contextlib.suppress(redis.RedisError):  # refused if the replica is not ready for it
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
            replication = client.info("replication")
        online = replication.get("slave0", {}).get("state") == "online"
        return replication["role"] == "master" and online

    def kinds(self) -> list[Kind]:
        """Return the faults that this scene can have."""
        # Proxies are never killed, so that their counters are complete.
        roles = [kind for kind in of_roles((), WORKERS, MONITORS) if not kind.name.startswith("clock")]
        return [*roles, *kinds_of("failover"), *of_models()]

    def store(self) -> RedisStore:
        """Connect to the store through the Sentinels, as the roles do."""
        sentinels = tuple(f"{_HOST}:{port}" for port in self._sentinels)
        place = RedisPlace(url="redis://x/0", sentinels=sentinels, sentinel_master=_GROUP, prefix=PREFIX)
        return RedisStore(place)

    async def link(self) -> None:
        """Keep the files that a server deletes when it takes over the other's data."""
        folder = self.folder / "written"
        folder.mkdir()
        while True:
            for name in _NODES:
                for path in (self.folder / name / "appendonlydir").glob("*.aof"):
                    with contextlib.suppress(OSError):
                        link = folder / f"{name}-{path.stat().st_ino}-{path.name}"
                        if not link.exists():
                            os.link(path, link)
            await asyncio.sleep(_LINK_EVERY_S)

    def contents(self) -> StoreContents:
        """Read everything that was ever accepted, as far as it still exists."""
        files = sorted(self.folder.glob("written/*"), key=lambda path: path.stat().st_ctime)
        written = contents_of_redis(files, PREFIX)
        contents = StoreContents()
        with contextlib.closing(self.store()) as store:
            client = store.client
            for _, fields in client.xrange(store.key("main", "log")):
                contents.verdicts.append(VerdictEntry.from_stream(fields))
            for _, fields in client.xrange(store.key("main", "dead")):
                contents.dead[fields[b"id"].decode()] = fields[b"reason"].decode()
            existing = {exchange.decode() for exchange in client.hkeys(store.key("main", "exchange-ids"))}
        existing.update(contents.dead)
        existing.update(verdict.exchange for verdict in contents.verdicts)
        for exchange, request in written.accepted.items():
            if exchange in existing:
                contents.accepted[exchange] = request
        self.gone = len(written.accepted) - len(contents.accepted)
        return contents


async def run(folder: Path, options: Options) -> RunEvidence:
    """Play the scenario and collect the evidence."""
    async with closing_scene(OnSentinel(folder, options.fsync)) as scene:
        linking = asyncio.create_task(scene.link())
        await scene.begin()
        requests = await scene.perform(scene.proxies, options, scene.kinds())
        evidence = await scene.collect(requests)
        linking.cancel()
        print(f"  {scene.gone} exchanges were lost with a primary that had not confirmed them", flush=True)
        return evidence
