"""Bodies that grow: a few kilobytes on the wire that stand for gigabytes, or for minutes of work."""

import asyncio
import contextlib
import functools
import gzip
import json
import socket
import tracemalloc
import zlib

import brotli
import pytest
import zstandard

from evenkeel.core.verdict import Failure
from evenkeel.llm.chat import ChatRequest
from evenkeel.llm.encodings import MAX_DECODED_BYTES, UnreadableBody, decode_body
from evenkeel.llm.faults import Fault
from evenkeel.metrics.judge import Judge
from evenkeel.shadow.original import Reader, UnreadableExchange
from evenkeel.shadow.planner import RoutePlan
from evenkeel.shadow.replay import Replayer, Target
from tests.llm.scripted import NotedBudget, endpoint_of
from tests.stores.examples import exchange

LIMIT = 1 << 20
PLAIN = b'{"model": "m", "messages": [{"role": "user", "content": "Which day is it?"}]}'
EMPTY_MEMBER = gzip.compress(b"", mtime=0)
EMPTY_FRAME = zstandard.compress(b"")
SKIPPED_FRAME = b"\x50\x2a\x4d\x18\x00\x00\x00\x00"


@functools.cache
def zeros(pack, **settings):
    """64 MiB of zeros, packed; it takes a fifth of a second, so tests share them."""
    return pack(bytes(64 << 20), **settings)


def gzipped(data):
    return gzip.compress(data, mtime=0)


def deflated(data):
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


def layered(count):
    """Zeros under so many layers of gzip, all but the outer two of which only add a few bytes."""
    data = bytes(LIMIT // 2)
    for _ in range(count - 2):
        data = gzip.compress(data, 0, mtime=0)
    return gzipped(gzipped(data))


BOMBS = {
    "gzip": ("gzip", lambda: zeros(gzipped), "too_large"),
    "deflate": ("deflate", lambda: zeros(deflated), "too_large"),
    "br": ("br", lambda: zeros(brotli.compress, quality=5), "too_large"),
    "zstd": ("zstd", lambda: zeros(zstandard.compress), "too_large"),
    "gzip in gzip": ("gzip, gzip", lambda: gzipped(zeros(gzipped)), "too_large"),
    "br in zstd": ("br, zstd", lambda: zstandard.compress(zeros(brotli.compress, quality=5)), "too_large"),
    "many members": ("gzip", lambda: EMPTY_MEMBER * 100_000, "encoding_broken"),
    "many frames": ("zstd", lambda: EMPTY_FRAME * 100_000, "encoding_broken"),
    "frames to skip": ("zstd", lambda: SKIPPED_FRAME * 100_000, "encoding_broken"),
    "members in a bomb": ("gzip, gzip", lambda: gzipped(EMPTY_MEMBER * 50_000), "encoding_broken"),
    "many layers": (", ".join(["gzip"] * 20), lambda: layered(20), "encoding_unsupported"),
    "many names": (",".join(["identity", "br"] * 2000), bytes, "encoding_unsupported"),
}


@contextlib.contextmanager
def memory_below(size_bytes):
    """Fails if Python held more at a time."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < size_bytes
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(("encoding", "make", "reason"), BOMBS.values(), ids=BOMBS)
def test_a_bomb_is_refused_before_it_has_grown(encoding, make, reason):
    """Decoding stops some megabytes above its limit, and with more pieces or layers than honest ones have."""
    body = make()
    with memory_below(len(body) + 16 * LIMIT), pytest.raises(UnreadableBody) as caught:
        decode_body({"content-encoding": encoding}, body, LIMIT)
    assert caught.value.reason == reason


@pytest.mark.parametrize(("side", "encoding"), [("request", "gzip"), ("response", "br")])
def test_a_captured_bomb_ends_among_the_dead_letters(side, encoding):
    """The worker reads no more than its limit of either body, and says why the exchange was not tried."""
    _, make, reason = BOMBS[encoding]
    coded = (("content-encoding", encoding),)
    fields = {"request_headers": (), "request_body": PLAIN, "response_headers": (), "response_body": b"{}"}
    bomb = exchange(1, **fields | {f"{side}_headers": coded, f"{side}_body": make()})
    reader = Reader({"default": RoutePlan((), 1, None)})
    with memory_below(3 * MAX_DECODED_BYTES):
        assert reader.read(bomb) == UnreadableExchange(reason, dead=True)


RULING = json.dumps({"rating": 3, "explanation": "the same"})
CHOICE = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": RULING}}
COMPLETION = json.dumps({"object": "chat.completion", "model": "m", "choices": [CHOICE]}).encode()


async def judged(url):
    async with Judge(endpoint_of(base_url=url, model="m", api_key="k")) as judge:
        return await judge.check()


async def rewritten(url):
    async with endpoint_of(base_url=url, model="m", api_key="k") as endpoint:
        return await endpoint.chat(ChatRequest("rewriter", ()), budget=NotedBudget())


async def replayed(url):
    replayer = Replayer(concurrency=1, timeout_s=240)
    try:
        return await replayer.send(Target(f"{url}/chat/completions"), PLAIN)
    finally:
        await replayer.close()


def answered(ask, body, encoding="", *, status=200, endless=False, field=""):
    """Give a client an answer, which may go on forever; return its outcome and the heads of its requests."""
    heads = []

    async def serve(reader, writer):
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            heads.append((await reader.readuntil(b"\r\n\r\n")).decode().lower())
            coded = f"Content-Encoding: {encoding}\r\n" if encoding else ""
            fields = f"Content-Type: application/json\r\nConnection: close\r\n{coded}{field}"
            writer.write(f"HTTP/1.1 {status} OK\r\n{fields}\r\n".encode() + body)
            while endless:
                writer.write(bytes(1 << 20))
                await writer.drain()
            await writer.drain()
        writer.close()

    async def main():
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        try:
            return await ask(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1")
        finally:
            server.close()

    with memory_below(4 * MAX_DECODED_BYTES):
        return asyncio.run(main()), heads


ENDPOINTS = pytest.mark.parametrize("ask", [judged, rewritten])


@pytest.mark.parametrize("encoding", ["gzip", "many members"])
def test_a_replay_reads_no_bomb(encoding):
    """The HTTP client would undo any compression without a limit, so it is not asked to."""
    name, make, _ = BOMBS[encoding]
    outcome, _ = answered(replayed, make(), name)
    assert isinstance(outcome, Failure)
    assert outcome.reason in {"too_large", "encoding_broken"}


@ENDPOINTS
def test_a_compressed_bomb_is_no_answer(ask):
    """A body that stands for a thousand times as much is given up at the limit, once, and named."""
    outcome, heads = answered(ask, BOMBS["gzip"][1](), "gzip")
    assert outcome.reason == "bad_schema"
    assert "larger than" in outcome.detail
    assert len(heads) == 1
    assert "accept-encoding: identity" in heads[0]


@pytest.mark.parametrize(
    ("ask", "status", "reason"),
    [(judged, 200, "bad_schema"), (judged, 500, "bad_schema"), (replayed, 200, "too_large")],
)
def test_an_answer_without_end_is_given_up(ask, status, reason):
    """Uncompressed ones are counted as they come, those that come with an error too."""
    outcome, _ = answered(ask, b'{"', status=status, endless=True)
    assert isinstance(outcome, Failure)
    assert outcome.reason == reason


def test_an_encoding_that_nobody_knows_or_that_is_broken_is_refused():
    """The message names it, and nothing is tried again."""
    outcome, _ = answered(rewritten, COMPLETION, "rot13")
    assert isinstance(outcome, Fault)
    assert "'rot13' is not known" in outcome.detail
    outcome, heads = answered(judged, b"no gzip at all", "gzip")
    assert (outcome.reason, len(heads)) == ("bad_schema", 1)


@pytest.mark.parametrize("encoding", ["", "identity", "gzip", "deflate", "br"])
def test_an_endpoint_that_compresses_all_the_same_is_read(encoding):
    """Honest answers pass, whatever the endpoint does about the encoding."""
    pack = {"gzip": gzip.compress, "deflate": zlib.compress, "br": brotli.compress}.get(encoding, bytes)
    assert answered(judged, pack(COMPLETION), encoding)[0] is None


@ENDPOINTS
def test_a_redirect_is_not_followed(ask):
    """An endpoint that points elsewhere gets no prompt sent there: prompts and keys are for one origin."""
    with socket.create_server(("127.0.0.1", 0)) as elsewhere:
        elsewhere.setblocking(False)
        location = f"Location: http://127.0.0.1:{elsewhere.getsockname()[1]}/v1/x\r\n"
        outcome, _ = answered(ask, b"", status=307, field=f"{location}Content-Length: 0\r\n")
        assert isinstance(outcome, (Fault, Failure))
        with pytest.raises(BlockingIOError):
            elsewhere.accept()
