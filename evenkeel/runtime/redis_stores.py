"""The Redis that the settings name: what the data plane needs of it, and `Stores` for all others.

Only processes that use it load this module: the library takes memory that a proxy on SQLite need not have.
"""

from __future__ import annotations

import os
import socket
import time
from functools import cached_property
from typing import TYPE_CHECKING

from evenkeel.settings import SettingsError
from evenkeel.stores.redis.connection import Host, RedisPlace, RedisStore, process_name
from evenkeel.stores.redis.counters import RedisCounterStore
from evenkeel.stores.redis.queue import RedisExchangeQueue

if TYPE_CHECKING:
    from pathlib import Path

    from evenkeel.core.budget import CostTracker
    from evenkeel.metrics.judge import JudgeCache
    from evenkeel.runtime.stores import Lease, Templates
    from evenkeel.settings import Redis, Settings
    from evenkeel.shadow.rewriter import RewriteCache
    from evenkeel.stores.audit_log import ActionLog
    from evenkeel.stores.bursts import Bursts
    from evenkeel.stores.changes import ChangeStore
    from evenkeel.stores.counters import Snapshot
    from evenkeel.stores.goldens import GoldenStore
    from evenkeel.stores.labels import LabelStore
    from evenkeel.stores.monitor_state import MonitorStore
    from evenkeel.stores.redis.archive import RedisExchangeArchive
    from evenkeel.stores.redis.verdicts import RedisVerdictLog
    from evenkeel.stores.verdict_log import VerdictLog

_SECONDS_PER_HOUR = 3600.0
_SECONDS_PER_DAY = 86_400.0
_LEARNER_LEASE_S = 30.0


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
        replicas=settings.replicas,
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


def checkpoint_name(settings: Settings) -> str:
    """Names this monitor's checkpoint: by its name, and by its routes, with which its state changes."""
    watched = sorted(settings.monitor.routes)
    return "/".join([settings.monitor.name or host_name(), *watched])


class RedisStores:
    """`Stores` in the Redis that the settings name."""

    # What a proxy has no use for is loaded when it is asked for: its process stays small.

    def __init__(self, settings: Settings) -> None:
        """Connects when something is first used.

        Args:
            settings: `redis`, the limits, and which monitor this is.

        Raises:
            SettingsError: they name no Redis.
        """
        if settings.redis is None:
            raise SettingsError("the settings name no Redis; set redis.url")
        self._settings = settings
        self._redis = settings.redis
        self.store = open_redis(settings.redis)
        self.counters = counter_store(self.store, None)

    def check(self) -> None:
        """Raise StoreError, in one line, unless the Redis can be used."""
        self.store.check()

    @property
    def place(self) -> str:
        """As `Stores`: the URL."""
        return self._redis.url

    @cached_property
    def queue(self) -> RedisExchangeQueue:
        """As `Stores`."""
        return exchange_queue(self._redis, self.store)

    @cached_property
    def verdicts(self) -> RedisVerdictLog:
        """As `Stores`, within the limits of the settings."""
        from evenkeel.stores.redis.verdicts import RedisVerdictLog

        return RedisVerdictLog(
            self.store,
            kept=self._redis.verdicts,
            evidence_kept=self._redis.evidence,
            evidence_s=self._redis.evidence_days * _SECONDS_PER_DAY,
        )

    @cached_property
    def watched(self) -> VerdictLog:
        """As `Stores`: those of `monitor.routes`."""
        from evenkeel.stores.verdict_log import RoutesLog

        routes = self._settings.monitor.routes
        return RoutesLog(self.verdicts, routes) if routes else self.verdicts

    @cached_property
    def monitor(self) -> MonitorStore:
        """As `Stores`, by the name of this monitor."""
        return self._monitor(checkpoint_name(self._settings))

    def monitors(self) -> list[MonitorStore]:
        """As `Stores`."""
        from evenkeel.stores.redis.monitor import monitor_names

        return [self._monitor(name) for name in monitor_names(self.store)]

    def _monitor(self, name: str) -> MonitorStore:
        from evenkeel.stores.redis.monitor import RedisMonitorStore

        return RedisMonitorStore(self.store, name)

    @cached_property
    def archive(self) -> RedisExchangeArchive:
        """As `Stores`."""
        from evenkeel.stores.redis.archive import RedisExchangeArchive

        limits = self._settings.archive
        return RedisExchangeArchive(
            self.store,
            per_route=limits.exchanges_per_route,
            total_bytes=round(limits.megabytes * 1e6),
            kept_s=limits.days * 86_400,
        )

    @cached_property
    def goldens(self) -> GoldenStore:
        """As `Stores`."""
        from evenkeel.stores.redis.goldens import RedisGoldens

        return RedisGoldens(self.store)

    @cached_property
    def labels(self) -> LabelStore:
        """As `Stores`."""
        from evenkeel.stores.redis.labels import RedisLabels

        return RedisLabels(self.store)

    @cached_property
    def actions(self) -> ActionLog:
        """As `Stores`."""
        from evenkeel.stores.redis.audit_log import RedisActions

        return RedisActions(self.store)

    @cached_property
    def ledger(self) -> CostTracker:
        """As `Stores`: what all workers spend together."""
        from evenkeel.runtime.replays import budgets
        from evenkeel.stores.redis.budget import RedisCostTracker

        limits = budgets(self._settings)
        return RedisCostTracker(self.store, limits.all_routes, time.time, limits.routes)

    @cached_property
    def judge_cache(self) -> JudgeCache:
        """As `Stores`."""
        from evenkeel.metrics.judge.redis_cache import RedisJudgeCache

        return RedisJudgeCache(self.store)

    @cached_property
    def rewrites(self) -> RewriteCache:
        """As `Stores`."""
        from evenkeel.shadow.rewriter.redis_cache import RedisRewriteCache

        return RedisRewriteCache(self.store)

    @cached_property
    def changes(self) -> ChangeStore:
        """As `Stores`."""
        from evenkeel.stores.redis.changes import RedisChangeStore

        return RedisChangeStore(self.store)

    @cached_property
    def bursts(self) -> Bursts:
        """As `Stores`."""
        from evenkeel.stores.redis.bursts import RedisBursts

        return RedisBursts(self.store)

    @cached_property
    def templates(self) -> Templates:
        """As `Stores`: those of whichever worker learns."""
        from evenkeel.runtime.roles.templates import SharedTemplates

        return SharedTemplates(self.store, self.lease("learner", _LEARNER_LEASE_S))

    def lease(self, name: str, length_s: float = 10.0) -> Lease:
        """As `Stores`, held in the name of this process."""
        from evenkeel.stores.redis.lease import RedisLease

        return RedisLease(self.store, name, process_name(os.getpid()), length_s=length_s)

    def losses(self) -> Snapshot:
        """As `Stores`: what limits cost, and what somebody trimmed."""
        figures = self.queue.figures()
        return {
            "counters": [
                ["exchanges_requeued", {}, figures["requeued"]],
                ["dead_letters_dropped", {}, figures["dead_dropped"]],
                ["verdicts_trimmed", {}, self.verdicts.trimmed()],
            ]
        }

    def close(self) -> None:
        """As `Stores`."""
        self.store.close()


def _host(address: str) -> Host:
    name, _, port = address.rpartition(":")
    return Host(name.strip("[]"), int(port))


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)
