"""Pace of reference prompts: decides which are asked now, but asks none.

Young references are filled first, up to four answers, one after another; then the calls that the day's limits
still allow are spread over what is left of the day, so that nights are watched too. The reference that was
asked longest ago comes first. Where a change is suspected, a burst asks four at a time, each another prompt,
until the change is found or the burst is used up. A model that the traffic of the last day did not ask is not
asked; a prompt version that it no longer uses is, since only the same words tell a new model from a new
prompt.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NamedTuple

from evenkeel.core.backoff import Backoff
from evenkeel.stores.references import FULL, VECTORS, AskedToday

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from evenkeel.core.sightings import Asked
    from evenkeel.stores.references import ReferenceState

DAY_S: Final = 86_400.0
BURST_CALLS: Final = 60
"""Further calls at once where a change is suspected; three times a day at most."""
# Share of the daily calls for filling references. The rest is asked in turn, so that the whole day is
# watched.
_FILL_SHARE: Final = 0.75
# Between two calls that fill a new reference: a burst would look like traffic to the provider's limits.
_FILL_PAUSE_S: Final = 2.0
# A suspicion that comes back every hour must not use up the day's calls.
BURSTS_A_DAY: Final = 3
_AT_ONCE: Final = 4
# Answers that the new one of a burst has to be compared with.
_COMPARABLE: Final = 2
# Pauses after failed calls: ten minutes at first, doubling up to a day.
_FAILED: Final = Backoff(600.0, 86_400.0)


@dataclass(frozen=True, slots=True)
class Pace:
    """Limits on the calls of a route."""

    calls_per_day: int
    burst_calls: int
    usd_per_day: float | None


class Suspicion(NamedTuple):
    """Suspected change: something noticed on a route."""

    route: str
    requested_model: str | None
    """Requested model; None if unknown, which stands for the one that the route's traffic asked last."""
    at: float
    """Unix time in seconds."""


class FoundChange(NamedTuple):
    """A change of a model was found, by the references of a route."""

    route: str
    requested_model: str
    at: float
    """Unix time in seconds of the answer that decided it."""
    since: float
    """Unix time in seconds of the first answer that showed it."""


class Round(NamedTuple):
    """Reference calls that are due now, all at once."""

    asked: Asked
    references: tuple[str, ...]


def of_day(asked: AskedToday | None, route: str, now: float) -> AskedToday:
    """Return the day's count of calls. On a new day it starts from zero."""
    day = dt.datetime.fromtimestamp(now, dt.UTC).date().isoformat()
    if asked is None:
        return AskedToday(route, day)
    return (
        asked
        if asked.day == day
        else replace(asked, day=day, calls=0, fills=0, bursts=0, burst_calls=0, usd=0.0, spare=0)
    )


def responded(
    asked: AskedToday, suspicions: Iterable[Suspicion], changes: Iterable[FoundChange], pace: Pace, now: float
) -> AskedToday:
    """Begin a burst where a change is suspected, and end it once the change is found.

    What a burst leaves over fills the references anew, so that the next change is found too. The suspicions
    are those `concerning` the route.
    """
    latest = max(suspicions, key=lambda suspicion: suspicion.at, default=None)
    is_new = latest is not None and latest.at > asked.suspected_at
    if latest is not None and is_new and pace.burst_calls and asked.bursts < BURSTS_A_DAY:
        asked = replace(
            asked,
            bursts=asked.bursts + 1,
            suspected_at=latest.at,
            burst_model=latest.requested_model or "",
            burst_at=now,
            burst_left=pace.burst_calls,
        )
    for change in changes:
        is_asked = (change.route, change.requested_model) == (asked.route, asked.burst_model)
        if is_asked and change.at >= asked.suspected_at:
            return replace(asked, spare=asked.spare + asked.burst_left, burst_left=0)
    return asked


def concerning(
    suspicions: Iterable[Suspicion], route: str, states: Sequence[ReferenceState], seen: Mapping[str, float]
) -> list[Suspicion]:
    """Return the suspicions that the references of a route can settle, each with its requested model.

    They are about the route, or about another one that asks the same model by name. `seen` says when the
    route's traffic asked last, by requested model.
    """
    models = {state.requested_model for state in states}
    latest = max(sorted(models), key=lambda model: seen.get(model, 0.0), default="")
    changes = []
    for suspicion in suspicions:
        named = suspicion.requested_model
        if suspicion.route == route and named is None:
            changes.append(suspicion._replace(requested_model=latest))
        elif named is not None and named in models and (suspicion.route == route or named):
            changes.append(suspicion)
    return changes


def next_round(
    states: Sequence[ReferenceState],
    asked: AskedToday,
    seen: Mapping[str, float],
    pace: Pace,
    now: float,
    *,
    call_usd: float = 0.0,
) -> Round | None:
    """Return the references to ask on a route now; None if nothing is due.

    `asked` is the day's count after `responded`; `seen` says when the traffic asked last, by requested model;
    `call_usd` is what a call costs, about.
    """
    affordable = pace.calls_per_day
    if pace.usd_per_day is not None and call_usd > 0:
        affordable = int((pace.usd_per_day - asked.usd) / call_usd)
    elif pace.usd_per_day is not None and asked.usd >= pace.usd_per_day:
        affordable = 0
    able = [state for state in states if _is_asked(state, seen, now)]
    if affordable <= 0 or not able or pace.calls_per_day == 0:
        return None
    if asked.burst_left:
        chosen = _of_burst(able, asked)
        if chosen:
            return Round("suspicion", chosen[: min(_AT_ONCE, affordable, asked.burst_left)])
    return _in_turn(able, asked, pace, now, affordable)


def _is_asked(state: ReferenceState, seen: Mapping[str, float], now: float) -> bool:
    last_seen = max(state.taken_at, seen.get(state.requested_model, 0.0))
    if state.prompt_version == VECTORS:
        # No verdict says when the traffic asked for embeddings last; to ask for one costs next to nothing.
        last_seen = now
    return last_seen > now - DAY_S and state.asked_at <= now - _FAILED.pause_s(state.failed)


def _of_burst(able: Sequence[ReferenceState], asked: AskedToday) -> tuple[str, ...]:
    """Return references of the suspected model: first those not asked in this burst, with most to compare."""
    references = []
    for state in able:
        if state.requested_model == asked.burst_model and state.answers >= _COMPARABLE and not state.failed:
            references.append(state)
    began = int(asked.burst_at)
    references.sort(
        key=lambda state: (state.asked_at if state.asked_at >= began else 0.0, -state.answers, state.id)
    )
    return tuple(change.id for change in references)


def _in_turn(
    able: Sequence[ReferenceState], asked: AskedToday, pace: Pace, now: float, affordable: int
) -> Round | None:
    young = [state for state in able if state.answers < FULL]
    left = min(pace.calls_per_day - asked.calls, affordable)
    fillable = asked.spare > 0 or (left > 0 and asked.fills < _FILL_SHARE * pace.calls_per_day)
    if young and fillable:
        if now < asked.asked_at + _FILL_PAUSE_S:
            return None
        # Those that lack least first, so that there soon are some to ask in turn.
        chosen = min(young, key=lambda state: (-state.answers, state.asked_at, state.id))
        return Round("fill", (chosen.id,))
    if left <= 0 or now < asked.asked_at + (DAY_S - now % DAY_S) / left:
        return None
    full = [state for state in able if state.answers >= FULL] or able
    chosen = min(full, key=lambda state: (state.asked_at, state.id))
    return Round("round", (chosen.id,))


def counted(asked: AskedToday, due: Round, now: float) -> AskedToday:
    """Return the day's count with a round added.

    It is stored before the round is asked, so no crash can lose it.
    """
    count = len(due.references)
    further = asked.burst_calls + count
    if due.asked == "suspicion":
        return replace(asked, asked_at=now, burst_calls=further, burst_left=max(0, asked.burst_left - count))
    if due.asked == "fill" and asked.spare > 0:
        return replace(asked, asked_at=now, burst_calls=further, spare=max(0, asked.spare - count))
    fills = asked.fills + (count if due.asked == "fill" else 0)
    return replace(asked, asked_at=now, calls=asked.calls + count, fills=fills)
