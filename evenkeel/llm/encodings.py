"""Content encodings undone, as far as a body may grow.

A body comes from outside: a few kilobytes can stand for gigabytes, so every decoder stops at a limit.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Final

import brotli
import zstandard

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_DECODED_BYTES: Final = 16 << 20
"""Largest body that is read, after decompression."""

# Some servers state `identity`, which RFC 9110 advises against.
_NO_ENCODING: Final = frozenset({"", "identity"})
# Encodings over each other. Each is undone as a whole, so few bytes of header would be minutes of work.
_MOST_ENCODINGS: Final = 3
# gzip members or zstd frames in a row. An empty one takes nine bytes and as long as a large one.
_MOST_MEMBERS: Final = 1000
# Bytes given at a time, because what follows a gzip member is copied.
_SLICE_BYTES: Final = 64 << 10
# RFC 9659: what every receiver of HTTP content must be ready for, and no more.
_ZSTD_WINDOW_BYTES: Final = 8 << 20
# A few bytes of zstd stand for up to 128 KiB and its output can't be bounded: feed it in small slices.
_ZSTD_SLICE_BYTES: Final = 256


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
            return _inflate(body, limit, zlib.MAX_WBITS | 16)
        case "deflate":
            # RFC 9110 means zlib; some servers send raw deflate. A zlib header tells them apart.
            has_header = (
                len(body) > 1 and body[0] & 0x0F == zlib.DEFLATED and (body[0] << 8 | body[1]) % 31 == 0
            )
            return _inflate(body, limit, zlib.MAX_WBITS if has_header else -zlib.MAX_WBITS)
        case "br":
            return _unbrotli(body, limit)
        case "zstd":
            return _unzstd(body, limit)
        case _:
            raise UnreadableBody("encoding_unsupported", f"content encoding {encoding[:40]!r} is not known")


def _inflate(body: bytes, limit: int, window_bits: int) -> bytes:
    """Inflate, several gzip members in a row included."""
    pieces: list[bytes] = []
    size = members = 0
    inflater = None
    rest = memoryview(body)
    while rest:
        if inflater is None:
            inflater = zlib.decompressobj(window_bits)
            members = _one_more(members)
        compressed = rest[:_SLICE_BYTES]
        try:
            piece = inflater.decompress(compressed, limit - size + 1)
        except zlib.error as fault:
            raise UnreadableBody("encoding_broken", f"not valid gzip or deflate data: {fault}") from fault
        pieces.append(piece)
        size += len(piece)
        if size > limit:
            raise _too_large(limit)
        # Below the limit all that was given has been used, but for what follows the member's end.
        rest = rest[len(compressed) - len(inflater.unused_data) :]
        if inflater.eof:
            inflater = None
    if inflater is not None:
        raise UnreadableBody("encoding_broken", "the compressed data is cut off")
    return b"".join(pieces)


def _one_more(members: int) -> int:
    if members == _MOST_MEMBERS:
        raise UnreadableBody("encoding_broken", f"the compressed data is in more than {_MOST_MEMBERS} pieces")
    return members + 1


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


def _unzstd(body: bytes, limit: int) -> bytes:
    """Decode zstd, several frames in a row included."""
    pieces: list[bytes] = []
    size = frames = 0
    frame = None
    rest = memoryview(body)
    while rest or frame is not None:
        if not rest:
            raise UnreadableBody("encoding_broken", "the compressed data is cut off")
        if frame is None:
            frames = _one_more(frames)
            frame = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW_BYTES).decompressobj()
        try:
            piece = frame.decompress(rest[:_ZSTD_SLICE_BYTES])
        except zstandard.ZstdError as fault:
            raise UnreadableBody("encoding_broken", f"not valid zstd data: {fault}") from fault
        rest = rest[min(len(rest), _ZSTD_SLICE_BYTES) - len(frame.unused_data) :]
        frame = None if frame.eof else frame
        pieces.append(piece)
        size += len(piece)
        if size > limit:
            raise _too_large(limit)
    return b"".join(pieces)


def _too_large(limit: int) -> UnreadableBody:
    return UnreadableBody("too_large", f"the body is larger than {limit} bytes")
