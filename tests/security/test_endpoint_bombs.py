"""Judges, rewriters and encoders that answer with more than any honest one would."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
import tracemalloc
import zlib

import brotli
import pytest

from evenkeel.core.verdict import Failure
from evenkeel.llm.chat import ChatRequest
from evenkeel.llm.encodings import MAX_DECODED_BYTES
from evenkeel.llm.faults import Fault
from evenkeel.metrics.judge import Judge
from evenkeel.shadow.rewriter.client import reply_to
from tests.llm.scripted import endpoint_of

RULING = {"rating": 3, "explanation": "the same"}
COMPLETION = {
    "id": "1",
    "object": "chat.completion",
    "created": 1,
    "model": "m",
    "choices": [
        {
            "index": 0,
            "finish_reason": "stop",
            "message": {"role": "assistant", "content": json.dumps(RULING)},
        }
    ],
}
BOMB = gzip.compress(b" " * (96 << 20), 9, mtime=0)
HEAD = "HTTP/1.1 {status} OK\r\nContent-Type: application/json\r\nConnection: close\r\n{further}\r\n"


class CallBudget:
    """Pays for everything."""

    def reserve(self, spend):
        return True

    def settle(self, reserved, spent):
        pass


def answered(ask, body, encoding="", *, status=200, endless=False):
    """What a client makes of an answer, the heads of the requests it sent, and the memory it took."""
    heads = []

    async def main():
        async def serve(reader, writer):
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
                heads.append((await reader.readuntil(b"\r\n\r\n")).decode().lower())
                further = f"Content-Encoding: {encoding}\r\n" if encoding else ""
                writer.write(HEAD.format(status=status, further=further).encode() + body)
                while endless:
                    writer.write(bytes(1 << 20))
                    await writer.drain()
                await writer.drain()
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        try:
            return await ask(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1")
        finally:
            server.close()

    tracemalloc.start()
    try:
        outcome = asyncio.run(main())
        return outcome, heads, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


async def judged(url):
    async with Judge(endpoint_of(base_url=url, model="m", api_key="k")) as judge:
        return await judge.check()


async def embedded(url):
    async with endpoint_of(base_url=url, model="m", api_key="k") as client:
        return (await client.embed(["text"])).vectors


async def rewritten(url):
    async with endpoint_of(base_url=url, model="m", api_key="k") as endpoint:
        return await reply_to(endpoint, ChatRequest("rewriter", ()), CallBudget())


CLIENTS = pytest.mark.parametrize("ask", [judged, embedded, rewritten])


@CLIENTS
def test_a_compressed_bomb_is_no_answer(ask):
    """What stands for a thousand times as much is given up at the limit, not tried again, and named."""
    outcome, heads, used = answered(ask, BOMB, "gzip")
    assert outcome.reason == "bad_schema"
    assert "larger than" in outcome.detail
    assert len(heads) == 1
    assert "accept-encoding: identity" in heads[0]
    assert used < 4 * MAX_DECODED_BYTES


def test_an_answer_without_end_is_given_up():
    """Uncompressed ones are counted as they come, those that come with an error too."""
    for status in (200, 500):
        outcome, _, used = answered(judged, b'{"', status=status, endless=True)
        assert isinstance(outcome, Failure)
        assert outcome.reason == "bad_schema"
        assert used < 4 * MAX_DECODED_BYTES


def test_an_encoding_that_nobody_knows_is_refused():
    """The message names it."""
    outcome, _, _ = answered(rewritten, json.dumps(COMPLETION).encode(), "rot13")
    assert isinstance(outcome, Fault)
    assert "'rot13' is not known" in outcome.detail


@pytest.mark.parametrize("encoding", ["", "identity", "gzip", "deflate", "br"])
def test_an_endpoint_that_compresses_all_the_same_is_read(encoding):
    """Honest answers pass, whatever the endpoint does about the encoding."""
    body = json.dumps(COMPLETION).encode()
    packed = {"gzip": gzip.compress, "deflate": zlib.compress, "br": brotli.compress}.get(encoding, bytes)(
        body
    )
    assert answered(judged, packed, encoding)[0] is None


def test_what_only_claims_to_be_compressed_is_no_answer():
    """Broken data is the endpoint's fault, and not tried again."""
    outcome, heads, _ = answered(judged, b"no gzip at all", "gzip")
    assert outcome.reason == "bad_schema"
    assert len(heads) == 1


@CLIENTS
def test_a_redirect_is_not_followed(ask):
    """An endpoint that points elsewhere gets no prompt sent there: prompts and keys are for one origin."""
    reached = []

    async def main():
        async def elsewhere(reader, writer):
            reached.append(await reader.read(1))
            writer.close()

        async def redirect(reader, writer):
            await reader.readuntil(b"\r\n\r\n")
            port = other.sockets[0].getsockname()[1]
            location = f"Location: http://127.0.0.1:{port}/v1/x\r\n"
            writer.write(f"HTTP/1.1 307 x\r\n{location}Content-Length: 0\r\n\r\n".encode())
            await writer.drain()
            writer.close()

        other = await asyncio.start_server(elsewhere, "127.0.0.1", 0)
        server = await asyncio.start_server(redirect, "127.0.0.1", 0)
        try:
            return await ask(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1")
        finally:
            server.close()
            other.close()

    outcome = asyncio.run(main())
    assert isinstance(outcome, (Fault, Failure))
    assert reached == []
