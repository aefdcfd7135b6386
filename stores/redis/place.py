"""Where Redis is, and how to get in."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple


class Host(NamedTuple):
    """An address."""

    name: str
    port: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RedisPlace:
    """One Redis: a server, a group watched by Sentinels, or a Cluster."""

    url: str = "redis://127.0.0.1:6379/0"
    """`redis://`, `rediss://` (TLS) or `unix://`, without credentials. Of a Cluster any node; with Sentinels
    only scheme and number of the database count."""
    username: str | None = None
    """ACL user; None = the default user."""
    password: str | None = field(default=None, repr=False)
    sentinels: tuple[Host, ...] = ()
    sentinel_master: str = ""
    """Name of the watched group."""
    sentinel_password: str | None = field(default=None, repr=False)
    cluster: bool = False
    ca_file: str | None = None
    """Certificates that sign the server's; None = those of the system."""
    cert_file: str | None = None
    key_file: str | None = field(default=None, repr=False)
    prefix: str = "evenkeel"
    """Begins every key, so that several installations can share one Redis."""
    replicas: int = 0
    """How many must have an exchange or a verdict before it counts as kept; not for a Cluster."""
    timeout_s: float = 5.0
    """Limit of connecting and of one answer."""

    def __str__(self) -> str:
        """What people are told: never a credential."""
        if self.sentinels:
            return f"{self.sentinel_master} at Sentinels {', '.join(f'{h}:{p}' for h, p in self.sentinels)}"
        return f"{self.url}{' (cluster)' if self.cluster else ''}"
