"""Heads as they are sent on: the bytes that came, with the few that must change cut out or replaced."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkeel.proxy.framing import Framing
from evenkeel.proxy.headers import cuts_of, merged
from evenkeel.proxy.response_head import STATUS_END

if TYPE_CHECKING:
    from evenkeel.proxy.credentials import Injection
    from evenkeel.proxy.request_head import RequestHead
    from evenkeel.proxy.response_head import ResponseHead

_CLOSE = Framing.CLOSE
_VERSION_END = len(b"HTTP/1.1")
_SMALL_BYTES = 8 << 10
"""Up to this size copying twice is faster than making a view to copy once."""


def render_request(
    head: RequestHead,
    target: bytes,
    authority: bytes,
    injection: Injection | None = None,
    stop: int | None = None,
) -> bytes:
    """The head as the upstream is sent it, and what follows it in `head.raw` up to `stop`.

    Args:
        head: What the client sent.
        target: Request target for the upstream.
        authority: The upstream's host and port, for `Host`.
        injection: Fields that replace the client's.
        stop: Where in `head.raw` the bytes to be sent end; None for the end of the head.
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


def render_response(head: ResponseHead, *, minor: int, keep_alive: bool) -> bytes | None:
    """The head as the client is sent it; None if that is what the upstream sent.

    A body that ends with the upstream's connection is sent chunked to a client that can read it,
    so that a clean end can be told from a lost one.

    Args:
        head: What the upstream sent.
        minor: The client's HTTP/1 minor version.
        keep_alive: Whether the client's connection stays open afterwards.
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
