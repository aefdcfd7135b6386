"""Where a body ends: the rules of RFC 9112, section 6, without their leniencies.

A message that two readers could end at different bytes is refused, because a proxy and an upstream
that disagree can be made to take one user's bytes for another's request.
"""

from __future__ import annotations

import re
from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from proxy.errors import Fault


class Framing(IntEnum):
    """How the end of a body is found."""

    NONE = 0
    """There is no body."""
    LENGTH = 1
    CHUNKED = 2
    CLOSE = 3
    """By the end of the connection; responses only."""


class MessageError(Exception):
    """A message that is not forwarded: how it is answered, and what was found."""

    def __init__(self, fault: Fault, detail: str) -> None:
        super().__init__(f"{fault}: {detail}")
        self.fault = fault
        self.detail = detail


class ChunkError(Exception):
    """A chunked body that breaks the grammar; the text says how."""


MAX_LENGTH_DIGITS = 18
MAX_SIZE_LINE_BYTES = 4 << 10
MAX_TRAILER_BYTES = 16 << 10

LAST_CHUNK = b"0\r\n\r\n"

_SIZE_LINE = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;[\t\x20-\x7e\x80-\xff]*)?\r\n")
_TRAILER_LINE = re.compile(rb"(?:[!#$%&'*+\-.^_`|~0-9A-Za-z]+:[\t\x20-\x7e\x80-\xff]*)?\r\n")
_LENGTH = re.compile(rb"([0-9]{1,%d})[ \t]*" % MAX_LENGTH_DIGITS)


def parse_length(value: bytes) -> int | None:
    """A `Content-Length` value as a number; None if it is anything but digits."""
    match = _LENGTH.fullmatch(value)
    return None if match is None else int(match[1])


def chunk(payload: bytes) -> bytes:
    """One chunk; nothing for an empty payload, which would end the body."""
    return b"%x\r\n%b\r\n" % (len(payload), payload) if payload else b""


class ChunkReader:
    """Takes the chunked coding off a body, however its bytes were cut on the way.

    Chunk extensions and trailers are checked and dropped.
    """

    __slots__ = ("_in_trailer", "_left", "_line", "_trailer_bytes", "done", "rest")

    def __init__(self) -> None:
        self._left = 0
        """Bytes missing from the current chunk, the line break after it included."""
        self._line = b""
        """A size or trailer line that has not arrived completely."""
        self._in_trailer = False
        self._trailer_bytes = 0
        self.done = False
        self.rest = b""
        """What followed the end of the body, once `done`."""

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
                stop = position + left
                if stop > size:
                    # The last two bytes of a chunk are its line break, not payload.
                    self._left = left = stop - size
                    if left == 1 and data[-1:] != b"\r":
                        raise ChunkError("a chunk is longer than its size says")
                    end = min(size, stop - 2)
                    if end > position:
                        pieces.append(data[position:end])
                    break
                if data[max(position, stop - 2) : stop] != b"\r\n"[-left:]:
                    raise ChunkError("a chunk is longer than its size says")
                if left > 2:  # noqa: PLR2004 - more than the line break
                    pieces.append(data[position : stop - 2])
                self._left = 0
                position = stop
                continue
            position = self._line_at(data, position)
            if self.done:
                self.rest = data[position:]
                break
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

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
            self.done = match.end() - position == 2  # noqa: PLR2004 - a line break alone
        else:
            number = int(match[1], 16)
            if number:
                self._left = number + 2
            else:
                self._in_trailer = True
        return match.end()
