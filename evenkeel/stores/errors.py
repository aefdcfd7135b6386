"""Errors of a store that cannot be used."""

from __future__ import annotations

from evenkeel.core.errors import UserError


class StoreError(UserError):
    """The store cannot be opened or read. The message says what is wrong, where, and what to do."""
