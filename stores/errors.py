"""What a store that cannot be used raises."""

from __future__ import annotations


class StoreError(Exception):
    """The store cannot be opened or read. The message says what is wrong, where, and what to do."""
