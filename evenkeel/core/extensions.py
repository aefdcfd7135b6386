"""Extensions: objects that other people's packages offer through entry points."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


class ExtensionError(Exception):
    """An extension that cannot be used. The message names the package and says why."""


@dataclass(frozen=True, slots=True)
class Extension:
    """An entry point of an installed package, not loaded yet."""

    entry_point: EntryPoint

    def __str__(self) -> str:
        """Package and entry point, for messages."""
        package = self.entry_point.dist.name if self.entry_point.dist is not None else "?"
        return f"{self.entry_point.name!r} of the package {package}"

    def load(self) -> Any:
        """Import and return the object that the entry point names.

        Raises: ExtensionError if importing it fails, whatever the package does.
        """
        try:
            return self.entry_point.load()
        # A package that exits at its import would end evenkeel, so that counts as a fault too.
        except (Exception, SystemExit) as error:  # the boundary to somebody else's package
            raise ExtensionError(f"{self} cannot be loaded: {type(error).__name__}: {error}") from error


def extensions(group: str) -> tuple[Extension, ...]:
    """Return the entry points of a group, by name. Nothing is imported."""
    return tuple(
        Extension(point) for point in sorted(entry_points(group=group), key=lambda point: point.name)
    )
