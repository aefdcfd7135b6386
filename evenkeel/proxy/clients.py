"""Names of clients and of their sessions: keyed hashes of what a request carries.

A client is known by its key, else by its address; a session by a header that the settings name. Evidence
needs to tell them apart, and nothing else of them. The hash is made of sampled requests
only, off the users' path; what it is made of is not kept. Its key is drawn once for an installation, so a
name says nothing in another one and is the same in all processes and after a restart.
"""

from __future__ import annotations

import logging
import re
from hashlib import blake2b
from ipaddress import ip_address, ip_network
from typing import TYPE_CHECKING, Final

from evenkeel.proxy.admission import counted_as
from evenkeel.proxy.headers import selected, selector

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

log = logging.getLogger("evenkeel.proxy")

NAME_BYTES: Final = 6
_KEY = re.compile(
    rb"\r\n(?:authorization|(?:x-)?api-key|x-goog-api-key):[ \t]*+([^\r]*[^\r \t])", re.IGNORECASE
)
_FORWARDED = re.compile(rb"\r\nx-forwarded-for:[ \t]*+([^\r]*+)", re.IGNORECASE)


class ClientNames:
    """Names the clients of one installation. For the hand-off's thread: the first name reads the store."""

    def __init__(
        self, salt: Callable[[], bytes], proxies: Iterable[str] = (), session_header: str = ""
    ) -> None:
        """Take what names depend on.

        Args:
            salt: The secret of the installation; read once. While it cannot be, clients have no names.
            proxies: Networks of the proxies whose `X-Forwarded-For` is believed.
            session_header: Header with which clients name a session; "" for none.
        """
        self._read_salt = salt
        self._salt: bytes | None = None
        self._proxies = tuple(ip_network(proxy) for proxy in proxies)
        self._session = selector([session_header.encode()]) if session_header else None

    def name(self, head: bytes, address: str, *, known_by_key: bool) -> str:
        """Return the name of a request's client, 12 hex digits; "" if nothing identifies it.

        Args:
            head: Head of the request.
            address: Address that its connection comes from.
            known_by_key: True if the upstream or a rule of the route has checked the key. A key that is
                replaced on the way could be any text.
        """
        key = _KEY.search(head) if known_by_key else None
        if key is None and not address:
            return ""
        identity = b"key " + key[1] if key else b"address " + self._address(head, address).encode()
        return self._hash(identity)

    def session(self, head: bytes) -> str | None:
        """Return the name of the session that a request's header states; None if it states none.

        The value itself may be a credential of the application, so only its hash leaves the data plane.
        """
        fields = selected(head, self._session) if self._session else ()
        if not fields or not fields[0][1]:
            return None
        return self._hash(b"session " + fields[0][1].encode()) or None

    def _hash(self, identity: bytes) -> str:
        salt = self._known_salt()
        return "" if salt is None else blake2b(identity, key=salt, digest_size=NAME_BYTES).hexdigest()

    def _known_salt(self) -> bytes | None:
        if self._salt is None:
            try:
                self._salt = self._read_salt()
            except Exception as error:  # noqa: BLE001 - a store in trouble: exchanges then name no client
                log.warning("clients cannot be named: %s", error)
        return self._salt

    def _address(self, head: bytes, address: str) -> str:
        """Return the nearest address that does not belong to a known proxy."""
        # Each proxy appends the address that it was called from, so the nearest hop is the last one.
        hops: list[str] = []
        for line in _FORWARDED.findall(head):
            hops += [part.decode("latin-1").strip() for part in line.split(b",")]
        while hops and self._is_proxy(address) and _is_address(nearest := hops.pop()):
            address = nearest
        return counted_as((address,))

    def _is_proxy(self, address: str) -> bool:
        client = ip_address(address.partition("%")[0])
        return any(client in network for network in self._proxies)


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True
