"""The audit log: who approved, retired or labelled what, and how sure the name is."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Final, Literal

from evenkeel.core.text import LONGEST_NAME
from evenkeel.stores.documents import Collection

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
    "test_sent",
]

KnownBy = Literal["token", "proxy", "typed", "command"]
KNOWN_BY: Final[dict[KnownBy, str]] = {
    "token": "signed in by token",
    "proxy": "signed in by the login proxy",
    "typed": "as typed",
    "command": "by command, as typed",
}
"""How the name is known, in words. As typed means that nobody has checked it. Look them up with `get`: a
later version of the program may know more."""

KEPT: Final = 100_000
"""Actions that a store keeps, the newest."""
MOST_READ: Final = 1_000
_LONGEST_TEXT: Final = 400


@dataclass(frozen=True, slots=True)
class Action:
    """Who has done what, and when. Says nothing of what prompts, answers and notes say."""

    at: float
    """Unix time in seconds."""
    by: str
    known_by: KnownBy
    what: What
    subject: str
    """What it was done to: the id of a golden, of a verdict, or the name of a route."""
    detail: str = ""

    def to_json(self) -> str:
        """The action as one line of JSON. Texts that are very long are cut."""
        said = asdict(self)
        for name in ("by", "subject", "detail"):
            said[name] = said[name][:_LONGEST_TEXT]
        return json.dumps(said, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str | bytes) -> Action:
        """Read what `to_json` wrote; fields of a later version of the program are left aside."""
        raw: dict[str, Any] = json.loads(text)
        return cls(**{one.name: raw[one.name] for one in fields(cls) if one.name in raw})


_ACTIONS: Final = Collection(
    schema=(
        "CREATE TABLE IF NOT EXISTS actions (seq INTEGER PRIMARY KEY AUTOINCREMENT, body TEXT NOT NULL)",
    ),
    table="actions",
    tag="actions",
    layout="list",
    name="log",
    kept=KEPT,
    pack=lambda action, _seal: action.to_json(),
    unpack=lambda body, _seal, _name: Action.from_json(body),
)


class ActionLog:
    """Actions in the order in which they were recorded; of very many the oldest are dropped.

    Calls block on storage. Several processes may use one log at a time.
    """

    def __init__(self, documents: Documents, *, kept: int = KEPT) -> None:
        self._documents = documents
        self._actions = replace(_ACTIONS, kept=kept)
        documents.open(self._actions)

    def record(self, action: Action) -> None:
        """Append an action, durably."""
        self._documents.put(self._actions, action)

    def latest(self, limit: int) -> list[Action]:
        """The newest, newest first, at most `limit`."""
        return self._documents.select(self._actions, limit=max(0, limit))


def is_name(text: str) -> bool:
    """Whether somebody can be called so: 1 to 200 visible characters, no blank at either end."""
    return 0 < len(text) <= LONGEST_NAME and text.isprintable() and text == text.strip()
