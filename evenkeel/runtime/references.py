"""Wiring of what is asked again: reference prompts and the judge's panel, and their suspicions.

`cost_lines` says in advance what reference prompts cost.
"""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Final

from evenkeel.core.budget import RouteBudget
from evenkeel.metrics.judge.raters import JudgeRater
from evenkeel.monitor.changes import kinds
from evenkeel.monitor.detect.references import FALSE_ALARMS_PER_YEAR, alarm_level
from evenkeel.release.judge_panel import JudgePanel
from evenkeel.runtime import replays
from evenkeel.shadow.references.asker import AskerSettings, ModelRename, MonitorFindings, ReferenceAsker
from evenkeel.shadow.references.caller import ReferenceCaller
from evenkeel.shadow.references.pace import BURST_CALLS, BURSTS_A_DAY, DAY_S, FoundChange, Pace, Suspicion

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from evenkeel.core.cells import RouteChanges
    from evenkeel.monitor.changes import ChangeRecord
    from evenkeel.monitor.fold import SilentReport
    from evenkeel.monitor.monitor import Monitor
    from evenkeel.runtime.instruments import Instruments
    from evenkeel.runtime.stores import Stores
    from evenkeel.settings import Settings

# Kinds of changes that count as a suspicion, which references check at once.
_SUSPICIOUS: Final = frozenset((kinds.FINGERPRINT, kinds.MODEL, kinds.PROMPT, kinds.RATINGS))
# Seconds before and after a change in which anything else noticed on the route counts as part of it.
_SAME_S: Final = 3_600.0
_USUAL_MODEL: Final = "gpt-6-luna"
USUAL_TOKENS: Final = (1_000, 400)
"""Tokens of a typical request and answer, for estimates of cost."""


def pace_of(settings: Settings) -> Pace:
    """Return the pace of a route's references; no calls if no exchange may be stored."""
    references = settings.replays.references
    calls = references.calls_per_day if settings.asks_references else 0
    return Pace(calls, BURST_CALLS, references.usd_per_day)


def reference_level(settings: Settings) -> float:
    """Return the evidence at which a change is reported."""
    asked = settings.replays.references
    return alarm_level(asked.calls_per_day, BURST_CALLS, FALSE_ALARMS_PER_YEAR)


def noticed(
    changes: Callable[[], Iterable[RouteChanges]],
    records: Callable[[], Iterable[ChangeRecord]],
    silent: Callable[[], Iterable[SilentReport]],
    clock: Callable[[], float],
) -> MonitorFindings:
    """Return the changes that concern references and that the monitor noticed within a day.

    Args:
        changes: Returns the marks of all routes.
        records: Returns the changes with their evidence, which costs more.
        silent: Returns the state of the tests of reference prompts.
        clock: Unix time in seconds.
    """
    begin = clock() - DAY_S
    renamed: list[ModelRename] = []
    suspicions: list[Suspicion] = []
    convicted = False
    for change in changes():
        for mark in filter(lambda mark: mark.at > begin, change.latest):
            convicted |= mark.kind == kinds.REFERENCES
            if mark.kind == kinds.MODEL:
                renamed.append(ModelRename(change.route, mark.after, mark.at))
            if mark.kind in _SUSPICIOUS:
                suspicions.append(Suspicion(change.route, None, mark.at))
    for report in silent():
        if report.suspected_since is not None:
            suspicions.append(Suspicion(report.route, report.requested_model, report.suspected_since))
    found = _found(records(), begin) if convicted else []
    open_questions = []
    for suspicion in suspicions:
        if not any(_explains(change, suspicion) for change in found):
            open_questions.append(suspicion)
    return MonitorFindings(tuple(open_questions), tuple(found), tuple(renamed))


def _found(records: Iterable[ChangeRecord], begin: float) -> list[FoundChange]:
    """Return the changes that references found since then."""
    found = []
    for record in records:
        asked = record.silent.references if record.silent else None
        if asked is not None and asked.at > begin:
            found.append(FoundChange(record.route, asked.requested_model, asked.at, asked.since))
    return found


def _explains(change: FoundChange, suspicion: Suspicion) -> bool:
    """Return whether something noticed on a route belongs to a change that references found there."""
    near = change.since - _SAME_S <= suspicion.at <= change.at + _SAME_S
    return near and change.route == suspicion.route


def asker(settings: Settings, stores: Stores, instruments: Instruments, monitor: Monitor) -> ReferenceAsker:
    """Return the caller of references for the routes that this monitor watches."""
    return ReferenceAsker(
        stores.references,
        stores.verdicts,
        ReferenceCaller(
            instruments.replayer,
            instruments.ledger,
            instruments.prices,
            replays.reference_target(settings),
        ),
        AskerSettings(
            pace_of(settings),
            routes=tuple(route.name for route in settings.routes),
            level=reference_level(settings),
        ),
        noticed=partial(noticed, monitor.changes, monitor.change_records, monitor.silent, time.time),
        tally=instruments.tally,
        clock=time.time,
    )


def judge_panel(
    settings: Settings, stores: Stores, instruments: Instruments, monitor: Monitor
) -> JudgePanel | None:
    """Return the asker of the panel of the judge of these routes; None without a judge."""
    if instruments.judge is None:
        return None

    def moved() -> dict[str, float]:
        moved_at: dict[str, float] = {}
        for changes in monitor.changes():
            falls = kinds.select(changes.latest, {kinds.RATINGS})
            if falls:
                moved_at[changes.route] = max(mark.at for mark in falls)
        return moved_at

    return JudgePanel(
        store=stores.panels,
        verdicts=stores.verdicts,
        rater=JudgeRater(instruments.judge, fresh=True),
        budget=RouteBudget(instruments.ledger, "", "judge", urgent=True),
        model=instruments.judge.model,
        routes=[route.name for route in settings.routes],
        suspected=moved,
        clock=time.time,
    )


def cost_lines(settings: Settings) -> Iterator[str]:
    """Yield the daily cost of reference prompts for each route."""
    pace = pace_of(settings)
    if pace.calls_per_day == 0:
        yield "reference prompts: none are asked; a change that nobody announces is not found"
        return
    tokens_in, tokens_out = USUAL_TOKENS
    usd = replays.budgeted_prices(settings).usd(_USUAL_MODEL, tokens_in, tokens_out)
    most = pace.calls_per_day + BURSTS_A_DAY * pace.burst_calls
    limit = "no limit" if pace.usd_per_day is None else f"limit ${pace.usd_per_day:.2f}"
    yield (
        f"reference prompts: {pace.calls_per_day:,} calls of each route a day, "
        f"${pace.calls_per_day * usd:.2f} at the price of {_USUAL_MODEL} and {tokens_in:,} tokens in and "
        f"{tokens_out:,} out a call; {most:,} calls, ${most * usd:.2f}, on a day with three "
        f"suspicions; {limit}"
    )
