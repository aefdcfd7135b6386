"""The replay plane played through, event by event, from the queue to the monitor."""

from __future__ import annotations

import heapq
import itertools
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.scaling.model import SECONDS_PER_DAY

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

    from benchmarks.scaling.load import Load, Measured

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
