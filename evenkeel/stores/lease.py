"""A lease: one of several processes does something, and another one once it is gone."""

from __future__ import annotations

from typing import Protocol


class Lease(Protocol):
    """The right to do what must be done once."""

    def hold(self) -> bool:
        """Take or renew it; whether it is held now."""
        ...

    def leave(self) -> None:
        """Give it back."""
        ...


class SoleLease:
    """`Lease` where there is nobody to share with."""

    def hold(self) -> bool:
        """Return True: the lease is always held. See `Lease.hold`."""
        return True

    def leave(self) -> None:
        """Do nothing. See `Lease.leave`."""
