"""A verdict log and a monitor's store in memory, as far as the console reads them, and empty documents."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from evenkeel.console import ReferenceSetup
from evenkeel.core.approval import Approval
from evenkeel.release.challenge.board import ChallengeBoard
from evenkeel.stores.archive import ExchangeArchive
from evenkeel.stores.audit_log import ActionLog
from evenkeel.stores.challenges import ChallengeStore
from evenkeel.stores.documents import Documents
from evenkeel.stores.goldens import GoldenStore
from evenkeel.stores.labels import LabelStore
from evenkeel.stores.references import ReferenceStore
from evenkeel.stores.trial_index import ANYTHING
from evenkeel.stores.verdict_log import LoggedVerdict, Stretch
from tests.monitor.notify.scene import incidents_of

if TYPE_CHECKING:
    from evenkeel.core.incidents import Decision
    from evenkeel.core.verdict import Evidence, Verdict
    from evenkeel.stores.monitor_state import AlertEvent, TrendPoint


@dataclass
class MemoryLog:
    """A verdict log in memory."""

    verdicts: list[Verdict] = field(default_factory=list)
    """Oldest first."""
    texts: dict[str, Evidence] = field(default_factory=dict)
    notes: list[Approval | Decision] = field(default_factory=list)

    def note(self, note):
        if note in self.notes:
            return False
        self.notes.append(note)
        return True

    def approvals(self):
        return [note for note in self.notes if isinstance(note, Approval)]

    def append(self, verdict, evidence):
        if any(known.id == verdict.id for known in self.verdicts):
            return False
        self.verdicts.append(verdict)
        if evidence:
            self.texts[verdict.id] = evidence
        return True

    def of_exchange(self, exchange_id):
        return [verdict for verdict in self.verdicts if verdict.exchange_id == exchange_id]

    def read_before(self, offset, limit, narrow=ANYTHING):
        """Backwards, without an index."""
        end = len(self.verdicts) if offset is None else min(offset - 1, len(self.verdicts))
        start = max(0, end - limit)
        read = [LoggedVerdict(place + 1, self.verdicts[place]) for place in range(end - 1, start - 1, -1)]
        found = [entry for entry in read if narrow.admits(entry.verdict)]
        return Stretch(found, start + 1 if start else 0, len(read))

    def latest(self, limit, *, route=None, perturbation=None):
        found = [
            verdict
            for verdict in reversed(self.verdicts)
            if route in {None, verdict.route} and perturbation in {None, verdict.perturbation}
        ]
        return found[:limit]

    def find(self, verdict_id):
        return next((verdict for verdict in self.verdicts if verdict.id == verdict_id), None)

    def evidence(self, verdict_id):
        return self.texts.get(verdict_id)


@dataclass
class MemoryMonitorStore:
    """A monitor's store in memory; only what the console reads does anything."""

    history: list[AlertEvent] = field(default_factory=list)
    """Oldest first."""
    points: dict[tuple[str, str, str], list[TrendPoint]] = field(default_factory=dict)

    def events(self, limit):
        return self.history[::-1][:limit]

    def incidents(self):
        return [incident.to_bytes() for incident in incidents_of(self.history) if incident.id]

    def trend(self, route, model, perturbation, limit):
        return self.points.get((route, model, perturbation), [])[-limit:]


class EmptyDocuments(Documents):
    """Documents that hold nothing, and forget what they are given."""

    remote = False

    def open(self, *collections):
        pass

    def change(self, collection, work):
        pass

    def find(self, collection, *key):
        return None

    def history(self, collection, *key):
        return []

    def select(self, collection, where=None, limit=None):
        return []

    def values(self, collection, *fields):
        return set()

    def revision(self, collection):
        return 0


EMPTY = EmptyDocuments()


def other_stores(documents=EMPTY):
    """The other stores that the console reads, over some documents."""
    return {
        "goldens": GoldenStore(documents),
        "archive": ExchangeArchive(documents, per_route=10),
        "references": ReferenceStore(documents),
        "reference_setup": ReferenceSetup(96, 60, 0.5, 0.5),
        "labels": LabelStore(documents),
        "actions": ActionLog(documents),
        "challengers": ChallengeBoard(ChallengeStore(documents, kept_s=86_400.0), lambda: 0.0),
    }
