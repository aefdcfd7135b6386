"""Faults of the relay, and the one table that turns each into a response the openai SDK reads."""

from __future__ import annotations

import json
from enum import StrEnum
from http import HTTPStatus
from typing import NamedTuple


class ForwardingFault(StrEnum):
    """Why a request got no answer from its upstream. The value is the error code and the label."""

    MALFORMED = "malformed_request"
    AMBIGUOUS = "ambiguous_framing"
    HEAD_TOO_LARGE = "request_head_too_large"
    VERSION = "http_version_not_supported"
    TRANSFER_CODING = "transfer_coding_not_supported"
    CONNECT_METHOD = "connect_not_supported"
    NO_ROUTE = "no_route"
    HOST = "host_not_known"
    ORIGIN = "origin_not_allowed"
    CLIENT_STALLED = "request_timeout"
    CROWDED = "too_many_connections"
    UNRESOLVED = "upstream_name_not_resolved"
    REFUSED = "upstream_refused"
    UNREACHABLE = "upstream_unreachable"
    TLS = "upstream_tls_failed"
    PROXY = "upstream_proxy_failed"
    CONNECT_TIMEOUT = "upstream_connect_timeout"
    FIRST_BYTE_TIMEOUT = "upstream_first_byte_timeout"
    IDLE_TIMEOUT = "upstream_idle_timeout"
    TOTAL_TIMEOUT = "upstream_total_timeout"
    CLOSED = "upstream_closed_without_answer"
    TRUNCATED = "upstream_answer_truncated"
    GARBAGE = "upstream_answer_malformed"


class _Kind(NamedTuple):
    status: int
    message: str
    retry_after_s: int | None = None


_CLIENT_ERROR = "invalid_request_error"
_UPSTREAM_ERROR = "upstream_error"
_OWN_ERROR = "server_error"
_LINE_END = "\r\n"

_TABLE = {
    ForwardingFault.MALFORMED: _Kind(400, "The request is not valid HTTP/1.1: {detail}."),
    ForwardingFault.AMBIGUOUS: _Kind(
        400, "The request can be read in two ways: {detail}. Send exactly one framing."
    ),
    ForwardingFault.HEAD_TOO_LARGE: _Kind(
        431, "The request head is too large: {detail}. Send fewer or shorter headers."
    ),
    ForwardingFault.VERSION: _Kind(
        505, "Only HTTP/1.1 and HTTP/1.0 are spoken here; the request asks for {detail}."
    ),
    ForwardingFault.TRANSFER_CODING: _Kind(
        501, "The only transfer coding accepted is chunked, not {detail}."
    ),
    ForwardingFault.CONNECT_METHOD: _Kind(
        501, "CONNECT is not supported. Use this address as the API's base URL, not as an HTTP proxy."
    ),
    ForwardingFault.NO_ROUTE: _Kind(
        404, "No route matches the path {detail}. Check the base URL and the configured prefixes."
    ),
    ForwardingFault.HOST: _Kind(
        421,
        "This proxy is not known as {detail}, and the route has a key of its own. Use localhost or an "
        "address, or put the name into the setting listen.hosts.",
    ),
    ForwardingFault.ORIGIN: _Kind(
        403,
        "Web pages may not use this route, which has a key of its own: the request comes from {detail}. To "
        "allow a page, put its origin into the setting listen.origins.",
    ),
    ForwardingFault.CLIENT_STALLED: _Kind(
        408, "The request did not arrive completely in time. Send it again."
    ),
    ForwardingFault.CROWDED: _Kind(
        503, "The proxy has as many connections as it may have. Send the request again, or reuse one.", 1
    ),
    ForwardingFault.UNRESOLVED: _Kind(
        502, "{where}: the host name could not be resolved. Check the upstream URL and DNS."
    ),
    ForwardingFault.REFUSED: _Kind(
        502, "{where} refused the connection. Check that it is running and that the port is right."
    ),
    ForwardingFault.UNREACHABLE: _Kind(
        502, "{where} could not be reached ({detail}). Check the upstream URL and the network."
    ),
    ForwardingFault.TLS: _Kind(
        502, "{where}: the TLS handshake failed ({detail}). Check the scheme and the certificate."
    ),
    ForwardingFault.PROXY: _Kind(502, "{where} could not be reached: {detail}."),
    ForwardingFault.CONNECT_TIMEOUT: _Kind(
        504, "{where} did not accept a connection in time. Check the network."
    ),
    ForwardingFault.FIRST_BYTE_TIMEOUT: _Kind(
        504,
        "{where} did not begin to answer in time. Check its load, or raise the route's timeouts.silence_s.",
    ),
    ForwardingFault.IDLE_TIMEOUT: _Kind(504, "{where} stopped in the middle of its answer. Check its load."),
    ForwardingFault.TOTAL_TIMEOUT: _Kind(
        504, "{where} did not answer within the total timeout. Check its load, or raise that timeout."
    ),
    ForwardingFault.CLOSED: _Kind(502, "{where} closed the connection without an answer. Check its logs."),
    ForwardingFault.TRUNCATED: _Kind(
        502, "{where} closed the connection in the middle of its answer. Check its logs."
    ),
    ForwardingFault.GARBAGE: _Kind(502, "{where} sent an answer that is not valid HTTP/1.1: {detail}."),
}


def status_of(fault: ForwardingFault) -> int:
    """The HTTP status a fault is answered with, 400 to 599."""
    return _TABLE[fault].status


def error_response(
    fault: ForwardingFault, *, where: str = "The upstream", detail: str = "", close: bool, bare: bool
) -> bytes:
    """Render the response to a fault, head and body.

    Args:
        fault: What went wrong.
        where: The route and upstream it concerns, as the start of a sentence.
        detail: What exactly was found; holds no credentials.
        close: Whether the connection ends after it, and the response says so.
        bare: Leave out the body, as the answer to HEAD must.
    """
    status, template, retry_after_s = _TABLE[fault]
    error = {
        "message": template.format(where=where, detail=detail or "unknown cause"),
        "type": _type_of(fault, status),
        "param": None,
        "code": fault.value,
    }
    body = json.dumps({"error": error}).encode()
    head = (
        f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\n"
        f"content-type: application/json\r\ncontent-length: {len(body)}\r\n"
        f"{'' if retry_after_s is None else f'retry-after: {retry_after_s}{_LINE_END}'}"
        f"{'connection: close' if close else 'connection: keep-alive'}\r\n\r\n"
    )
    return head.encode("ascii") + (b"" if bare else body)


def _type_of(fault: ForwardingFault, status: int) -> str:
    if status < HTTPStatus.INTERNAL_SERVER_ERROR:
        return _CLIENT_ERROR
    return _OWN_ERROR if fault is ForwardingFault.CROWDED else _UPSTREAM_ERROR
