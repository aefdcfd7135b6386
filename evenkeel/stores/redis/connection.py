"""Client of a Redis: its address, the names of keys, and the scripts that change them."""

from __future__ import annotations

import hashlib
import os
import socket
import ssl
import threading
from dataclasses import dataclass, field
from importlib.resources import files
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import parse_qsl, urlsplit

import redis
from redis.backoff import ExponentialWithJitterBackoff
from redis.cluster import RedisCluster
from redis.exceptions import (
    BusyLoadingError,
    ClusterDownError,
    NoPermissionError,
    NoScriptError,
    ReadOnlyError,
    RedisError,
    TryAgainError,
)
from redis.exceptions import ConnectionError as Unreachable
from redis.exceptions import TimeoutError as TooSlow
from redis.retry import Retry
from redis.sentinel import Sentinel

from evenkeel.core.network import CERT_VARIABLE, KEY_VARIABLE
from evenkeel.stores.errors import StoreError
from evenkeel.stores.lease import RoleLease
from evenkeel.stores.sealing import seal_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.stores.sealing import Seal


Value: TypeAlias = str | bytes | int | float

_SCRIPTS = files(__package__).joinpath("scripts")
# With the pauses between them they outlast a short restart of the server.
_RETRIES = 4
_FIRST_PAUSE_S = 0.05
_LONGEST_PAUSE_S = 1.0
# Load balancers drop idle connections after a minute or so without telling either side.
_HEALTH_CHECK_S = 20
# Scripts use commands of this version.
_OLDEST_SERVER = (7, 0)


class NotReplicatedError(RedisError):
    """Failure of a write to reach the wanted number of replicas. It may be lost with the primary."""


PASSING = (
    Unreachable,
    TooSlow,
    BusyLoadingError,
    ReadOnlyError,
    ClusterDownError,
    TryAgainError,
    NotReplicatedError,
)
"""Errors of a Redis that is restarting, failing over or cut off: the call may be sent again."""


class RedisStore:
    """Connection that all stores and threads of a process share. Connects when it is first used.

    A command that meets a lost connection or a failover is sent again, with growing pauses, for some seconds.
    It may have been done already: every script here has the same effect twice as once. Nothing here is
    awaited, so no cancelled task leaves a reply behind for the next one.
    """

    def __init__(self, place: RedisPlace, *, seal: Seal | None = None) -> None:
        """Prepare; nothing is sent yet. Without a seal, the environment's encrypts, see `Database`.

        Raises: SealError for keys that cannot be used.
        """
        self.seal = seal_of(os.environ) if seal is None else seal
        self.place = place
        self._client: Any = None
        self._lock = threading.Lock()

    @property
    def client(self) -> Any:
        """Client of the library; blocks on first use with a Cluster."""
        if self._client is None:
            with self._lock:
                self._client = self._client or _connect(self.place)
        return self._client

    def key(self, tag: str, name: str) -> str:
        """Return the full name of a key. What one script touches has one tag, on one node of a Cluster."""
        return f"{self.place.prefix}:{{{tag}}}:{name}"

    def keys(self, tag: str, *names: str) -> list[str]:
        """Return the full names of several keys of one tag."""
        return [self.key(tag, name) for name in names]

    def check(self) -> None:
        """Raise StoreError, in one line, unless the server answers, is recent enough and evicts no keys."""
        try:
            anywhere = {"target_nodes": self.client.get_random_node()} if self.place.cluster else {}
            version = str(self.client.info("server", **anywhere)["redis_version"])
            # Not by CONFIG GET: hosted servers do not have that command.
            policy = self.client.info("memory", **anywhere).get("maxmemory_policy")
        except NoPermissionError:
            return  # an ACL user that may not ask; the commands that are needed will tell
        except RedisError as error:
            if "unknown command" in str(error):
                return  # INFO was renamed: the same as for such a user
            raise StoreError(
                f"cannot use the Redis {self.place}: {str(error).rstrip('.')}; check storage.redis.url"
            ) from error
        if tuple(int(part) for part in version.split(".")[:2]) < _OLDEST_SERVER:
            raise StoreError(f"the Redis {self.place} is version {version}; 7.0 or later is needed")
        if policy not in (None, "noeviction"):
            raise StoreError(
                f"the Redis {self.place} drops keys when it is full (maxmemory-policy {policy}), and with "
                "them verdicts; set maxmemory-policy to noeviction"
            )

    def await_replicas(self, *command: Value) -> Any:
        """Wait until the wanted number of replicas has what was written before; at once if none is wanted.

        What was read from a primary earlier may be gone after a failover, and be written again elsewhere.

        Args:
            *command: Sent first, on the same connection; none = nothing.

        Returns: the answer to the command.
        Raises: NotReplicatedError if that takes longer than one answer may; it has run nevertheless.
        """
        if not self.place.replicas:
            return None
        with self.client.pipeline(transaction=False) as sent:
            # The server waits for what this connection wrote, so it has to write something: a script that
            # finds all done already, since it is sent again on a new connection, writes nothing.
            sent.incr(self.key("main", "written"))
            if command:
                sent.execute_command(*command)
            # Half of the time limit of one answer may be spent waiting for replicas.
            sent.execute_command("WAIT", self.place.replicas, round(self.place.timeout_s * 500))
            *answers, reached = sent.execute()
        if int(reached) < self.place.replicas:
            raise NotReplicatedError(f"{reached} replica(s) follow, {self.place.replicas} are wanted")
        return answers[-1]

    def close(self) -> None:
        """Close all connections."""
        if self._client is not None:
            self._client.close()
            self._client = None


class Script:
    """Lua script, sent in full only where the server does not know it yet."""

    def __init__(self, store: RedisStore, *names: str) -> None:
        """Read files of `scripts/`, which follow each other in one script; nothing is sent yet."""
        self._store = store
        self._text = "\n".join(_SCRIPTS.joinpath(f"{name}.lua").read_text("utf-8") for name in names)
        self._digest = hashlib.sha1(self._text.encode(), usedforsecurity=False).hexdigest()

    def __call__(self, keys: Sequence[str], *arguments: Value) -> Any:
        """Run the script; all its keys must share a tag."""
        client = self._store.client
        try:
            return client.evalsha(self._digest, len(keys), *keys, *arguments)
        except NoScriptError:
            return client.eval(self._text, len(keys), *keys, *arguments)

    def replicated(self, keys: Sequence[str], *arguments: Value) -> Any:
        """Run it, and wait until the wanted number of replicas has what it wrote.

        Raises: NotReplicatedError, as `RedisStore.await_replicas`.
        """
        if not self._store.place.replicas:
            return self(keys, *arguments)
        # In full, in case that the server does not know it: it goes out together with other commands.
        return self._store.await_replicas("EVAL", self._text, len(keys), *keys, *arguments)


class RedisLease(RoleLease):
    """Lease held by one process at a time, by the server's clock. A silent holder loses it.

    It can change hands while its holder is still at work, so what it guards must bear being done twice.
    """

    def __init__(self, store: RedisStore, name: str, holder: str, *, length_s: float = 10.0) -> None:
        """Open it; nothing is sent yet. It lasts for `length_s` unless it is renewed."""
        self._key = store.key("main", f"lease:{name}")
        self._holder = holder
        self._length_ms = round(length_s * 1000)
        self._hold = Script(store, "lease_hold")
        self._leave = Script(store, "lease_leave")

    def hold(self) -> bool:
        """Take or renew the lease. Return False while another process holds it."""
        return bool(self._hold((self._key,), self._holder, self._length_ms))

    def leave(self) -> None:
        """Give the lease back, as `RoleLease.leave` does."""
        self._leave((self._key,), self._holder)


def text(value: Any) -> str:
    """Return a reply as text."""
    return value.decode() if isinstance(value, bytes) else str(value)


def _connect(place: RedisPlace) -> Any:
    common: dict[str, Any] = {
        "username": urlsplit(place.url).username,
        "password": place.password,
        "socket_timeout": place.timeout_s,
        "socket_connect_timeout": place.timeout_s,
    }
    # With jitter, since all processes lose their connections at the same moment.
    retry = Retry(ExponentialWithJitterBackoff(cap=_LONGEST_PAUSE_S, base=_FIRST_PAUSE_S), _RETRIES)
    if place.cluster:
        # It takes neither a health check nor errors to retry on: it asks the other nodes instead.
        return RedisCluster.from_url(place.url, **common, **_tls(place), retry=retry)
    common |= {
        "retry": retry,
        "retry_on_error": [BusyLoadingError, ReadOnlyError],
        "health_check_interval": _HEALTH_CHECK_S,
    }
    if not place.sentinels:
        return redis.Redis.from_url(place.url, **common, **_tls(place))
    tls = {**_tls(place), "ssl": True} if place.url.startswith("rediss://") else {}
    addresses = []
    for address in place.sentinels:
        host, _, port = address.rpartition(":")
        addresses.append((host.strip("[]"), int(port)))
    guards = Sentinel(  # type: ignore[no-untyped-call]  # the library has no types there
        addresses,
        sentinel_kwargs={
            "socket_timeout": place.timeout_s,
            "password": place.sentinel_password,
            **tls,
        },
    )
    return guards.master_for(  # type: ignore[no-untyped-call]
        place.sentinel_master, db=_database_number(place.url), **common, **tls
    )


def _tls(place: RedisPlace) -> dict[str, Any]:
    if not place.url.startswith("rediss://"):
        return {}
    return {
        "ssl_cert_reqs": "required",
        "ssl_check_hostname": True,
        # The authorities of SSL_CERT_FILE are OpenSSL's default; the certificate is that of every other call.
        "ssl_certfile": os.environ.get(CERT_VARIABLE),
        "ssl_keyfile": os.environ.get(KEY_VARIABLE),
        "ssl_min_version": ssl.TLSVersion.TLSv1_2,
        # As for every other call; see `network.trust`.
        "ssl_exclude_verify_flags": [ssl.VERIFY_X509_STRICT],
    }


def _database_number(url: str) -> int:
    parts = urlsplit(url)
    number = dict(parse_qsl(parts.query)).get("db") or parts.path.strip("/")
    return int(number) if number.isdigit() else 0


def process_name(pid: int) -> str:
    """Return a name for this process among all that use the store."""
    return f"{socket.gethostname()}:{pid}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RedisPlace:
    """Address and credentials of a Redis: a server, a group watched by Sentinels, or a Cluster."""

    url: str = "redis://127.0.0.1:6379/0"
    """Address: `redis://`, `rediss://` (TLS) or `unix://`, with an ACL user but without a password.

    Of a Cluster any node; with Sentinels the host is not used.
    """
    password: str | None = field(default=None, repr=False)
    sentinels: tuple[str, ...] = ()
    """Addresses, as `host:port`."""
    sentinel_master: str = ""
    """Name of the watched group."""
    sentinel_password: str | None = field(default=None, repr=False)
    cluster: bool = False
    prefix: str = "evenkeel"
    """Prefix of every key, so that several installations can share one Redis."""
    replicas: int = 0
    """Replicas that must hold an exchange or a verdict before it counts as kept."""
    timeout_s: float = 5.0
    """Seconds allowed for connecting, and for one answer."""

    def __str__(self) -> str:
        """Return the address as it is shown to people, never with a credential."""
        if self.sentinels:
            return f"{self.sentinel_master} at Sentinels {', '.join(self.sentinels)}"
        return self.url
