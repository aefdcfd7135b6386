"""What is sent: bodies of three sizes, load by `wrk`, and a generator for the times of single events.

`wrk` is written in C and never slower than what it measures. It cannot time each answer and each event of a
stream: the generator does, in the caller's process, with raw protocols so that it is not what is measured.
"""

from __future__ import annotations

import asyncio
import base64
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
"""Besides `Host` and `Content-Length`."""

_SENTENCE = "The customer reports that the device restarts whenever the charger is connected. "


def _body(content: object, *, stream: bool) -> bytes:
    fields: dict[str, object] = {"model": "m", "messages": [{"role": "user", "content": content}]}
    if stream:
        fields["stream"] = True
    return json.dumps(fields, separators=(",", ":")).encode()


def text_body(size: int, *, stream: bool = False) -> bytes:
    """A chat request with about so many bytes of text."""
    text = (_SENTENCE * (size // len(_SENTENCE) + 1))[: max(1, size - 70)]
    return _body(text, stream=stream)


def image_body(size: int) -> bytes:
    """A chat request with an image of about so many bytes, in base64 as the API wants it."""
    image = base64.b64encode(random.Random(1).randbytes(size * 3 // 4)).decode()
    url = {"url": f"data:image/png;base64,{image}"}
    return _body([{"type": "text", "text": _SENTENCE}, {"type": "image_url", "image_url": url}], stream=False)


def request_bytes(path: str, headers: Mapping[str, str], body: bytes) -> bytes:
    """A whole POST request."""
    lines = [f"POST {path} HTTP/1.1", "Host: 127.0.0.1"]
    lines += [f"{name}: {value}" for name, value in {**HEADERS, **headers}.items()]
    lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


VARIANTS = 61
"""Heads of each kind where they differ: hardly a connection of 64 sees the same one twice in a row."""


def wrk_script(path: str, headers: Mapping[str, str], body_file: str, *, heads_differ: bool = False) -> str:
    """The same request for `wrk`, which then prints what it counted as one line of numbers.

    Args:
        path: Of the request.
        headers: Besides the usual ones.
        body_file: Holds the body.
        heads_differ: Whether each request has another `traceparent` than the one before it.
    """
    lines = ['wrk.method = "POST"', f'wrk.path = "{path}"']
    lines += [f'wrk.headers["{name}"] = "{value}"' for name, value in {**HEADERS, **headers}.items()]
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
_PATIENCE_S = 30.0


@dataclass(frozen=True, slots=True)
class Counted:
    """What `wrk` counted."""

    requests: int
    seconds: float
    size_bytes: int
    """Received, heads included."""
    errors: int


class Wrk:
    """One request, to be sent again and again."""

    def __init__(
        self, path: str, headers: Mapping[str, str], body: bytes, folder: Path, *, heads_differ: bool = False
    ) -> None:
        """Write the script.

        Args:
            path: Of the request.
            headers: Besides the usual ones.
            body: Of the request.
            folder: For the script and the body.
            heads_differ: As `wrk_script`.
        """
        body_file = folder / "body"
        body_file.write_bytes(body)
        self._script = folder / "post.lua"
        self._script.write_text(wrk_script(path, headers, str(body_file), heads_differ=heads_differ))

    def run(self, port: int, connections: int, seconds: float) -> Counted:
        """Send it for a while.

        Raises: NotMeasured with what `wrk` printed if it does not count.
        """
        # Its unit is whole seconds.
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
        found = _COUNTED.search(done.stdout)
        if found is None:
            raise NotMeasured(f"wrk: {(done.stderr or done.stdout).strip()[:200]}")
        requests, micros, size, errors = map(int, found.groups())
        return Counted(requests, micros / 1e6, size, errors)


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
        # Spread over 50 ms: requests that arrive all together would queue behind each other forever.
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
