"""Content encodings undone, as far as a body may grow.

A body comes from outside: a few kilobytes can stand for gigabytes, so every decoder stops at a limit.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any, Final

import brotli
import zstandard

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

MAX_DECODED_BYTES: Final = 16 << 20
"""Largest body that is read, after decompression."""

# Some servers state `identity`, which RFC 9110 advises against.
_NO_ENCODING: Final = frozenset({"", "identity"})
# Encodings over each other. Each is undone as a whole, so few bytes of header would be minutes of work.
_MOST_ENCODINGS: Final = 3
# gzip members or zstd frames in a row. An empty one takes nine bytes and as long as a large one.
_MOST_MEMBERS: Final = 1000
# Bytes given at a time. A few of zstd stand for up to 128 KiB, and what follows a member is copied.
_SLICE_BYTES: Final = 256
# RFC 9659: what every receiver of HTTP content must be ready for, and no more.
_ZSTD_WINDOW_BYTES: Final = 8 << 20


class UnreadableBody(ValueError):  # noqa: N818 - named as the outcome it is; callers count its reason
    """A body that can't be decoded."""

    def __init__(self, reason: str, detail: str) -> None:
        """Keep a word that is usable as a label, and a sentence that holds no text of the body.

        The reasons are "too_large", "encoding_unsupported" and "encoding_broken".
        """
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail


def decode_body(headers: Mapping[str, str], body: bytes, max_decoded_bytes: int = MAX_DECODED_BYTES) -> bytes:
    """Return a request or response body with its content encodings undone.

    gzip, deflate (zlib or raw), br and zstd, also one over the other. Names of headers are in lower case.
    Decoding stops at `max_decoded_bytes`, so a small body can't fill the memory.

    Raises: UnreadableBody "too_large", "encoding_unsupported" (unknown, or more than three) or
        "encoding_broken" (corrupt, cut off or in too many pieces).
    """
    encodings = []
    for name in headers.get("content-encoding", "").lower().split(","):
        if name.strip() not in _NO_ENCODING:
            encodings.append(name.strip())
    if len(encodings) > _MOST_ENCODINGS:
        raise UnreadableBody(
            "encoding_unsupported", f"more than {_MOST_ENCODINGS} encodings, one over the other"
        )
    for encoding in reversed(encodings):
        body = _decoded(encoding, body, max_decoded_bytes)
    if len(body) > max_decoded_bytes:
        raise _too_large(max_decoded_bytes)
    return body


def _decoded(encoding: str, body: bytes, limit: int) -> bytes:
    match encoding:
        case "gzip" | "x-gzip":
            return _in_members(body, limit, lambda: zlib.decompressobj(zlib.MAX_WBITS | 16), zlib.error)
        case "deflate":
            # RFC 9110 means zlib; some servers send raw deflate. A zlib header tells them apart.
            has_header = (
                len(body) > 1 and body[0] & 0x0F == zlib.DEFLATED and (body[0] << 8 | body[1]) % 31 == 0
            )
            window_bits = zlib.MAX_WBITS if has_header else -zlib.MAX_WBITS
            return _in_members(body, limit, lambda: zlib.decompressobj(window_bits), zlib.error)
        case "br":
            return _unbrotli(body, limit)
        case "zstd":
            zstd = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW_BYTES)
            return _in_members(body, limit, zstd.decompressobj, zstandard.ZstdError)
        case _:
            raise UnreadableBody("encoding_unsupported", f"content encoding {encoding[:40]!r} is not known")


def _in_members(body: bytes, limit: int, begin: Callable[[], Any], error: type[Exception]) -> bytes:
    """Decompress gzip members or zstd frames, several in a row included.

    `begin` returns a decompressor for the next of them, which raises `error` for what it cannot read.
    """
    pieces: list[bytes] = []
    size = members = 0
    member = None
    rest = memoryview(body)
    while rest:
        if member is None:
            member = begin()
            members += 1
            if members > _MOST_MEMBERS:
                raise UnreadableBody(
                    "encoding_broken", f"the compressed data is in more than {_MOST_MEMBERS} pieces"
                )
        compressed = rest[:_SLICE_BYTES]
        try:
            piece = member.decompress(compressed)
        except error as fault:
            raise UnreadableBody("encoding_broken", f"not valid compressed data: {fault}") from fault
        pieces.append(piece)
        size += len(piece)
        if size > limit:
            raise _too_large(limit)
        rest = rest[len(compressed) - len(member.unused_data) :]
        member = None if member.eof else member
    if member is not None:
        raise UnreadableBody("encoding_broken", "the compressed data is cut off")
    return b"".join(pieces)


def _unbrotli(body: bytes, limit: int) -> bytes:
    decompressor = brotli.Decompressor()
    pieces: list[bytes] = []
    size = 0
    try:
        piece = decompressor.process(body, output_buffer_limit=limit + 1)
        while piece or not decompressor.can_accept_more_data():
            pieces.append(piece)
            size += len(piece)
            if size > limit:
                raise _too_large(limit)
            piece = decompressor.process(b"", output_buffer_limit=limit + 1)
    except brotli.error as fault:
        raise UnreadableBody("encoding_broken", f"not valid brotli data: {fault}") from fault
    if not decompressor.is_finished():
        raise UnreadableBody("encoding_broken", "the compressed data is cut off")
    return b"".join(pieces)


def _too_large(limit: int) -> UnreadableBody:
    return UnreadableBody("too_large", f"the body is larger than {limit} bytes")
