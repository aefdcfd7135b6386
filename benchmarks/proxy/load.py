"""Load: request bodies of three sizes, `wrk`, and a generator that times single events.

`wrk` is written in C and never slower than the program it measures, but it cannot time each answer and each
event of a stream. The generator can. It runs in the caller's process with raw protocols, so that it adds
little to the times.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import gc
import json
import random
import re
import subprocess
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import httptools
import uvloop

from benchmarks.machine import HOST, NotMeasured

if TYPE_CHECKING:
    from collections.abc import Coroutine, Mapping
    from pathlib import Path


KB = 1 << 10

HEADERS = {
    "Content-Type": "application/json",
    "Accept": "application/json",
    "User-Agent": "OpenAI/Python",
    "Authorization": "Bearer not-a-key-just-a-usual-length-of-one-000000000000",
    "X-Stainless-Lang": "python",
    "X-Stainless-OS": "Linux",
}
"""Headers of each request in addition to `Host` and `Content-Length`."""

_SENTENCE = "The customer reports that the device restarts whenever the charger is connected. "


def _body(content: object, *, stream: bool) -> bytes:
    fields: dict[str, object] = {"model": "m", "messages": [{"role": "user", "content": content}]}
    if stream:
        fields["stream"] = True
    return json.dumps(fields, separators=(",", ":")).encode()


def text_body(size: int, *, stream: bool = False) -> bytes:
    """Return a chat request of about this size, with a text."""
    text = (_SENTENCE * (size // len(_SENTENCE) + 1))[: max(1, size - 70)]
    return _body(text, stream=stream)


def image_body(size: int) -> bytes:
    """Return a chat request of about this size, with an image in base64 as the API takes it."""
    image = base64.b64encode(random.Random(1).randbytes(size * 3 // 4)).decode()
    url = {"url": f"data:image/png;base64,{image}"}
    return _body([{"type": "text", "text": _SENTENCE}, {"type": "image_url", "image_url": url}], stream=False)


def request_bytes(path: str, headers: Mapping[str, str], body: bytes) -> bytes:
    """Return a whole POST request."""
    lines = [f"POST {path} HTTP/1.1", "Host: 127.0.0.1"]
    for name, value in {**HEADERS, **headers}.items():
        lines.append(f"{name}: {value}")
    lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


VARIANTS = 61
"""Number of different heads; few of 64 connections then see the same head twice in a row."""


def wrk_script(path: str, headers: Mapping[str, str], body_file: str, *, heads_differ: bool = False) -> str:
    """Return a script that makes `wrk` send a request and print its counts as a line of numbers.

    Args:
        path: Path of the request.
        headers: Headers in addition to the usual ones.
        body_file: File with the body.
        heads_differ: True to give each request another `traceparent` than the one before it.
    """
    lines = ['wrk.method = "POST"', f'wrk.path = "{path}"']
    for name, value in {**HEADERS, **headers}.items():
        lines.append(f'wrk.headers["{name}"] = "{value}"')
    if heads_differ:
        lines += [
            "local made, turn = {}, 0",
            "init = function()",
            f"  for n = 1, {VARIANTS} do",
            '    wrk.headers["traceparent"] = string.format("00-%032x-%016x-01", n, n)',
            "    made[n] = wrk.format()",
            "  end",
            "end",
            f"request = function() turn = turn % {VARIANTS} + 1; return made[turn] end",
        ]
    lines += [
        f'wrk.body = io.open("{body_file}", "rb"):read("*a")',
        "done = function(summary, latency, requests)",
        "  local e = summary.errors",
        '  print(string.format("counted %d %d %d %d", summary.requests, summary.duration, summary.bytes,',
        "    e.connect + e.read + e.write + e.status + e.timeout))",
        "end",
    ]
    return "\n".join(lines) + "\n"


_COUNTED = re.compile(r"counted (\d+) (\d+) (\d+) (\d+)")
_PATIENCE_S = 30.0  # for an answer, and for wrk to end after its time


@dataclass(frozen=True, slots=True)
class WrkCounts:
    """Counts of a run of `wrk`."""

    requests: int
    seconds: float
    size_bytes: int
    """Bytes received, including heads."""
    errors: int


class Wrk:
    """Load that sends a request again and again by `wrk`."""

    def __init__(
        self, path: str, headers: Mapping[str, str], body: bytes, folder: Path, *, heads_differ: bool = False
    ) -> None:
        """Write the script.

        Args:
            path: Path of the request.
            headers: Headers in addition to the usual ones.
            body: Body of the request.
            folder: Folder for the script and the body.
            heads_differ: See `wrk_script`.
        """
        body_file = folder / "body"
        body_file.write_bytes(body)
        self._script = folder / "post.lua"
        self._script.write_text(wrk_script(path, headers, str(body_file), heads_differ=heads_differ))

    def run(self, port: int, connections: int, seconds: float) -> WrkCounts:
        """Send the request for some seconds.

        Raises: NotMeasured with the output of `wrk` if that has no counts.
        """
        # wrk takes whole seconds.
        for_s = max(1, round(seconds))
        command = ["wrk", "-t1", f"-c{connections}", f"-d{for_s}s", "--timeout", f"{_PATIENCE_S:g}s"]
        try:
            done = subprocess.run(
                [*command, "-s", str(self._script), f"http://{HOST}:{port}"],
                capture_output=True,
                text=True,
                check=False,
                timeout=for_s + _PATIENCE_S,
            )
        except subprocess.TimeoutExpired as error:
            raise NotMeasured(f"wrk did not end within {for_s + _PATIENCE_S:g} s") from error
        counts = _COUNTED.search(done.stdout)
        if counts is None:
            raise NotMeasured(f"wrk: {(done.stderr or done.stdout).strip()[:200]}")
        requests, micros, size, errors = map(int, counts.groups())
        return WrkCounts(requests, micros / 1e6, size, errors)


_SERVICE = re.compile(rb"S=(\d{12})")  # time that the upstream took, in an answer
_TIME = re.compile(rb"T=(\d{19})")  # time at which an event was written
_OK = 200
_NS_PER_MS = 1e6


@dataclass(slots=True)
class LoadResult:
    """Result of a load, with times in milliseconds."""

    answers_ms: list[float] = field(default_factory=list)
    """Times from a request to the end of its plain answer, without the time that the upstream took."""
    first_ms: list[float] = field(default_factory=list)
    """Times from a request to the first event of its stream."""
    events_ms: list[float] = field(default_factory=list)
    """Times from writing an event of a stream to reading it."""
    completed: int = 0
    """Number of streams with all their events and a clean end, or of plain answers with status 200."""
    failed: int = 0
    at_once: int = 0
    """Highest number of streams that were open at the same time."""
    elapsed_s: float = 0.0


class _Caller(asyncio.Protocol):
    """Connection that sends a request again and again."""

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
        # An event may be split over two pieces of the body.
        lines, _, self._tail = (self._tail + body).rpartition(b"\n")
        for written in _TIME.finditer(lines):
            if load.counts(self._started_ns):
                if not self._events:
                    load.result.first_ms.append((now - self._started_ns) / _NS_PER_MS)
                load.result.events_ms.append((now - int(written[1])) / _NS_PER_MS)
            self._events += 1

    def on_message_complete(self) -> None:
        load = self._load
        took_ns = time.monotonic_ns() - self._started_ns
        good = self._parser.get_status_code() == _OK and self._events == load.events
        if good and not load.events:
            service = _SERVICE.search(self._body)
            good = service is not None
            if service is not None and load.counts(self._started_ns):
                load.result.answers_ms.append((took_ns - int(service[1])) / _NS_PER_MS)
        self._busy = False
        load.ended(good=good)
        if load.repeating and good:
            # The parser is still in use here, so the next request begins after it has returned.
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
        """Close the connection, even within an answer."""
        self._busy = False
        self._transport.abort()


class _Load:
    """State that the connections of a load share."""

    def __init__(self, request: bytes, events: int, warm_up_s: float = 0.0, *, repeating: bool) -> None:
        self.request = request
        self.events = events
        self.repeating = repeating
        self.result = LoadResult()
        self._open = 0
        self._count_from_ns = time.monotonic_ns() + int(warm_up_s * 1e9)

    def counts(self, started_ns: int) -> bool:
        """Return True if times of a request that began at this moment count."""
        return started_ns >= self._count_from_ns

    def opened(self) -> None:
        """Count a request that was sent."""
        self._open += 1
        self.result.at_once = max(self.result.at_once, self._open)

    def ended(self, *, good: bool) -> None:
        """Count a request that was answered or has failed."""
        self._open -= 1
        if good:
            self.result.completed += 1
        else:
            self.result.failed += 1


async def _repeat(port: int, load: _Load, connections: int, seconds: float) -> LoadResult:
    loop = asyncio.get_running_loop()
    callers = []
    for number in range(connections):
        # The connections begin within 50 ms: requests that arrive together would queue behind each other.
        await asyncio.sleep(0.05 / connections if number else 0)
        _, caller = await loop.create_connection(lambda: _Caller(load), HOST, port)
        callers.append(caller)
    await asyncio.sleep(seconds)
    load.repeating = False
    for caller in callers:
        caller.stop()
    return load.result


async def _once(port: int, load: _Load, streams: int, ramp_s: float, limit_s: float) -> LoadResult:
    loop = asyncio.get_running_loop()
    started = loop.time()
    callers: list[_Caller] = []

    async def stream(number: int) -> None:
        await asyncio.sleep(number * ramp_s / streams)
        with contextlib.suppress(OSError):
            _, caller = await loop.create_connection(lambda: _Caller(load), HOST, port)
            callers.append(caller)
            await caller.closed

    tasks = [loop.create_task(stream(number)) for number in range(streams)]
    await asyncio.wait(tasks, timeout=limit_s)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    for caller in callers:
        if not caller.closed.done():
            caller.stop()
    load.result.elapsed_s = loop.time() - started
    load.result.failed = streams - load.result.completed
    return load.result


def _run(load: Coroutine[Any, Any, LoadResult]) -> LoadResult:
    # A collection of garbage would delay the events that it times.
    gc.disable()
    try:
        return uvloop.run(load)
    finally:
        gc.enable()


def answers(port: int, request: bytes, connections: int, seconds: float) -> LoadResult:
    """Send plain requests for some seconds; each connection sends the next one after an answer."""
    gc.collect()
    load = _Load(request, events=0, warm_up_s=seconds / 5, repeating=True)
    return _run(_repeat(port, load, connections, seconds))


def streams(port: int, request: bytes, connections: int, seconds: float, events: int) -> LoadResult:
    """Request streams of some events for some seconds; each connection requests them one after another."""
    gc.collect()
    return _run(_repeat(port, _Load(request, events, repeating=True), connections, seconds))


def crowd(port: int, request: bytes, count: int, ramp_s: float, limit_s: float, events: int) -> LoadResult:
    """Request streams once, begun over `ramp_s`; those that have not ended after `limit_s` have failed."""
    gc.collect()
    return _run(_once(port, _Load(request, events, repeating=False), count, ramp_s, limit_s))
