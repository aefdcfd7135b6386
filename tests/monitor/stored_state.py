"""State of a monitor as a store holds it, for tests that read it again."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from evenkeel.monitor.fold import MonitorState

if TYPE_CHECKING:
    from evenkeel.monitor.fold import MonitorSettings


class StoredState(NamedTuple):
    """Head and all parts of a checkpoint; equal for equal states."""

    head: bytes
    parts: dict[str, bytes]


def stored(state: MonitorState) -> StoredState:
    """Return the whole state as a store would hold it."""
    checkpoint = state.checkpoint(whole=True)
    return StoredState(checkpoint.head, checkpoint.parts)


def restarted(state: MonitorState, settings: MonitorSettings) -> MonitorState:
    """Return the state as a monitor that was started again has it."""
    return MonitorState.restored(*stored(state), settings)
