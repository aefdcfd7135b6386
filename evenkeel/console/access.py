"""Identity, role and permissions of each visitor of the console.

A token or a sign-in opens metrics, prompts and answers. Whoever serves the console puts a `Visitor` into
the scope of each request, under `SCOPE_KEY`. Without one everybody is trusted with everything and nobody is
known: names are then as people type them.

A browser sends its user's password, or reaches a port of this machine, for whatever page is open. So forms
carry a token that only the console's own pages know (Litestar's `CSRFConfig`), the API takes nothing but
JSON, which a browser does not send elsewhere without asking first, and both refuse what a browser says
comes from another site.

Without a token, as on loopback, any page that a browser of this machine shows could have its own name
resolve to this port and then read from it as if from its own site (DNS rebinding). The name stays in
`Host`, so requests for names other than this machine's are refused.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
import secrets
import time
from collections import OrderedDict
from dataclasses import asdict, dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import TYPE_CHECKING, Any, Final, Literal

from litestar.config.csrf import CSRFConfig
from litestar.exceptions import HTTPException, PermissionDeniedException
from litestar.template.base import csrf_token

from evenkeel.stores.audit_log import Action, is_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from litestar import Request
    from litestar.connection import ASGIConnection
    from litestar.handlers import BaseRouteHandler
    from litestar.types import Scope

    from evenkeel.stores.audit_log import ActionLog, KnownBy, What


SCOPE_KEY: Final = "evenkeel.visitor"

Role = Literal["scraper", "viewer", "labeller", "approver", "admin"]
"""Roles of people and programs; each includes those before it."""
NOBODY: Final = "nobody"
"""Value of `needs` for a route that answers everybody."""
_RANKS: Final[dict[Role, int]] = {"scraper": 0, "viewer": 1, "labeller": 2, "approver": 3, "admin": 4}


_log = logging.getLogger("evenkeel.console")


@dataclass(frozen=True, slots=True)
class Visitor:
    """A person or program that has been let in."""

    name: str = ""
    """Name of the visitor; if it is "", the form asks for a name and records it as typed."""
    role: Role = "admin"
    known_by: KnownBy = "typed"

    def may(self, role: Role) -> bool:
        """Return whether the visitor may do what requires this role."""
        return _RANKS[self.role] >= _RANKS[role]


def visitor_of(connection: ASGIConnection[Any, Any, Any, Any]) -> Visitor:
    """Return the visitor that sent a request; without one in the scope, an admin without a name."""
    scope: Any = connection.scope
    known_visitor = scope.get(SCOPE_KEY)
    return known_visitor if isinstance(known_visitor, Visitor) else Visitor()


def allowed(connection: ASGIConnection[Any, Any, Any, Any], handler: BaseRouteHandler) -> None:
    """Guard of a whole application: refuse visitors without the role that a route declares as `needs`.

    A route that declares nothing is for admins.
    """
    # Forgetting to declare a role locks people out, which is noticed; the reverse would not be.
    role, visitor = handler.opt.get("needs", "admin"), visitor_of(connection)
    if role != NOBODY and not visitor.may(role):
        raise HTTPException(not_allowed(visitor, role), status_code=403)


def not_allowed(visitor: Visitor, role: Role) -> str:
    """Return the message for a visitor who lacks a role."""
    who = visitor.name or "Whoever has this token"
    return f"{who} has the role {visitor.role}; this needs the role {role}. Nothing was changed."


def signed(visitor: Visitor, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a request with `by` set to the visitor's name if that is known, else as typed.

    Raises: HTTPException if `by` is another name than the visitor's.
    """
    if not visitor.name:
        return dict(asked)
    # Quietly recording another name than the one that was typed would surprise whoever typed it.
    typed = asked.get("by")
    if typed not in (None, "", visitor.name):
        raise HTTPException(
            f'You are signed in as {visitor.name}: leave "by" out. Nothing was changed.', status_code=403
        )
    return {**asked, "by": visitor.name}


def record(
    log: ActionLog, visitor: Visitor, by: str, what: What, subject: str, *, at: float, detail: str
) -> None:
    """Record what `by` did, the visitor who made the request, in the audit log and that of the process."""
    action = Action(round(at, 3), by, visitor.known_by, what, subject, detail)
    _log.info("%s", json.dumps(asdict(action)))  # in ASCII: no name can break or steer the line
    log.record(action)


# Values with which browsers say that a request comes from this site, or from somebody who typed its
# address.
_OWN = frozenset({"same-origin", "none"})
_WITHOUT_FORMS = ("^/api/", "^/static/", "^/metrics$", "^/healthz$", "^/readyz$")


def csrf_config() -> CSRFConfig:
    """Protection of forms, with a secret that lives as long as the application.

    The cookie's name is new each time too: a browser would keep sending the old one, which no longer fits.
    """
    return CSRFConfig(
        secret=secrets.token_hex(32),
        cookie_name=f"evenkeel-{secrets.token_hex(4)}",
        cookie_httponly=True,
        cookie_samesite="strict",  # a form of another site then comes without it
        exclude=list(_WITHOUT_FORMS),
    )


def form_token(request: Request[Any, Any, Any]) -> str:
    """Return the `_csrf_token` that a form on a page must carry."""
    return csrf_token({"request": request})


def fields_of(form: Mapping[str, str]) -> dict[str, str]:
    """Return what a person entered into a form: its fields without the token."""
    fields = dict(form)
    fields.pop("_csrf_token", None)
    return fields


def own_pages_only(connection: ASGIConnection[Any, Any, Any, Any], _handler: BaseRouteHandler) -> None:
    """Guard that refuses requests caused by a page of another site."""
    if comes_from_elsewhere(connection.scope):
        raise PermissionDeniedException("The request comes from a page of another site.")


def comes_from_elsewhere(scope: Scope) -> bool:
    """Return whether a page of another site caused a request.

    Programs other than browsers do not state their origin and pass.
    """
    headers = {}
    for name, value in scope["headers"]:
        headers[name] = value.decode("latin-1")
    site = headers.get(b"sec-fetch-site")
    if site is not None:
        return site not in _OWN
    # An older browser, or one that does not trust plain HTTP to another machine.
    origin = headers.get(b"origin")
    return origin not in (None, "null") and origin.partition("://")[2] != headers.get(b"host")


def json_only(connection: ASGIConnection[Any, Any, Any, Any], _handler: BaseRouteHandler) -> None:
    """Guard that refuses bodies not declared as JSON, such as those of forms on other sites."""
    kind = connection.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise HTTPException("Send the body as application/json.", status_code=415)


@dataclass(frozen=True, slots=True)
class LoginProxy:
    """A login proxy whose header names the visitor."""

    header: str
    networks: tuple[IPv4Network | IPv6Network, ...]
    """Networks of the proxy; () = every client, since all of them have shown a certificate."""
    roles: Mapping[str, Role]
    """Roles of people by name."""
    others: Role
    """Role of everybody whom `roles` does not name."""

    def visitor(self, scope: Scope) -> Visitor | None:
        """Return the visitor that the proxy names.

        Returns: None if the request is not from the proxy, or if the header is missing, repeated or no name.
        """
        client = scope.get("client") or ("",)
        if self.networks and not self._is_listed(client[0]):
            return None
        wanted = self.header.lower().encode()
        values = []
        for header, value in scope["headers"]:
            if header == wanted:
                values.append(value)
        # If there are two, one may be the client's own.
        if len(values) != 1:
            return None
        try:
            name = values[0].decode().strip()
        except UnicodeDecodeError:
            return None
        return Visitor(name, self.roles.get(name, self.others), "proxy") if is_name(name) else None

    def _is_listed(self, host: str) -> bool:
        address = _address_of(host)
        return address is not None and any(address in network for network in self.networks)


def _address_of(client: str) -> IPv4Address | IPv6Address | None:
    """Return the address that a client comes from; None if it is none, as on a Unix socket."""
    try:
        address = ip_address(client)
    except ValueError:
        return None
    # A dual-stack socket reports IPv4 clients as IPv6 addresses.
    if isinstance(address, IPv6Address) and address.ipv4_mapped:
        return address.ipv4_mapped
    return address


class Failures:
    """Failed log-ins by address: after some in a minute an address has to wait.

    Remembers the latest addresses that failed, each with only a count and a time.
    """

    MOST: Final = 10
    """Failures allowed in a window; later tokens from the same address are not checked."""
    WINDOW_S: Final = 60.0
    _MOST_ADDRESSES: Final = 4096
    _HOST_BITS: Final = 64
    """Bits of an IPv6 address that are ignored: one client usually holds all addresses of its /64 network."""

    def __init__(self, timer: Callable[[], float] = time.monotonic) -> None:
        self._timer = timer
        self._by_address: OrderedDict[str, tuple[float, int]] = OrderedDict()

    def count(self, client: str) -> int:
        """Count a failure and return the number in the current window, including this one."""
        address = self._counted_as(client)
        # Taken out and put back at the end, so that the address that failed longest ago is forgotten first.
        since, number = self._by_address.pop(address, (self._timer(), 0))
        if self._timer() - since >= self.WINDOW_S:
            since, number = self._timer(), 0
        self._by_address[address] = (since, number + 1)
        if len(self._by_address) > self._MOST_ADDRESSES:
            self._by_address.popitem(last=False)
        return number + 1

    def wait_s(self, client: str) -> float:
        """Return the seconds until tokens from an address are checked again; 0 = now."""
        since, number = self._by_address.get(self._counted_as(client), (0.0, 0))
        return max(0.0, since + self.WINDOW_S - self._timer()) if number >= self.MOST else 0.0

    def _counted_as(self, client: str) -> str:
        address = _address_of(client)
        if isinstance(address, IPv6Address):
            return str(int(address) >> (address.max_prefixlen - self._HOST_BITS))
        return str(address or client)


class Tokens:
    """Tokens and their visitors. Checks are throttled per address after wrong tokens."""

    def __init__(self, tokens: Iterable[tuple[str, Visitor]], failures: Failures | None = None) -> None:
        """Args: tokens: with who has them. failures: counts wrong ones."""
        self._tokens = tuple((token.encode(), visitor) for token, visitor in tokens)
        self._by_mark = {self.mark(token): visitor for token, visitor in self._tokens}
        self._failures = failures or Failures()

    def __bool__(self) -> bool:
        """Return whether any token is set."""
        return bool(self._tokens)

    def find(self, presented: bytes) -> Visitor | None:
        """Return the visitor of a token, or None.

        Compares with every token, so that response time does not reveal a match.
        """
        owner = None
        # No early return: the time must not tell which token came close.
        for token, visitor in self._tokens:
            if hmac.compare_digest(presented, token):
                owner = visitor
        return owner

    @staticmethod
    def mark(token: bytes) -> str:
        """Return the mark that stands for a token in a session; changing the token ends the session."""
        return hashlib.sha256(b"evenkeel session " + token).hexdigest()[:32]

    def marked(self, mark: str) -> Visitor | None:
        """Return the visitor whose token has this mark, or None."""
        return self._by_mark.get(mark)

    def wait_s(self, client: str) -> float:
        """Return the seconds until tokens from an address are checked again; 0 = now."""
        return self._failures.wait_s(client) if self._tokens else 0.0

    def note_failure(self, client: str, path: str, what: str = "token") -> None:
        """Count a failed sign-in, and log it without the secret that was sent."""
        failed = self._failures.count(client)
        _log.warning("wrong %s from %s for %r (%d in a minute)", what, client or "?", path[:100], failed)
        if failed == self._failures.MOST:
            _log.warning("no more tokens are taken from %s until the minute is over", client or "?")
