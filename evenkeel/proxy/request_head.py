"""Request heads: read strictly, framed without ambiguity, edited in place. No I/O."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from evenkeel.core.exchange import LOOP_GUARD_HEADER
from evenkeel.proxy.errors import ForwardingFault
from evenkeel.proxy.framing import MAX_LENGTH_DIGITS, Framing, MessageError, parse_length
from evenkeel.proxy.headers import (
    FIELD_LINES,
    KEEP_ALIVE_FIELD,
    LENGTH_FIELD,
    ORDINARY,
    PRIVATE_PREFIX,
    REQUEST_SPECIALS,
    TOKEN,
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

if TYPE_CHECKING:
    from evenkeel.proxy.credentials import Injection

# Size in bytes up to which copying twice is faster than making a view to copy once.
_SMALL_BYTES = 8 << 10

# Heads of clients take some kilobytes; a larger one is refused before it is forwarded.
MAX_HEAD_BYTES = 64 << 10
MAX_FIELDS = 256

_NONE = Framing.NONE
_LENGTH = Framing.LENGTH

_VERSION_BYTES = len(b" HTTP/1.1")
# Size in bytes from which fields are counted. Smaller heads cannot hold enough fields to do harm.
_COUNT_FIELDS_ABOVE_BYTES = 4 << 10

# An HTTP/1.1 head of which only the fields need attention that nearly every client sends. Groups: method,
# target, host, length, the line that says keep-alive. In one pass it proves and finds what the grammar below
# and the search after it do in two; what it does not match is read by those.
_ORDINARY_HEAD = re.compile(
    rb"("
    + TOKEN
    + rb"++) (/[\x21-\x7e\x80-\xff]*+) HTTP/1\.1(?>(?:\r\n(?:"
    + ORDINARY
    + rb"|"
    + once(3, rb"[Hh][Oo][Ss][Tt]:[ \t]*+([\x20-\x7e\x80-\xff]*+)")
    + rb"|"
    + once(4, LENGTH_FIELD)
    + rb"|"
    + once(5, KEEP_ALIVE_FIELD)
    + rb"))*)\r\n\r\n"
)

_HEAD = re.compile(
    rb"(" + TOKEN + rb"++) ([\x21-\x7e\x80-\xff]++) HTTP/1\.([01])" + FIELD_LINES + rb"\r\n\r\n"
)
# An absolute-form target (RFC 9112, 3.2.2). Groups: host, port, path and query. User and password, which it
# must not have (RFC 9110, 4.2.4), do not match.
_ABSOLUTE = re.compile(
    rb"https?://(\[[0-9A-Fa-f:.]++\]|[^/?#@:\[\]]++)(?>(:[0-9]*+)?)((?>(?:[/?].*)?))", re.IGNORECASE
)
_REQUEST_LINE = re.compile(TOKEN + rb"+ [^ \r\n]+ (HTTP/[0-9.]{1,9})\r\n")
_BARE_LINE_FEED = re.compile(rb"(?<!\r)\n")
_FOLD = re.compile(rb"\r\n[ \t]")
_START = re.compile(TOKEN + rb"*+(?: |$)")


class RequestHead:
    """A request head with the properties that the relay needs."""

    __slots__ = (
        "edits",
        "end",
        "framing",
        "host",
        "keep_alive",
        "kept",
        "known",
        "length",
        "line_end",
        "method",
        "minor",
        "notes",
        "raw",
        "replay",
        "target",
        "upgrade",
    )

    raw: bytes
    """Received bytes that start with the head, its target in origin form; more may follow it."""
    end: int
    """Index in `raw` at which the body starts."""
    line_end: int
    """Index in `raw` at which the request line ends, before its line break."""
    method: bytes
    target: bytes
    minor: int
    """0 for HTTP/1.0, 1 for HTTP/1.1."""
    framing: Framing
    length: int
    """Body bytes if the framing is by length, else 0."""
    keep_alive: bool
    """True if the client wants to send more requests on its connection."""
    upgrade: bool
    """True if the request asks to leave HTTP, e.g. for a WebSocket, and may."""
    replay: bool
    """True if the request carries the loop guard."""
    host: tuple[int, int] | None
    """Place of the `Host` value in `raw`; None for an HTTP/1.0 request without it."""
    edits: list[Edit]
    """Lines to cut, in order of place; `Host` is not among them."""
    notes: dict[bytes, bytes] | None
    """`x-evenkeel-*` values by the rest of their lower-case name."""
    known: Known | None
    """Key for recognising the next head of the connection; None if that is not worth it."""
    kept: Fields | None
    """Fields that a capture keeps; None until a capture needs them."""

    def note(self, name: bytes) -> str | None:
        """Return the value of an `x-evenkeel-*` field; None if the request has none of that name."""
        value = (self.notes or {}).get(name)
        return None if value is None else value.decode("utf-8", "replace")


def parse_request(data: bytes, last: RequestHead | None = None) -> RequestHead | None:
    """Read the request head that `data` starts with.

    Args:
        data: Bytes from the client.
        last: The head before it on the same connection, whose request is done. One that differs in its length
            alone is the same object again, with another length.

    Returns None if `data` may be the beginning of a head.
    Raises: MessageError if it can't become one, is too large or is framed ambiguously.
    """
    if last is not None and last.known is not None and (number := length_if_known(data, last.known)):
        last.raw = data
        last.length = number
        return last
    match = _ORDINARY_HEAD.match(data)
    if match is None:
        return parse_any_request(data)
    method, target, host, length, connection = match.groups()
    if host is None or method == b"CONNECT":
        return parse_any_request(data)
    head = RequestHead()
    head.raw = data
    head.end = end = match.end()
    if end > _COUNT_FIELDS_ABOVE_BYTES:
        _check_size(data, end)
    head.method = method
    head.target = target
    head.line_end = match.end(2) + _VERSION_BYTES
    head.minor = 1
    head.host = match.span(3)
    if length is None or not (number := int(length)):
        head.length = 0
        head.framing = _NONE
        head.known = None
    else:
        head.length = number
        head.framing = _LENGTH
        head.known = known(data, match.span(4), end)
    head.keep_alive = True
    head.upgrade = head.replay = False
    head.notes = head.kept = None
    if connection is None:
        head.edits = []
    else:
        start, stop = match.span(5)
        head.edits = [(start - 2, stop, b"")]
    return head


def parse_any_request(  # noqa: C901, PLR0912, PLR0915 - see the loop
    data: bytes,
) -> RequestHead | None:
    """Parse any request head, including unusual ones; returns what `parse_request` does, but is slower."""
    match = _HEAD.match(data)
    if match is None:
        _refuse_unless_partial(data)
        return None
    head = RequestHead()
    head.raw = data
    head.end = end = match.end()
    head.method, head.target, minor = match.groups()
    head.minor = 1 if minor == b"1" else 0
    head.line_end = start = match.end(3)
    if end > _COUNT_FIELDS_ABOVE_BYTES:
        _check_size(data, end)

    # One loop with one ladder: requests for HTTP/1.0, uploads of unknown length, notes, upgrades.
    options: set[bytes] | None = None
    length: bytes | None = None
    coding: bytes | None = None
    upgrade: bytes | None = None
    head.host = None
    head.replay = False
    head.notes = None
    head.known = head.kept = None
    head.edits = edits = []
    for field in REQUEST_SPECIALS.finditer(data, start, end):
        name = field[1].lower()
        if name == b"host":
            if head.host is not None:
                raise MessageError(ForwardingFault.AMBIGUOUS, "it has two Host headers")
            head.host = field.span(2)
        elif name == b"content-length":
            if length is not None:
                raise MessageError(ForwardingFault.AMBIGUOUS, "it has two Content-Length headers")
            length = field[2]
        elif name == b"connection":
            options = connection_options(field[2]) | (options or set())
            edits.append((field.start(), field.end(), b""))
        elif name == b"transfer-encoding":
            if coding is not None:
                raise MessageError(ForwardingFault.AMBIGUOUS, "it has two Transfer-Encoding headers")
            coding = field[2]
        elif name == LOOP_GUARD_HEADER:
            head.replay = True
        else:
            if name == b"upgrade":
                upgrade = field[2] if upgrade is None else upgrade + b"," + field[2]
            elif name.startswith(PRIVATE_PREFIX):
                head.notes = head.notes or {}
                head.notes[name[len(PRIVATE_PREFIX) :]] = field[2].rstrip(b" \t")
            edits.append((field.start(), field.end(), b""))

    if head.host is None and head.minor:
        raise MessageError(ForwardingFault.MALFORMED, "it has no Host header")
    if head.method == b"CONNECT":
        raise MessageError(ForwardingFault.CONNECT_METHOD, "CONNECT")
    if not head.target.startswith(b"/") and (head.target != b"*" or head.method != b"OPTIONS"):
        return parse_any_request(_origin_form(head))
    if coding is None and length is not None and length.isdigit() and len(length) <= MAX_LENGTH_DIGITS:
        head.length = number = int(length)
        head.framing = _LENGTH if number else _NONE
    else:
        _frame(head, length, coding)
    head.upgrade = False
    if options is None:
        head.keep_alive = head.minor == 1
    else:
        head.keep_alive = b"close" not in options and (head.minor == 1 or b"keep-alive" in options)
        _apply_options(head, options, upgrade)
    return head


def _origin_form(head: RequestHead) -> bytes:
    """Return the request in `head.raw` with its absolute-form target turned into a path.

    The target's authority takes the place of `Host`, which does not count beside it (RFC 9112, 3.2.2).

    Raises: MessageError if the target is of no form that a request of this method may have.
    """
    match = _ABSOLUTE.fullmatch(head.target)
    if match is None:
        raise MessageError(
            ForwardingFault.MALFORMED, "its target is neither a path nor the http:// URL of one"
        )
    authority = match[1] + (match[2] or b"")
    path = match[3]
    if not path.startswith(b"/"):
        # The request for a server as a whole (RFC 9112, 3.2.4).
        path = b"*" if head.method == b"OPTIONS" and not path else b"/" + path
    line = b"%b %b HTTP/1.%d" % (head.method, path, head.minor)
    if head.host is None:
        return b"%b\r\nHost: %b%b" % (line, authority, head.raw[head.line_end :])
    start, end = head.host
    return b"".join((line, head.raw[head.line_end : start], authority, head.raw[end:]))


def _frame(head: RequestHead, length: bytes | None, coding: bytes | None) -> None:
    head.length = 0
    head.framing = Framing.NONE
    if coding is not None:
        if length is not None:
            raise MessageError(ForwardingFault.AMBIGUOUS, "it has both Content-Length and Transfer-Encoding")
        if not head.minor:
            raise MessageError(ForwardingFault.AMBIGUOUS, "it is HTTP/1.0 and has a Transfer-Encoding")
        # White space behind it is allowed, but some readers then take it for a coding they do not know.
        if coding.lower() != b"chunked":
            raise MessageError(ForwardingFault.TRANSFER_CODING, repr(coding[:40].decode("latin-1")))
        head.framing = Framing.CHUNKED
    elif length is not None:
        number = parse_length(length)
        if number is None:
            raise MessageError(ForwardingFault.AMBIGUOUS, "its Content-Length is not one number")
        if number:
            head.length = number
            head.framing = Framing.LENGTH


def _apply_options(head: RequestHead, options: set[bytes], upgrade: bytes | None) -> None:
    named = named_fields(options)
    if named:
        head.edits = merged(head.edits, cuts_of(head.raw, head.line_end, head.end, named))
    # An upgrade is an offer that may be ignored. It is with a body, whose end would depend on the
    # answer; and for h2c, which RFC 9113 withdrew and some clients offer with every request.
    if (
        upgrade is None
        or b"upgrade" not in options
        or head.minor == 0
        or head.framing is not Framing.NONE
        or b"h2c" in {offered.strip(b" \t") for offered in upgrade.lower().split(b",")}
    ):
        return
    head.upgrade = True
    kept: dict[int, Edit | None] = {}
    first = True
    for field in REQUEST_SPECIALS.finditer(head.raw, head.line_end, head.end):
        name = field[1].lower()
        if name == b"upgrade":
            kept[field.start()] = None
        elif name == b"connection" and first:
            kept[field.start()] = (*field.span(2), b"Upgrade")
            first = False
    edits = [kept.get(cut[0], cut) for cut in head.edits]
    head.edits = [edit for edit in edits if edit is not None]


def _check_size(data: bytes, end: int) -> None:
    if end > MAX_HEAD_BYTES:
        raise MessageError(ForwardingFault.HEAD_TOO_LARGE, f"more than {MAX_HEAD_BYTES} bytes")
    if data.count(b"\r\n", 0, end) - 2 > MAX_FIELDS:
        raise MessageError(ForwardingFault.HEAD_TOO_LARGE, f"more than {MAX_FIELDS} headers")


def _refuse_unless_partial(data: bytes) -> None:
    """Raise if no further bytes can make a head of `data`."""
    end = data.find(b"\r\n\r\n")
    head = data if end < 0 else data[: end + 4]
    if len(head) > _COUNT_FIELDS_ABOVE_BYTES:
        # Counted before it is whole: each further line has all of them read again.
        _check_size(head, len(head))
    # A request may follow an empty line (RFC 9112, 2.2); the caller skips it.
    if _BARE_LINE_FEED.search(head):
        raise MessageError(ForwardingFault.AMBIGUOUS, "a line ends with a bare line feed")
    if _FOLD.search(head):
        raise MessageError(ForwardingFault.AMBIGUOUS, "a header is folded over two lines")
    if end < 0 and _START.match(head):
        return
    line = _REQUEST_LINE.match(head)
    if line is None:
        raise MessageError(
            ForwardingFault.MALFORMED, "its first line is not a method, a target and a version"
        )
    if line[1] not in {b"HTTP/1.0", b"HTTP/1.1"}:
        raise MessageError(ForwardingFault.VERSION, line[1].decode("ascii"))
    raise MessageError(ForwardingFault.MALFORMED, "a header line is not a name, a colon and a value")


def render_request(
    head: RequestHead,
    target: bytes,
    authority: bytes,
    injection: Injection | None = None,
    stop: int | None = None,
) -> bytes:
    """Return the head for the upstream, and what follows it in `head.raw` up to `stop`.

    Args:
        head: Head that the client sent.
        target: Request target for the upstream.
        authority: The upstream's host and port, for `Host`.
        injection: Fields that replace the client's.
        stop: End in `head.raw` of the bytes to send; None for the end of the head.
    """
    raw = head.raw
    edits = head.edits
    if stop is None:
        stop = head.end
    if injection is not None:
        edits = merged(edits, injection.cuts(raw, head.line_end, head.end))
    elif not edits and target == head.target and head.host is not None and head.minor:
        start, end = head.host
        if stop <= _SMALL_BYTES:
            return raw[:start] + authority + raw[end:stop]
        return b"".join((raw[:start], authority, memoryview(raw)[end:stop]))
    pieces: list[bytes | memoryview] = []
    position = 0
    if not head.minor or target != head.target:
        pieces.append(b"%b %b HTTP/1.1" % (head.method, target))
        position = head.line_end
    if head.host is not None:
        start, end = head.host
        edits = [*edits, (start, end, authority)]
        edits.sort()
    else:
        pieces += (raw[position : head.line_end], b"\r\nHost: ", authority)
        position = head.line_end
    for start, end, text in edits:
        pieces.append(raw[position:start])
        if text:
            pieces.append(text)
        position = end
    if injection is None:
        pieces.append(memoryview(raw)[position:stop])
    else:
        pieces += (raw[position : head.end - 4], injection.lines, memoryview(raw)[head.end - 4 : stop])
    return b"".join(pieces)
