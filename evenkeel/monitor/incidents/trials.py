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

_WORST: Final = 3
# Most alerts of an incident whose trials are searched for the worst ones.
_MOST_ALERTS: Final = 4
# Most verdicts returned for an alert, the newest.
_MOST_VERDICTS: Final = 100
# Most verdicts of the log that are scanned for an alert.
_MOST_SCANNED: Final = 20_000
# Verdicts read from the log in one query.
_AT_ONCE: Final = 500


def verdicts_behind(log: VerdictLog, event: AlertEvent) -> list[LoggedVerdict]:
    """Return the rated trials of an event's cell up to the deciding one, newest first, a hundred at most.

    Returns: the trials of the event's run; fewer once the log has dropped the oldest. The run was selected
        after the fact, so its mean overstates the change.
    """
    if event.what == "change":
        # A change is detected from answers and reference prompts, not from trials; its report shows them.
        return []
    wanted = min(_MOST_VERDICTS, event.run_trials or _MOST_VERDICTS)
    narrow = Narrow.by(route=event.route, perturbation=event.perturbation, rating=(1, 2, 3))
    verdicts: list[LoggedVerdict] = []
    offset, scanned = event.offset + 1, 0
    while offset > 0 and len(verdicts) < wanted and scanned < _MOST_SCANNED:
        stretch = log.read_before(offset, _AT_ONCE, narrow)
        for logged in stretch.verdicts:
            if _counts(logged, event):
                verdicts.append(logged)
        offset, scanned = stretch.reached, scanned + max(1, stretch.looked_at)
    return verdicts[:wanted]


def _counts(logged: LoggedVerdict, event: AlertEvent) -> bool:
    """Return whether the event's detector counted a verdict.

    An event of `OTHER_MODEL` matches all models: the monitor does not tell apart those beyond its limit.
    """
    return not logged.verdict.selection.split_of and event.model in {logged.verdict.model, OTHER_MODEL}


def worst_trials(log: VerdictLog, incident: Incident) -> list[Verdict]:
    """Return the three trials behind an incident with the lowest ratings, worst first, one per exchange.

    Only trials that shifted while their control did not. Answers that became better come last. Among equal
    ratings, routes and rewordings not chosen yet come first, then single rewordings before combined ones.
    """
    worst: dict[str, Verdict] = {}
    parts = []
    for part in incident.present or incident.parts:
        # A resend that moved shows noise, not what a rewording does.
        if part.raised.perturbation != BASELINE:
            parts.append(part)
    for part in sorted(parts, key=_rank)[:_MOST_ALERTS]:
        for logged in verdicts_behind(log, part.raised):
            verdict = logged.verdict
            if verdict.shifted and verdict.control.shifted is False:
                worst[verdict.id] = verdict
    chosen: list[Verdict] = []
    left = list(worst.values())
    while left and len(chosen) < _WORST:
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
    similarity = 1.0 if verdict.similarity is None else verdict.similarity
    return verdict.direction != "worse", similarity, verdict.id
