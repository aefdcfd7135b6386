"""Framing of bodies: the rules of RFC 9112, section 6, without their leniencies.

A message that two readers could end at different bytes is refused, because a proxy and an upstream
that disagree can be made to take one user's bytes for another's request.
"""

from __future__ import annotations

import re
from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evenkeel.proxy.errors import ForwardingFault


class Framing(IntEnum):
    """Rule that finds the end of a body."""

    NONE = 0
    """Message without a body."""
    LENGTH = 1
    CHUNKED = 2
    CLOSE = 3
    """Body that ends with the connection; responses only."""


class MessageError(Exception):
    """A message that is not forwarded: the fault to answer with, and the detail."""

    def __init__(self, fault: ForwardingFault, detail: str) -> None:
        super().__init__(f"{fault}: {detail}")
        self.fault = fault
        self.detail = detail


class ChunkError(Exception):
    """A chunked body that breaks the grammar; the text says how."""


# Eighteen digits fit into 64 bits, so no server behind reads the number differently.
MAX_LENGTH_DIGITS = 18
# Extensions of a chunk have no use here, and servers that buffer them can be made to grow.
MAX_SIZE_LINE_BYTES = 4 << 10
MAX_TRAILER_BYTES = 16 << 10

_BREAK = len(b"\r\n")
LAST_CHUNK = b"0\r\n\r\n"

# Almost every chunk begins like this; the longer pattern is tried only where this fails.
_PLAIN_SIZE_LINE = re.compile(rb"([0-9A-Fa-f]{1,15})\r\n")
_SIZE_LINE = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;[\t\x20-\x7e\x80-\xff]*)?\r\n")
_TRAILER_LINE = re.compile(rb"(?:[!#$%&'*+\-.^_`|~0-9A-Za-z]+:[\t\x20-\x7e\x80-\xff]*)?\r\n")
_LENGTH = re.compile(rb"([0-9]{1,%d})[ \t]*" % MAX_LENGTH_DIGITS)


def parse_length(value: bytes) -> int | None:
    """Return a `Content-Length` value as a number; None if it is anything but digits."""
    match = _LENGTH.fullmatch(value)
    return None if match is None else int(match[1])


def chunk(payload: bytes) -> bytes:
    """Return a payload as one chunk; nothing for an empty payload, which would end the body."""
    return b"%x\r\n%b\r\n" % (len(payload), payload) if payload else b""


class ChunkReader:
    """Follows the chunked coding of a body, however its bytes were cut on the way.

    Chunk extensions and trailers are checked and dropped. For one body either `feed` is called, which
    takes the coding off, or `forward`, which keeps it.
    """

    __slots__ = ("_in_trailer", "_left", "_line", "_trailer_bytes", "done", "rest")

    def __init__(self) -> None:
        # Bytes missing from the current chunk, the line break after it included.
        self._left = 0
        # Part of a size or trailer line that has not arrived completely.
        self._line = b""
        self._in_trailer = False
        self._trailer_bytes = 0
        self.done = False
        self.rest = b""
        """Bytes that followed the end of the body, once `done`."""

    def feed(self, data: bytes, position: int = 0) -> bytes:
        """Take `data[position:]` and return the payload in it.

        Raises: ChunkError.
        """
        if self._line:
            data = self._line + data[position:]
            self._line = b""
            position = 0
        pieces: list[bytes] = []
        size = len(data)
        while position < size:
            left = self._left
            if left:
                end = min(size, position + left - _BREAK)
                if end > position:
                    pieces.append(data[position:end])
                position = self._through_chunk(data, position)
                continue
            position = self._line_at(data, position)
            if self.done:
                self.rest = data[position:]
                break
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def forward(self, data: bytes, position: int = 0) -> bytes:
        """Take `data[position:]` and return what is sent on of it.

        Whole chunks, which is how events are streamed, are sent on as they came; if that is all,
        what is returned is `data` itself. Of what follows them the payload is put into a chunk of
        its own. So every chunk that is sent is complete, and the last one is only sent when the
        body's end has come.

        Raises: ChunkError.
        """
        whole = position
        size = len(data)
        if not (self._left or self._line or self._in_trailer):
            while whole < size:
                match = _PLAIN_SIZE_LINE.match(data, whole)
                if match is None or not (number := int(match[1], 16)):
                    break
                end = match.end() + number
                if data[end : end + _BREAK] != b"\r\n":
                    break
                whole = end + _BREAK
            else:
                return data[position:]
        payload = chunk(self.feed(data, whole))
        if self.done:
            payload += LAST_CHUNK
        return data[position:whole] + payload

    def _through_chunk(self, data: bytes, position: int) -> int:
        """Go to the end of the current chunk, as far as it has arrived, and return the position there."""
        left = self._left
        end = position + left
        size = len(data)
        if end > size:
            self._left = left = end - size
            # The last two bytes of a chunk are its line break, not payload.
            if left == 1 and data[-1:] != b"\r":
                raise ChunkError("a chunk is longer than its size says")
            return size
        if data[max(position, end - _BREAK) : end] != b"\r\n"[-left:]:
            raise ChunkError("a chunk is longer than its size says")
        self._left = 0
        return end

    def _line_at(self, data: bytes, position: int) -> int:
        """Read a size or trailer line; returns the position after what was taken."""
        grammar = _TRAILER_LINE if self._in_trailer else _SIZE_LINE
        match = grammar.match(data, position)
        if match is None:
            limit = MAX_TRAILER_BYTES if self._in_trailer else MAX_SIZE_LINE_BYTES
            if data.find(b"\n", position) >= 0 or len(data) - position > limit:
                what = "trailer" if self._in_trailer else "chunk size"
                raise ChunkError(f"a {what} line is malformed or too long")
            self._line = data[position:]
            return len(data)
        if self._in_trailer:
            self._trailer_bytes += match.end() - position
            if self._trailer_bytes > MAX_TRAILER_BYTES:
                raise ChunkError("the trailer is too long")
            self.done = match.end() - position == _BREAK
        else:
            number = int(match[1], 16)
            if number:
                self._left = number + _BREAK
            else:
                self._in_trailer = True
        return match.end()
