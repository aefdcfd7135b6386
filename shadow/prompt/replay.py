"""What a replayed request must not ask for: a stream, or to be stored."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Final

from shadow.prompt.spans import Edit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shadow.prompt.spans import Member

_FORCED_FALSE: Final = ("stream", "store")
_REMOVED: Final = ("stream_options",)


def replay_edits(members: Sequence[Member]) -> list[Edit]:
    """Edits of the outermost object that make a body fit for a replay.

    `stream` and `store` become false where the client sent another value, `stream_options` goes
    away (servers reject it without a stream). Keys the client did not send are not added: many
    compatible servers reject keys they do not know. Repeated keys are all treated.
    """
    edits = [
        Edit(member.value.start, member.value.end, "false")
        for member in members
        if member.key in _FORCED_FALSE and member.value.decoded is not False
    ]
    for removed, run in groupby(range(len(members)), key=lambda index: members[index].key in _REMOVED):
        if removed:
            indices = list(run)
            edits.append(_removal(members, indices[0], indices[-1]))
    return edits


def _removal(members: Sequence[Member], first: int, last: int) -> Edit:
    """Remove a run of neighbouring members together with the one comma that becomes superfluous."""
    if last + 1 < len(members):
        return Edit(members[first].start, members[last + 1].start, "")
    start = members[first - 1].value.end if first else members[first].start
    return Edit(start, members[last].value.end, "")
