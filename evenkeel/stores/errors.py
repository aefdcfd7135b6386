"""Errors of a store that cannot be used."""

from __future__ import annotations

from evenkeel.core.errors import UserError


class StoreError(UserError):
    """Failure to open or read the store. The message says what is wrong, where, and what to do."""


class DamagedStoreError(StoreError):
    """Failure to open a file that is no store, or no longer a whole one."""
