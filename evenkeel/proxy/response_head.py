"""Response heads: read strictly, framed for this client, edited in place. No I/O."""

from __future__ import annotations

import re

from evenkeel.proxy.errors import ForwardingFault
from evenkeel.proxy.framing import MAX_LENGTH_DIGITS, Framing, MessageError, parse_length
from evenkeel.proxy.headers import (
    FIELD_LINES,
    KEEP_ALIVE_FIELD,
    LENGTH_FIELD,
    ORDINARY,
    RESPONSE_SPECIALS,
    Edit,
    Fields,
    Known,
    connection_options,
    cuts_of,
    known,
    length_if_known,
    merged,
    named_fields,
    once,
)

_VERSION_END = len(b"HTTP/1.1")

# More than for requests: some gateways answer with long policies and cookies.
MAX_HEAD_BYTES = 256 << 10
# Each further line has the whole head read again, so a head that trickles in is bounded by its lines.
MAX_FIELDS = 1_000
# Smaller heads cannot hold enough lines to do harm.
_COUNT_FIELDS_ABOVE_BYTES = 4 << 10

SWITCHING_PROTOCOLS = 101
# The second one says which protocol the client must switch to, and by these fields alone.
_ABOUT_UPGRADES = frozenset({SWITCHING_PROTOCOLS, 426})
_NO_CONTENT = 204
_BODYLESS = frozenset({*range(100, 200), _NO_CONTENT, 304})

# Pattern of a final answer with a length, like the one in `request_head`. Groups: status, length, keep-alive
# line.
_ORDINARY_HEAD = re.compile(
    rb"HTTP/1\.1 ((?!204|304)[2-5][0-9][0-9])(?: [\t\x20-\x7e\x80-\xff]*+)?(?>(?:\r\n(?:"
    + ORDINARY
    + rb"|"
    + once(2, LENGTH_FIELD)
    + rb"|"
    + once(3, KEEP_ALIVE_FIELD)
    + rb"))*)\r\n\r\n"
)

_HEAD = re.compile(
    rb"HTTP/1\.([01]) ([1-9][0-9][0-9])(?: [\t\x20-\x7e\x80-\xff]*+)?" + FIELD_LINES + rb"\r\n\r\n"
)
_BARE_LINE_END = re.compile(rb"(?<!\r)\n|\r[^\n]")
_NONE = Framing.NONE
_LENGTH = Framing.LENGTH
_CLOSE = Framing.CLOSE

_START = b"HTTP/1."
STATUS_END = len(b"HTTP/1.1 200")
"""Index at which the status code ends."""


class ResponseHead:
    """A response head with the properties that the relay needs."""

    __slots__ = ("edits", "end", "framing", "keep_alive", "kept", "known", "length", "minor", "raw", "status")

    raw: bytes
    """Received bytes that start with the head; more may follow it."""
    end: int
    """Index in `raw` at which the body starts."""
    status: int
    minor: int
    """0 for HTTP/1.0, 1 for HTTP/1.1."""
    framing: Framing
    length: int
    """Body bytes if the framing is by length, else 0."""
    keep_alive: bool
    """True if the upstream takes another request on this connection."""
    edits: list[Edit]
    """Lines to cut, in order of place."""
    known: Known | None
    """Key for recognising the next head of the connection; None if that is not worth it."""
    kept: Fields | None
    """Fields that a capture keeps; None until a capture needs them."""


def parse_response(data: bytes, method: bytes, last: ResponseHead | None = None) -> ResponseHead | None:
    """Read the response head that `data` starts with.

    Args:
        data: Bytes from the upstream.
        method: Method of the request: an answer to HEAD has no body, whatever its head says.
        last: The head before it on the same connection, whose answer is done. One that differs in its length
            alone is the same object again, with another length.

    Returns None if `data` may be the beginning of a head.
    Raises: MessageError if it can't become one, is too large or is framed ambiguously.
    """
    if (
        last is not None
        and last.known is not None
        and method != b"HEAD"
        and (number := length_if_known(data, last.known))
    ):
        last.raw = data
        last.length = number
        return last
    match = _ORDINARY_HEAD.match(data)
    if match is None or method == b"HEAD":
        return parse_any_response(data, method)
    status, length, connection = match.groups()
    if length is None:
        return parse_any_response(data, method)
    head = ResponseHead()
    head.raw = data
    head.end = end = match.end()
    _check_fields(data, end)
    head.minor = 1
    head.status = int(status)
    head.keep_alive = True
    if connection is None:
        head.edits = []
    else:
        start, stop = match.span(3)
        head.edits = [(start - 2, stop, b"")]
    head.length = number = int(length)
    head.framing = _LENGTH if number else _NONE
    head.known = known(data, match.span(2), end) if number else None
    head.kept = None
    return head


def parse_any_response(  # noqa: C901, PLR0912 - see `parse_any_request`
    data: bytes, method: bytes
) -> ResponseHead | None:
    """Parse any response head, including unusual ones; returns what `parse_response` does, but is slower."""
    match = _HEAD.match(data)
    if match is None:
        _refuse_unless_partial(data)
        return None
    head = ResponseHead()
    head.raw = data
    head.end = end = match.end()
    _check_fields(data, end)
    head.minor = 1 if match[1] == b"1" else 0
    head.status = status = int(match[2])
    head.keep_alive = head.minor == 1
    head.known = head.kept = None
    head.edits = edits = []
    length: bytes | None = None
    coding: bytes | None = None
    options: set[bytes] | None = None
    bodyless = status in _BODYLESS
    for field in RESPONSE_SPECIALS.finditer(data, STATUS_END, end):
        name = field[1].lower()
        if name == b"content-length":
            if length is not None:
                raise MessageError(ForwardingFault.GARBAGE, "it has two Content-Length headers")
            length = field[2]
        elif name == b"transfer-encoding":
            if coding is not None:
                raise MessageError(ForwardingFault.GARBAGE, "it has two Transfer-Encoding headers")
            coding = field[2].rstrip(b" \t").lower()
            if bodyless:
                # Such an answer can't be coded (RFC 9112, 6.1); clients that believe it would wait.
                edits.append((field.start(), field.end(), b""))
        else:
            if name == b"connection":
                options = connection_options(field[2]) | (options or set())
            if status not in _ABOUT_UPGRADES or name not in {b"connection", b"upgrade"}:
                edits.append((field.start(), field.end(), b""))
    if options is not None:
        head.keep_alive = b"close" not in options and (head.minor == 1 or b"keep-alive" in options)
        named = named_fields(options)
        if named:
            head.edits = merged(edits, cuts_of(data, STATUS_END, end, named))
    if bodyless or method == b"HEAD":
        head.framing = _NONE
        head.length = 0
        if status == _NO_CONTENT and (coding is not None or length not in {None, b"0"}):
            # Its sender may send that body all the same: the next answer must not begin with it.
            head.keep_alive = False
    elif coding is None and length is not None and length.isdigit() and len(length) <= MAX_LENGTH_DIGITS:
        head.length = number = int(length)
        head.framing = _LENGTH if number else _NONE
    else:
        _frame(head, length, coding)
    return head


def _frame(head: ResponseHead, length: bytes | None, coding: bytes | None) -> None:
    head.length = 0
    if coding is not None:
        if length is not None:
            raise MessageError(ForwardingFault.GARBAGE, "it has both Content-Length and Transfer-Encoding")
        if coding != b"chunked" or not head.minor:
            raise MessageError(ForwardingFault.GARBAGE, "its Transfer-Encoding is not chunked in HTTP/1.1")
        head.framing = Framing.CHUNKED
    elif length is not None:
        number = parse_length(length)
        if number is None:
            raise MessageError(ForwardingFault.GARBAGE, "its Content-Length is not one number")
        head.length = number
        head.framing = Framing.LENGTH if number else Framing.NONE
    else:
        head.framing = Framing.CLOSE


def _check_fields(data: bytes, end: int) -> None:
    if end > _COUNT_FIELDS_ABOVE_BYTES and data.count(b"\n", 0, end) > MAX_FIELDS:
        raise MessageError(ForwardingFault.GARBAGE, f"its head has more than {MAX_FIELDS} lines")


def _refuse_unless_partial(data: bytes) -> None:
    """Raise if no further bytes can make a head of `data`."""
    _check_fields(data, len(data))
    if data.find(b"\r\n\r\n") < 0 and len(data) <= MAX_HEAD_BYTES:
        # Such a head never ends in a blank line: the client would wait until the timeout.
        if _BARE_LINE_END.search(data):
            raise MessageError(ForwardingFault.GARBAGE, "a line of its head does not end in CR LF")
        size = min(len(data), len(_START))
        if data[:size] == _START[:size]:
            return
        raise MessageError(ForwardingFault.GARBAGE, "it does not start with HTTP/1.1 or HTTP/1.0")
    if len(data) > MAX_HEAD_BYTES:
        raise MessageError(ForwardingFault.GARBAGE, f"its head is larger than {MAX_HEAD_BYTES} bytes")
    raise MessageError(ForwardingFault.GARBAGE, "its status line or a header line is malformed")


def render_response(head: ResponseHead, *, minor: int, keep_alive: bool) -> bytes | None:
    """Return the head for the client; None if it can be sent as the upstream sent it.

    A body that ends with the upstream's connection is sent chunked to a client that can read it,
    so that a clean end differs from a lost one.

    Args:
        head: Head that the upstream sent.
        minor: The client's HTTP/1 minor version.
        keep_alive: True if the client's connection stays open afterwards.
    """
    edits = head.edits
    if minor and head.minor and keep_alive and not edits and head.framing is not _CLOSE:
        return None
    added = b""
    if minor:
        if head.framing is _CLOSE:
            added = b"\r\nTransfer-Encoding: chunked"
    elif head.framing is Framing.CHUNKED:
        edits = merged(edits, cuts_of(head.raw, STATUS_END, head.end, {b"transfer-encoding"}))
    if not keep_alive:
        added += b"\r\nConnection: close"
    elif not minor:
        added += b"\r\nConnection: keep-alive"
    raw = head.raw
    pieces = [b"HTTP/1.1"]
    position = _VERSION_END
    for start, end, text in edits:
        pieces += (raw[position:start], text)
        position = end
    pieces += (raw[position : head.end - 4], added, b"\r\n\r\n")
    return b"".join(pieces)
