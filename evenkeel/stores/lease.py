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
        """As `Lease`: always."""
        return True

    def leave(self) -> None:
        """As `Lease`."""
