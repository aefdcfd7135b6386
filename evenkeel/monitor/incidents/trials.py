"""Trials behind an alert, and the worst trials of an incident."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evenkeel.core.cells import OTHER_MODEL
from evenkeel.core.together import together_count
from evenkeel.core.verdict import BASELINE
from evenkeel.stores.trial_index import Narrow

if TYPE_CHECKING:
    from evenkeel.core.verdict import Verdict
    from evenkeel.monitor.incidents.incident import Incident, Part
    from evenkeel.stores.monitor_state import AlertEvent
    from evenkeel.stores.verdict_log import LoggedVerdict, VerdictLog

WORST: Final = 3
# Most alerts of an incident whose trials are searched for the worst.
_LOOKED_INTO: Final = 4
MOST_VERDICTS: Final = 100
"""Most verdicts returned for an alert, the newest."""
# Most verdicts that are scanned.
_SCANNED: Final = 20_000
# Verdicts read at once while the worst ones are looked for.
_AT_ONCE: Final = 500


def verdicts_behind(log: VerdictLog, event: AlertEvent, *, most: int = MOST_VERDICTS) -> list[LoggedVerdict]:
    """Return the rated trials of an event's cell up to the deciding one, newest first.

    Args:
        log: log of the verdicts.
        event: an alert that was raised or resolved.
        most: verdicts to give at most.

    Returns: as many as the event's run holds. Fewer once the log no longer has them. The run is chosen in
    hindsight, so its mean errs towards the change.
    """
    if event.what == "change":
        return []  # it rests on answers and references, which are in the report on the change
    wanted = min(most, event.run_trials or most)
    narrow = Narrow.by(route=event.route, perturbation=event.perturbation, rating=(1, 2, 3))
    verdicts: list[LoggedVerdict] = []
    at, looked_at = event.offset + 1, 0
    while at > 0 and len(verdicts) < wanted and looked_at < _SCANNED:
        stretch = log.read_before(at, _AT_ONCE, narrow)
        verdicts += [logged for logged in stretch.verdicts if _counts(logged, event)]
        at, looked_at = stretch.reached, looked_at + max(1, stretch.looked_at)
    return verdicts[:wanted]


def _counts(logged: LoggedVerdict, event: AlertEvent) -> bool:
    """Return whether the event's detector saw a verdict. Models without a place are not distinguished."""
    return not logged.verdict.selection.split_of and event.model in {logged.verdict.model, OTHER_MODEL}


def worst_trials(log: VerdictLog, incident: Incident, most: int = WORST) -> list[Verdict]:
    """Return the trials behind an incident that moved furthest while their control held, the worst first.

    Better answers come last. Each is of another exchange; among trials that are rated the same, of other
    routes and rewordings first, and of one rewording rather than several together.
    """
    worst: dict[str, Verdict] = {}
    parts = [part for part in incident.present or incident.parts if part.raised.perturbation != BASELINE]
    for part in sorted(parts, key=_rank)[:_LOOKED_INTO]:
        for logged in verdicts_behind(log, part.raised):
            verdict = logged.verdict
            if verdict.shifted and verdict.control.shifted is False:
                worst[verdict.id] = verdict
    chosen: list[Verdict] = []
    left = list(worst.values())
    while left and len(chosen) < most:
        named = [(verdict.route, verdict.perturbation) for verdict in chosen]
        best = min(
            left,
            key=lambda verdict: (
                verdict.direction == "better",
                verdict.rating or 3,
                named.count((verdict.route, verdict.perturbation)),
                together_count(verdict.perturbation) > 1,
                *_badness(verdict),
            ),
        )
        chosen.append(best)
        left = [verdict for verdict in left if verdict.exchange_id != best.exchange_id]
    return chosen


def _rank(part: Part) -> tuple[bool, float]:
    return together_count(part.raised.perturbation) > 1, -(part.raised.value or 0.0)


def _badness(verdict: Verdict) -> tuple[bool, float, str]:
    near = 1.0 if verdict.similarity is None else verdict.similarity
    return verdict.direction != "worse", near, verdict.id
