"""Lease: one of several processes does a job, and another takes over once that process is gone."""

from __future__ import annotations


class RoleLease:
    """Right to do a job that only one process may do; a process that shares with no other holds it."""

    def hold(self) -> bool:
        """Take or renew the lease. Return whether it is held now."""
        return True

    def leave(self) -> None:
        """Give the lease back at once, if it is held."""
