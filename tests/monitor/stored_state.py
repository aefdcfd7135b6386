"""State of a monitor as a store holds it, for tests that read it again."""

from typing import NamedTuple

from evenkeel.monitor.fold import MonitorState


class StoredState(NamedTuple):
    """Head and all parts of a checkpoint; equal for equal states."""

    head: bytes
    parts: dict[str, bytes]


def stored(state):
    """Return the whole state as a store would hold it."""
    checkpoint = state.checkpoint(whole=True)
    return StoredState(checkpoint.head, checkpoint.parts)


def restarted(state, settings):
    """Return the state as a monitor that was started again has it."""
    return MonitorState.restored(*stored(state), settings)
