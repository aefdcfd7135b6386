"""How reference prompts are asked in a process: what the settings allow, and what the monitor has noticed.

`cost_lines` says in advance what that costs and how soon it finds a change.
"""

from __future__ import annotations

import time
from collections import Counter
from statistics import median
from typing import TYPE_CHECKING, Final, NamedTuple

from evenkeel.monitor.changes import kinds
from evenkeel.monitor.detect.references import alarm_level
from evenkeel.runtime import replays
from evenkeel.runtime.stores import opened
from evenkeel.settings import SettingsError
from evenkeel.shadow.references import plan
from evenkeel.shadow.references.asker import Noticed, ReferenceAsker, Renamed
from evenkeel.shadow.references.pace import BURST_CALLS, DAY_S, Found, Pace, Suspicion
from evenkeel.stores.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from evenkeel.core.cells import RouteChanges
    from evenkeel.monitor.changes import ChangeRecord
    from evenkeel.monitor.monitor import Monitor
    from evenkeel.runtime.instruments import Instruments
    from evenkeel.runtime.stores import Stores
    from evenkeel.settings import Settings

_SILENT: Final = frozenset(kinds.SILENT)
_SUSPICIOUS: Final = frozenset((kinds.FINGERPRINT, kinds.ANSWERS, kinds.RATINGS))
"""What references should settle at once, as a suspicion of the traits."""
_SAME_S: Final = 3_600.0
"""So long before and after a change, what else is noticed on the route comes of it."""
_USUAL_MODEL: Final = "gpt-4.1-mini"
"""Whose prices are shown for a route of which no answers were seen."""
_LOOKED_AT: Final = 200
"""Archived exchanges by which the size of calls is judged."""


def pace_of(settings: Settings) -> Pace:
    """What may be asked of the references of a route; nothing where no exchange may be kept."""
    given = settings.replays.references
    calls = given.calls_per_day if settings.asks_references else 0
    return Pace(calls, BURST_CALLS, given.usd_per_day)


def reference_level(settings: Settings) -> float:
    """Evidence at which a change is found."""
    asked = settings.replays.references
    return alarm_level(asked.calls_per_day, BURST_CALLS, asked.false_alarms_per_year)


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
        noticed = [Suspicion(route, None, mark.at) for route, mark in marks if mark.kind in _SUSPICIOUS]
        if not any(mark.kind in _SILENT for _, mark in marks):
            return Noticed(tuple(noticed), renamed=tuple(renamed))
        suspected: list[Suspicion] = []
        found: list[Found] = []
        for record in self._records():
            traits = record.silent.traits if record.silent else None
            if traits is not None and traits.at > begin:
                suspected.append(Suspicion(record.route, traits.requested_model, traits.at))
            asked = record.silent.references if record.silent else None
            if asked is not None and asked.at > begin:
                found.append(Found(record.route, asked.requested_model, asked.at, asked.since))
        open_questions = [one for one in noticed if not any(_explains(change, one) for change in found)]
        return Noticed((*suspected, *open_questions), tuple(found), tuple(renamed))


def _explains(change: Found, suspicion: Suspicion) -> bool:
    """Whether what was noticed on a route is a change that was found there."""
    near = change.since - _SAME_S <= suspicion.at <= change.at + _SAME_S
    return near and change.route == suspicion.route


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
        level=reference_level(settings),
        noticed=Noticing(monitor.changes, monitor.change_records, time.time),
        tally=instruments.tally,
        clock=time.time,
    )


class _Traffic(NamedTuple):
    """What calls of a route are like."""

    model: str
    tokens: tuple[int, int]
    said: str
    """Where that is known from."""


def _typical() -> _Traffic:
    tokens = plan.TYPICAL_TOKENS
    return _Traffic(_USUAL_MODEL, tokens, f"{tokens[0]:,} tokens in and {tokens[1]:,} out, at {_USUAL_MODEL}")


def _traffic(settings: Settings) -> dict[str, _Traffic]:
    """What the archived exchanges of each route are like; nothing where none are kept so far."""
    found: dict[str, _Traffic] = {}
    try:
        with opened(settings) as stores:
            for route in settings.routes:
                archived = stores.archive.latest(_LOOKED_AT, route=route.name)
                answers = [one.answer for one in archived if one.answer.prompt_tokens]
                if not answers:
                    continue
                model = Counter(one.model for one in archived).most_common(1)[0][0]
                asked = round(median(one.prompt_tokens or 0 for one in answers))
                given = round(median(one.completion_tokens or 0 for one in answers))
                size = f"{asked:,} tokens in and {given:,} out, as in {len(archived)} archived exchanges"
                found[route.name] = _Traffic(model, (asked, given), f"{size}, at {model}")
    except (SettingsError, StoreError):
        # Nothing is kept yet, or it cannot be read from here: typical calls stand for it.
        return found
    return found


def cost_lines(settings: Settings) -> Iterator[str]:
    """What reference prompts cost each route, and how soon how many calls a day find a change."""
    pace = pace_of(settings)
    if pace.calls_per_day == 0:
        yield "reference prompts: none are asked; a change that nobody announces can only be suspected"
        return
    price = replays.budgeted_prices(settings).usd
    seen = _traffic(settings)
    shared: dict[str, list[str]] = {}
    for route in settings.routes:
        traffic = seen.get(route.name) or _typical()
        usual = plan.cost(pace.calls_per_day, traffic.model, traffic.tokens, price)
        most = plan.cost(plan.most(pace), traffic.model, traffic.tokens, price)
        limit = "no limit" if pace.usd_per_day is None else f"limit {pace.usd_per_day:.2f} dollars"
        said = (
            f"{usual.calls:,} calls, {usual.tokens:,} tokens, {usual.usd:.2f} dollars a day "
            f"({traffic.said}); {most.calls:,} calls and {most.usd:.2f} dollars on a day with two "
            f"suspicions; {limit}"
        )
        shared.setdefault(said, []).append(route.name)
    for said, routes in shared.items():
        each = "each of " if len(routes) > 1 else ""
        yield f"reference prompts of {each}{', '.join(routes)}: {said}"
    alarms = settings.replays.references.false_alarms_per_year
    yield f"a silent change is found on average after, at {alarms:g} false alarms a year at most:"
    yield f"  {'calls a day':>14}" + "".join(f"{name:>22}" for name in plan.EVIDENCE)
    for calls in sorted({*plan.OFFERED, pace.calls_per_day}):
        level = alarm_level(calls, pace.burst_calls, alarms)
        shown = [_until(plan.calls_until_found(level, one), calls) for one in plan.EVIDENCE.values()]
        mark = " (set)" if calls == pace.calls_per_day else ""
        yield f"  {f'{calls:,}{mark}':>14}" + "".join(f"{one:>22}" for one in shown)


def _until(calls: int, calls_per_day: int) -> str:
    days = calls / calls_per_day
    return f"{calls} calls, {days * 24:.0f} h" if days < 1 else f"{calls} calls, {days:.1f} days"
