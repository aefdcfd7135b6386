"""The measures: one kind of load each, and the figures it yields at one door."""

from __future__ import annotations

import contextlib
import re
import socket
import statistics
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from benchmarks.machine import HOST, CoreTime, NotMeasured
from benchmarks.proxy.load import KB, Wrk, answers, crowd, image_body, request_bytes, streams, text_body
from benchmarks.proxy.upstream import Manner

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from benchmarks.machine import Running
    from benchmarks.proxy.contenders import Door
    from benchmarks.proxy.load import Counted

Figures = dict[str, float]
"""By name, unit included."""

_PROBE_S = 20.0
_SETTLE_S, _GLANCE_S, _IDLE_SHARE = 15.0, 0.3, 0.15
_SLOW_FACTOR, _SLOW_BELOW = 4, 3
_LIGHT_PAUSE_S = 0.1


@dataclass(frozen=True, slots=True)
class Scale:
    """How much of everything."""

    seconds: float = 4.0
    """Of one load."""
    connections: int = 64
    crowds: tuple[int, ...] = (1000, 5000)
    crowd_events: int = 6
    crowd_pause_s: float = 2.0
    crowd_limit_s: float = 60.0


@dataclass(frozen=True, slots=True)
class Target:
    """What is loaded: a door, and the program behind it."""

    door: Door
    program: Running | None
    core: int
    folder: Path
    """For scripts."""

    def settle(self) -> None:
        """Wait until the program is idle: some go on with requests whose clients have left."""
        if self.program is None:
            return
        deadline = time.monotonic() + _SETTLE_S
        before = self.program.cpu_s()
        while time.monotonic() < deadline:
            time.sleep(_GLANCE_S)
            after = self.program.cpu_s()
            if after - before < _IDLE_SHARE * _GLANCE_S:
                return
            before = after


class Measure(Protocol):
    """One kind of load."""

    title: str
    manner: Manner
    """Of the model meanwhile."""
    once: bool
    """Whether one round is enough."""
    light: bool
    """Whether it takes times under a load that leaves the cores idle for most of the time."""

    def take(self, target: Target) -> Figures:
        """Load a door and return what was found.

        Raises: NotMeasured if the door does not answer as it should.
        """
        ...


def percentile(values: list[float], share: float) -> float:
    """The value below which a share of the values lies; the nearest one that was observed."""
    if not values:
        raise NotMeasured("no answer came within the time")
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, round(share * (len(ordered) - 1)))]


class _Cost:
    """What a load costs the program behind a door."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self.cpu_s = 0.0
        self.figures: Figures = {}

    @contextlib.contextmanager
    def taken(self) -> Iterator[_Cost]:
        """Watch while the context lasts."""
        program, core = self._target.program, self._target.core
        if program is None:
            yield self
            return
        program.forget_peak()
        by_process = program.cpu_by_process()
        before, core_before, started = program.cpu_s(), CoreTime.of(core), time.monotonic()
        yield self
        self.cpu_s = program.cpu_s() - before
        core_after, elapsed_s = CoreTime.of(core), time.monotonic() - started
        others_s = core_after.busy_s - core_before.busy_s - self.cpu_s
        self.figures = {
            "peak MB": program.peak_mb(),
            "proxy core used by others, share": max(0.0, others_s / elapsed_s),
            **self._spread(by_process),
        }

    def _spread(self, before: dict[int, float]) -> Figures:
        """How evenly a program of several processes is loaded."""
        program = self._target.program
        if program is None or not self.cpu_s or len(before) == 1:
            return {}
        after = program.cpu_by_process()
        busiest = max(spent - before.get(pid, 0.0) for pid, spent in after.items())
        return {"busiest process, share of processor time": busiest / self.cpu_s}

    def per(self, what: str, count: float) -> Figures:
        """The figures, with the processor time for each of so many things."""
        if self._target.program is None or not count:
            return self.figures
        return {**self.figures, f"us processor time/{what}": self.cpu_s * 1e6 / count}


def probe(door: Door, request: bytes) -> int:
    """Make one request and read its whole answer.

    Returns: its length in bytes, head included.
    Raises: NotMeasured unless it is a whole answer with status 200.
    """
    received = b""
    try:
        with socket.create_connection((HOST, door.port), _PROBE_S) as sock:
            sock.sendall(request)
            while not _whole(received):
                data = sock.recv(1 << 20)
                if not data:
                    break
                received += data
    except OSError as error:
        raise NotMeasured(f"a single request failed: {error}") from error
    if not received.startswith(b"HTTP/1.1 200") or not _whole(received):
        head, _, body = received.partition(b"\r\n\r\n")
        said = b" ".join((head.partition(b"\r\n")[0], body[:150])).decode(errors="replace").strip()
        raise NotMeasured(f"a single request was not answered well: {said or 'nothing came'}")
    return len(received)


def _whole(received: bytes) -> bool:
    head, mark, body = received.partition(b"\r\n\r\n")
    if not mark:
        return False
    length = re.search(rb"\r\ncontent-length: *(\d+)", head, re.IGNORECASE)
    return len(body) >= int(length[1]) if length else body.endswith(b"0\r\n\r\n")


class Plain:
    """Requests per second with bodies of one size and answers of 1 KB."""

    once = light = False

    def __init__(
        self, title: str, body: bytes, scale: Scale, delay_s: float = 0.0, *, heads_differ: bool = False
    ) -> None:
        """Prepare.

        Args:
            title: Of the measure.
            body: Of every request.
            scale: How much.
            delay_s: How long the model takes for an answer. If that is most of the time, all contenders that
                keep up carry the same load, and generator and model sleep as often beside each of them:
                waking them, which the kernel does at the expense of who writes, then costs all the same.
            heads_differ: Whether each request and each answer has an id in its head, as those of traced
                clients and hosted models have.
        """
        self.title = title
        self.manner = Manner(delay_s=delay_s, heads_differ=heads_differ)
        self._body = body
        self._scale = scale
        self._heads_differ = heads_differ

    def take(self, target: Target) -> Figures:
        """Load with `wrk`."""
        probe(target.door, request_bytes(target.door.path, target.door.headers, self._body))
        door = target.door
        wrk = Wrk(door.path, door.headers, self._body, target.folder, heads_differ=self._heads_differ)
        cost, counted = self._load(target, wrk, self._scale.seconds)
        if counted.requests < _SLOW_BELOW * self._scale.connections:
            # Too slow to have answered each connection a few times.
            cost, counted = self._load(target, wrk, _SLOW_FACTOR * self._scale.seconds)
        return {
            "requests/s": counted.requests / counted.seconds,
            "errors": counted.errors,
            **cost.per("request", counted.requests),
        }

    def _load(self, target: Target, wrk: Wrk, seconds: float) -> tuple[_Cost, Counted]:
        with _Cost(target).taken() as cost:
            counted = wrk.run(target.door.port, self._scale.connections, seconds)
        target.settle()
        return cost, counted


class Latency:
    """How much later answers come, at 16 connections over a model that takes 20 ms."""

    once = False
    light = True
    title = "20 ms answers"
    manner = Manner(delay_s=0.02)
    connections = 16

    def __init__(self, scale: Scale) -> None:
        self._scale = scale

    def take(self, target: Target) -> Figures:
        """Load with the generator; times are those beyond the model's own."""
        request = request_bytes(target.door.path, target.door.headers, text_body(KB))
        probe(target.door, request)
        with _Cost(target).taken() as cost:
            heard = answers(target.door.port, request, self.connections, self._scale.seconds)
        return {
            "p50 ms": percentile(heard.answers_ms, 0.5),
            "p99 ms": percentile(heard.answers_ms, 0.99),
            "errors": heard.failed,
            **cost.per("request", heard.completed),
        }


class Flood:
    """Events per second of streams that flow as fast as they are read."""

    once = light = False
    title = "SSE at full speed"
    manner = Manner(events=200)

    def __init__(self, scale: Scale) -> None:
        self._scale = scale

    def take(self, target: Target) -> Figures:
        """Load with `wrk`, which counts bytes; a single stream tells how many there are to an event."""
        body = text_body(KB, stream=True)
        size = probe(target.door, request_bytes(target.door.path, target.door.headers, body))
        wrk = Wrk(target.door.path, target.door.headers, body, target.folder)
        with _Cost(target).taken() as cost:
            counted = wrk.run(target.door.port, self._scale.connections, self._scale.seconds)
        events = counted.size_bytes / size * self.manner.events
        return {
            "events/s": events / counted.seconds,
            "errors": counted.errors,
            **cost.per("event", events),
        }


class Paced:
    """Streams of events at a pace, each event a packet of its own as models send them."""

    once = False

    def __init__(self, title: str, pause_s: float, scale: Scale) -> None:
        self.title = title
        self.light = pause_s >= _LIGHT_PAUSE_S
        # Streams of two seconds: so many begin that there is something to say about first events.
        self.manner = Manner(events=round(2 / pause_s), pause_s=pause_s)
        self._scale = scale

    def take(self, target: Target) -> Figures:
        """Load with the generator; times are those from the writing of an event to its reading."""
        request = request_bytes(target.door.path, target.door.headers, text_body(KB, stream=True))
        probe(target.door, request)
        seconds = max(3.0, self._scale.seconds)
        with _Cost(target).taken() as cost:
            heard = streams(target.door.port, request, self._scale.connections, seconds, self.manner.events)
        return {
            "events/s": len(heard.events_ms) / seconds,
            "first p50 ms": percentile(heard.first_ms, 0.5),
            "first p99 ms": percentile(heard.first_ms, 0.99),
            "event p50 ms": percentile(heard.events_ms, 0.5),
            "event p99 ms": percentile(heard.events_ms, 0.99),
            "errors": heard.failed,
            **cost.per("event", len(heard.events_ms)),
        }


class Crowd:
    """Many streams at once: how many end well."""

    once = True
    light = False

    def __init__(self, count: int, scale: Scale) -> None:
        self.title = f"{count:,} streams"
        self.manner = Manner(events=scale.crowd_events, pause_s=scale.crowd_pause_s)
        self._count = count
        self._scale = scale

    def take(self, target: Target) -> Figures:
        """Begin a thousand a second, and wait for all of them to end."""
        request = request_bytes(target.door.path, target.door.headers, text_body(KB, stream=True))
        with _Cost(target).taken() as cost:
            heard = crowd(
                target.door.port,
                request,
                self._count,
                ramp_s=self._count / 1000,
                limit_s=self._scale.crowd_limit_s,
                events=self.manner.events,
            )
        first = {"first p50 ms": statistics.median(heard.first_ms)} if heard.first_ms else {}
        return {
            "completed": heard.completed,
            "failed": heard.failed,
            "at once": heard.at_once,
            "seconds": heard.elapsed_s,
            **first,
            **cost.per("stream", heard.completed),
        }


def measures(scale: Scale) -> list[Measure]:
    """All of them, in the order of the report."""
    return [
        Plain("1 KB requests", text_body(KB), scale),
        Plain("1 KB requests, answers after 4 ms", text_body(KB), scale, delay_s=0.004),
        Plain("1 KB requests, no two heads alike", text_body(KB), scale, heads_differ=True),
        Plain("64 KB requests", text_body(64 * KB), scale),
        Plain("1 MB requests", image_body(KB * KB), scale),
        Latency(scale),
        Flood(scale),
        Paced("SSE at 640 events/s", 0.1, scale),
        Paced("SSE at 12,800 events/s", 0.005, scale),
        *(Crowd(count, scale) for count in scale.crowds),
    ]
