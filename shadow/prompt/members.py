"""Setting and removing members of the outermost object, every other byte left alone."""

from __future__ import annotations

import json
from itertools import groupby
from typing import TYPE_CHECKING

from evenkeel.shadow.prompt.spans import Edit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenkeel.shadow.prompt.spans import Member


def member_edits(members: Sequence[Member], changes: Mapping[str, str | None]) -> list[Edit]:
    """The edits that give members other values.

    Repeated keys are all treated.

    Args:
        members: Of the object, in the order written; at least one of them stays.
        changes: JSON text of the new value by key; None removes the member. A member that is not there
            is added behind the last one.
    """
    edits = [
        Edit(member.value.start, member.value.end, new)
        for member in members
        if (new := changes.get(member.key)) is not None
    ]
    gone = {key for key, new in changes.items() if new is None}
    for removed, run in groupby(range(len(members)), key=lambda index: members[index].key in gone):
        if removed:
            indices = list(run)
            edits.append(_removal(members, indices[0], indices[-1]))
    there = {member.key for member in members}
    end = members[-1].value.end
    added = "".join(
        f",{json.dumps(key)}:{new}" for key, new in changes.items() if new is not None and key not in there
    )
    return [*edits, Edit(end, end, added)] if added else edits


def _removal(members: Sequence[Member], first: int, last: int) -> Edit:
    """Remove a run of neighbouring members together with the one comma that becomes superfluous."""
    if last + 1 < len(members):
        return Edit(members[first].start, members[last + 1].start, "")
    start = members[first - 1].value.end if first else members[first].start
    return Edit(start, members[last].value.end, "")
