"""Common base of the scenarios: options, a simulated model and judge, settings, and records of the faults.

Counters of processes that may die are read twice a second, as Prometheus would read them.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import re
import signal
import sys
import time
import urllib.request
from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

from benchmarks.chaos.account import RunEvidence
from benchmarks.chaos.faults import FaultRecord, PlannedFault, draw
from benchmarks.chaos.stage import Process, free_ports, series
from benchmarks.chaos.traffic import SimulatedClients
from benchmarks.chaos.upstream import read_log

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from benchmarks.chaos.faults import Kind
    from benchmarks.chaos.traffic import ProxyAddress, Request
    from benchmarks.chaos.witness import StoreContents
    from evenkeel.stores.counters import Snapshot


_EVERY_S: Final = 0.5  # between two readings of the counters
_NAME: Final = "evenkeel_exchanges_skipped_total"


class DropCounter:
    """Exchanges that proxies did not queue, counted over all lives of their processes."""

    def __init__(self) -> None:
        self.urls: dict[str, str] = {}
        """Addresses of the processes' metrics, by process."""
        self._ended: Counter[str] = Counter()
        self._latest: dict[str, dict[str, float]] = {}

    async def read(self) -> None:
        """Read the counters of every process that can be reached.

        A counter that fell belongs to a new process; the last reading of the former one is then added up.
        """
        for process, url in self.urls.items():
            try:
                reading = await asyncio.to_thread(series, url, _NAME, None, 2.0)
            except OSError:
                continue
            before = self._latest.get(process, {})
            if any(reading.get(name, 0.0) < value for name, value in before.items()):
                self._ended.update(_whole(before))
            self._latest[process] = reading

    async def run(self) -> None:
        """Read the counters until cancelled."""
        while True:
            await self.read()
            await asyncio.sleep(_EVERY_S)

    def by_reason(self) -> Counter[str]:
        """Return the total of all processes, living and dead, by reason."""
        total = Counter(self._ended)
        for reading in self._latest.values():
            total.update(_whole(reading))
        reasons: Counter[str] = Counter()
        for name, count in total.items():
            match = re.search(r'reason="([^"]*)"', name)
            reasons[match[1] if match else "?"] += count
        return reasons


def _whole(reading: Mapping[str, float]) -> Counter[str]:
    """Return the counters of a reading as whole numbers."""
    return Counter({name: round(value) for name, value in reading.items()})


PREFIX: Final = "chaos"
KEYS: Final = {"EVENKEEL_JUDGE_API_KEY": "k"}
_LATENCY_S: Final = 0.05  # of a simulated model's answers, in calm times
_CATCH_UP_S: Final = 300.0  # longest wait for the roles after the load
# Settings of a simulated model after a fault.
_CALM: Final = {"error_rate": 0.0, "latency_s": _LATENCY_S}
_PROGRESS_EVERY: Final = 25
_PUBLISHED_S: Final = 3.0  # until every process has published its last counters


SceneT = TypeVar("SceneT", bound="Scene")


class Scene(ABC):
    """Model, judge and roles, and the faults that they meet."""

    def __init__(self, folder: Path, host: str) -> None:
        """Prepare the model and the judge.

        Args:
            folder: Folder for logs, settings and data.
            host: Address that all processes can reach.
        """
        self.folder = folder
        self.host = host
        self.ports = free_ports(host)
        self.fault_records: list[FaultRecord] = []
        self.roles: dict[str, Process] = {}
        self.urls: dict[str, str] = {}
        self.drops = DropCounter()
        self._lanes: dict[str, asyncio.Lock] = {}
        self._under_way: set[asyncio.Task[None]] = set()
        for name in ("upstream", "judge"):
            port = next(self.ports)
            self.urls[name] = f"http://{host}:{port}"
            command = [sys.executable, "-m", "benchmarks.chaos.upstream", "--host", host, "--port", str(port)]
            command += ["--log", str(folder / f"{name}.calls"), "--latency", str(_LATENCY_S)]
            self.roles[name] = Process(name, command, folder, ready="listening")

    def settings(self, **more: Any) -> dict[str, Any]:
        """Return settings that sample everything and use the simulated judge."""
        return {
            "routes": [
                {
                    "upstream": self.urls["upstream"],
                    "sampling_rate": 1.0,
                    "trials": {
                        "perturbations": ["general.casing", "general.whitespace", "general.spelling"],
                        "per_exchange": 1,
                    },
                    # Longer than any fault of the model, so that proxies wait for a model that stands still.
                    "timeouts": {"silence_s": 30},
                }
            ],
            "listen": {"port": 0},
            "access": {"port": 0, "open_on_loopback": True},
            "data_dir": str(self.folder / "data"),
            "judge": {"base_url": f"{self.urls['judge']}/v1", "model": "simulated-judge"},
            "budget": {"tokens_per_day": None, "usd_per_day": None},
            "simulated": True,
            **more,
        }

    def write(self, name: str, settings: Mapping[str, Any]) -> Path:
        """Write a settings file."""
        path = self.folder / f"{name}.yaml"
        path.write_text(json.dumps(settings))
        return path

    async def start(self, *names: str) -> None:
        """Start processes and wait until all of them serve."""
        for name in names:
            self.roles[name].start()
        for name in names:
            await self.roles[name].serving()

    async def end(self) -> None:
        """Stop all processes, the last one first."""
        for process in reversed(self.roles.values()):
            process.send(signal.SIGCONT)
            process.kill()

    # Faults

    async def play(self, faults: list[PlannedFault]) -> None:
        """Make the faults happen at their times, those of one lane one after another; then revive all."""
        began = time.monotonic()
        helpers = [asyncio.create_task(self._watch()), asyncio.create_task(self.drops.run())]
        for number, fault in enumerate(faults, 1):
            await asyncio.sleep(max(0.0, began + fault.at_s - time.monotonic()))
            task = asyncio.create_task(self._happen(fault))
            # A task to which nothing refers could be collected before it ends.
            self._under_way.add(task)
            task.add_done_callback(self._under_way.discard)
            if number % _PROGRESS_EVERY == 0:
                print(f"  {number} faults begun, {time.monotonic() - began:.0f} s", flush=True)
        await asyncio.gather(*self._under_way)
        for task in helpers:
            task.cancel()
        await self._revive()

    async def perform(
        self, proxies: list[ProxyAddress], options: Options, kinds: Sequence[Kind]
    ) -> list[Request]:
        """Play faults of these kinds under load; return the requests when all have ended."""
        clients = SimulatedClients(proxies, random.Random(options.seed), rate=options.rate)
        load = asyncio.create_task(clients.run())
        await asyncio.sleep(2.0)
        await self.play(draw(kinds, options.seed, options.faults, options.seconds))
        await asyncio.sleep(2.0)
        clients.stop.set()
        await load
        print(f"  {clients.tally()}; settling", flush=True)
        return clients.requests

    async def collect(self, requests: list[Request]) -> RunEvidence:
        """Wait until everything is scored and counted, and return the evidence about the run."""
        await until(lambda: not self.waiting(), "the queue is empty")
        await until(self._all_folded, "every verdict has been counted", 60.0)
        # Processes publish their counters once a second.
        await asyncio.sleep(_PUBLISHED_S)
        await self.drops.read()
        return RunEvidence(
            requests=requests,
            model_log=read_log(self.folder / "upstream.calls"),
            faults=sorted(self.fault_records, key=lambda fault: fault.began),
            stored=await asyncio.to_thread(self.contents),
            waiting=await asyncio.to_thread(self.waiting),
            dropped=self.drops.by_reason(),
            skipped=skipped_by_workers(await asyncio.to_thread(self.counters)),
            folded=await asyncio.to_thread(self.folded),
            deaths={name: process.deaths for name, process in self.roles.items() if process.deaths},
        )

    def _all_folded(self) -> bool:
        return set(self.folded().values()) == {self.contents().rated}

    @abstractmethod
    def waiting(self) -> list[str]:
        """Return the ids of the exchanges in the queue."""

    @abstractmethod
    def contents(self) -> StoreContents:
        """Read the contents that the store accepted."""

    @abstractmethod
    def counters(self) -> list[Snapshot]:
        """Return the counters that the processes published."""

    @abstractmethod
    def folded(self) -> dict[str, int]:
        """Return the number of rated trials that each monitor counts."""

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(1.0)
            await self._revive()

    async def _revive(self) -> None:
        for process in self.roles.values():
            await process.revive()

    async def _happen(self, fault: PlannedFault) -> None:
        async with self._lanes.setdefault(fault.kind.lane, asyncio.Lock()):
            began = time.time()
            await self.act(fault)
            self.record(fault.kind.name, fault.kind.target, began)

    def record(self, name: str, target: str, began: float) -> None:
        """Record a fault or a restart that has just ended."""
        self.fault_records.append(FaultRecord(name, target, began, time.time()))

    async def act(self, fault: PlannedFault) -> None:
        """Make a fault happen; scenarios have faults of their own."""
        await self.act_on_process(fault)

    async def act_on_process(self, fault: PlannedFault) -> None:
        """Make a fault happen that any process can have."""
        process = self.roles[fault.kind.target]
        name = fault.kind.name
        if name == "kill":
            process.kill()
            await asyncio.sleep(fault.for_s)
            process.start()
            await process.serving()
        elif name == "freeze":
            process.send(signal.SIGSTOP)
            await asyncio.sleep(fault.for_s)
            process.send(signal.SIGCONT)
        elif name.startswith("clock"):
            process.set_clock(fault.amount)
            await asyncio.sleep(fault.for_s)
            process.set_clock(0)
        elif name in {"errors", "slow"}:
            model = "simulated-judge" if fault.kind.target == "judge" else "simulated-1"
            changed = {"error_rate": fault.amount} if name == "errors" else {"latency_s": fault.amount}
            await asyncio.to_thread(self._set_model, fault.kind.target, model, changed)
            await asyncio.sleep(fault.for_s)
            await asyncio.to_thread(self._set_model, fault.kind.target, model, _CALM)
        else:
            raise ValueError(f"no process has a fault {name}, which {process.name} was to have")

    def _set_model(self, target: str, model: str, settings: Mapping[str, float]) -> None:
        """Change the settings of a simulated model or judge."""
        request = urllib.request.Request(  # noqa: S310 - our own address
            f"{self.urls[target]}/simulate/models/{model}", json.dumps(settings).encode(), method="PUT"
        )
        urllib.request.urlopen(request, timeout=30).close()  # noqa: S310 - as above


@contextlib.asynccontextmanager
async def closing_scene(scene: SceneT) -> AsyncIterator[SceneT]:
    """Yield a scene whose processes end with the context."""
    try:
        yield scene
    finally:
        await scene.end()


async def until(condition: Callable[[], bool], what: str, timeout_s: float = _CATCH_UP_S) -> None:
    """Wait until a condition holds; print a line if it does not come to hold."""
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        with contextlib.suppress(Exception):  # the process that is asked may still be away
            if await asyncio.to_thread(condition):
                return
        await asyncio.sleep(0.5)
    print(f"  not in {timeout_s:.0f} s: {what}", flush=True)


@dataclass(frozen=True, slots=True)
class Options:
    """Options of a run."""

    seed: int = 1
    faults: int = 100
    seconds: float = 200.0
    rate: float = 15.0
    """Requests per second of all 64 clients together."""
    fsync: str = "always"
    """Redis's `appendfsync`."""


# Reasons for which workers leave an exchange alone; proxies have others.
_OF_WORKERS: Final = frozenset({"settled", "unpriced", "budget", "budget_reserve", "budget_pace"})


def skipped_by_workers(snapshots: Iterable[Snapshot]) -> Counter[str]:
    """Return the number of exchanges that workers left alone, by reason, from all processes' counters."""
    skipped: Counter[str] = Counter()
    for snapshot in snapshots:
        for name, labels, number in snapshot["counters"]:
            if name == "exchanges_skipped" and labels["reason"] in _OF_WORKERS:
                skipped[labels["reason"]] += number
    return skipped
