"""Frames of a WebSocket (RFC 6455), one direction at a time, and their compression (RFC 7692)."""

from __future__ import annotations

import re
import zlib
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

_FINAL = 0x80
_COMPRESSED = 0x40
# Bits that only an extension may set; with an unknown one nothing can be read.
_RESERVED = 0x30
_OPCODE = 0x0F
_CONTINUATION = 0
_TEXT = 1
_CLOSE = 8
_FIRST_CONTROL = 8
_MASKED = 0x80
_LENGTH = 0x7F
# Values of the length that say how many bytes of the true length follow.
_TWO_BYTES = 126
_EIGHT_BYTES = 127
# Bytes that are unmasked at once: one step holds the interpreter, and so the event loop, for its time.
_PIECE = 64 << 10
# End of a compressed message, which its sender leaves out.
_FLUSHED = b"\x00\x00\xff\xff"
# Negative: deflate without a header, as RFC 7692 has it.
_WINDOW_BITS = -15
# Most fragments of a message: each takes memory besides its bytes, also an empty one.
_MOST_FRAGMENTS = 10_000


class FrameError(ValueError):
    """Raised if the messages of a direction cannot be read from here on."""


class Compression(NamedTuple):
    """Agreement on `permessage-deflate`: whether each side keeps its window between messages."""

    client_keeps: bool
    server_keeps: bool


def compression_of(extensions: bytes) -> Compression | None:
    """Return the compression that a server's `Sec-WebSocket-Extensions` agrees to; None if there is none.

    Raises: FrameError if it agrees to another extension, which may change frames in any way.
    """
    if not extensions.strip():
        return None
    name, *parameters = [part.strip().lower() for part in extensions.split(b";")]
    if name != b"permessage-deflate" or b"," in extensions:
        raise FrameError("an extension other than permessage-deflate")
    names = set()
    for parameter in parameters:
        names.add(re.split(rb"[\s=]", parameter, maxsplit=1)[0])
    return Compression(b"client_no_context_takeover" not in names, b"server_no_context_takeover" not in names)


class MessageReader:
    """Puts the text messages of one direction together. Other frames, whatever they are, are skipped."""

    def __init__(self, max_bytes: int, *, compressed: bool = False, keeps_window: bool = True) -> None:
        """Begin at a frame.

        Args:
            max_bytes: Longest message, also once it is inflated.
            compressed: Whether messages may be compressed.
            keeps_window: Whether a compressed message may refer to the ones before it.
        """
        self._max_bytes = max_bytes
        self._compressed = compressed
        self._keeps_window = keeps_window
        self._inflater = zlib.decompressobj(_WINDOW_BITS) if compressed else None
        self._buffer = bytearray()
        self._fragments: list[bytes] = []
        # Bytes of the fragments.
        self._size = 0
        # Opcode of the message whose fragments are arriving; that of a continuation if there is none.
        self._opcode = _CONTINUATION
        self._deflated = False
        self._closed = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield the text messages that `data` completes.

        Raises: FrameError for what is no frame, and for a message that is too long.
        """
        self._buffer += data
        while not self._closed and (frame := self._frame()) is not None:
            first, payload = frame
            opcode = first & _OPCODE
            if opcode >= _FIRST_CONTROL:
                # Control frames may stand between the fragments of a message.
                self._closed = opcode == _CLOSE
                continue
            if (opcode == _CONTINUATION) != (self._opcode != _CONTINUATION):
                raise FrameError("a fragment without its beginning, or a beginning within a message")
            if opcode != _CONTINUATION:
                self._opcode, self._deflated = opcode, bool(first & _COMPRESSED)
            self._fragments.append(payload)
            self._size += len(payload)
            if self._size > self._max_bytes or len(self._fragments) > _MOST_FRAGMENTS:
                raise FrameError("a message is too long")
            if first & _FINAL:
                message = b"".join(self._fragments)
                if self._deflated:
                    message = self._inflated(message)
                is_text = self._opcode == _TEXT
                self._fragments, self._size, self._opcode = [], 0, _CONTINUATION
                if is_text:
                    yield message

    def _frame(self) -> tuple[int, bytes] | None:
        """Take the next frame off the buffer: its first byte and its payload, unmasked."""
        buffer = self._buffer
        head = 2
        if len(buffer) < head:
            return None
        first, second = buffer[0], buffer[1]
        if first & _RESERVED or (first & _COMPRESSED and not self._compressed):
            raise FrameError("a reserved bit is set")
        length = second & _LENGTH
        extra = {_TWO_BYTES: 2, _EIGHT_BYTES: 8}.get(length, 0)
        if extra:
            if len(buffer) < head + extra:
                return None
            length = int.from_bytes(buffer[head : head + extra], "big")
            head += extra
        if length > self._max_bytes:
            raise FrameError("a frame is too long")
        mask = b""
        if second & _MASKED:
            mask = bytes(buffer[head : head + 4])
            head += 4
        if len(buffer) < head + length:
            return None
        payload = bytes(buffer[head : head + length])
        del buffer[: head + length]
        return first, unmasked(payload, mask) if mask else payload

    def _inflated(self, message: bytes) -> bytes:
        inflater = self._inflater
        assert inflater is not None
        if not self._keeps_window:
            inflater = zlib.decompressobj(_WINDOW_BITS)
        try:
            inflated = inflater.decompress(message + _FLUSHED, self._max_bytes)
        except zlib.error as error:
            raise FrameError("a message cannot be inflated") from error
        if inflater.unconsumed_tail:
            raise FrameError("a message is too long")
        return inflated


def unmasked(payload: bytes, mask: bytes) -> bytes:
    """Return a payload masked or unmasked, which is the same."""
    key = mask * (_PIECE // len(mask))
    pieces = []
    for start in range(0, len(payload), _PIECE):
        piece = payload[start : start + _PIECE]
        size = len(piece)
        pieces.append(
            (int.from_bytes(piece, "little") ^ int.from_bytes(key[:size], "little")).to_bytes(size, "little")
        )
    return b"".join(pieces)
