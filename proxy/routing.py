"""Routes: which upstream a request target goes to, and what the upstream sees of the target.

Targets are bytes from the request line and stay so: nothing is decoded, normalised or quoted.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterable

_API_ROOT = b"/v1"
_DEFAULT_PORTS = {"http": 80, "https": 443}
_EXAMPLE = "write it like http://127.0.0.1:8000 or https://api.example.com/v1"


@dataclass(frozen=True, slots=True)
class Upstream:
    """A model endpoint: where to connect, and the path its API lives under."""

    host: str
    """Name or address without brackets; for a Unix socket, the `Host` the upstream is sent."""
    port: int
    tls: bool
    authority: bytes
    """Value of the `Host` header: host, and the port unless it is the scheme's default."""
    base_path: bytes = b""
    """Path without a slash at its end; empty if the URL has none."""
    unix_path: str | None = None
    """File name of a Unix socket, in place of host and port."""

    @classmethod
    def parse(cls, url: str) -> Upstream:
        """Read an upstream from its URL.

        Accepts `http://…`, `https://…` and `http+unix://%2Frun%2Fmodel.sock/base`.

        Raises: ValueError with one line that says what is wrong and what to write instead.
        """
        if not url.isascii() or any(char <= " " or char == "\x7f" for char in url):
            raise ValueError(
                f"upstream {url!r} holds spaces or characters outside ASCII; percent-encode them"
            )
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError as error:
            raise ValueError(f"upstream {url!r} is not a URL ({error}); {_EXAMPLE}") from error
        if parts.username is not None or parts.password is not None:
            # The URL is not repeated: it holds a credential.
            raise ValueError(
                "upstream URL holds a user name or password; send credentials in request headers instead"
            )
        if parts.scheme not in {"http", "https", "http+unix"} or not parts.netloc:
            raise ValueError(f"upstream {url!r} needs a scheme and a host; {_EXAMPLE}")
        if parts.query or parts.fragment or "?" in url or "#" in url:
            raise ValueError(
                f"upstream {url!r} holds a query or fragment; leave it out, clients send their own"
            )
        base_path = parts.path.rstrip("/").encode("ascii")
        if parts.scheme == "http+unix":
            return cls(
                "localhost",
                0,
                tls=False,
                authority=b"localhost",
                base_path=base_path,
                unix_path=unquote(parts.netloc),
            )
        host = parts.hostname
        if not host or port == 0:
            raise ValueError(f"upstream {url!r} has no usable host or port; {_EXAMPLE}")
        default = _DEFAULT_PORTS[parts.scheme]
        bracketed = f"[{host}]" if ":" in host else host
        authority = bracketed if port in {None, default} else f"{bracketed}:{port}"
        return cls(
            host,
            port or default,
            tls=parts.scheme == "https",
            authority=authority.encode("ascii"),
            base_path=base_path,
        )

    def __str__(self) -> str:
        """Scheme and authority, for messages; holds no credentials."""
        if self.unix_path is not None:
            return f"unix:{self.unix_path}"
        return f"{'https' if self.tls else 'http'}://{self.authority.decode('ascii')}"


@dataclass(frozen=True, slots=True)
class Timeouts:
    """How long a route waits, in seconds. They are checked by a coarse sweep: see `DataPlane`."""

    connect_s: float = 5.0
    """For name resolution, TCP and TLS together."""
    first_byte_s: float = 600.0
    """From the last byte sent upstream to the first byte of the answer."""
    idle_s: float = 600.0
    """Between two bytes of an answer, of an upload, or in a tunnel."""

    def __post_init__(self) -> None:
        for name in ("connect_s", "first_byte_s", "idle_s"):
            if not getattr(self, name) > 0:
                raise ValueError(f"timeout {name} is {getattr(self, name)}; it must be above 0 seconds")


@dataclass(frozen=True, slots=True)
class Route:
    """A name for traffic of one kind: where it goes and how much of it is sampled."""

    name: str
    upstream: Upstream
    prefix: str = ""
    """Start of the client's path, e.g. "/triage"; removed before forwarding. "" matches all."""
    sampling_rate: float = 0.1
    """Share of eligible exchanges that are captured, in [0, 1]."""
    capture: bool = True
    """False forwards without ever sampling."""
    timeouts: Timeouts = field(default_factory=Timeouts)

    def __post_init__(self) -> None:
        prefix = self.prefix
        if prefix and (not prefix.startswith("/") or prefix.endswith("/") or not prefix.isascii()):
            raise ValueError(
                f"route {self.name!r}: prefix {prefix!r} must start with a slash and not end with one, "
                'like "/triage"; leave it empty to match every path'
            )
        if not 0.0 <= self.sampling_rate <= 1.0:
            raise ValueError(f"route {self.name!r}: sampling rate {self.sampling_rate} is outside 0 to 1")


class RouteTable:
    """All routes; the longest prefix that matches at a path boundary wins."""

    __slots__ = ("_entries", "routes")

    def __init__(self, routes: Iterable[Route]) -> None:
        """Order the routes.

        Raises: ValueError if two routes share a name or a prefix.
        """
        self.routes = tuple(routes)
        for what in ("name", "prefix"):
            seen: set[str] = set()
            for route in self.routes:
                value = getattr(route, what)
                if value in seen:
                    raise ValueError(f"two routes have the {what} {value!r}; give each its own")
                seen.add(value)
        ordered = sorted(self.routes, key=lambda route: len(route.prefix), reverse=True)
        self._entries = tuple(
            (route, route.prefix.encode("ascii"), route.upstream.base_path) for route in ordered
        )

    def match(self, target: bytes) -> tuple[Route, bytes] | None:
        """Find the route of a request target and the target its upstream is sent.

        A path under `/v1` moves to the upstream's base path; every other path, and every path if
        the upstream has none, stays as it is. Returns None if no route matches.
        """
        for route, prefix, base_path in self._entries:
            rest = target
            if prefix:
                size = len(prefix)
                if not target.startswith(prefix) or target[size : size + 1] not in (b"/", b"?", b""):
                    continue
                rest = target[size:]
                if not rest.startswith(b"/"):
                    rest = b"/" + rest
            if (
                base_path
                and base_path != _API_ROOT
                and rest.startswith(_API_ROOT)
                and rest[3:4] in (b"/", b"?", b"")
            ):
                rest = base_path + rest[3:]
            return route, rest
        return None
