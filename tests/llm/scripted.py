"""A scripted OpenAI-compatible server over HTTP on the loopback."""

from __future__ import annotations

import asyncio
import inspect
import json
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from evenkeel.llm.client import Model, ModelClient

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenkeel.core.budget import Spend

    Script = list["Canned"] | Callable[[dict[str, Any]], "Canned"]

KEY = "sk-test-0123456789"


@dataclass(frozen=True)
class Canned:
    """A scripted response."""

    status: int = 200
    body: Any = None
    content_type: str = "application/json"
    cut: bool = False
    """Close the connection without answering."""
    hang: bool = False
    """Never answer."""
    drip_s: float = 0.0
    """Pause before each byte of the body."""
    headers: tuple[str, ...] = ()


def said(content, tokens=(100, 20), **message):
    """A completion with this text, and so many tokens of usage."""
    return Canned(
        body={
            "id": "c", "object": "chat.completion", "created": 0, "model": "scripted",
            "choices": [{
                "index": 0, "finish_reason": message.pop("finish_reason", "stop"),
                "message": {"role": "assistant", "content": content, **message},
            }],
            "usage": dict(zip(("prompt_tokens", "completion_tokens"), tokens, strict=True)),
        }
    )  # fmt: skip


def error(status, message="scripted", **canned):
    body = {"error": {"message": message, "type": "scripted", "code": None, "param": None}}
    return Canned(status, body, **canned)


@dataclass
class Scripted:
    """Answers by a script, one entry a request and the last one forever; records what it was asked."""

    script: Script
    asked: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    url: str = ""
    hanging: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once a request hangs."""
    over: asyncio.Event = field(default_factory=asyncio.Event)
    """Ends the requests that hang."""

    @property
    def keys(self):
        """Credentials that the callers showed."""
        return [headers["authorization"] for headers in self.headers]

    async def serve(self, reader, writer):
        """Speak as much HTTP/1.1 as a client with bodies of known length needs."""
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                headers = dict(line.lower().split(": ", 1) for line in head.split("\r\n")[1:] if line)
                request = json.loads(await reader.readexactly(int(headers["content-length"])))
                self.asked.append(request)
                self.headers.append(headers)
                canned = self.script(request) if callable(self.script) else self.script[0]
                if inspect.isawaitable(canned):
                    canned = await canned
                if not callable(self.script) and len(self.script) > 1:
                    self.script.pop(0)
                if canned.hang:
                    self.hanging.set()
                    await self.over.wait()
                if canned.cut or canned.hang:
                    return
                await self._answer(writer, canned)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _answer(self, writer, canned):
        body = canned.body if isinstance(canned.body, bytes) else json.dumps(canned.body).encode()
        more = "".join(f"{line}\r\n" for line in canned.headers)
        writer.write(
            f"HTTP/1.1 {canned.status} Scripted\r\ncontent-type: {canned.content_type}\r\n"
            f"content-length: {len(body)}\r\n{more}\r\n".encode()
        )
        for piece in [body[i : i + 1] for i in range(len(body))] if canned.drip_s else [body]:
            await asyncio.sleep(canned.drip_s)
            writer.write(piece)
            await writer.drain()


@asynccontextmanager
async def serving(script):
    """A scripted server on a free port, stopped at the end."""
    scripted = Scripted(script)
    server = await asyncio.start_server(scripted.serve, "127.0.0.1", 0)
    scripted.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    try:
        yield scripted
    finally:
        scripted.over.set()
        server.close()
        await server.wait_closed()


class Clock:
    """Time that passes only while somebody waits for it."""

    def __init__(self):
        self.now = 1000.0
        self.waited: list[float] = []

    def __call__(self):
        return self.now

    async def sleep(self, seconds):
        self.waited.append(round(seconds, 6))
        self.now += seconds


class NotedBudget:
    """A budget that notes what is reserved and settled."""

    def __init__(self, *, full=True):
        self.full = full
        self.reserved: list[Spend] = []
        self.settled: list[Spend] = []

    def reserve(self, estimate):
        self.reserved.append(estimate)
        return self.full

    def settle(self, estimate, spent):
        assert estimate in self.reserved
        self.settled.append(spent)


class MemoryCache(dict[str, bytes]):
    """A `Cache` without limits."""

    def put(self, key, body):
        self[key] = body


_OF_MODEL = {field.name for field in fields(Model)}


def endpoint_of(model="scripted", **settings):
    """An endpoint by what its model and its client are told, in one list."""
    told = {name: value for name, value in settings.items() if name in _OF_MODEL}
    others = {name: value for name, value in settings.items() if name not in _OF_MODEL}
    return ModelClient(Model(name=model, **told), **others)


def run(script, scene, **settings):
    """Return the outcome of a scene; nothing is repeated or waited for unless the settings say so."""

    async def at_once(_):
        """Do not wait between attempts."""

    async def staged():
        async with serving(script) as server:
            options = {"timeout_s": 240.0, "max_retries": 0, "sleep": at_once} | settings
            async with endpoint_of(base_url=server.url, api_key=KEY, **options) as endpoint:
                return await scene(endpoint, server)

    return asyncio.run(staged())
