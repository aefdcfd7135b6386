"""Stores of everything that evenkeel keeps: in the file of the data folder, or in the Redis of the settings.

Processes and commands take a `Stores` and do not know which of the two it is. A data plane reads this
module: the client library of Redis, and the learner of templates, are loaded on demand.
"""

from __future__ import annotations

import contextlib
import os
import socket
import time
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from evenkeel.core.budget import Budget
from evenkeel.core.challenge import CHALLENGERS
from evenkeel.core.exchange import QueueBounds
from evenkeel.settings import SettingsError, load
from evenkeel.settings.storage import PASSWORD_VARIABLE, SENTINEL_PASSWORD_VARIABLE
from evenkeel.settings.types import secret
from evenkeel.stores.archive import ExchangeArchive
from evenkeel.stores.audit_log import ActionLog
from evenkeel.stores.budget import SharedCostTracker
from evenkeel.stores.cache import DocumentCache
from evenkeel.stores.challenges import ChallengeStore
from evenkeel.stores.changes import ChangeStore
from evenkeel.stores.counters import CounterStore
from evenkeel.stores.goldens import GoldenStore
from evenkeel.stores.labels import LabelStore
from evenkeel.stores.lease import RoleLease
from evenkeel.stores.monitor_state import MonitorStore, monitor_names
from evenkeel.stores.panels import PanelStore
from evenkeel.stores.references import ReferenceStore
from evenkeel.stores.sqlite.database import DATABASE_FILE, Database
from evenkeel.stores.sqlite.documents import SqliteDocuments
from evenkeel.stores.sqlite.queue import SqliteExchangeQueue
from evenkeel.stores.sqlite.verdicts import SqliteVerdictLog

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from evenkeel.settings import Settings
    from evenkeel.shadow.templates import Templates
    from evenkeel.stores.counters import Snapshot
    from evenkeel.stores.documents import Documents

CHALLENGER_SHARE = 0.2
"""Largest share of the budget that challengers may use."""
# Share of the budget that only urgent calls may use: after a change, where one is suspected, and reference
# prompts.
_RESERVE = 0.25
_SECONDS_PER_DAY = 86_400.0
# One worker learns templates at a time; another takes over after so long.
_LEARNER_LEASE_S = 30.0
_TEMPLATES_FOLLOWED_EVERY_S = 10.0
_TEMPLATES_SAVED_EVERY_S = 30.0


class DocumentStores:
    """Stores that hold small documents, in either kind of storage."""

    def __init__(self, settings: Settings, documents: Documents) -> None:
        self.settings = settings
        self.documents = documents
        limits, kept_s = settings.storage, settings.storage.evidence_days * _SECONDS_PER_DAY
        self._texts_kept_s = kept_s
        """Seconds for which texts of prompts and answers are kept, wherever they are."""
        self.archive = ExchangeArchive(documents, per_route=limits.archive, kept_s=kept_s)
        self.goldens = GoldenStore(documents)
        self.labels = LabelStore(documents)
        self.actions = ActionLog(documents)
        self.changes = ChangeStore(documents)
        self.panels = PanelStore(documents, kept_s=kept_s)
        self.challenges = ChallengeStore(documents, kept_s=kept_s)
        self.references = ReferenceStore(documents, kept_s=kept_s)
        # A file has one monitor.
        self.monitor = MonitorStore(documents, checkpoint_name(settings) if limits.redis else "")
        budget = budgets(settings)
        self.ledger = SharedCostTracker(documents, budget.all_routes, time.time, budget.routes)
        self.counters = CounterStore(documents, time.time)
        self.judge_cache = DocumentCache(documents, "rulings")
        self.rewrites = DocumentCache(documents, "rewrites")

    def lease(self, name: str, length_s: float = 10.0) -> RoleLease:  # noqa: ARG002 - for those who share
        """Return a lease, which only one of several processes may hold, in the name of this one."""
        return RoleLease()

    def monitors(self) -> list[MonitorStore]:
        """Return the stores of every monitor that there has been, for reading. Blocks."""
        return [MonitorStore(self.documents, name) for name in monitor_names(self.documents)]

    @cached_property
    def templates(self) -> Templates:
        """Templates of the routes, by whichever worker learns."""
        from evenkeel.shadow.templates import Templates

        remote = self.documents.remote
        # On a Redis other workers read what one has learned; a file is read at the next start alone.
        return Templates(
            self.documents,
            self.lease("learner", _LEARNER_LEASE_S),
            every_s=_TEMPLATES_FOLLOWED_EVERY_S if remote else _TEMPLATES_SAVED_EVERY_S,
        )


class SqliteStores(DocumentStores):
    """All stores, in the file of the data folder."""

    def __init__(self, settings: Settings, *, lost: Callable[[str], object] | None = None) -> None:
        """Open the file; create it, and its folder, if there is none.

        Args:
            settings: `data_dir`, and the limits.
            lost: see `Database`.

        Raises:
            StoreError: it cannot be written.
        """
        path, limits = Path(settings.data_dir) / DATABASE_FILE, settings.storage
        self.place = str(path)
        """Path of the file, for people."""
        self._database = Database(path, lost=lost, seal=limits.seal)
        super().__init__(settings, SqliteDocuments(self._database))
        self.queue = SqliteExchangeQueue(self._database, time.time)
        self.verdicts = SqliteVerdictLog(
            self._database,
            kept=limits.verdicts,
            evidence_kept=limits.evidence,
            evidence_s=self._texts_kept_s,
            # Verdicts that the monitor has not read yet are not trimmed.
            folded=self.monitor.offset,
        )

    def check(self) -> None:
        """Return at once: the file has been opened."""

    def prepare(self) -> None:
        """Drop what is beyond the limits of the settings."""
        self.archive.prune()
        self.verdicts.trim()

    def losses(self) -> Snapshot:
        """Count what the limits have dropped since the installation began. Blocks."""
        return {"counters": [["verdicts_trimmed", {}, self.verdicts.trimmed()]]}

    def close(self) -> None:
        """Close the file."""
        self._database.close()


class RedisStores(DocumentStores):
    """All stores, in the Redis that the settings name."""

    def __init__(self, settings: Settings, *, consumer: str | None = None) -> None:
        """Prepare the stores; the connection is made on first use.

        Args:
            settings: `redis`, the limits, and which monitor this is.
            consumer: Names the worker on this machine that takes exchanges; None = a name of its own.

        Raises:
            SettingsError: they name no Redis.
        """
        if settings.storage.redis is None:
            raise SettingsError("the settings name no Redis; set storage.redis.url")
        from evenkeel.stores.redis.connection import RedisPlace, RedisStore
        from evenkeel.stores.redis.documents import RedisDocuments
        from evenkeel.stores.redis.queue import RedisExchangeQueue
        from evenkeel.stores.redis.verdicts import RedisVerdictLog

        redis, limits = settings.storage.redis, settings.storage
        self.place = redis.url
        """URL for people, without credentials."""
        self._store = RedisStore(
            RedisPlace(
                url=redis.url,
                password=secret(PASSWORD_VARIABLE) or None,
                sentinels=tuple(redis.sentinels),
                sentinel_master=redis.sentinel_master or "",
                sentinel_password=secret(SENTINEL_PASSWORD_VARIABLE) or None,
                cluster=redis.cluster,
                prefix=redis.prefix,
                replicas=redis.replicas,
            ),
            seal=limits.seal,
        )
        super().__init__(settings, RedisDocuments(self._store))
        self.queue = RedisExchangeQueue(
            self._store,
            time.time,
            QueueBounds(bytes=round(redis.megabytes * 1e6)),
            consumer=f"{socket.gethostname()}:{consumer}" if consumer else None,
        )
        self.verdicts = RedisVerdictLog(
            self._store,
            kept=limits.verdicts,
            evidence_kept=limits.evidence,
            evidence_s=self._texts_kept_s,
        )

    def check(self) -> None:
        """Raise StoreError, in one line, unless Redis can be used."""
        self._store.check()

    def prepare(self) -> None:
        """Drop what is beyond the limits, and the names of workers that are gone.

        Raises: SealError unless the exchanges in the queue can be read.
        """
        self.archive.prune()
        self.queue.check_readable()
        self.queue.forget_workers()

    def lease(self, name: str, length_s: float = 10.0) -> RoleLease:
        """Return a lease that processes compete for, as `DocumentStores.lease` does."""
        from evenkeel.stores.redis.connection import RedisLease, process_name

        return RedisLease(self._store, name, process_name(os.getpid()), length_s=length_s)

    def losses(self) -> Snapshot:
        """Count what the limits have dropped, and what somebody else has trimmed. Blocks."""
        figures = self.queue.figures()
        return {
            "counters": [
                ["exchanges_requeued", {}, figures["requeued"]],
                ["dead_letters_dropped", {}, figures["dead_dropped"]],
                ["verdicts_trimmed", {}, self.verdicts.trimmed()],
            ]
        }

    def close(self) -> None:
        """Close the connections."""
        self._store.close()


Stores: TypeAlias = SqliteStores | RedisStores
"""Either kind of stores; processes and commands do not know which they have."""


class Budgets(NamedTuple):
    """Budgets per day."""

    all_routes: Budget
    routes: dict[str, Budget]
    """Additional limits of routes that have their own."""


def budgets(settings: Settings) -> Budgets:
    """Return the limits of all routes together, and those of single routes."""
    common = settings.budget
    own = {}
    for route in settings.routes:
        limits = route.budget.model_dump()
        if any(limit is not None for limit in limits.values()):
            own[route.name] = Budget(**limits, spread=True, reserve=_RESERVE)
    # Challengers have no reserve: nothing about them is urgent.
    tokens, usd = common.tokens_per_day, common.usd_per_day
    own[CHALLENGERS] = Budget(
        None if tokens is None else round(tokens * CHALLENGER_SHARE),
        None if usd is None else usd * CHALLENGER_SHARE,
        spread=True,
    )
    return Budgets(Budget(common.tokens_per_day, common.usd_per_day, spread=True, reserve=_RESERVE), own)


def checkpoint_name(settings: Settings) -> str:
    """Return the name of this monitor's checkpoint."""
    return settings.monitor.name or socket.gethostname()[:80] or f"host-{os.getpid()}"


def settings_of_stores(config: Path | None, data_dir: Path | None) -> Settings:
    """Return the settings of a command that reads stores: `data_dir` wins over the file's.

    Raises: SettingsError if the file cannot be used.
    """
    # A folder that was named means the file in it, even if the settings name a Redis.
    overrides: dict[str, Any] = {} if data_dir is None else {"data_dir": data_dir, "storage": {"redis": None}}
    return load(config, overrides, {}, forwards=False)


def connect(
    settings: Settings,
    *,
    lost: Callable[[str], object] | None = None,
    consumer: str | None = None,
) -> Stores:
    """Return the stores that the settings name. A missing file is created; a Redis is not contacted yet.

    Args:
        settings: Name them.
        lost: See `SqliteStores`.
        consumer: See `RedisStores`.

    Raises: StoreError if the file cannot be written.
    """
    if settings.storage.redis is None:
        return SqliteStores(settings, lost=lost)
    return RedisStores(settings, consumer=consumer)


@contextlib.contextmanager
def opened(settings: Settings, *, create: bool = False) -> Iterator[Stores]:
    """Open the stores that the settings name while the block runs.

    Args:
        settings: `storage.redis`, or else `data_dir`, and the limits.
        create: make the file if there is none.

    Raises:
        SettingsError: there is no store in the data folder and none is to be made.
        StoreError: it cannot be written, or the Redis not be used.
    """
    if (
        settings.storage.shared_at is None
        and not create
        and not (settings.data_dir / DATABASE_FILE).is_file()
    ):
        raise SettingsError(
            f"there is no store in {settings.data_dir}; name the folder of `evenkeel up` with --data-dir, or "
            "its settings file with --config"
        )
    with contextlib.closing(connect(settings)) as stores:
        stores.check()
        yield stores
