"""Bodies that grow: a few kilobytes on the wire that stand for gigabytes, or for minutes of work."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import tracemalloc
import zlib

import brotli
import pytest
import zstandard

from evenkeel.core.exchange import Exchange
from evenkeel.core.verdict import Failure
from evenkeel.llm.encodings import MAX_DECODED_BYTES, UnreadableBody, decode_body
from evenkeel.shadow.original import Reader, UnreadableExchange
from evenkeel.shadow.planner import RoutePlan
from evenkeel.shadow.replay import Replayer, Target

LIMIT = 1 << 20
ZEROS = bytes(64 << 20)
PLAIN = b'{"model": "m", "messages": [{"role": "user", "content": "Which day is it?"}]}'
EMPTY_MEMBER = gzip.compress(b"", mtime=0)
EMPTY_FRAME = zstandard.compress(b"")
SKIPPED_FRAME = b"\x50\x2a\x4d\x18\x00\x00\x00\x00"


def deflated(data):
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


def layered(count):
    """Zeros under so many layers of gzip, all but the outer two of which only add a few bytes."""
    data = bytes(LIMIT // 2)
    for _ in range(count - 2):
        data = gzip.compress(data, 0, mtime=0)
    return gzip.compress(gzip.compress(data, mtime=0), mtime=0)


BOMBS = {
    "gzip": ("gzip", gzip.compress(ZEROS, mtime=0), "too_large"),
    "deflate": ("deflate", deflated(ZEROS), "too_large"),
    "br": ("br", brotli.compress(ZEROS, quality=5), "too_large"),
    "zstd": ("zstd", zstandard.compress(ZEROS), "too_large"),
    "gzip in gzip": ("gzip, gzip", gzip.compress(gzip.compress(ZEROS, mtime=0), mtime=0), "too_large"),
    "br in zstd": ("br, zstd", zstandard.compress(brotli.compress(ZEROS, quality=5)), "too_large"),
    "many members": ("gzip", EMPTY_MEMBER * 100_000, "encoding_broken"),
    "many frames": ("zstd", EMPTY_FRAME * 100_000, "encoding_broken"),
    "frames to skip": ("zstd", SKIPPED_FRAME * 100_000, "encoding_broken"),
    "members in a bomb": ("gzip, gzip", gzip.compress(EMPTY_MEMBER * 50_000, mtime=0), "encoding_broken"),
    "many layers": (", ".join(["gzip"] * 20), layered(20), "encoding_unsupported"),
    "many names": (",".join(["identity", "br"] * 2000), b"", "encoding_unsupported"),
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


@pytest.mark.parametrize(("encoding", "body", "reason"), BOMBS.values(), ids=BOMBS)
def test_a_bomb_is_refused_before_it_has_grown(encoding, body, reason):
    """Decoding stops some megabytes above its limit, and with more pieces or layers than honest ones have."""
    with memory_below(len(body) + 16 * LIMIT), pytest.raises(UnreadableBody) as caught:
        decode_body({"content-encoding": encoding}, body, LIMIT)
    assert caught.value.reason == reason


def exchange(request=(), request_body=PLAIN, response=(), response_body=b"{}"):
    return Exchange(
        *("0123456789abcdef", "main", 1.0, 0.1, "POST", "/v1/chat/completions", 200),
        *(request, request_body, response, response_body),
    )


@pytest.mark.parametrize("encoding", ["gzip", "br", "zstd"])
@pytest.mark.parametrize("side", ["request", "response"])
def test_a_captured_bomb_ends_among_the_dead_letters(encoding, side):
    """The worker reads no more than its limit of either body, and says why the exchange was not tried."""
    _, body, reason = BOMBS[encoding]
    coded = (("content-encoding", encoding),)
    bomb = exchange(coded, body) if side == "request" else exchange(response=coded, response_body=body)
    reader = Reader({"main": RoutePlan((), 1, None)})
    with memory_below(3 * MAX_DECODED_BYTES):
        assert reader.read(bomb) == UnreadableExchange(reason, dead=True)


def answered(head, body, *, endless=False):
    """What a replay makes of an upstream's answer, which may go on forever."""

    async def main():
        async def serve(reader, writer):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(head + b"\r\n\r\n" + body)
            with contextlib.suppress(ConnectionError):
                while endless:
                    writer.write(bytes(1 << 20))
                    await writer.drain()
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        replayer = Replayer(concurrency=1, timeout_s=240)
        try:
            return await replayer.send(Target(f"http://127.0.0.1:{port}/v1/chat/completions"), PLAIN)
        finally:
            await replayer.close()
            server.close()

    return asyncio.run(main())


@pytest.mark.parametrize("encoding", ["gzip", "br", "zstd", "gzip in gzip", "many members"])
def test_a_replay_reads_no_bomb(encoding):
    """The HTTP client would undo any compression without a limit, so it is not asked to."""
    name, body, _ = BOMBS[encoding]
    head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\nContent-Encoding: {name}".encode()
    with memory_below(4 * MAX_DECODED_BYTES):
        outcome = answered(head, body)
    assert isinstance(outcome, Failure)
    assert outcome.reason in {"too_large", "encoding_broken"}


def test_a_replay_ends_an_answer_without_end():
    """An upstream that never stops sending is cut off at the size that is read."""
    with memory_below(4 * MAX_DECODED_BYTES):
        outcome = answered(b"HTTP/1.1 200 OK\r\nConnection: close", b"", endless=True)
    assert isinstance(outcome, Failure)
    assert outcome.reason == "too_large"
