"""How reference prompts are asked in a process: what the settings allow, and what the monitor has noticed."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from evenkeel.monitor.changes import kinds
from evenkeel.runtime import replays
from evenkeel.shadow.references.asker import Noticed, ReferenceAsker, Renamed
from evenkeel.shadow.references.pace import DAY_S, Found, Pace, Suspicion

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from evenkeel.core.cells import RouteChanges
    from evenkeel.monitor.changes import ChangeRecord
    from evenkeel.monitor.monitor import Monitor
    from evenkeel.runtime.instruments import Instruments
    from evenkeel.runtime.stores import Stores
    from evenkeel.settings import Settings

_SILENT: Final = frozenset(kinds.SILENT)


def pace_of(settings: Settings) -> Pace:
    """What may be asked of the references of a route; nothing where no exchange may be kept."""
    given = settings.references
    kept = settings.archive.exchanges_per_route > 0
    return Pace(given.calls_per_day if kept else 0, given.burst_calls, given.usd_per_day)


class Noticing:
    """Reads what concerns references out of the monitor's changes."""

    def __init__(
        self,
        changes: Callable[[], Iterable[RouteChanges]],
        records: Callable[[], Iterable[ChangeRecord]],
        clock: Callable[[], float],
    ) -> None:
        """Wire it.

        Args:
            changes: the marks of all routes.
            records: the changes with their evidence, which costs more.
            clock: Unix time in seconds.
        """
        self._changes = changes
        self._records = records
        self._clock = clock

    def __call__(self) -> Noticed:
        """What was noticed within a day."""
        begin = self._clock() - DAY_S
        marks = [(one.route, mark) for one in self._changes() for mark in one.latest if mark.at > begin]
        renamed = [Renamed(route, mark.after, mark.at) for route, mark in marks if mark.kind == kinds.MODEL]
        if not any(mark.kind in _SILENT for _, mark in marks):
            return Noticed(renamed=tuple(renamed))
        suspected: list[Suspicion] = []
        found: list[Found] = []
        for record in self._records():
            traits = record.silent.traits if record.silent else None
            if traits is not None and traits.at > begin:
                suspected.append(Suspicion(record.route, traits.requested_model, traits.at))
            asked = record.silent.references if record.silent else None
            if asked is not None and asked.at > begin:
                found.append(Found(record.route, asked.requested_model, asked.at, asked.since))
        return Noticed(tuple(suspected), tuple(found), tuple(renamed))


def asker(settings: Settings, stores: Stores, instruments: Instruments, monitor: Monitor) -> ReferenceAsker:
    """Asks the references of the routes that this monitor watches."""
    known: Sequence[str] = [route.name for route in settings.routes]
    return ReferenceAsker(
        stores.references,
        stores.watched,
        instruments.replayer,
        instruments.ledger,
        instruments.prices,
        pace=pace_of(settings),
        target=replays.reference_target(settings),
        routes=settings.monitor.routes or known,
        known=known,
        noticed=Noticing(monitor.changes, monitor.change_records, time.time),
        tally=instruments.tally,
        clock=time.time,
    )
