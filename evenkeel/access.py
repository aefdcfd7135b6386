"""Who may see metrics, prompts and answers: those who know the admin token, and who mean this port.

Without a token, as on loopback, any page that a browser of this machine shows could have its own name
resolve to this port and then read from it as if from its own site (DNS rebinding). The name stays in
`Host`, so requests for names other than this machine's are refused.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import re
from ipaddress import ip_address
from typing import TYPE_CHECKING

from litestar.enums import ScopeType
from litestar.response.base import ASGIResponse

if TYPE_CHECKING:
    from collections.abc import Collection

    from litestar.types import ASGIApp, Receive, Scope, Send

_OPEN_PATHS = frozenset({"/healthz", "/readyz"})
"""Probes of an orchestrator: they say nothing about content."""

_LOCAL = "localhost"
_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\[\]:/@\s]+)(?::[0-9]{0,5})?")


class TokenGuard:
    """An ASGI application that asks for the token, as a bearer or as any user's password.

    Browsers show their own password dialogue for the latter. Without a token all requests pass that are
    for an address, for `localhost` or for one of the names given.
    """

    def __init__(self, app: ASGIApp, token: str | None, hosts: Collection[str] = ()) -> None:
        """Put the guard in front of an application.

        Args:
            app: What is guarded.
            token: What clients have to know; None or "" for nothing.
            hosts: Names, without a port, under which the application is reached; with a token none means any.
        """
        self._app = app
        self._token = token.encode() if token else None
        self._hosts = frozenset(host.lower() for host in hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer 401 (no token) or 421 (for another name)."""
        if scope["type"] == ScopeType.WEBSOCKET:  # there are none, so nothing asks for their token
            await send({"type": "websocket.close", "code": 1008, "reason": ""})
            return
        if scope["type"] != ScopeType.HTTP or scope["path"] in _OPEN_PATHS:
            await self._app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        refusal = self._refusal(headers.get(b"host", b""), headers.get(b"authorization", b""))
        await (refusal or self._app)(scope, receive, send)

    def _refusal(self, host: bytes, authorization: bytes) -> ASGIResponse | None:
        if (self._hosts or self._token is None) and not self._means_this(host.decode("latin-1")):
            body = (
                b"This port is not known by that name. Use an address or localhost, "
                b"or put the name into the setting admin.hosts.\n"
            )
            return ASGIResponse(body=body, status_code=421)
        if self._token is None or hmac.compare_digest(_token_in(authorization), self._token):
            return None
        body = b"The admin token is needed: as bearer token, or as the password of any user.\n"
        challenge = {"www-authenticate": 'Basic realm="evenkeel", charset="UTF-8"'}
        return ASGIResponse(body=body, status_code=401, headers=challenge)

    def _means_this(self, host: str) -> bool:
        """Whether a `Host` is an address, which nobody can point elsewhere, or a name of this machine."""
        match = _HOST.fullmatch(host)
        if match is None:
            return False
        name = match[1].lower().removesuffix(".")
        if name == _LOCAL or name in self._hosts:
            return True
        try:
            ip_address(name.strip("[]"))
        except ValueError:
            return False
        return True


def _token_in(authorization: bytes) -> bytes:
    scheme, _, value = authorization.partition(b" ")
    if scheme.lower() == b"bearer":
        return value.strip()
    if scheme.lower() == b"basic":
        try:
            return base64.b64decode(value.strip(), validate=True).partition(b":")[2]
        except binascii.Error:
            return b""
    return b""
