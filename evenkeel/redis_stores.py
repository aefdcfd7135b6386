"""The Redis that the settings name, and what the data plane needs of it.

Only processes that use it load this module: the library takes memory that a proxy on SQLite need not have.
"""

from __future__ import annotations

import os
import socket
import time
from typing import TYPE_CHECKING

from metrics.stores.redis.connection import RedisStore
from metrics.stores.redis.counters import RedisCounterStore
from metrics.stores.redis.place import Host, RedisPlace
from shadow.queues.redis import RedisExchangeQueue

if TYPE_CHECKING:
    from pathlib import Path

    from evenkeel.settings import Redis

_SECONDS_PER_HOUR = 3600.0


def redis_place(settings: Redis) -> RedisPlace:
    """Where it is, with the credentials that the environment has."""
    return RedisPlace(
        url=settings.url,
        username=settings.username,
        password=settings.password,
        sentinels=tuple(map(_host, settings.sentinels)),
        sentinel_master=settings.sentinel_master or "",
        sentinel_password=settings.sentinel_password,
        cluster=settings.cluster,
        ca_file=_text(settings.ca_file),
        cert_file=_text(settings.cert_file),
        key_file=_text(settings.key_file),
        prefix=settings.prefix,
        timeout_s=settings.timeout_s,
    )


def open_redis(settings: Redis) -> RedisStore:
    """The store of this process; connects when it is first used."""
    return RedisStore(redis_place(settings))


def exchange_queue(settings: Redis, store: RedisStore) -> RedisExchangeQueue:
    """The queue, within the limits of the settings."""
    return RedisExchangeQueue(
        store,
        time.time,
        max_waiting=settings.exchanges,
        max_bytes=round(settings.megabytes * 1e6),
        kept_s=settings.exchange_hours * _SECONDS_PER_HOUR,
        patience_s=settings.patience_s,
    )


def counter_store(store: RedisStore, supervisor: int | None) -> RedisCounterStore:
    """Counters of the processes of one supervisor, by its process id; None: of all there are."""
    group = "" if supervisor is None else f"{socket.gethostname()}:{supervisor}"
    return RedisCounterStore(store, time.time, group=group)


def host_name() -> str:
    """A name for what exists once on this host, usable in settings."""
    return socket.gethostname()[:80] or f"host-{os.getpid()}"


def _host(address: str) -> Host:
    name, _, port = address.rpartition(":")
    return Host(name.strip("[]"), int(port))


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)
