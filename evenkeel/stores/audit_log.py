"""Audit log: who approved, retired or labelled what, and how the name of that person is known."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal

from evenkeel.core.records import to_json
from evenkeel.core.text import LONGEST_NAME
from evenkeel.stores.documents import Collection, plain

if TYPE_CHECKING:
    from evenkeel.stores.documents import Documents

What = Literal[
    "golden_approved",
    "golden_retired",
    "golden_unretired",
    "goldens_imported",
    "label_given",
    "label_withdrawn",
    "baseline_approved",
    "references_forgotten",
    "incident_decided",
    "challenger_started",
    "challenger_stopped",
    "challenger_labelled",
]

KnownBy = Literal["token", "proxy", "typed", "command"]
KNOWN_BY: Final[dict[KnownBy, str]] = {
    "token": "signed in by token",
    "proxy": "signed in by the login proxy",
    "typed": "as typed",
    "command": "by command, as typed",
}
"""Words for how a name is known. "As typed" means that nobody has checked it."""

KEPT: Final = 100_000
"""Number of actions that a store keeps; older ones are dropped."""
MOST_READ: Final = 1_000
# Texts come from people and programs, and the page lists many.
_LONGEST_TEXT: Final = 400


@dataclass(frozen=True, slots=True)
class Action:
    """Record of who did what, and when. It never quotes prompts, answers or notes."""

    at: float
    """Unix time in seconds."""
    by: str
    known_by: KnownBy
    what: What
    subject: str
    """Object of the action: the id of a golden or of a verdict, or the name of a route."""
    detail: str = ""

    @property
    def id(self) -> str:
        """Digest of the action: recording the same action again gives the same id."""
        return hashlib.sha256(to_json(self).encode()).hexdigest()[:32]


_ACTIONS: Final = Collection(name="actions", key=("id",), kept=KEPT, body=plain(Action))


class ActionLog:
    """Log of actions in the order in which they were recorded; beyond `KEPT` the oldest are dropped.

    Calls block on storage. Several processes may use one log at a time.
    """

    def __init__(self, documents: Documents, *, kept: int = KEPT) -> None:
        self._documents = documents
        self._actions = replace(_ACTIONS, kept=kept)
        documents.open(self._actions)

    def record(self, action: Action) -> None:
        """Append an action durably; very long texts are cut."""
        by, subject, detail = (text[:_LONGEST_TEXT] for text in (action.by, action.subject, action.detail))
        # The id is a digest of the action: an action that is sent again is recorded once.
        self._documents.add(self._actions, replace(action, by=by, subject=subject, detail=detail))

    def latest(self, limit: int) -> list[Action]:
        """Return at most `limit` actions, newest first."""
        return self._documents.select(self._actions, limit=max(0, limit))


def is_name(text: str) -> bool:
    """Return whether a text can name a person: 1 to 200 printable characters, no blank at either end."""
    return 0 < len(text) <= LONGEST_NAME and text.isprintable() and text == text.strip()
