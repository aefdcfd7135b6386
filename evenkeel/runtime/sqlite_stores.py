"""The stores in the file of the data folder."""

from __future__ import annotations

import time
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from evenkeel.runtime.data_plane import open_queue
from evenkeel.stores.sqlite.archive import SqliteExchangeArchive
from evenkeel.stores.sqlite.bursts import SqliteBursts
from evenkeel.stores.sqlite.changes import SqliteChangeStore
from evenkeel.stores.sqlite.counters import SqliteCounterStore
from evenkeel.stores.sqlite.database import DATABASE_FILE, Database
from evenkeel.stores.sqlite.goldens import SqliteGoldens
from evenkeel.stores.sqlite.monitor import SqliteMonitorStore
from evenkeel.stores.sqlite.verdicts import SqliteVerdictLog

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenkeel.core.budget import CostTracker
    from evenkeel.core.exchange import ExchangeQueue
    from evenkeel.metrics.judge import JudgeCache
    from evenkeel.runtime.stores import Lease, Templates
    from evenkeel.settings import Settings
    from evenkeel.shadow.rewriter import RewriteCache
    from evenkeel.stores.audit_log import ActionLog
    from evenkeel.stores.counters import Snapshot
    from evenkeel.stores.labels import LabelStore
    from evenkeel.stores.monitor_state import MonitorStore


class SoleLease:
    """`Lease` where there is nobody to share with."""

    def hold(self) -> bool:
        """As `Lease`: always."""
        return True

    def leave(self) -> None:
        """As `Lease`."""


class SqliteStores:
    """`Stores` in the file of the data folder."""

    def __init__(self, settings: Settings, *, lost: Callable[[str], object] | None = None) -> None:
        """Open the file; makes it, and its folder, if there is none.

        Args:
            settings: `data_dir`, and the limits.
            lost: see `Database`.

        Raises:
            StoreError: it cannot be written.
        """
        self._settings = settings
        self._path = Path(settings.data_dir) / DATABASE_FILE
        self._database = Database(self._path, lost=lost)

    @property
    def place(self) -> str:
        """As `Stores`: the file."""
        return str(self._path)

    @cached_property
    def queue(self) -> ExchangeQueue:
        """As `Stores`."""
        return open_queue(self._settings)

    @cached_property
    def verdicts(self) -> SqliteVerdictLog:
        """As `Stores`."""
        limits = self._settings.storage
        return SqliteVerdictLog(
            self._database,
            kept=limits.verdicts,
            evidence_kept=limits.evidence,
            evidence_s=limits.evidence_days * 86_400.0,
            folded=self.monitor.offset,
        )

    @property
    def watched(self) -> SqliteVerdictLog:
        """As `Stores`: all of it."""
        return self.verdicts

    @cached_property
    def monitor(self) -> SqliteMonitorStore:
        """As `Stores`."""
        return SqliteMonitorStore(self._database)

    def monitors(self) -> list[MonitorStore]:
        """As `Stores`: there is one."""
        return [self.monitor]

    @cached_property
    def archive(self) -> SqliteExchangeArchive:
        """As `Stores`."""
        limits = self._settings.archive
        return SqliteExchangeArchive(
            self._database,
            per_route=limits.exchanges_per_route,
            total_bytes=round(limits.megabytes * 1e6),
            kept_s=limits.days * 86_400,
        )

    @cached_property
    def goldens(self) -> SqliteGoldens:
        """As `Stores`."""
        return SqliteGoldens(self._database)

    # What only few processes ask for is loaded when it is: commands that read start sooner.

    @cached_property
    def labels(self) -> LabelStore:
        """As `Stores`."""
        from evenkeel.stores.sqlite.labels import SqliteLabels

        return SqliteLabels(self._database)

    @cached_property
    def actions(self) -> ActionLog:
        """As `Stores`."""
        from evenkeel.stores.sqlite.audit_log import SqliteActions

        return SqliteActions(self._database)

    @cached_property
    def ledger(self) -> CostTracker:
        """As `Stores`."""
        from evenkeel.runtime.replays import budgets
        from evenkeel.stores.sqlite.budget import SqliteCostTracker

        limits = budgets(self._settings)
        return SqliteCostTracker(self._database, limits.all_routes, time.time, limits.routes)

    @cached_property
    def judge_cache(self) -> JudgeCache:
        """As `Stores`."""
        from evenkeel.metrics.judge import SqliteJudgeCache

        return SqliteJudgeCache(self._database)

    @cached_property
    def rewrites(self) -> RewriteCache:
        """As `Stores`."""
        from evenkeel.shadow.rewriter import SqliteRewriteCache

        return SqliteRewriteCache(self._database)

    @cached_property
    def counters(self) -> SqliteCounterStore:
        """As `Stores`; processes publish theirs here as well."""
        return SqliteCounterStore(self._database)

    @cached_property
    def changes(self) -> SqliteChangeStore:
        """As `Stores`."""
        return SqliteChangeStore(self._database)

    @cached_property
    def bursts(self) -> SqliteBursts:
        """As `Stores`."""
        return SqliteBursts(self._database)

    @cached_property
    def templates(self) -> Templates:
        """As `Stores`."""
        from evenkeel.runtime.templates import TemplateKeeper

        return TemplateKeeper(self._database)

    def lease(self, name: str, length_s: float = 10.0) -> Lease:  # noqa: ARG002 - one process holds them all
        """As `Stores`."""
        return SoleLease()

    def losses(self) -> Snapshot:
        """As `Stores`."""
        return {"counters": [["verdicts_trimmed", {}, self.verdicts.trimmed()]]}

    def close(self) -> None:
        """As `Stores`."""
        self._database.close()
