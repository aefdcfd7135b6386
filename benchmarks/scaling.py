"""What evenkeel needs at a load that no single machine has: a model of its parts, checked by a simulation.

    python -m benchmarks.scaling [--seed 1] [--seconds 900] [--redis]

What each part carries is arithmetic; the replay plane is then played event by event, from the queue to the
monitor. docs/research/scaling.md has the tables. With --redis, the share of Redis is measured again, on one
started for it.
"""

from __future__ import annotations

import argparse
import asyncio
import heapq
import itertools
import random
import subprocess
import tempfile
import time
from collections import deque
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import redis

from benchmarks.chaos.stage import redis_answers, redis_server
from benchmarks.kit import captured, table
from benchmarks.proxy.machine import free_port
from evenkeel.simulate import make_prompt
from evenkeel.stores.redis.connection import RedisPlace, RedisStore
from evenkeel.stores.redis.queue import RedisExchangeQueue

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from evenkeel.core.exchange import Exchange


SECONDS_PER_DAY = 86_400.0
BUSY = 0.6
"""Share of a core that is planned for; the rest is for peaks."""


class Forwarding(NamedTuple):
    """What all requests take, sampled or not."""

    cores: float
    """Of proxies, at the share that is planned for."""
    streams: float
    """Open at once."""
    stream_gigabytes: float
    """That they take."""


def forwarding(load: Load, measured: Measured) -> Forwarding:
    """What the proxies need."""
    each_s = measured.proxy_request_s
    if load.events_per_answer > 1:
        each_s += load.events_per_answer * measured.proxy_event_s
    streams = load.requests_per_s * load.answer_s
    return Forwarding(
        load.requests_per_s * each_s / BUSY, streams, streams * measured.proxy_stream_bytes / 1e9
    )


def capacities(load: Load, measured: Measured) -> dict[str, float]:
    """Exchanges a second that each part could carry, were it alone."""
    judgements = load.trials * load.judged_share
    residence_s = load.replay.seconds + load.judged_share * load.judge.seconds + measured.worker_pair_s
    return {
        "sampling": load.sampled_per_s,
        "budget": load.usd_per_day / SECONDS_PER_DAY / load.exchange_usd,
        "exchanges a worker holds": load.workers * load.exchanges_at_once / residence_s,
        "replays at once": load.workers * load.replays_at_once / (load.trials * load.replay.seconds),
        "worker's processor": load.workers / (load.trials * measured.worker_pair_s),
        "endpoint's limit": load.replay.requests_per_minute / 60 / load.trials,
        "judge's limit": load.judge.requests_per_minute / 60 / judgements,
        "judgements at once": load.workers * load.judgements_at_once / (judgements * load.judge.seconds),
        "monitor": 1 / (load.trials * measured.monitor_verdict_s),
        **({"Redis": 1 / measured.redis_exchange_s} if measured.redis_exchange_s else {}),
    }


@dataclass(frozen=True, slots=True)
class Measured:
    """Processor time and memory of the parts, on one core of the machine of docs/research/performance.md."""

    proxy_request_s: float = 21.3e-6
    """A request of 1 KB, one in ten sampled and stored: `python -m benchmarks.proxy`."""
    proxy_event_s: float = 9.8e-6
    """An event of a stream that comes alone: the same."""
    proxy_stream_bytes: float = 6.8e3
    """Memory of an open stream: 5,000 of them took the proxy from 47 to 81 MB; the same."""
    worker_pair_s: float = 3.3e-3
    """A pair of answers perturbed, compared and logged without a judge: `python -m benchmarks.worker`."""
    monitor_verdict_s: float = 110e-6
    """A verdict read, folded and committed (9,100 a second, SQLite): `python -m benchmarks.monitor`."""
    redis_exchange_s: float = 42e-6
    """Redis' own, for an exchange put, leased and acknowledged: `python -m benchmarks.scaling --redis`."""
    redis_exchange_bytes: float = 2_920
    """What a waiting exchange takes there; the same."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An upstream or a judge, as the provider offers it. Assumptions, not measurements."""

    seconds: float
    """Mean time of a call."""
    tokens: float
    """Prompt and completion of a call."""
    usd: float
    """What a call costs."""
    requests_per_minute: float
    """Its limit for the credential that is used."""


@dataclass(frozen=True, slots=True)
class Load:
    """Traffic, and the settings that matter for it."""

    name: str
    requests_per_s: float
    sampling_rate: float
    workers: int
    usd_per_day: float
    replay: Endpoint = Endpoint(4.0, 1_300, 0.001, 10_000)
    judge: Endpoint = Endpoint(2.0, 2_000, 0.002, 5_000)
    events_per_answer: float = 200.0
    """Streamed answers; 1 = not streamed."""
    answer_s: float = 8.0
    """How long a forwarded request is open."""
    trials: int = 3
    """Of an exchange: the identical resend and `trials_per_exchange`."""
    judged_share: float = 0.4
    """Pairs that the cascade leaves to the judge."""
    exchanges_at_once: int = 16
    """Of a worker."""
    replays_at_once: int = 8
    """`shadow.concurrency`, of a worker."""
    judgements_at_once: int = 4
    """`judge.concurrency`, of a worker."""
    queue: int = 20_000
    """`redis.exchanges`."""

    @property
    def sampled_per_s(self) -> float:
        """Exchanges that reach the queue."""
        return self.requests_per_s * self.sampling_rate

    @property
    def exchange_usd(self) -> float:
        """What the trials of one exchange cost."""
        return self.trials * (self.replay.usd + self.judged_share * self.judge.usd)


AS_SHIPPED = tuple(
    Load(f"{rate:,} requests/s, as shipped", rate, 0.1, 2, 10.0) for rate in (10, 1_000, 100_000)
)
PLANNED = (
    Load("10 requests/s, planned", 10, 0.01, 1, 40.0),
    Load("1,000 requests/s, planned", 1_000, 0.001, 4, 500.0),
    Load("100,000 requests/s, planned", 100_000, 0.0001, 32, 5_000.0),
)
RICH = (
    Load("1,000 requests/s, 4 workers, no budget", 1_000, 0.1, 4, 1e9),
    Load("1,000 requests/s, 100 workers, no budget", 1_000, 0.1, 100, 1e9),
    Load("and the endpoint's limit lifted", 1_000, 0.1, 100, 1e9, Endpoint(4.0, 1_300, 0.001, 100_000)),
)
"""What gives way when money does not."""


_HEAD_START_S = 60.0
"""So many seconds of the day's budget may be spent at once."""


class Timeline:
    """Things to do, in the order of their times."""

    def __init__(self) -> None:
        self.now = 0.0
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._order = itertools.count()

    def after(self, seconds: float, act: Callable[[], None]) -> None:
        """Do something later; at equal times in the order of asking."""
        heapq.heappush(self._due, (self.now + seconds, next(self._order), act))

    def run(self, until: float) -> None:
        """Do everything that is due until then."""
        while self._due and self._due[0][0] <= until:
            self.now, _, act = heapq.heappop(self._due)
            act()
        self.now = until


class Station:
    """Servers with one queue before them."""

    def __init__(self, timeline: Timeline, servers: int, seconds: Callable[[], float]) -> None:
        """Args: timeline: of all stations. servers: that work at once. seconds: draws how long one takes."""
        self._timeline = timeline
        self._free = self._servers = servers
        self._seconds = seconds
        self._waiting: deque[Callable[[], None]] = deque()
        self._worked_s = 0.0

    def serve(self, then: Callable[[], None]) -> None:
        """Take somebody's turn, now or later, and then go on."""
        if not self._free:
            self._waiting.append(then)
            return
        self._free -= 1
        taken_s = self._seconds()
        self._worked_s += taken_s
        self._timeline.after(taken_s, lambda: self._served(then))

    def _served(self, then: Callable[[], None]) -> None:
        self._free += 1
        if self._waiting:
            self.serve(self._waiting.popleft())
        then()

    def busy(self, seconds: float) -> float:
        """Share of the time that its servers worked."""
        return self._worked_s / (self._servers * seconds)


class Played(NamedTuple):
    """What a run came to, counted after its first half."""

    scored_per_s: float
    """Exchanges."""
    full_per_s: float
    """Dropped, as the queue was full."""
    unpaid_per_s: float
    """Let go, as the budget was spent."""
    wait_s: float
    """Mean time in the queue of those that left it."""
    busy: dict[str, float]
    """Of each part, the share of the time in which it worked."""


class Plane:
    """The replay plane under a load.

    Times of calls are exponential, those of processors fixed; exchanges come by chance (Poisson).
    """

    def __init__(self, load: Load, measured: Measured, rng: random.Random, seconds: float) -> None:
        """Args: load, measured: what is played. rng: of all chance. seconds: how long; half counts."""
        self._load, self._rng, self._half_s = load, rng, seconds / 2
        self._timeline = timeline = Timeline()

        def drawn(mean_s: float) -> Callable[[], float]:
            return lambda: rng.expovariate(1 / mean_s)

        replay, judge, workers = load.replay, load.judge, load.workers
        self.stations = {
            "endpoint's limit": Station(timeline, 1, lambda: 60 / replay.requests_per_minute),
            "replays at once": Station(timeline, workers * load.replays_at_once, drawn(replay.seconds)),
            "worker's processor": Station(timeline, workers, lambda: measured.worker_pair_s),
            "judge's limit": Station(timeline, 1, lambda: 60 / judge.requests_per_minute),
            "judgements at once": Station(timeline, workers * load.judgements_at_once, drawn(judge.seconds)),
            "monitor": Station(timeline, 1, lambda: measured.monitor_verdict_s),
        }
        self._waiting: deque[float] = deque()
        self._free = workers * load.exchanges_at_once
        self._payable_per_s = load.usd_per_day / SECONDS_PER_DAY / load.exchange_usd
        self._paid = 0
        self.counts = dict.fromkeys(("scored", "full", "unpaid"), 0)
        self.waits: list[float] = []

    def run(self) -> None:
        """Play it through."""
        self._arrive()
        self._timeline.run(2 * self._half_s)

    def _count(self, name: str) -> None:
        if self._timeline.now > self._half_s:
            self.counts[name] += 1

    def _arrive(self) -> None:
        if len(self._waiting) >= self._load.queue:
            self._count("full")
        else:
            self._waiting.append(self._timeline.now)
            self._lease()
        self._timeline.after(self._rng.expovariate(self._load.sampled_per_s), self._arrive)

    def _lease(self) -> None:
        while self._free and self._waiting:
            since, now = self._waiting.popleft(), self._timeline.now
            if now > self._half_s:
                self.waits.append(now - since)
            if self._paid >= self._payable_per_s * (now + _HEAD_START_S):
                self._count("unpaid")
                continue
            self._paid += 1
            self._free -= 1
            held = Held(self._load.trials)
            for _ in range(self._load.trials):
                self._try(held)

    def _try(self, held: Held) -> None:
        serve = {name: station.serve for name, station in self.stations.items()}

        def replay() -> None:
            serve["replays at once"](compare)

        def compare() -> None:
            serve["worker's processor"](judge)

        def judge() -> None:
            if self._rng.random() < self._load.judged_share:
                serve["judge's limit"](lambda: serve["judgements at once"](log))
            else:
                log()

        def log() -> None:
            serve["monitor"](lambda: None)
            held.left -= 1
            if not held.left:
                self._count("scored")
                self._free += 1
                self._lease()

        serve["endpoint's limit"](replay)


@dataclass(slots=True)
class Held:
    """An exchange that a worker holds."""

    left: int
    """Trials that are not logged yet."""


def play(load: Load, measured: Measured, rng: random.Random, seconds: float) -> Played:
    """What a load comes to."""
    plane = Plane(load, measured, rng, seconds)
    plane.run()
    half_s = seconds / 2
    return Played(
        plane.counts["scored"] / half_s,
        plane.counts["full"] / half_s,
        plane.counts["unpaid"] / half_s,
        sum(plane.waits) / len(plane.waits) if plane.waits else 0.0,
        {name: station.busy(seconds) for name, station in plane.stations.items()},
    )


EXCHANGES, BATCH = 4_000, 16


def exchange(number: int) -> Exchange:
    """A captured support case."""
    messages = make_prompt("case_summary", number)
    return captured(number, messages, "The case is settled. " * 20, received_at=time.time())


def measured_redis(known: Measured) -> Measured:
    """The measurements with Redis' share, on a server of its own that keeps an append-only file."""
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        command = redis_server("127.0.0.1", port, Path(folder), fsync="everysec")
        server = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        try:
            with redis.Redis(port=port, retry=None) as client:
                return _measured(known, client, port)
        finally:
            server.terminate()
            server.wait(10)


def _measured(known: Measured, client: redis.Redis, port: int) -> Measured:
    asyncio.run(redis_answers(port))
    queue = RedisExchangeQueue(RedisStore(RedisPlace(url=f"redis://127.0.0.1:{port}/0")), time.time)
    made = [exchange(number) for number in range(EXCHANGES)]
    before, empty = _processor_s(client), client.info("memory")["used_memory"]
    for start in range(0, EXCHANGES, BATCH):
        queue.put(made[start : start + BATCH])
    full = client.info("memory")["used_memory"]
    while leases := queue.reserve(BATCH, 15.0):
        queue.acknowledge([lease.exchange.id for lease in leases])
    spent_s = _processor_s(client) - before
    return replace(
        known,
        redis_exchange_s=spent_s / EXCHANGES,
        redis_exchange_bytes=(full - empty) / EXCHANGES,
    )


def _processor_s(client: redis.Redis) -> float:
    found = client.info("cpu")
    return float(found["used_cpu_sys"]) + float(found["used_cpu_user"])


COUNTED = 1_000
FEW_PER_S = 100.0
"""Samples a second up to which it costs little to play as long as that takes."""


def show(head: Iterable[str], rows: Iterable[Sequence[str]]) -> None:
    """Print Markdown."""
    print("\n".join(table([*head], rows)), end="\n\n")


def show_forwarding(measured: Measured) -> None:
    """What all requests take."""
    rows = []
    for load in PLANNED:
        plain = forwarding(replace(load, events_per_answer=1), measured)
        streamed = forwarding(load, measured)
        needs = (f"{plain.cores:,.2f}", f"{streamed.cores:,.1f}")
        open_ = (f"{streamed.streams:,.0f}", f"{streamed.stream_gigabytes:,.2f}")
        rows.append((f"{load.requests_per_s:,}", *needs, *open_))
    head = ("requests/s", "cores, whole answers", "cores, streamed", "open streams", "GB for them")
    show(head, rows)


def show_replays(loads: tuple[Load, ...], measured: Measured, seed: int, seconds: float) -> None:
    """What the sampled ones take: the model beside the simulation."""
    rows = []
    for load in loads:
        parts = capacities(load, measured)
        # Long enough that chance does not matter: a thousand exchanges or more are counted.
        counted_s = COUNTED / min(parts.values()) if load.sampled_per_s < FEW_PER_S else 0.0
        played = play(load, measured, random.Random(seed), max(seconds, 2 * counted_s))
        first, second = sorted(parts, key=lambda name: parts[name])[:2]
        row = {
            "load": load.name,
            "sampled/s": f"{load.sampled_per_s:,.1f}",
            "scored/s, model": f"{parts[first]:,.2f}",
            "simulated": f"{played.scored_per_s:,.2f}",
            "what holds it": f"{first}, then {second}",
            "unpaid/s": f"{played.unpaid_per_s:,.1f}",
            "queue full/s": f"{played.full_per_s:,.1f}",
            "s in queue": f"{played.wait_s:,.1f}",
            "USD a day": f"{load.exchange_usd * played.scored_per_s * 86_400:,.0f}",
        }
        rows.append(row)
    show(rows[0], [[*row.values()] for row in rows])


def show_parts(loads: tuple[Load, ...], measured: Measured) -> None:
    """How far each part would carry, were it alone."""
    names = list(capacities(loads[0], measured))
    rows = [[name, *(f"{capacities(load, measured)[name]:,.2f}" for load in loads)] for name in names]
    show(["exchanges/s that it carries alone", *(load.name for load in loads)], rows)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seed", type=int, default=1, help="of the simulation (default 1)")
    parser.add_argument("--seconds", type=float, default=900.0, help="played (default 900)")
    parser.add_argument("--redis", action="store_true", help="measure Redis' share anew")
    arguments = parser.parse_args()
    measured = Measured()
    if arguments.redis:
        measured = measured_redis(measured)
        print(
            f"Redis: {measured.redis_exchange_s * 1e6:.0f} µs of its processor and "
            f"{measured.redis_exchange_bytes:,.0f} bytes an exchange\n"
        )
    show_forwarding(measured)
    show_replays(PLANNED, measured, arguments.seed, arguments.seconds)
    show_replays(RICH, measured, arguments.seed, arguments.seconds)
    # Ten thousand samples a second fill the queue in two; longer shows nothing more.
    show_replays(AS_SHIPPED, measured, arguments.seed, min(arguments.seconds, 120.0))
    show_parts(PLANNED, measured)


if __name__ == "__main__":
    main()
