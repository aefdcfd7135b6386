"""Routes: which upstream a request goes to, and what the upstream sees of the request's target.

Targets are bytes from the request line and stay so: nothing is decoded, normalised or quoted.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from evenkeel.core.endpoint import API_ROOT, Upstream, is_under
from evenkeel.proxy.credentials import FINGERPRINT_DIGITS, Injection, key_fingerprints
from evenkeel.proxy.headers import TOKEN, selected, selector

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["ProxyRoute", "RouteTable", "Timeouts", "Upstream"]


_NAME = re.compile(TOKEN.decode("ascii") + "+")
_HOST = re.compile(r"[^\s/@]+")
_FINGERPRINT = re.compile(rf"[0-9a-f]{{{FINGERPRINT_DIGITS}}}")
_HOST_FIELD = selector([b"host"])
_PORT = re.compile(r":[0-9]*$")


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Timeouts of a route, in seconds. They are checked by a coarse sweep: see `DataPlane`."""

    connect_s: float = 5.0
    """Limit on name resolution, TCP and TLS together, for each upstream that is tried."""
    silence_s: float = 600.0
    """Limit from the last byte sent upstream to the first byte of the answer, and between two bytes of an
    answer, of an upload, or in a tunnel."""
    total_s: float | None = None
    """Limit from the request's first byte to the answer's last, whatever happens between; None for no limit.
    Tunnels (WebSockets) have none."""

    def __post_init__(self) -> None:
        for name in ("connect_s", "silence_s", "total_s"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ValueError(f"timeout {name} is {value}; it must be above 0 seconds")


@dataclass(frozen=True, slots=True)
class ProxyRoute:
    """A name for traffic of one kind: how it is recognised, where it goes, how much is sampled.

    A request is on the route if it meets every rule that is set: the path prefix, one of the hosts,
    all of the headers, one of the key fingerprints.
    """

    name: str
    upstream: Upstream
    """Upstream that gets the requests as long as it can be reached."""
    prefix: str = ""
    """Start of the client's path, e.g. "/triage"; removed before forwarding. "" matches all."""
    sampling_rate: float = 0.1
    """Share of eligible exchanges that are captured, in [0, 1]."""
    timeouts: Timeouts = field(default_factory=Timeouts)
    fallbacks: tuple[Upstream, ...] = ()
    """Upstreams to try, in this order, while those before them cannot be reached."""
    hosts: tuple[str, ...] = ()
    """Values of `Host`, in any case; one without a port matches every port."""
    headers: tuple[tuple[str, str], ...] = ()
    """Names, in any case, and exact values. `x-evenkeel-*` can be used: it is not forwarded."""
    key_fingerprints: tuple[str, ...] = ()
    """Fingerprints of API keys; see `credentials.fingerprint`."""
    inject: tuple[tuple[bytes, bytes], ...] = field(default=(), repr=False)
    """Header fields sent to the first upstream, and to those that share its credentials, in place of the
    client's of the same name, such as a key."""
    fallback_inject: tuple[tuple[tuple[bytes, bytes], ...], ...] = field(default=(), repr=False)
    """Fields of each fallback, in order, with its own key; empty for a fallback without."""
    fixed: tuple[tuple[bytes, bytes], ...] = field(default=(), repr=False)
    """Fields sent to every upstream; no key, so anybody may have them sent."""
    share_credentials: bool = False
    """True if fallbacks of another origin get the client's credentials, and the first upstream's key."""

    def __post_init__(self) -> None:
        where = f"route {self.name!r}:"
        prefix = self.prefix
        if prefix and (not prefix.startswith("/") or prefix.endswith("/") or not prefix.isascii()):
            raise ValueError(
                f"{where} prefix {prefix!r} must start with a slash and not end with one, "
                'like "/triage"; leave it empty to match every path'
            )
        if not 0.0 <= self.sampling_rate <= 1.0:
            raise ValueError(f"{where} sampling rate {self.sampling_rate} is outside 0 to 1")
        if len(set(self.upstreams)) < len(self.upstreams):
            raise ValueError(f"{where} the same upstream stands there twice; leave one out")
        self._check_rules(where)
        try:
            self.injections()
        except ValueError as error:
            raise ValueError(f"{where} {error}") from error

    def _check_rules(self, where: str) -> None:
        for host in self.hosts:
            if not _HOST.fullmatch(host):
                raise ValueError(f'{where} host {host!r} is not a host name; write it like "llm.internal"')
        for name, value in self.headers:
            if not _NAME.fullmatch(name) or value != value.strip():
                # The value is not repeated: it may be a credential.
                raise ValueError(
                    f"{where} header rule {name!r} needs a header name and a value without spaces around it"
                )
        for digest in self.key_fingerprints:
            if not _FINGERPRINT.fullmatch(digest):
                raise ValueError(
                    f"{where} a key fingerprint is {FINGERPRINT_DIGITS} hex digits in lower case, "
                    "the start of the key's SHA-256; it is never the key itself"
                )

    @property
    def upstreams(self) -> tuple[Upstream, ...]:
        """All upstreams, the preferred one first."""
        return (self.upstream, *self.fallbacks)

    def shares_with(self, upstream: Upstream) -> bool:
        """Return whether credentials for the first upstream may be sent to this one too."""
        return self.share_credentials or upstream.same_origin(self.upstream)

    def injections(self) -> tuple[Injection | None, ...]:
        """Return what replaces the client's credentials on the way to each upstream; None for nothing.

        A credential belongs to an origin: one that is for the first upstream does not reach a fallback of
        another, unless the route shares them.

        Raises: ValueError if a field can't be injected.
        """
        own = Injection((*self.inject, *self.fixed)) if self.inject or self.fixed else None
        names = [name for name, _ in self.inject]
        injections = [own]
        for number, upstream in enumerate(self.fallbacks):
            fields = self.fallback_inject[number] if number < len(self.fallback_inject) else ()
            shared = self.shares_with(upstream)
            if shared and not fields:
                injections.append(own)
            else:
                injections.append(Injection((*fields, *self.fixed), replaced=names, exclusive=not shared))
        return tuple(injections)

    def target(self, received: bytes, upstream: Upstream | None = None) -> bytes:
        """Return the request target for an upstream, given the one that the client sent.

        The prefix goes, if the target starts with it. A path under `/v1` moves to the upstream's
        base path; every other path, and every path if the upstream has none, stays as it is.

        Args:
            received: The client's request target, which is on this route.
            upstream: One of the route's; None for the first.
        """
        prefix = self.prefix.encode("ascii")
        rest = received
        if prefix and is_under(received, prefix):
            rest = received[len(prefix) :]
            if not rest.startswith(b"/"):
                rest = b"/" + rest
        return (upstream or self.upstream).target(rest)


class RouteTable:
    """All routes; of those that match a request, the most specific wins.

    More specific is, in this order: the longer path prefix; a rule about the API key; more header
    rules; a rule about the host; and if all are alike, the route that stands first. The path comes
    first because it is what a client writes in order to choose.
    """

    __slots__ = ("_by_name", "_conditional", "_direct", "_entries", "routes")

    def __init__(self, routes: Iterable[ProxyRoute]) -> None:
        """Order the routes.

        Raises: ValueError if two routes share a name, or all of their rules.
        """
        self.routes = tuple(routes)
        self._by_name: dict[str, ProxyRoute] = {}
        rules: set[object] = set()
        for route in self.routes:
            if route.name in self._by_name:
                raise ValueError(f"two routes have the name {route.name!r}; give each its own")
            self._by_name[route.name] = route
            entry = _Entry(route)
            if entry.rules in rules:
                other = "" if entry.conditional else " and no other rule"
                raise ValueError(
                    f"route {route.name!r} has the prefix {route.prefix!r}{other} like a route before it; "
                    "no request could reach it"
                )
            rules.add(entry.rules)
        self._entries = tuple(sorted(map(_Entry, self.routes), key=_Entry.generality))
        self._conditional = any(entry.conditional for entry in self._entries)
        first = self._entries[0] if self._entries else None
        # Route of every request, if a single route takes all of them and changes no target.
        self._direct = (
            first.route if first and not first.conditional and not first.prefix and first.verbatim else None
        )

    def named(self, name: str) -> ProxyRoute | None:
        """Return the route of that name; None if there is none."""
        return self._by_name.get(name)

    def match(self, target: bytes) -> tuple[ProxyRoute, bytes] | None:
        """Find the route of a request target, and the target its first upstream is sent.

        Only routes without rules about host, headers and key are considered: see `find` for those.
        Returns None if no route matches.
        """
        if self._direct is not None:
            return self._direct, target
        for entry in self._entries:
            if not entry.conditional and (not entry.prefix or is_under(target, entry.prefix)):
                return entry.route, target if entry.verbatim else entry.route.target(target)
        return None

    def find(self, target: bytes, raw: bytes, end: int) -> tuple[ProxyRoute, bytes] | None:
        """Find the route of a request by all rules, and the target its first upstream is sent.

        Args:
            target: The request target.
            raw: Received bytes that start with the request's head.
            end: Index in them at which the head ends.

        Returns None if no route matches.
        """
        if not self._conditional:
            return self.match(target)
        keys: frozenset[str] | None = None
        for entry in self._entries:
            if entry.prefix and not is_under(target, entry.prefix):
                continue
            if entry.conditional:
                if entry.keys and keys is None:
                    keys = key_fingerprints(raw, end)
                if not entry.meets(raw[:end], keys):
                    continue
            return entry.route, target if entry.verbatim else entry.route.target(target)
        return None


class _Entry:
    """A route with its rules prepared for matching."""

    __slots__ = ("conditional", "headers", "hosts", "keys", "prefix", "route", "rules", "verbatim")

    def __init__(self, route: ProxyRoute) -> None:
        self.route = route
        self.prefix = route.prefix.encode("ascii")
        self.hosts = frozenset(host.lower() for host in route.hosts)
        wanted = sorted(set(route.headers))
        self.headers = tuple((selector([name.encode("ascii")]), value) for name, value in wanted)
        self.keys = frozenset(route.key_fingerprints)
        self.conditional = bool(self.hosts or self.headers or self.keys)
        self.verbatim = not self.prefix and route.upstream.base_path in {b"", API_ROOT}
        """True if targets are forwarded unchanged."""
        headers = frozenset((name.lower(), value) for name, value in route.headers)
        self.rules = (self.prefix, self.hosts, headers, self.keys)

    def generality(self) -> tuple[int, bool, int, bool]:
        """Return a sort key that puts the most specific route first."""
        return -len(self.prefix), not self.keys, -len(self.headers), not self.hosts

    def meets(self, head: bytes, keys: frozenset[str] | None) -> bool:
        """Return whether a request meets the rules on key, headers and host."""
        if self.keys and not (keys and self.keys & keys):
            return False
        for pattern, wanted in self.headers:
            if all(value != wanted for _, value in selected(head, pattern)):
                return False
        if not self.hosts:
            return True
        for _, value in selected(head, _HOST_FIELD):
            host = value.lower()
            if host in self.hosts or _PORT.sub("", host) in self.hosts:
                return True
        return False
