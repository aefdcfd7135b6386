"""Verdict log: where scoring ends and monitoring begins. Implementations block on storage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

from evenkeel.core.approval import Approval
from evenkeel.core.incidents import Decision
from evenkeel.core.panel import PanelRated
from evenkeel.core.records import from_json, to_json
from evenkeel.core.sightings import ReferenceAnswered
from evenkeel.core.verdict import Verdict
from evenkeel.stores.sealing import SealError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenkeel.core.verdict import Evidence
    from evenkeel.stores.trial_index import Narrow


@dataclass(frozen=True, slots=True)
class LoggedVerdict:
    """Verdict and its place in the log."""

    offset: int
    """Place in the log, strictly growing; reading after it returns the next verdicts."""
    verdict: Verdict


Note: TypeAlias = Approval | Decision | ReferenceAnswered | PanelRated
"""Entry of the log that is not a verdict."""
Entry: TypeAlias = Verdict | Note
"""Content of an entry, without its offset."""


@dataclass(frozen=True, slots=True)
class LoggedNote:
    """Note and its place among the verdicts of the log."""

    offset: int
    """Place in the sequence that verdicts share; no verdict has the same offset."""
    note: Note


Logged: TypeAlias = LoggedVerdict | LoggedNote


def logged(offset: int, entry: Entry) -> Logged:
    """Return an entry with its place in a log."""
    return LoggedVerdict(offset, entry) if isinstance(entry, Verdict) else LoggedNote(offset, entry)


def is_kept(note: Note) -> bool:
    """Return whether a note is kept for good.

    Statements of people are; sightings are dropped with the verdicts around them.
    """
    return isinstance(note, Approval | Decision)


_KINDS: Final[dict[str, type[Note]]] = {
    "approval": Approval,
    "decision": Decision,
    "reference": ReferenceAnswered,
    "panel": PanelRated,
}
_NAMES: Final = {kind: name for name, kind in _KINDS.items()}


def note_to_text(note: Note) -> str:
    """Return one line that `note_of_text` reads."""
    return f"{_NAMES[type(note)]} {to_json(note)}"


def note_of_text(written: str) -> Note:
    """Read what `note_to_text` wrote."""
    name, _, record = written.partition(" ")
    return from_json(record, _KINDS[name])


def approvals_in(written: Iterable[str]) -> list[Approval]:
    """Return the approvals among written notes, in their order."""
    notes = map(note_of_text, written)
    return [note for note in notes if isinstance(note, Approval)]


@dataclass(frozen=True, slots=True)
class Stretch:
    """Part of the log, read backwards."""

    verdicts: list[LoggedVerdict]
    """Verdicts that fit, newest first."""
    reached: int
    """Offset before which nothing was read; 0 = the log's start was reached."""
    looked_at: int
    """Number of verdicts that were read to find these."""


class VerdictLog(Protocol):
    """Append-only log in which every verdict id occurs once; notes lie between the verdicts.

    Notes are approvals, decisions about incidents, and sightings. Who reads verdicts sees nothing of
    them but gaps in the offsets; `entries_after` gives all.
    """

    def append(self, verdict: Verdict, evidence: Evidence | None) -> bool:
        """Store a verdict durably. Return False, changing nothing, if its id exists already."""
        ...

    def of_exchange(self, exchange_id: str) -> list[Verdict]:
        """Return the verdicts already logged for an exchange, oldest first."""
        ...

    def note(self, note: Note) -> bool:
        """Store a note durably, behind all entries so far. False if it is there already.

        Sightings are kept as long as the verdicts around them, what people say for good.
        """
        ...

    def entries_after(self, offset: int, limit: int) -> list[Logged]:
        """Return up to `limit` entries of any kind after `offset` (0 = from the start), in log order."""
        ...

    def approvals(self) -> list[Approval]:
        """Return every approval, in log order. They are never dropped."""
        ...

    def read_before(self, offset: int | None, limit: int, narrow: Narrow = ...) -> Stretch:
        """Return verdicts before `offset` (None = from the newest) that `narrow` admits, newest first.

        Reads up to `limit` verdicts. SQLite finds them by the columns of `trial_index`. Redis has no such
        index and gives fewer, perhaps none, though there are older ones: go on before `reached`.
        """
        ...

    def latest(
        self, limit: int, *, route: str | None = None, perturbation: str | None = None
    ) -> list[Verdict]:
        """Return the newest verdicts, newest first: all, those of a route, or of one of its perturbations."""
        ...

    def find(self, verdict_id: str) -> Verdict | None:
        """Return the verdict with this id."""
        ...

    def evidence(self, verdict_id: str) -> Evidence | None:
        """Return the prompts and answers behind a verdict; None once they have been pruned."""
        ...


def readable_evidence(log: VerdictLog, verdict_id: str) -> Evidence | None:
    """Return the evidence behind a verdict; None also if its key is missing, as in lists of many."""
    try:
        return log.evidence(verdict_id)
    except SealError:
        return None
