"""A scripted OpenAI-compatible endpoint over HTTP on the loopback, and a judge that asks it."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from evenkeel.metrics.judge import Judge
from evenkeel.metrics.judge.prompts import SIMILARITY

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

KEY = "sk-test-0123456789"
QUESTION = SIMILARITY.fill(
    {"REFERENCE ANSWER": "The VPN is down.", "CANDIDATE ANSWER": "The VPN does not work."}
)


@dataclass(frozen=True)
class Canned:
    """One scripted response."""

    status: int = 200
    body: Any = None
    delay_s: float = 0.0
    content_type: str = "application/json"
    cut: bool = False
    """Close the connection without answering."""
    drip_s: float = 0.0
    """Pause before each byte of the body."""
    headers: tuple[str, ...] = ("retry-after-ms: 1",)


def said(content: str | None, **message: Any) -> Canned:
    """A completion with this text, and 100 + 20 tokens of usage."""
    return Canned(
        body={
            "id": "c", "object": "chat.completion", "created": 0, "model": "scripted",
            "choices": [{
                "index": 0, "finish_reason": message.pop("finish_reason", "stop"),
                "message": {"role": "assistant", "content": content, **message},
            }],
            "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
        }
    )  # fmt: skip


def error(status: int, message: str = "scripted", **canned: Any) -> Canned:
    body = {"error": {"message": message, "type": "scripted", "code": None, "param": None}}
    return Canned(status, body, **canned)


def rated(rating: int, explanation: str = "because") -> Canned:
    """A completion in due form."""
    return said(json.dumps({"explanation": explanation, "rating": rating}))


GOOD = said('{"explanation": "the same", "rating": 3}')


@dataclass
class ScriptedJudge:
    """Answers by a script, one entry a request and the last one for ever; records what it was asked."""

    script: list[Canned] | Callable[[dict[str, Any]], Canned]
    asked: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    under_way: int = 0
    most_under_way: int = 0
    url: str = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Speak as much HTTP/1.1 as a client with bodies of known length needs."""
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                headers = dict(line.lower().split(": ", 1) for line in head.split("\r\n")[1:] if line)
                request = json.loads(await reader.readexactly(int(headers["content-length"])))
                self.asked.append(request)
                self.keys.append(headers["authorization"])
                canned = self.script(request) if callable(self.script) else self.script[0]
                if not callable(self.script) and len(self.script) > 1:
                    self.script.pop(0)
                self.under_way += 1
                self.most_under_way = max(self.most_under_way, self.under_way)
                await asyncio.sleep(canned.delay_s)
                self.under_way -= 1
                if canned.cut:
                    return
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
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def judging(
    script: list[Canned] | Callable[[dict[str, Any]], Canned], **settings: Any
) -> AsyncIterator[tuple[Judge, ScriptedJudge]]:
    """A judge connected to a scripted endpoint; both are stopped at the end."""
    scripted = ScriptedJudge(script)
    server = await asyncio.start_server(scripted.serve, "127.0.0.1", 0)
    scripted.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    settings = {"timeout_s": 5.0, "max_retries": 0} | settings
    try:
        async with Judge(base_url=scripted.url, model="scripted", api_key=KEY, **settings) as judge:
            yield judge, scripted
    finally:
        server.close()
        await server.wait_closed()


def ask(script: list[Canned], times: int = 1, **settings: Any) -> tuple[list[Any], ScriptedJudge]:
    """Replies to one question asked some times in a row."""

    async def run() -> tuple[list[Any], ScriptedJudge]:
        async with judging(script, **settings) as (judge, scripted):
            return [await judge.ask(QUESTION) for _ in range(times)], scripted

    return asyncio.run(run())


def run(script: Any, scene: Callable[[Judge, ScriptedJudge], Awaitable[Any]], **settings: Any) -> Any:
    async def staged() -> Any:
        async with judging(script, **settings) as (judge, scripted):
            return await scene(judge, scripted)

    return asyncio.run(staged())
