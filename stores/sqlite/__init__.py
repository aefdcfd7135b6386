"""The embedded store: one SQLite file in WAL mode, shared by all processes of one machine."""

from evenkeel.stores.errors import StoreError
from evenkeel.stores.sqlite.database import Database
from evenkeel.stores.sqlite.monitor import SqliteMonitorStore
from evenkeel.stores.sqlite.verdicts import SqliteVerdictLog

__all__ = ["Database", "SqliteMonitorStore", "SqliteVerdictLog", "StoreError"]
