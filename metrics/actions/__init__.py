"""What people have done: who approved, retired, labelled what, and how sure the name is."""

from metrics.actions.action import KNOWN_BY, MOST_READ, Action, ActionLog, KnownBy, What, is_name
from metrics.actions.sqlite_store import SqliteActions

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
