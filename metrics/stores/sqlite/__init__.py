"""The embedded store: one SQLite file in WAL mode, shared by all processes of one machine."""

from metrics.stores.errors import StoreError
from metrics.stores.sqlite.database import Database
from metrics.stores.sqlite.monitor import SqliteMonitorStore
from metrics.stores.sqlite.verdicts import SqliteVerdictLog

__all__ = ["Database", "SqliteMonitorStore", "SqliteVerdictLog", "StoreError"]
