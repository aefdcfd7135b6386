"""What a replayed request must not ask for: a stream, or to be stored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shadow.prompt.spans import Member

_FORCED_FALSE: Final = ("stream", "store")
_REMOVED: Final = ("stream_options",)


def replay_changes(members: Sequence[Member]) -> dict[str, str | None]:
    """The changes of the outermost object that make a body fit for a replay.

    `stream` and `store` become false where the client sent another value, `stream_options` goes
    away (servers reject it without a stream). Keys the client did not send are not added: many
    compatible servers reject keys they do not know. Repeated keys are all treated.
    """
    changes: dict[str, str | None] = {
        member.key: "false"
        for member in members
        if member.key in _FORCED_FALSE and member.value.decoded is not False
    }
    changes.update((member.key, None) for member in members if member.key in _REMOVED)
    return changes
