"""The way out of this machine, one for every call: trust, client certificate, proxy and fixed headers.

Forwarding, replays, judge, rewriter, encoder, goldens, notifications and checks all ask here, so that none of
them reaches what another does not. All of it comes from the environment, which every process inherits:

- `SSL_CERT_FILE`, `SSL_CERT_DIR`: the authorities to trust, in place of the system's;
- `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY`, `NO_PROXY`: as most programs read them; a proxy without
  a port is asked at 80;
- `EVENKEEL_CLIENT_CERT`, `EVENKEEL_CLIENT_KEY`: the certificate shown to servers that ask for one;
- `EVENKEEL_HEADERS`: headers of every call, as `name=value,name=value`, percent-encoded.
"""

from __future__ import annotations

import base64
import ipaddress
import os
import re
import ssl
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies_environment

if TYPE_CHECKING:
    from collections.abc import Iterable

CERT_VARIABLE: Final = "EVENKEEL_CLIENT_CERT"
KEY_VARIABLE: Final = "EVENKEEL_CLIENT_KEY"
HEADERS_VARIABLE: Final = "EVENKEEL_HEADERS"
TRUST_VARIABLE: Final = "SSL_CERT_FILE"
_HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE: Final = re.compile(r"[!-~]([ -~]*[!-~])?")
# Port of a proxy whose URL names none.
_PROXY_PORT: Final = 80
# OpenSSL's number for a certificate that has expired.
_EXPIRED: Final = 10


class NetworkError(ValueError):
    """A variable that cannot be used; the message says which, why, and what to write. It holds no secret."""


class ProxyServer(NamedTuple):
    """An HTTP proxy."""

    host: str
    port: int
    authorization: str
    """Value of `Proxy-Authorization`; empty without credentials."""
    url: str
    """URL of the proxy, with the credentials."""

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"

    def __repr__(self) -> str:
        return f"ProxyServer({self})"


def trust() -> ssl.SSLContext:
    """Return a context for TLS to any server, with the client certificate if there is one. Reads files.

    Raises: NetworkError.
    """
    authorities = os.environ.get(TRUST_VARIABLE)
    # OpenSSL treats a missing file as an empty list of authorities, so every server would be refused.
    if authorities and not Path(authorities).is_file():
        raise NetworkError(
            f"{TRUST_VARIABLE} names {authorities}, which does not exist; mount it, or unset it"
        )
    context = ssl.create_default_context()
    # Python 3.13 refuses the authorities of many companies for their form. Other clients take them, so what
    # reaches a server directly would fail here.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    certificate, key = os.environ.get(CERT_VARIABLE), os.environ.get(KEY_VARIABLE)
    if key and not certificate:
        raise NetworkError(f"{KEY_VARIABLE} is set without {CERT_VARIABLE}; set both")
    if certificate:
        try:
            # OpenSSL would ask for the passphrase of an encrypted key at the terminal.
            context.load_cert_chain(certificate, key or None, password=_no_passphrase)
        except (OSError, ValueError) as error:
            raise NetworkError(
                f"{CERT_VARIABLE} and {KEY_VARIABLE}: {certificate} cannot be used as a client certificate "
                f"({error.strerror or error if isinstance(error, OSError) else error}); name files in PEM, "
                "the key without a passphrase"
            ) from error
    return context


def _no_passphrase() -> str:
    raise ValueError("the key is encrypted")


def share_trust_with_requests() -> None:
    """Let libraries that call by `requests` (apprise, OTLP) trust what everything else trusts."""
    if TRUST_VARIABLE in os.environ:
        os.environ.setdefault("REQUESTS_CA_BUNDLE", os.environ[TRUST_VARIABLE])


def proxy_for(host: str, port: int, *, tls: bool) -> ProxyServer | None:
    """Return the proxy for a server; None to connect to it directly.

    A model server on this machine that speaks plain HTTP is never reached through a proxy.

    Raises: NetworkError.
    """
    named = getproxies_environment()
    scheme = "https" if tls else "http"
    url = named.get(scheme) or named.get("all")
    if not url or _is_exempt(host, port, named.get("no", "")) or (not tls and is_loopback(host)):
        return None
    return _parsed(url, scheme)


def proxy_of(url: str) -> ProxyServer | None:
    """Return the proxy for a URL; see `proxy_for`."""
    parts = urlsplit(url)
    tls = parts.scheme == "https"
    return proxy_for(parts.hostname or "", parts.port or (443 if tls else 80), tls=tls)


def _parsed(url: str, scheme: str) -> ProxyServer:
    variable = f"{scheme.upper()}_PROXY or ALL_PROXY"
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        port = parts.port or _PROXY_PORT
    except ValueError:
        parts, port = urlsplit(""), 0
    if parts.scheme != "http" or not parts.hostname:
        raise NetworkError(f"{variable}: only HTTP proxies are supported; write http://HOST:PORT")
    authorization = ""
    if parts.username is not None:
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        authorization = f"Basic {base64.b64encode(pair.encode()).decode()}"
    return ProxyServer(parts.hostname, port, authorization, f"http://{parts.netloc}")


def _is_exempt(host: str, port: int, exempt: str) -> bool:
    """Tell whether NO_PROXY names a host: by name, parent domain, address, network, or `*`."""
    host = host.lower().rstrip(".")
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        address = None
    for item in exempt.lower().replace(",", " ").split():
        name, colon, wanted_port = item.rpartition(":")
        if colon and wanted_port.isdigit() and (":" not in name or name.endswith("]")):
            if int(wanted_port) != port:
                continue
            item = name  # noqa: PLW2901 - the rest of the item is about the host
        item = item.strip("[]").removeprefix("*.").strip(".")  # noqa: PLW2901 - as above
        if item in {"*", host}:
            return True
        if address is None:
            if item and host.endswith(f".{item}"):
                return True
            continue
        try:
            if address in ipaddress.ip_network(item, strict=False):
                return True
        except ValueError:
            continue
    return False


def is_loopback(host: str) -> bool:
    """Return whether a name or an address is this machine's loopback."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower().rstrip(".") == "localhost"


def connect_request(proxy: ProxyServer, host: str, port: int) -> bytes:
    """Return the request for a tunnel through a proxy."""
    authority = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    lines = [f"CONNECT {authority} HTTP/1.1", f"Host: {authority}"]
    if proxy.authorization:
        lines.append(f"Proxy-Authorization: {proxy.authorization}")
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def fixed_headers() -> tuple[tuple[str, str], ...]:
    """Return the headers of every call.

    Raises: NetworkError.
    """
    headers = []
    for pair in filter(None, (part.strip() for part in os.environ.get(HEADERS_VARIABLE, "").split(","))):
        name, equals, value = pair.partition("=")
        name, value = name.strip(), unquote(value.strip())
        if not equals or not _HEADER_NAME.fullmatch(name) or not _HEADER_VALUE.fullmatch(value):
            # The value is not repeated: it may be a credential.
            raise NetworkError(
                f"{HEADERS_VARIABLE}: {name[:40]!r} is no name=value; write name=value,name=value and "
                "percent-encode commas and what is not ASCII"
            )
        headers.append((name.lower(), value))
    return tuple(headers)


def check(urls: Iterable[str]) -> None:
    """Check that calls to these URLs can be made with what the environment says. Raises: NetworkError."""
    # A context takes some 20 ms, and without these variables there is nothing in it that could be wrong.
    if any(os.environ.get(variable) for variable in (TRUST_VARIABLE, CERT_VARIABLE, KEY_VARIABLE)):
        trust()
    fixed_headers()
    for url in urls:
        proxy_of(url)


def tls_problem(error: ssl.SSLError) -> str:
    """Return what was wrong with a handshake, and what to do."""
    # The part after a comma repeats the name of the host.
    explanation = getattr(error, "verify_message", "").partition(",")[0]
    reason = explanation or (error.reason or type(error).__name__).replace("_", " ").lower()
    if getattr(error, "verify_code", 0) == _EXPIRED:
        return f"{reason}; renew the server's certificate"
    if isinstance(error, ssl.SSLCertVerificationError):
        if "mismatch" in reason.lower():
            return f"{reason}; use the name that the certificate is for"
        return f"{reason}; name the file of its authority in {TRUST_VARIABLE}"
    if "certificate required" in reason or "handshake failure" in reason or "unknown ca" in reason:
        return (
            f"{reason}; if the server asks for a client certificate, set {CERT_VARIABLE} and {KEY_VARIABLE}"
        )
    return reason


def proxy_problem(status_line: str) -> str:
    """Return what a proxy refused, given its status line, and what to do."""
    if "407" in status_line:
        return f"the proxy asks for credentials ({status_line}); write them as HTTPS_PROXY=http://USER:PASSWORD@HOST:PORT"
    return f"the proxy refused ({status_line}); ask for this host to be allowed, or name it in NO_PROXY"
