"""The load that `wrk` cannot make: what each answer and each event of a stream took.

Raw protocols, so that the generator is not what is measured. Runs in the caller's process.
"""

from __future__ import annotations

import asyncio
import gc
import re
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import httptools
import uvloop

from benchmarks.proxy.machine import HOST

if TYPE_CHECKING:
    from collections.abc import Coroutine

_SERVICE = re.compile(rb"S=(\d{12})")
_TIME = re.compile(rb"T=(\d{19})")
_OK = 200
_NS_PER_MS = 1e6


@dataclass(slots=True)
class Heard:
    """What came back, times in milliseconds."""

    answers_ms: list[float] = field(default_factory=list)
    """Plain answers: from the request to the end of its answer, less what the upstream took."""
    first_ms: list[float] = field(default_factory=list)
    """Streams: from the request to the first event."""
    events_ms: list[float] = field(default_factory=list)
    """Events of streams: from being written to being read."""
    completed: int = 0
    """Streams with all their events and a clean end, or plain answers with status 200."""
    failed: int = 0
    at_once: int = 0
    """Most streams that were open together."""
    elapsed_s: float = 0.0


class _Caller(asyncio.Protocol):
    """One connection that sends a request again and again."""

    def __init__(self, load: _Load) -> None:
        self._load = load
        self._parser: Any = None
        self._started_ns = 0
        self._events = 0
        self._tail = b""
        self._body = b""
        self._busy = False
        self.closed = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: Any = transport
        self.call()

    def call(self) -> None:
        """Send the request."""
        self._parser = httptools.HttpResponseParser(self)
        self._events = 0
        self._tail = self._body = b""
        self._busy = True
        self._load.opened()
        self._started_ns = time.monotonic_ns()
        self._transport.write(self._load.request)

    def data_received(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError:
            self._transport.abort()

    def on_body(self, body: bytes) -> None:
        load = self._load
        if not load.events:
            self._body += body
            return
        now = time.monotonic_ns()
        whole, _, self._tail = (self._tail + body).rpartition(b"\n")
        for found in _TIME.finditer(whole):
            if not self._events and load.recording(self._started_ns):
                load.heard.first_ms.append((now - self._started_ns) / _NS_PER_MS)
            self._events += 1
            if load.recording(self._started_ns):
                load.heard.events_ms.append((now - int(found[1])) / _NS_PER_MS)

    def on_message_complete(self) -> None:
        load = self._load
        took_ns = time.monotonic_ns() - self._started_ns
        good = self._parser.get_status_code() == _OK and self._events == load.events
        if good and not load.events:
            service = _SERVICE.search(self._body)
            good = service is not None
            if service is not None and load.recording(self._started_ns):
                load.heard.answers_ms.append((took_ns - int(service[1])) / _NS_PER_MS)
        self._busy = False
        load.ended(good=good)
        if load.repeating and good:
            asyncio.get_running_loop().call_soon(self._again)
        else:
            self._transport.close()

    def _again(self) -> None:
        if not self._transport.is_closing():
            self.call()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - the protocol's signature
        if self._busy:
            self._busy = False
            self._load.ended(good=False)
        if not self.closed.done():
            self.closed.set_result(None)

    def stop(self) -> None:
        """Leave, whatever is under way."""
        self._busy = False
        self._transport.abort()


class _Load:
    """What the connections of one load share."""

    def __init__(self, request: bytes, events: int, warm_up_s: float, *, repeating: bool) -> None:
        self.request = request
        self.events = events
        self.repeating = repeating
        self.heard = Heard()
        self._open = 0
        self._record_from_ns = time.monotonic_ns() + int(warm_up_s * 1e9)

    def recording(self, started_ns: int) -> bool:
        """Whether what began then counts."""
        return started_ns >= self._record_from_ns

    def opened(self) -> None:
        """A request was sent."""
        self._open += 1
        self.heard.at_once = max(self.heard.at_once, self._open)

    def ended(self, *, good: bool) -> None:
        """Its answer ended, or will not come."""
        self._open -= 1
        if good:
            self.heard.completed += 1
        else:
            self.heard.failed += 1


async def _repeat(port: int, load: _Load, connections: int, seconds: float) -> Heard:
    loop = asyncio.get_running_loop()
    callers = []
    for number in range(connections):
        # Spread over 50 ms: requests that arrive all together would queue behind each other for ever.
        await asyncio.sleep(0.05 / connections if number else 0)
        _, caller = await loop.create_connection(lambda: _Caller(load), HOST, port)
        callers.append(caller)
    await asyncio.sleep(seconds)
    load.repeating = False
    for caller in callers:
        caller.stop()
    return load.heard


async def _once(port: int, load: _Load, streams: int, ramp_s: float, limit_s: float) -> Heard:
    loop = asyncio.get_running_loop()
    started = loop.time()
    callers: list[_Caller] = []

    async def one(number: int) -> None:
        await asyncio.sleep(number * ramp_s / streams)
        try:
            _, caller = await loop.create_connection(lambda: _Caller(load), HOST, port)
        except OSError:
            load.heard.failed += 1
            return
        callers.append(caller)
        await caller.closed

    tasks = [loop.create_task(one(number)) for number in range(streams)]
    await asyncio.wait(tasks, timeout=limit_s)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    for caller in callers:
        if not caller.closed.done():
            caller.stop()
    load.heard.elapsed_s = loop.time() - started
    load.heard.failed = streams - load.heard.completed
    return load.heard


def _run(load: Coroutine[Any, Any, Heard]) -> Heard:
    gc.collect()
    gc.disable()
    try:
        return uvloop.run(load)
    finally:
        gc.enable()


def answers(port: int, request: bytes, connections: int, seconds: float) -> Heard:
    """Plain requests for a while, each connection sending the next when the last is answered."""

    async def load() -> Heard:
        return await _repeat(port, _Load(request, 0, seconds / 5, repeating=True), connections, seconds)

    return _run(load())


def streams(port: int, request: bytes, connections: int, seconds: float, events: int) -> Heard:
    """The same with streams of so many events."""

    async def load() -> Heard:
        return await _repeat(port, _Load(request, events, 0, repeating=True), connections, seconds)

    return _run(load())


def crowd(port: int, request: bytes, count: int, ramp_s: float, limit_s: float, events: int) -> Heard:
    """So many streams once, begun over a time; one that has not ended by the limit has failed."""

    async def load() -> Heard:
        return await _once(port, _Load(request, events, 0, repeating=False), count, ramp_s, limit_s)

    return _run(load())
