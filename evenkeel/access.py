"""The admin token: who may see metrics, prompts and answers when the port is not on loopback."""

from __future__ import annotations

import base64
import binascii
import hmac
from typing import TYPE_CHECKING

from litestar.enums import ScopeType
from litestar.response.base import ASGIResponse

if TYPE_CHECKING:
    from litestar.types import ASGIApp, Receive, Scope, Send

_OPEN_PATHS = frozenset({"/healthz", "/readyz"})
"""Probes of an orchestrator: they say nothing about content."""


class TokenGuard:
    """An ASGI application that asks for the token, as a bearer or as any user's password.

    Browsers show their own password dialogue for the latter. Without a token all requests pass.
    """

    def __init__(self, app: ASGIApp, token: str | None) -> None:
        self._app = app
        self._token = token.encode() if token else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer 401."""
        if scope["type"] != ScopeType.HTTP or self._token is None or scope["path"] in _OPEN_PATHS:
            await self._app(scope, receive, send)
            return
        given = dict(scope["headers"]).get(b"authorization", b"")
        if hmac.compare_digest(_token_in(given), self._token):
            await self._app(scope, receive, send)
            return
        body = b"The admin token is needed: as bearer token, or as the password of any user.\n"
        challenge = {"www-authenticate": 'Basic realm="evenkeel", charset="UTF-8"'}
        await ASGIResponse(body=body, status_code=401, headers=challenge)(scope, receive, send)


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
