"""Access checks of the admin port, the responses to requests that fail them, and the sign-in page.

A token comes as a bearer token, as any user's password, or from the sign-in page, after which a cookie stands
for it. `access` defines visitors and roles.

A token in an address would stay in the browser's history and in logs. So the link of the banner carries a
code that works once, the page sends what is entered in the body of a request, and both end in a cookie that
no script can read and that no page of another site can have sent. It is encrypted and says which token it
stands for: when that token is another one, or is gone, the session is over.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import hashlib
import math
import re
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl

from litestar import MediaType
from litestar.enums import ScopeType
from litestar.response.base import ASGIResponse

from evenkeel.console.access import (
    SCOPE_KEY,
    Failures,
    LoginProxy,
    Tokens,
    Visitor,
    comes_from_elsewhere,
    not_allowed,
)
from evenkeel.console.app import SECURITY_HEADERS
from evenkeel.console.rendering import Assets, Renderer

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from litestar.types import ASGIApp, Receive, Scope, Send


LOGIN: Final = "/login"
LOGOUT: Final = "/logout"
PATHS: Final = frozenset({LOGIN, LOGOUT})

# Status 401: the visitor is unknown.
_WHO: Final = 401
# A form with a token; more is not read.
_MOST_BODY_BYTES: Final = 8192
_MOST_PATH_CHARS: Final = 2000
_HEADERS: Final = {name.decode(): value.decode() for name, value in SECURITY_HEADERS} | {
    "cache-control": "no-store"
}
_FORM: Final = "application/x-www-form-urlencoded"


class Sessions:
    """Cookies that say who has signed in, valid for some hours."""

    def __init__(self, key: str, hours: float, clock: Callable[[], float], *, secure: bool) -> None:
        """Args: key: a secret. hours: how long. clock: Unix time. secure: whether the port speaks TLS."""
        # Loaded on demand: a process without an admin port does not need it.
        from cryptography.fernet import Fernet, InvalidToken  # noqa: PLC0415

        digest = hashlib.sha256(b"evenkeel sessions " + key.encode()).digest()
        self._fernet, self._invalid = Fernet(base64.urlsafe_b64encode(digest)), InvalidToken
        self._lasts_s = int(hours * 3600)
        self._clock = clock
        self._secure = secure
        # Ports of one machine share their cookies, so each installation has a name of its own.
        own = hashlib.sha256(b"evenkeel cookie " + key.encode()).hexdigest()[:8]
        self._name = f"{'__Host-' if secure else ''}evenkeel-session-{own}"

    def cookie(self, token_mark: str) -> str:
        """Return the header that begins a session."""
        sealed = self._fernet.encrypt_at_time(token_mark.encode(), int(self._clock()))
        return self._header(sealed.decode(), self._lasts_s)

    def ended(self) -> str:
        """Return the header that ends a session."""
        return self._header("", 0)

    def token_mark(self, scope: Scope) -> str:
        """Return the mark of the token of a request's session; "" without a session, or when it is over."""
        for name, value in scope["headers"]:
            if name != b"cookie":
                continue
            for part in value.split(b";"):
                key, _, sealed = part.strip().partition(b"=")
                if key == self._name.encode():
                    with contextlib.suppress(self._invalid, ValueError):
                        opened = self._fernet.decrypt_at_time(sealed, self._lasts_s, int(self._clock()))
                        return opened.decode()
        return ""

    def _header(self, value: str, lasts_s: int) -> str:
        secure = "; Secure" if self._secure else ""
        return f"{self._name}={value}; Path=/; Max-Age={lasts_s}; HttpOnly; SameSite=Strict{secure}"


class SignIn:
    """Pages at `/login` and `/logout`."""

    def __init__(
        self,
        sessions: Sessions,
        clock: Callable[[], float],
        *,
        whereabouts: str,
        redeem: Callable[[str], str | None] = lambda _: None,
    ) -> None:
        """Prepare the pages.

        Args:
            sessions: Makes and reads the cookies.
            clock: Unix time in seconds.
            whereabouts: Text that says where to find the token.
            redeem: Returns the token for a one-time code, the first time it is used; else None.
        """
        self._sessions = sessions
        self._redeem = redeem
        self.whereabouts = whereabouts
        self._renderer = Renderer(Assets(), clock)

    def visitor(self, scope: Scope, tokens: Tokens) -> Visitor | None:
        """Return the visitor who has signed in with this browser; None without a valid session."""
        return tokens.marked(self._sessions.token_mark(scope))

    async def answer(self, scope: Scope, receive: Receive, tokens: Tokens) -> ASGIResponse:
        """Answer a request for one of the pages."""
        asked: Any = scope  # a type that is common to all kinds of connections
        method, path = asked["method"], asked["path"]
        query = dict(parse_qsl(scope["query_string"].decode("latin-1")))
        onward = own_path(query.get("next", ""))
        match method:
            case "GET" if path == LOGIN and "code" in query:
                answer = self._by_code(scope, query["code"], tokens)
            case "GET" | "HEAD" if path == LOGIN:
                answer = self._page(200, onward)
            case "POST" if path in {LOGIN, LOGOUT} and comes_from_elsewhere(scope):
                answer = self._page(403, "/", "The form was sent by a page of another site.")
            # Signing out takes a form as well: a link would let any page sign people out.
            case "POST" if path == LOGOUT:
                answer = _see_other(LOGIN, self._sessions.ended())
            case "POST" if path == LOGIN:
                form = await _form(scope, receive)
                answer = self._by_token(scope, form.get("token", ""), own_path(form.get("next", "")), tokens)
            case _:
                answer = text_response("There is nothing here.", 405)
        return answer

    def refusal(self, scope: Scope) -> ASGIResponse:
        """Return the sign-in page for a browser that requested another page without having signed in.

        A link of another site, as in a message, does not bring the cookie: asking again from here does.
        """
        query = scope["query_string"].decode("latin-1")
        onward = own_path(f"{scope['path']}{'?' * bool(query)}{query}")
        followed = header_of(scope, b"sec-fetch-site") in {b"cross-site", b"same-site"}
        asked: Any = scope
        if asked["method"] != "GET":
            return self._page(401, "/", "You are not signed in, or no longer. Nothing was changed.")
        return self._page(401, onward, again=onward if followed else "")

    def _by_code(self, scope: Scope, code: str, tokens: Tokens) -> ASGIResponse:
        client = (scope.get("client") or ("",))[0]
        if wait_s := tokens.wait_s(client):
            return throttled(wait_s)
        token = self._redeem(code)
        if token is None:
            # An image on a page of another site must not lock out the people at this address.
            if not comes_from_elsewhere(scope):
                tokens.note_failure(client, LOGIN, "login code")
            return self._page(
                401, "/", "This link has been used, is older than an hour, or is of an earlier start."
            )
        return self._signed_in(token.encode(), "/")

    def _by_token(self, scope: Scope, presented: str, onward: str, tokens: Tokens) -> ASGIResponse:
        client = (scope.get("client") or ("",))[0]
        if wait_s := tokens.wait_s(client):
            return throttled(wait_s)
        token = presented.strip().encode("utf-8", "replace")
        if tokens.find(token) is None:
            # An empty form is a slip and no guess.
            if token:
                tokens.note_failure(client, LOGIN)
            return self._page(401, onward, "This is not the token.")
        return self._signed_in(token, onward)

    def _signed_in(self, token: bytes, onward: str) -> ASGIResponse:
        return _see_other(onward, self._sessions.cookie(Tokens.mark(token)))

    def _page(self, status_code: int, onward: str, problem: str = "", again: str = "") -> ASGIResponse:
        body = self._renderer.page(
            "login.html",
            problem=problem,
            onward=onward,
            whereabouts=self.whereabouts,
            again=again,
        )
        # Not "Basic", for which browsers would show their own dialog instead of this page.
        challenge = {"www-authenticate": 'Bearer realm="evenkeel"'} if status_code == _WHO else {}
        return ASGIResponse(
            body=body,
            status_code=status_code,
            media_type=MediaType.HTML,
            headers={**_HEADERS, **challenge},
        )


def own_path(text: str) -> str:
    """Return a path of this port to continue at; `/` for anything that could lead elsewhere."""
    # "//host" and "/\\host" are other sites to a browser; /login would go round in circles.
    usable = (
        text.startswith("/")
        and not text.startswith(("//", *PATHS))
        and len(text) <= _MOST_PATH_CHARS
        and text.isascii()
        and text.isprintable()
        and "\\" not in text
    )
    return text if usable else "/"


def header_of(scope: Scope, name: bytes) -> bytes:
    """Return the last header of this name, b"" if there is none."""
    return dict(scope["headers"]).get(name, b"")


def throttled(wait_s: float) -> ASGIResponse:
    """Respond to an address that has sent too many wrong tokens."""
    said = "Too many wrong tokens came from this address. Wait a minute."
    return text_response(said, 429, {"retry-after": str(math.ceil(wait_s))})


def text_response(text: str, status_code: int, headers: dict[str, str] | None = None) -> ASGIResponse:
    """Return a response of plain text, for programs and people without a page."""
    return ASGIResponse(
        body=f"{text}\n".encode(), status_code=status_code, media_type=MediaType.TEXT, headers=headers
    )


def _see_other(location: str, cookie: str) -> ASGIResponse:
    headers = {"location": location, "cache-control": "no-store", "set-cookie": cookie}
    return ASGIResponse(body=b"", status_code=303, headers=headers)


async def _form(scope: Scope, receive: Receive) -> dict[str, str]:
    """Return the fields of a form; {} if it is not a form, or too long."""
    if header_of(scope, b"content-type").partition(b";")[0].strip().lower() != _FORM.encode():
        return {}
    body = b""
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return {}
        body += message.get("body", b"")
        if len(body) > _MOST_BODY_BYTES:
            return {}
        if not message.get("more_body"):
            return dict(parse_qsl(body.decode("latin-1")))


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
        # A browser wants a page.
        if self._sign_in is not None and b"text/html" in header_of(scope, b"accept"):
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
