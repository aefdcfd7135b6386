"""What every scenario has: options, a simulated model and judge, settings, and a log of the faults.

Counters of processes that may die are read twice a second, as Prometheus would.
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
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

from benchmarks.chaos.account import Evidence
from benchmarks.chaos.faults import Fault, Happened, draw
from benchmarks.chaos.stage import Process, free_ports, series
from benchmarks.chaos.traffic import Traffic
from benchmarks.chaos.upstream import read_log

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from benchmarks.chaos.faults import Kind
    from benchmarks.chaos.traffic import Door
    from benchmarks.chaos.witness import Seen
    from evenkeel.stores.counters import Snapshot


_EVERY_S: Final = 0.5
_NAME: Final = "evenkeel_exchanges_skipped_total"


class Scraped:
    """What proxies counted as not queued, over all of their lives."""

    def __init__(self) -> None:
        self.urls: dict[str, str] = {}
        """Pages to read, by process."""
        self._ended: Counter[str] = Counter()
        self._latest: dict[str, dict[str, float]] = {}

    def note(self, process: str, found: Mapping[str, float]) -> None:
        """Take a reading; one that is lower than the last is of a new process, and the last one is kept."""
        before = self._latest.get(process, {})
        if any(found.get(name, 0.0) < value for name, value in before.items()):
            self._ended.update({name: round(value) for name, value in before.items()})
        self._latest[process] = dict(found)

    async def read(self) -> None:
        """Read every page once; one that cannot be read stays as it was."""
        for process, url in self.urls.items():
            try:
                found = await asyncio.to_thread(series, url, _NAME, None, 2.0)
            except OSError:
                continue
            self.note(process, found)

    async def run(self) -> None:
        """Go on until cancelled."""
        while True:
            await self.read()
            await asyncio.sleep(_EVERY_S)

    def by_reason(self) -> Counter[str]:
        """The total of all processes, living and dead, by reason."""
        whole = Counter(self._ended)
        for found in self._latest.values():
            whole.update({name: round(value) for name, value in found.items()})
        reasons: Counter[str] = Counter()
        for name, count in whole.items():
            match = re.search(r'reason="([^"]*)"', name)
            reasons[match[1] if match else "?"] += count
        return reasons


PREFIX: Final = "chaos"
KEYS: Final = {"EVENKEEL_JUDGE_API_KEY": "k"}
_LATENCY_S: Final = 0.05
_CATCH_UP_S: Final = 300.0
_CALM: Final = {"error_rate": 0.0, "latency_s": _LATENCY_S}


Played = TypeVar("Played", bound="Scene")


class Scene:
    """Model and judge, and the faults that happen."""

    def __init__(self, folder: Path, host: str) -> None:
        """Args: folder: for everything. host: the address that all of it can reach."""
        self.folder = folder
        self.host = host
        self.ports = free_ports(host)
        self.happened: list[Happened] = []
        self.roles: dict[str, Process] = {}
        self.urls: dict[str, str] = {}
        self.scraped = Scraped()
        self._lanes: dict[str, asyncio.Lock] = {}
        self._under_way: set[asyncio.Task[None]] = set()
        for name in ("upstream", "judge"):
            port = next(self.ports)
            self.urls[name] = f"http://{host}:{port}"
            command = [sys.executable, "-m", "benchmarks.chaos.upstream", "--host", host, "--port", str(port)]
            command += ["--log", str(folder / f"{name}.calls"), "--latency", str(_LATENCY_S)]
            self.roles[name] = Process(name, command, folder, ready="listening")

    def settings(self, **more: Any) -> dict[str, Any]:
        """Settings that sample everything and judge by the simulated judge."""
        return {
            "routes": [
                {
                    "upstream": self.urls["upstream"],
                    "sampling_rate": 1.0,
                    "trials": {
                        "perturbations": ["general.casing", "general.whitespace", "general.spelling"],
                        "per_exchange": 1,
                    },
                    # Longer than any fault of the model: a model that stands still is waited for.
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
        """A settings file."""
        path = self.folder / f"{name}.yaml"
        path.write_text(json.dumps(settings))
        return path

    async def start(self, *names: str) -> None:
        """Start processes and wait until they serve."""
        for name in names:
            self.roles[name].start()
        for name in names:
            await self.roles[name].serving()

    async def end(self) -> None:
        """Stop all that runs."""
        for process in reversed(self.roles.values()):
            process.send(signal.SIGCONT)
            process.kill()

    # Faults

    async def play(self, faults: list[Fault], act: Callable[[Fault], Awaitable[None]]) -> None:
        """Let the faults happen at their times, those of one target one after another; then all is well."""
        began = time.monotonic()
        beside = [asyncio.create_task(self._watch()), asyncio.create_task(self.scraped.run())]
        for number, fault in enumerate(faults, 1):
            await asyncio.sleep(max(0.0, began + fault.at_s - time.monotonic()))
            task = asyncio.create_task(self._happen(fault, act))
            self._under_way.add(task)
            task.add_done_callback(self._under_way.discard)
            if number % 25 == 0:
                print(f"  {number} faults begun, {time.monotonic() - began:.0f} s", flush=True)
        await asyncio.gather(*self._under_way)
        for task in beside:
            task.cancel()
        await self._revive()

    async def perform(
        self,
        doors: list[Door],
        options: Options,
        kinds: Sequence[Kind],
        act: Callable[[Fault], Awaitable[None]],
    ) -> Traffic:
        """Faults of these kinds under load; ends when every request has ended."""
        traffic = Traffic(doors, random.Random(options.seed), rate=options.rate)
        load = asyncio.create_task(traffic.run())
        await asyncio.sleep(2.0)
        await self.play(draw(kinds, options.seed, options.faults, options.seconds), act)
        await asyncio.sleep(2.0)
        traffic.stop.set()
        await load
        print(f"  {traffic.tally()}; settling", flush=True)
        return traffic

    def evidence(
        self,
        traffic: Traffic,
        seen: Seen,
        waiting: Sequence[str],
        skipped: Mapping[str, int],
        folded: Mapping[str, int],
    ) -> Evidence:
        """All that is known after a run."""
        answers = read_log(self.folder / "upstream.calls")
        dropped = self.scraped.by_reason()
        return Evidence(
            traffic.requests, answers, self.happened, seen, waiting, dropped, skipped, folded, self.deaths
        )

    @property
    def deaths(self) -> dict[str, int]:
        """Processes that ended by themselves, and how often."""
        return {name: process.deaths for name, process in self.roles.items() if process.deaths}

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(1.0)
            await self._revive()

    async def _revive(self) -> None:
        for process in self.roles.values():
            await process.revive()

    async def _happen(self, fault: Fault, act: Callable[[Fault], Awaitable[None]]) -> None:
        async with self._lanes.setdefault(fault.kind.lane, asyncio.Lock()):
            began = time.time()
            note = Happened(fault.kind.name, fault.kind.target, began, began + 3600.0)
            self.happened.append(note)
            await act(fault)
            place = self.happened.index(note)
            self.happened[place] = Happened(note.name, note.target, began, time.time())

    async def act_on_process(self, fault: Fault) -> None:
        """What can happen to any process."""
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
            await asyncio.to_thread(self._change, fault.kind.target, model, changed)
            await asyncio.sleep(fault.for_s)
            await asyncio.to_thread(self._change, fault.kind.target, model, _CALM)
        else:
            raise ValueError(f"nobody knows how to {name} {process.name}")

    def _change(self, target: str, model: str, changed: Mapping[str, float]) -> None:
        request = urllib.request.Request(  # noqa: S310 - our own address
            f"{self.urls[target]}/simulate/models/{model}", json.dumps(changed).encode(), method="PUT"
        )
        urllib.request.urlopen(request, timeout=30).close()  # noqa: S310 - as above


@contextlib.asynccontextmanager
async def acting(scene: Played) -> AsyncIterator[Played]:
    """A scene whose processes end with the context."""
    try:
        yield scene
    finally:
        await scene.end()


async def until(true: Callable[[], bool], what: str, timeout_s: float = _CATCH_UP_S) -> bool:
    """Wait until a condition holds; says so if it does not come to that."""
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        with contextlib.suppress(Exception):  # what is asked may be away still
            if await asyncio.to_thread(true):
                return True
        await asyncio.sleep(0.5)
    print(f"  not in {timeout_s:.0f} s: {what}", flush=True)
    return False


@dataclass(frozen=True, slots=True)
class Options:
    """How long, how much, and from which seed."""

    seed: int = 1
    faults: int = 100
    seconds: float = 200.0
    rate: float = 15.0
    """Requests per second of all 64 clients together."""
    fsync: str = "always"
    """Redis's `appendfsync`."""


PUBLISHED_S: Final = 3.0
"""Seconds after which every process has published its counters, which it does once a second."""
# Reasons for which workers leave an exchange alone; proxies skip for others.
_OF_WORKERS: Final = frozenset(
    {"settled", "unpriced", "budget", "budget_reserve", "budget_pace", "budget_share"}
)


def skipped_by_workers(snapshots: Iterable[Snapshot]) -> Counter[str]:
    """Exchanges that workers left alone, by reason, from the counters of all processes."""
    skipped: Counter[str] = Counter()
    for snapshot in snapshots:
        for name, labels, number in snapshot["counters"]:
            if name == "exchanges_skipped" and labels["reason"] in _OF_WORKERS:
                skipped[labels["reason"]] += number
    return skipped
