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

_ZSTD_WINDOW_BYTES: Final = 8 << 20
"""RFC 9659: what every receiver of HTTP content must be ready for, and no more."""
_ZSTD_SLICE_BYTES: Final = 256
"""A few bytes of zstd stand for up to 128 KiB and its output can't be bounded: feed it in small slices."""


class UnreadableBody(ValueError):  # noqa: N818 - named as the outcome it is; callers count its reason
    """A body that can't be decoded."""

    def __init__(self, reason: str, detail: str) -> None:
        """Keep both parts.

        Args:
            reason: Short snake_case word, usable as a label: "too_large", "encoding_unsupported" or
                "encoding_broken".
            detail: One sentence for people; holds no text of the body.
        """
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail


def decode_body(headers: Mapping[str, str], body: bytes, max_decoded_bytes: int = MAX_DECODED_BYTES) -> bytes:
    """A request or response body with its content encodings undone.

    gzip, deflate (zlib or raw), br and zstd, also one over the other.

    Args:
        headers: Names in lower case.
        body: As on the wire, after removal of the transfer coding.
        max_decoded_bytes: Decoding stops here, so a small body can't fill the memory.

    Raises: UnreadableBody "too_large", "encoding_unsupported" (unknown) or "encoding_broken" (corrupt or
        cut off).
    """
    for encoding in reversed(headers.get("content-encoding", "").lower().split(",")):
        body = _decoded(encoding.strip(), body, max_decoded_bytes)
    if len(body) > max_decoded_bytes:
        raise _too_large(max_decoded_bytes)
    return body


def _decoded(encoding: str, body: bytes, limit: int) -> bytes:
    match encoding:
        case "" | "identity":
            return body
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
    size = 0
    while body:
        inflater = zlib.decompressobj(window_bits)
        try:
            piece = inflater.decompress(body, limit - size + 1)
        except zlib.error as fault:
            raise UnreadableBody("encoding_broken", f"not valid gzip or deflate data: {fault}") from fault
        pieces.append(piece)
        size += len(piece)
        if size > limit:
            raise _too_large(limit)
        if not inflater.eof:
            raise UnreadableBody("encoding_broken", "the compressed data is cut off")
        body = inflater.unused_data
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


def _unzstd(body: bytes, limit: int) -> bytes:
    """Decode zstd, several frames in a row included."""
    pieces: list[bytes] = []
    size = 0
    frame = None
    rest = memoryview(body)
    while rest or frame is not None:
        if not rest:
            raise UnreadableBody("encoding_broken", "the compressed data is cut off")
        frame = frame or zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW_BYTES).decompressobj()
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
