"""A scripted OpenAI-compatible rewriter over HTTP on the loopback, and what tests ask it."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from evenkeel.llm.client import Endpoint
from evenkeel.shadow.perturbations.protocol import RewriteTask
from evenkeel.shadow.rewriter import MemoryRewriteCache, Rewriter

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from evenkeel.core.budget import Spend

KEY = "sk-test-0123456789"
TEXT = "Our customer reports that the export of invoice INC-48213 fails, and she needs it within 3 hours."
TASK = RewriteTask("paraphrase", TEXT)
GOOD = "The client says that exporting invoice INC-48213 does not work; she must have it within 3 hours."
BETTER = "Exporting invoice INC-48213 is broken, says our client, who has to have it within 3 hours."


@dataclass(frozen=True)
class Canned:
    """One scripted response."""

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    hang: bool = False
    """Never answer."""
    cut: bool = False
    """Close the connection without answering."""


def said(content: str | None, finish: str = "stop", **message: Any) -> Canned:
    """A completion with this text, and 300 + 30 tokens of usage."""
    return Canned(
        body={
            "id": "c", "object": "chat.completion", "created": 0, "model": "scripted",
            "choices": [{
                "index": 0, "finish_reason": finish,
                "message": {"role": "assistant", "content": content, **message},
            }],
            "usage": {"prompt_tokens": 300, "completion_tokens": 30, "total_tokens": 330},
        }
    )  # fmt: skip


def error(status: int, message: str = "scripted", **headers: str) -> Canned:
    body = {"error": {"message": message, "type": "scripted", "code": None, "param": None}}
    return Canned(status, body, {name.replace("_", "-"): value for name, value in headers.items()})


@dataclass
class ScriptedModel:
    """Answers by a script, one entry a request and the last one for ever; records what it was asked."""

    script: Any
    asked: list[dict[str, Any]] = field(default_factory=list)
    under_way: int = 0
    most_under_way: int = 0
    hanging: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once a request hangs."""
    hung: set[asyncio.Future[None]] = field(default_factory=set)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Speak as much HTTP/1.1 as a client with bodies of known length needs."""
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                length = re.search(r"content-length: (\d+)", head, re.IGNORECASE)
                assert length is not None
                request = json.loads(await reader.readexactly(int(length[1])))
                assert f"Bearer {KEY}" in head
                self.asked.append(request)
                canned = self.script(request) if callable(self.script) else self.script[0]
                if not callable(self.script) and len(self.script) > 1:
                    self.script.pop(0)
                self.under_way += 1
                self.most_under_way = max(self.most_under_way, self.under_way)
                await asyncio.sleep(0)
                if canned.hang:
                    self.hanging.set()
                    self.hung.add(until_the_end := asyncio.get_running_loop().create_future())
                    await until_the_end
                self.under_way -= 1
                if canned.cut:
                    return
                body = json.dumps(canned.body).encode()
                headers = {"content-type": "application/json", "content-length": len(body), **canned.headers}
                lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
                writer.write(f"HTTP/1.1 {canned.status} Scripted\r\n{lines}\r\n".encode() + body)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


class CountedPurse:
    """A purse with a limit that remembers the most that was ever spent and set aside."""

    def __init__(self, limit: int = 10**9) -> None:
        self.limit = limit
        self.spent = 0
        self.reserved = 0
        self.open = 0
        self.reservations = 0
        self.largest = 0
        self.overrun = 0
        """Most tokens by which a call cost more than was set aside for it."""

    def reserve(self, estimate: Spend) -> bool:
        if self.spent + self.reserved + estimate.tokens > self.limit:
            return False
        self.reserved += estimate.tokens
        self.open += 1
        self.reservations += 1
        return True

    def settle(self, estimate: Spend, spent: Spend) -> None:
        self.reserved -= estimate.tokens
        self.open -= 1
        self.spent += spent.tokens
        self.largest = max(self.largest, spent.tokens)
        self.overrun = max(self.overrun, spent.tokens - estimate.tokens)


class Clock:
    """Time that passes only while somebody waits for it."""

    def __init__(self) -> None:
        self.now = 1_000_000.0
        self.waited: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.waited.append(seconds)
        self.now += seconds


@dataclass
class Scene:
    """Everything a test looks at."""

    rewriter: Rewriter
    model: ScriptedModel
    stronger: ScriptedModel
    purse: CountedPurse
    counts: Counter[str]
    clock: Clock


@asynccontextmanager
async def staged(
    script: Any, stronger: Any = None, *, limit: int = 10**9, cache: Any = None, **settings: Any
) -> AsyncIterator[Scene]:
    """A rewriter connected to scripted models; all are stopped at the end."""
    models = [ScriptedModel(script), ScriptedModel(stronger or [error(500)])]
    servers = [await asyncio.start_server(model.serve, "127.0.0.1", 0) for model in models]
    clock = Clock()
    shared = {
        name: settings.pop(name)
        for name in ("timeout_s", "concurrency", "headroom_tokens", "breaker", "price")
        if name in settings
    }
    endpoints = [
        Endpoint(
            base_url=f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1",
            model=name,
            api_key=KEY,
            clock=clock,
            sleep=clock.sleep,
            **({"timeout_s": 5.0} | shared),
        )
        for name, server in zip(("scripted", "strong"), servers, strict=True)
    ]
    counts: Counter[str] = Counter()
    rewriter = Rewriter(
        endpoints[0],
        cache=cache or MemoryRewriteCache(),
        stronger=endpoints[1] if stronger else None,
        count=lambda outcome: counts.update([outcome]),
        **settings,
    )
    try:
        async with rewriter:
            yield Scene(rewriter, *models, CountedPurse(limit), counts, clock)
    finally:
        await endpoints[1].close()
        for model in models:
            for future in model.hung:
                if not future.done():
                    future.set_result(None)
        for server in servers:
            server.close()
            await server.wait_closed()


def play(
    script: Any,
    stronger: Any = None,
    *,
    task: RewriteTask = TASK,
    act: Callable[[Scene], Awaitable[Any]] | None = None,
    **settings: Any,
) -> tuple[Any, Scene]:
    """What comes of one task, or of an act, and the scene afterwards; every reservation is settled."""

    async def run() -> tuple[Any, Scene]:
        async with staged(script, stronger, **settings) as scene:
            outcome = await (act(scene) if act else scene.rewriter.rewrite(task, scene.purse))
        assert scene.purse.open == 0
        assert scene.purse.reserved == 0
        return outcome, scene

    return asyncio.run(run())


def shown_tag(request: dict[str, Any]) -> str:
    """The tag of the markers in a request, as a model that leaks them would find it."""
    match = re.search(r"<<<BEGIN TEXT (\w+)>>>", request["messages"][-1]["content"])
    assert match is not None
    return match[1]
