"""Load tests: each puts one kind of load on an address and yields its figures."""

from __future__ import annotations

import contextlib
import re
import socket
import statistics
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from benchmarks.machine import HOST, NotMeasured, busy_s
from benchmarks.proxy.load import KB, Wrk, answers, crowd, image_body, request_bytes, streams, text_body
from benchmarks.proxy.upstream import Behaviour

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from benchmarks.machine import Program
    from benchmarks.proxy.contenders import Address
    from benchmarks.proxy.load import WrkCounts

Figures = dict[str, float]
"""Figures by name, with the unit in the name."""
OTHERS = "proxy core used by others, share"
"""Figure that shows whether the machine was busy with other programs."""

_PROBE_S = 20.0  # longest wait for a single answer
# A program is idle if it uses less than this share of a core for this time.
_IDLE_SHARE = 0.15
_GLANCE_S = 0.3
_SETTLE_S = 15.0  # longest wait until a program is idle
# A load with fewer answers per connection is repeated for longer, by this factor.
_FEWEST_ANSWERS = 3
_SLOW_FACTOR = 4
# Shortest pause between events at which a load of streams leaves the cores idle for most of the time.
_LIGHT_PAUSE_S = 0.1


@dataclass(frozen=True, slots=True)
class LoadSize:
    """Sizes of all loads."""

    seconds: float = 4.0
    """Length of one load."""
    connections: int = 64
    crowds: tuple[int, ...] = (1000, 5000)
    crowd_events: int = 6
    crowd_pause_s: float = 2.0
    crowd_limit_s: float = 60.0


@dataclass(frozen=True, slots=True)
class LoadTarget:
    """Address to load, with the program behind it."""

    address: Address
    program: Program | None
    core: int
    folder: Path
    """Folder for scripts."""

    def request(self, body: bytes) -> bytes:
        """Return a whole request to the address."""
        return request_bytes(self.address.path, self.address.headers, body)

    def settle(self) -> None:
        """Wait until the program is idle. Some programs continue requests whose clients have left."""
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


class LoadTest(Protocol):
    """Test with one kind of load."""

    title: str
    behaviour: Behaviour
    """Behaviour of the model under this load."""
    once: bool
    """True if one round is enough."""
    light: bool
    """True if it takes times while the cores are idle for most of the time."""

    def take(self, target: LoadTarget) -> Figures:
        """Load an address and return the figures.

        Raises: NotMeasured if the address does not answer as it should.
        """
        ...


def percentile(values: list[float], share: float) -> float:
    """Return the observed value that is nearest to a percentile."""
    if not values:
        raise NotMeasured("no answer came within the time")
    return sorted(values)[round(share * (len(values) - 1))]


@dataclass(slots=True)
class _Cost:
    """Processor time and memory that a load costs a program; nothing if there is no program."""

    cpu_s: float = 0.0
    figures: Figures = field(default_factory=dict)

    def per(self, unit: str, count: float) -> Figures:
        """Return the figures, with the processor time per request, event or stream."""
        if not self.figures or not count:
            return self.figures
        return {**self.figures, f"us processor time/{unit}": self.cpu_s * 1e6 / count}


@contextlib.contextmanager
def _measured_cost(target: LoadTarget) -> Iterator[_Cost]:
    """Measure while the context lasts; the cost is known at its end."""
    cost = _Cost()
    program = target.program
    if program is None:
        yield cost
        return
    program.forget_peak()
    before = program.cpu_by_process()
    busy_before = busy_s(target.core)
    started = time.monotonic()
    yield cost
    after = program.cpu_by_process()
    cost.cpu_s = sum(after.values()) - sum(before.values())
    others_s = busy_s(target.core) - busy_before - cost.cpu_s
    cost.figures["peak MB"] = program.peak_mb()
    cost.figures[OTHERS] = max(0.0, others_s / (time.monotonic() - started))
    if cost.cpu_s and len(before) > 1:
        busiest = max(spent - before.get(pid, 0.0) for pid, spent in after.items())
        cost.figures["busiest process, share of processor time"] = busiest / cost.cpu_s


def probe(address: Address, request: bytes) -> int:
    """Make one request and read its whole answer.

    Returns: length of the answer in bytes, including its head.
    Raises: NotMeasured if it is not a whole answer with status 200.
    """
    received = b""
    try:
        with socket.create_connection((HOST, address.port), _PROBE_S) as sock:
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
        text = b" ".join((head.partition(b"\r\n")[0], body[:150])).decode(errors="replace").strip()
        raise NotMeasured(f"a single request was not answered well: {text or 'nothing came'}")
    return len(received)


def _whole(received: bytes) -> bool:
    head, mark, body = received.partition(b"\r\n\r\n")
    if not mark:
        return False
    # Plain answers state their length; streams are chunked and end with an empty chunk.
    length = re.search(rb"\r\ncontent-length: *(\d+)", head, re.IGNORECASE)
    return len(body) >= int(length[1]) if length else body.endswith(b"0\r\n\r\n")


class PlainRequests:
    """Plain requests at full speed, with bodies of one size and answers of 1 KB."""

    once = light = False

    def __init__(
        self, title: str, body: bytes, scale: LoadSize, delay_s: float = 0.0, *, heads_differ: bool = False
    ) -> None:
        """Prepare the test.

        Args:
            title: Title of the test.
            body: Body of every request.
            scale: Sizes of the load.
            delay_s: Time that the model takes for an answer. If it is most of the time, all contenders that
                keep up carry the same load. Generator and model then sleep equally often with each of them,
                so that waking them, for which the kernel charges the writer, costs each the same.
            heads_differ: True to put an id into the head of each request and answer, as traced clients and
                hosted models do.
        """
        self.title = title
        self.behaviour = Behaviour(delay_s=delay_s, heads_differ=heads_differ)
        self._body = body
        self._scale = scale
        self._heads_differ = heads_differ

    def take(self, target: LoadTarget) -> Figures:
        """Load an address with `wrk`."""
        address = target.address
        probe(address, target.request(self._body))
        wrk = Wrk(address.path, address.headers, self._body, target.folder, heads_differ=self._heads_differ)
        cost, counts = self._load(target, wrk, self._scale.seconds)
        if counts.requests < _FEWEST_ANSWERS * self._scale.connections:
            cost, counts = self._load(target, wrk, _SLOW_FACTOR * self._scale.seconds)
        return {
            "requests/s": counts.requests / counts.seconds,
            "errors": counts.errors,
            **cost.per("request", counts.requests),
        }

    def _load(self, target: LoadTarget, wrk: Wrk, seconds: float) -> tuple[_Cost, WrkCounts]:
        with _measured_cost(target) as cost:
            counts = wrk.run(target.address.port, self._scale.connections, seconds)
        target.settle()
        return cost, counts


class AddedLatency:
    """Delay that a proxy adds to answers, with 16 connections and a model that takes 20 ms."""

    once = False
    light = True
    title = "20 ms answers"
    behaviour = Behaviour(delay_s=0.02)
    connections = 16

    def __init__(self, scale: LoadSize) -> None:
        self._scale = scale

    def take(self, target: LoadTarget) -> Figures:
        """Load an address with the generator; the model's own time is subtracted."""
        request = target.request(text_body(KB))
        probe(target.address, request)
        with _measured_cost(target) as cost:
            result = answers(target.address.port, request, self.connections, self._scale.seconds)
        return {
            "p50 ms": percentile(result.answers_ms, 0.5),
            "p99 ms": percentile(result.answers_ms, 0.99),
            "errors": result.failed,
            **cost.per("request", result.completed),
        }


class FullSpeedStreams:
    """Streams that flow as fast as they are read."""

    once = light = False
    title = "SSE at full speed"
    behaviour = Behaviour(events=200)

    def __init__(self, scale: LoadSize) -> None:
        self._scale = scale

    def take(self, target: LoadTarget) -> Figures:
        """Load an address with `wrk`, which counts bytes; a single stream shows the bytes of an event."""
        body = text_body(KB, stream=True)
        size = probe(target.address, target.request(body))
        wrk = Wrk(target.address.path, target.address.headers, body, target.folder)
        with _measured_cost(target) as cost:
            counts = wrk.run(target.address.port, self._scale.connections, self._scale.seconds)
        events = counts.size_bytes / size * self.behaviour.events
        return {
            "events/s": events / counts.seconds,
            "errors": counts.errors,
            **cost.per("event", events),
        }


class PacedStreams:
    """Streams of events at a fixed pace, with a packet for each event, as models send them."""

    once = False

    def __init__(self, title: str, pause_s: float, scale: LoadSize) -> None:
        self.title = title
        self.light = pause_s >= _LIGHT_PAUSE_S
        # Streams last two seconds, so that enough of them begin to measure first events.
        self.behaviour = Behaviour(events=round(2 / pause_s), pause_s=pause_s)
        self._scale = scale

    def take(self, target: LoadTarget) -> Figures:
        """Load an address with the generator, which takes the times from writing an event to reading it."""
        request = target.request(text_body(KB, stream=True))
        probe(target.address, request)
        seconds = max(3.0, self._scale.seconds)
        events = self.behaviour.events
        with _measured_cost(target) as cost:
            result = streams(target.address.port, request, self._scale.connections, seconds, events)
        return {
            "events/s": len(result.events_ms) / seconds,
            "first p50 ms": percentile(result.first_ms, 0.5),
            "first p99 ms": percentile(result.first_ms, 0.99),
            "event p50 ms": percentile(result.events_ms, 0.5),
            "event p99 ms": percentile(result.events_ms, 0.99),
            "errors": result.failed,
            **cost.per("event", len(result.events_ms)),
        }


class ManyStreams:
    """Many streams at once, not all of which may complete."""

    once = True
    light = False

    def __init__(self, count: int, scale: LoadSize) -> None:
        self.title = f"{count:,} streams"
        self.behaviour = Behaviour(events=scale.crowd_events, pause_s=scale.crowd_pause_s)
        self._count = count
        self._scale = scale

    def take(self, target: LoadTarget) -> Figures:
        """Begin a thousand streams a second, and wait until all of them have ended."""
        request = target.request(text_body(KB, stream=True))
        with _measured_cost(target) as cost:
            result = crowd(
                target.address.port,
                request,
                self._count,
                ramp_s=self._count / 1000,
                limit_s=self._scale.crowd_limit_s,
                events=self.behaviour.events,
            )
        first = {"first p50 ms": statistics.median(result.first_ms)} if result.first_ms else {}
        return {
            "completed": result.completed,
            "failed": result.failed,
            "at once": result.at_once,
            "seconds": result.elapsed_s,
            **first,
            **cost.per("stream", result.completed),
        }


def load_tests(scale: LoadSize) -> list[LoadTest]:
    """Return all load tests, in the order of the report."""
    return [
        PlainRequests("1 KB requests", text_body(KB), scale),
        PlainRequests("1 KB requests, answers after 4 ms", text_body(KB), scale, delay_s=0.004),
        PlainRequests("1 KB requests, no two heads alike", text_body(KB), scale, heads_differ=True),
        PlainRequests("64 KB requests", text_body(64 * KB), scale),
        PlainRequests("1 MB requests", image_body(KB * KB), scale),
        AddedLatency(scale),
        FullSpeedStreams(scale),
        PacedStreams("SSE at 640 events/s", 0.1, scale),
        PacedStreams("SSE at 12,800 events/s", 0.005, scale),
        *(ManyStreams(count, scale) for count in scale.crowds),
    ]
