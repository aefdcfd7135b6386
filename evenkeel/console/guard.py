"""Access checks of the admin port, and the responses to requests that fail them.

A token comes as a bearer token, as any user's password, or from the sign-in page, after which a cookie stands
for it. `sign_in` has that page; `access` defines visitors and roles.
"""

from __future__ import annotations

import base64
import binascii
import re
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Final

from litestar.enums import ScopeType

from evenkeel.console.access import SCOPE_KEY, Failures, LoginProxy, Tokens, Visitor, not_allowed
from evenkeel.console.sign_in import PATHS, SignIn, header_of, text_response, throttled, wants_page

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from litestar.response.base import ASGIResponse
    from litestar.types import ASGIApp, Receive, Scope, Send

# Probes of an orchestrator, which reveal no content.
_OPEN_PATHS: Final = frozenset({"/healthz", "/readyz"})
# Static files, which are open because the sign-in page needs them.
_OPEN_FILE: Final = re.compile(r"/static/[a-z-]+\.[a-z]+")
_METRICS_PATH: Final = "/metrics"
_LOCAL: Final = "localhost"
# Of a name or an address in brackets, with or without a port.
_HOST: Final = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\[\]:/@\s]+)(?::[0-9]{0,5})?")


class TokenGuard:
    """ASGI application that asks for a token or a login, or knows a client by its certificate.

    If it asks for nothing, requests to an address, to `localhost` or to one of the given names pass.
    """

    def __init__(
        self,
        app: ASGIApp,
        token: str | None,
        hosts: Collection[str] = (),
        people: Iterable[tuple[str, Visitor]] = (),
        login: LoginProxy | None = None,
        failures: Failures | None = None,
        sign_in: SignIn | None = None,
    ) -> None:
        """Put the guard in front of an application.

        Args:
            app: Application to guard.
            token: Token that clients must send; None or "" for none. With `login`, or once anybody
                but a scraper is named, it only reads.
            hosts: Names, without a port, under which the application is reached; with a token none means any.
            people: Tokens of single people and programs, with who they are. A scraper reads `/metrics`, and
                nothing else.
            login: Proxy that is trusted to name visitors.
            failures: Counts failed log-ins.
            sign_in: Has the page where people enter their token; None = browsers ask for it themselves.
        """
        self._app = app
        visitors = tuple(people)
        # Where people have tokens of their own, the shared one only reads: it would act under no name.
        named = any(visitor.name and visitor.role != "scraper" for _, visitor in visitors)
        shared = Visitor(role="viewer") if named or login else Visitor()
        others = [member for member in visitors if member[1].role != "scraper"]
        if token:
            others.append((token, shared))
        self._scrapers = Tokens(member for member in visitors if member[1].role == "scraper")
        self._tokens = Tokens(others, failures)
        self._login = login
        self._sign_in = sign_in
        self._hosts = frozenset(host.lower() for host in hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer 401 (not known), 403 (no login), 421 (for another name) or 429."""
        if scope["type"] == ScopeType.WEBSOCKET:  # there are none, so they need no token check
            await send({"type": "websocket.close", "code": 1008, "reason": ""})
            return
        if scope["type"] != ScopeType.HTTP or scope["path"] in _OPEN_PATHS:
            await self._app(scope, receive, send)
            return
        if self._sign_in is not None and _OPEN_FILE.fullmatch(scope["path"]):
            await self._app(scope, receive, send)
            return
        # The sign-in page answers before any token is checked, but only under a known name.
        if self._sign_in is not None and scope["path"] in PATHS:
            refused = self._misnamed(scope) if self._hosts else None
            await (refused or await self._sign_in.answer(scope, receive, self._tokens))(scope, receive, send)
            return
        visitor = self._visitor(scope)
        if isinstance(visitor, Visitor):
            own: Any = scope
            own[SCOPE_KEY] = visitor
            await self._app(scope, receive, send)
        else:
            await visitor(scope, receive, send)

    def _visitor(self, scope: Scope) -> Visitor | ASGIResponse:
        """Return the visitor, or the response that turns the request away."""
        token = _token_in(header_of(scope, b"authorization"))
        client = (scope.get("client") or ("",))[0]
        visitor = self._scrapers.find(token)
        if visitor is not None and scope["path"] != _METRICS_PATH:
            return text_response(not_allowed(visitor, "viewer"), 403)
        # A scraper is never throttled: others at its address must not be able to lock it out.
        wait_s = self._tokens.wait_s(client) if token and visitor is None else 0.0
        if wait_s:
            return throttled(wait_s)
        visitor = visitor or self._tokens.find(token)
        if visitor is None and not token and self._sign_in is not None:
            visitor = self._sign_in.visitor(scope, self._tokens)
        # From here on a visitor may come from what any page could send, such as a header of the proxy.
        secret = visitor is not None
        if visitor is None and self._login is not None:
            visitor = self._login.visitor(scope)
        asks = bool(self._tokens) or bool(self._scrapers) or self._sign_in is not None
        if visitor is None and not asks and self._login is None:
            visitor = Visitor()
        # A page whose name was pointed here knows no token and has no cookie; what else lets a request in,
        # it could send.
        refused = self._misnamed(scope) if self._hosts or (visitor is not None and not secret) else None
        if refused is not None:
            return refused
        if visitor is None and token and self._tokens:
            self._tokens.note_failure(client, scope["path"])
        return visitor or self._refusal(scope, presented=bool(token))

    def _misnamed(self, scope: Scope) -> ASGIResponse | None:
        """Return the response to a request for a host name that is not this port's; None if it is."""
        hosts = []
        for name, value in scope["headers"]:
            if name == b"host":
                hosts.append(value.decode("latin-1"))
        if len(hosts) == 1 and self._means_this(hosts[0]):
            return None
        return text_response(
            "This port is not known by that name. Use an address or localhost, or put the name into "
            "access.hosts of the settings.",
            421,
        )

    def _refusal(self, scope: Scope, *, presented: bool) -> ASGIResponse:
        if not self._tokens and self._sign_in is None:
            return text_response(
                "Nobody is named by the login proxy: sign in there, and ask through it.", 403
            )
        if self._sign_in is not None and wants_page(scope):
            return self._sign_in.refusal(scope)
        said = "This is not the token. It is sent" if presented else "A token is needed:"
        lines = [f"{said} as bearer token, or as the password of any user."]
        if self._sign_in is not None:
            lines.append(self._sign_in.whereabouts)
        challenge = {"www-authenticate": 'Basic realm="evenkeel", charset="UTF-8"'}
        return text_response("\n".join(lines), 401, challenge)

    def _means_this(self, host: str) -> bool:
        """Return whether a `Host` is an IP address, which no DNS can redirect, or a name of this machine."""
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
        # The user name is ignored: tools that only know passwords send the token as one.
        try:
            return base64.b64decode(value.strip(), validate=True).partition(b":")[2]
        except binascii.Error:
            return b""
    return b""
