"""Lease: one of several processes does a job, and another takes over once that process is gone."""

from __future__ import annotations

from typing import Protocol


class RoleLease(Protocol):
    """Right to do a job that only one process may do."""

    def hold(self) -> bool:
        """Take or renew the lease. Return whether it is held now."""
        ...

    def leave(self) -> None:
        """Give the lease back."""
        ...


class SoleLease:
    """Lease of a process that shares its job with no other."""

    def hold(self) -> bool:
        """Return True: the lease is always held. See `RoleLease.hold`."""
        return True

    def leave(self) -> None:
        """Do nothing. See `RoleLease.leave`."""
