"""Permission to use evenkeel's own keys: for programs and listed web pages, under a name evenkeel knows.

A request that carries its own key needs no check. Where evenkeel puts a key in, any web page in a browser
that reaches this port could spend the key by a cross-site request, or read answers by DNS rebinding. Browsers
say in `Origin` and `Sec-Fetch-Site` that a page is asking, and in `Host` under which name.
"""

from __future__ import annotations

import re
from ipaddress import ip_address
from typing import TYPE_CHECKING, NamedTuple

from evenkeel.proxy.errors import ForwardingFault
from evenkeel.proxy.headers import selected, selector

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenkeel.proxy.request_head import RequestHead

EVERYWHERE = frozenset({"0.0.0.0", "::"})  # noqa: S104 - compared with, never listened on
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_HOST = re.compile(rb"(?:\[([0-9A-Fa-f:.]++)\]|([^\[\]:/@\s]++))(?::[0-9]{0,5})?")
_PAGE = selector([b"origin", b"sec-fetch-site"])
# Values of `sec-fetch-site` for requests that no page of another site caused.
_OWN = frozenset({"same-origin", "none"})
# Hosts that are remembered as allowed. Browsers send few; an attacker may send any number.
_MOST_REMEMBERED = 256
# Characters of a foreign host that an error repeats.
_SHOWN = 100


class KeyRefusal(NamedTuple):
    """Reason why a request may not use the key."""

    fault: ForwardingFault
    detail: str
    """Value the request sent, in a form that may be repeated to the client."""


class Callers:
    """Names under which the data plane is known, and origins of the web pages that may ask."""

    __slots__ = ("_any_address", "_known", "_names", "_origins")

    def __init__(
        self, listen: str = "127.0.0.1", hosts: Iterable[str] = (), origins: Iterable[str] = ()
    ) -> None:
        """Take the lists.

        Args:
            listen: The address listened on. On all addresses, every address counts as a name: nobody can
                point one elsewhere.
            hosts: Further names and addresses, without a port. Ports are never compared.
            origins: Origins of the pages that may ask, as browsers send them.
        """
        self._names = _LOOPBACK | {listen.lower()} | {host.lower().strip("[]") for host in hosts}
        self._any_address = listen in EVERYWHERE
        self._origins = frozenset(origin.lower() for origin in origins)
        # Values of `Host` that are already known to be accepted.
        self._known: set[bytes] = set()

    def refused(self, head: RequestHead, *, named: bool = False) -> KeyRefusal | None:
        """Return why a request may not use evenkeel's key; None if it may.

        Args:
            head: The request's.
            named: True if its route was found by its host, whose name is then known.
        """
        raw = head.raw
        if not named:
            host = b"" if head.host is None else raw[head.host[0] : head.host[1]]
            if host not in self._known and not self._knows(host):
                return KeyRefusal(ForwardingFault.HOST, repr(host[:_SHOWN].decode("latin-1")))
        fields = raw[head.line_end : head.end].lower()
        if b"\norigin:" in fields or b"\nsec-fetch-site:" in fields:
            return self._page(fields)
        return None

    def _knows(self, value: bytes) -> bool:
        match = _HOST.fullmatch(value.rstrip(b" \t"))
        if match is None:
            return False
        name = (match[1] or match[2]).decode("latin-1").lower().removesuffix(".")
        is_own = name in self._names or self._is_address(name)
        if is_own and len(self._known) < _MOST_REMEMBERED:
            self._known.add(value)
        return is_own

    def _is_address(self, name: str) -> bool:
        try:
            address = ip_address(name)
        except ValueError:
            return False
        return self._any_address or address.is_loopback or str(address) in self._names

    def _page(self, fields: bytes) -> KeyRefusal | None:
        """Return why a browser's request may not use the key; None if it may. Fields are in lower case."""
        fields_found = selected(fields, _PAGE)
        origins = []
        for name, value in fields_found:
            if name == "origin":
                origins.append(value)
        if origins:
            others = []
            for origin in origins:
                if origin not in self._origins:
                    others.append(origin)
        else:
            others = [value for _, value in fields_found if value not in _OWN]
        return KeyRefusal(ForwardingFault.ORIGIN, repr(others[0][:_SHOWN])) if others else None
