"""What people have done: who approved, retired, labelled what, and how sure the name is."""

from evenkeel.stores.audit_log.action import (
    KNOWN_BY,
    MOST_READ,
    Action,
    ActionLog,
    KnownBy,
    What,
    is_name,
)
from evenkeel.stores.audit_log.sqlite_store import SqliteActions

__all__ = [
    "KNOWN_BY",
    "MOST_READ",
    "Action",
    "ActionLog",
    "KnownBy",
    "SqliteActions",
    "What",
    "is_name",
]
