"""Everything that evenkeel keeps, in one place: the file of the data folder, or the Redis of the settings.

Processes and commands take a `Stores` and do not know which of the two it is.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Protocol

from evenkeel.runtime.sqlite_stores import SqliteStores
from evenkeel.settings import SettingsError, load
from evenkeel.stores.sqlite.database import DATABASE_FILE

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterator
    from pathlib import Path

    from evenkeel.core.budget import CostTracker
    from evenkeel.core.exchange import ExchangeQueue
    from evenkeel.metrics.judge import JudgeCache
    from evenkeel.settings import Settings
    from evenkeel.shadow.original import Reader
    from evenkeel.shadow.prompt.template import TemplateLearner
    from evenkeel.shadow.rewriter import RewriteCache
    from evenkeel.stores.archive import ExchangeArchive
    from evenkeel.stores.audit_log import ActionLog
    from evenkeel.stores.bursts import Bursts
    from evenkeel.stores.changes import ChangeStore
    from evenkeel.stores.counters import CounterReading, Snapshot
    from evenkeel.stores.goldens import GoldenStore
    from evenkeel.stores.labels import LabelStore
    from evenkeel.stores.monitor_state import MonitorStore
    from evenkeel.stores.verdict_log import VerdictLog

_NOWHERE = "http://127.0.0.1:9"
"""Stands for the upstream that settings must have where a command needs none; never asked."""


class Lease(Protocol):
    """The right to do what must be done once."""

    def hold(self) -> bool:
        """Take or renew it; whether it is held now."""
        ...

    def leave(self) -> None:
        """Give it back."""
        ...


class Templates(Protocol):
    """Keeps what is learned of the routes' templates."""

    learner: TemplateLearner
    """What is known at the start."""

    def run(self, reader: Reader, stop: threading.Event) -> None:
        """Keep what the reader's learner knows until `stop` is set: the body of a thread."""
        ...


class Stores(Protocol):
    """All stores. Each is opened when it is first asked for, and the same one from then on."""

    @property
    def place(self) -> str:
        """Where they are, for people; no credential in it."""
        ...

    @property
    def queue(self) -> ExchangeQueue:
        """Sampled exchanges that wait."""
        ...

    @property
    def verdicts(self) -> VerdictLog:
        """The verdict log."""
        ...

    @property
    def watched(self) -> VerdictLog:
        """What of the log this monitor folds."""
        ...

    @property
    def monitor(self) -> MonitorStore:
        """Checkpoint, alerts and trends of this monitor."""
        ...

    def monitors(self) -> list[MonitorStore]:
        """Those of every monitor that there has been, for reading. Blocks."""
        ...

    @property
    def archive(self) -> ExchangeArchive:
        """Exchanges that can be approved."""
        ...

    @property
    def goldens(self) -> GoldenStore:
        """Approved ones."""
        ...

    @property
    def labels(self) -> LabelStore:
        """What people say of verdicts."""
        ...

    @property
    def actions(self) -> ActionLog:
        """Who has done what."""
        ...

    @property
    def ledger(self) -> CostTracker:
        """What was spent, within the budgets of the settings."""
        ...

    @property
    def judge_cache(self) -> JudgeCache:
        """Rulings of the judge."""
        ...

    @property
    def rewrites(self) -> RewriteCache:
        """Texts of the rewriter."""
        ...

    @property
    def changes(self) -> ChangeStore:
        """What the change response remembers."""
        ...

    @property
    def bursts(self) -> Bursts:
        """What is sampled more at the moment."""
        ...

    @property
    def counters(self) -> CounterReading:
        """Counters of all processes."""
        ...

    @property
    def templates(self) -> Templates:
        """What was learned of the routes' templates."""
        ...

    def lease(self, name: str, length_s: float = 10.0) -> Lease:
        """What only one of several processes may hold."""
        ...

    def losses(self) -> Snapshot:
        """Counters of what limits of the stores have cost since the installation began. Blocks."""
        ...

    def close(self) -> None:
        """Let go of them."""
        ...


def settings_of_stores(config: Path | None, data_dir: Path | None) -> Settings:
    """Settings of a command that reads stores: a folder that is named wins over the file's.

    Raises: SettingsError if the file cannot be used.
    """
    overrides: dict[str, Any] = {} if data_dir is None else {"data_dir": data_dir, "redis": None}
    return load(config, overrides, {} if config else {"upstream": _NOWHERE})


@contextlib.contextmanager
def opened(settings: Settings, *, create: bool = False) -> Iterator[Stores]:
    """The stores that the settings name, open while the block runs.

    Args:
        settings: `redis`, or else `data_dir`, and the limits.
        create: make the file if there is none.

    Raises:
        SettingsError: there is no store in the data folder and none is to be made.
        StoreError: it cannot be written, or the Redis not be used.
    """
    with contextlib.closing(_open(settings, create=create)) as stores:
        yield stores


def _open(settings: Settings, *, create: bool) -> Stores:
    if settings.redis is not None:
        # Loaded on demand: without a Redis in the settings the client library is not needed.
        from evenkeel.runtime.redis_stores import RedisStores  # noqa: PLC0415

        stores = RedisStores(settings)
        stores.check()
        return stores
    if not create and not (settings.data_dir / DATABASE_FILE).is_file():
        raise SettingsError(
            f"there is no store in {settings.data_dir}; name the folder of `evenkeel up` with --data-dir, or "
            "its settings file with --config"
        )
    return SqliteStores(settings)
