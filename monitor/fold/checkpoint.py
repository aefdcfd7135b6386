"""A checkpoint of the state: a small head and parts, of which only those that changed are written again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from evenkeel.monitor.fold.cell import compact

if TYPE_CHECKING:
    from evenkeel.core.cells import RollupKey

VERSION: Final = 5
"""Of the form that is written; nothing else is read."""
UNREADABLE: Final = (ValueError, KeyError, TypeError, IndexError, AttributeError)
"""What reading something else than a checkpoint raises."""


class CheckpointError(Exception):
    """A checkpoint cannot be read. The state can always be folded again from the log."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What has to be stored so that the state can be read again."""

    head: bytes
    """Small; replaces the previous one."""
    parts: dict[str, bytes]
    """Cells and roll-ups that changed since the last checkpoint, by name; the others are as stored."""
    whole: bool
    """Whether these are all the parts, so that any others in the store are to be removed."""


def cell_name(key: tuple[str, str, str]) -> str:
    """Names the part of a cell."""
    return compact(["cell", *key])


def route_name(route: str) -> str:
    """Names the part of a route's changes."""
    return compact(["route", route])


def rollup_name(key: RollupKey) -> str:
    """Names the part of a roll-up."""
    return compact(["rollup", key.level, key.route, key.model, key.category])
