"""Signing in with a browser: the page that asks for a token, the link of the banner, and the cookie after it.

A token in an address would stay in the browser's history and in logs. So the link carries a code that works
once, the page sends what is entered in the body of a request, and both end in a cookie that no script can
read and that no page of another site can have sent. It is encrypted and says which token it stands for: when
that token is another one, or is gone, the session is over.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import math
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl

from litestar import MediaType
from litestar.response.base import ASGIResponse

from evenkeel.console.access import Tokens, comes_from_elsewhere
from evenkeel.console.app import SECURITY_HEADERS
from evenkeel.console.rendering import Assets, Renderer

if TYPE_CHECKING:
    from collections.abc import Callable

    from litestar.types import Receive, Scope

    from evenkeel.console.access import Visitor

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
        method, path = _method(scope), scope["path"]
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
        if _method(scope) != "GET":
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


def _method(scope: Scope) -> str:
    asked: Any = scope  # a type that is common to all kinds of connections
    return str(asked["method"])


def header_of(scope: Scope, name: bytes) -> bytes:
    """Return the last header of this name, b"" if there is none."""
    return dict(scope["headers"]).get(name, b"")


def wants_page(scope: Scope) -> bool:
    """Return whether the request comes from a browser that wants a page."""
    return b"text/html" in header_of(scope, b"accept")


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
