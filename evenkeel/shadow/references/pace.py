"""Pace of reference prompts: decides which are asked now, but asks none.

Young references are filled first, up to four answers, one after another; then the calls of the day are
spread over the day, over the prompt versions in turn, and within one over its references, the one that was
asked longest ago first. Where a change is suspected, a burst asks four at a time, each another prompt, until
the change is found or the burst is used up. Nothing is asked that the traffic of the last day would not ask.
"""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NamedTuple

from evenkeel.core.backoff import Backoff
from evenkeel.stores.references import FULL, AskedToday

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from evenkeel.core.sightings import Asked
    from evenkeel.stores.references import ReferenceState

DAY_S: Final = 86_400.0
BURST_CALLS: Final = 60
"""Further calls at once where a change is suspected; twice a day at most."""
_FILL_SHARE: Final = 0.75
"""Share of the daily calls for filling references. The rest is asked in turn, so that the whole day is
watched."""
_FILL_PAUSE_S: Final = 2.0
_BURSTS_A_DAY: Final = 2
_AT_ONCE: Final = 4
_COMPARABLE: Final = 2
"""Answers that the new one of a burst has to be compared with."""
_FAILED: Final = Backoff(600.0, 86_400.0)
"""Pauses after failed calls: ten minutes at first, doubling up to a day."""


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


class Found(NamedTuple):
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


Group = tuple[str, str]
"""Requested model and prompt version."""


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
    asked: AskedToday, suspicions: Iterable[Suspicion], found: Iterable[Found], pace: Pace, now: float
) -> AskedToday:
    """Begin a burst where a change is suspected, and end it once the change is found.

    What a burst leaves over fills the references anew, so that the next change is found too.

    Args:
        asked: today, on a route.
        suspicions: those `concerning` the route.
        found: on any route.
        pace: what may be asked.
        now: Unix time in seconds.
    """
    new = [one for one in suspicions if one.at > asked.suspected_at]
    if new and pace.burst_calls and asked.bursts < _BURSTS_A_DAY:
        latest = max(new, key=lambda one: one.at)
        asked = replace(
            asked,
            bursts=asked.bursts + 1,
            suspected_at=latest.at,
            burst_model=latest.requested_model or "",
            burst_at=now,
            burst_left=pace.burst_calls,
        )
    over = any(
        one.route == asked.route and one.requested_model == asked.burst_model and one.at >= asked.suspected_at
        for one in found
    )
    if asked.burst_left and over:
        asked = replace(asked, spare=asked.spare + asked.burst_left, burst_left=0)
    return asked


def concerning(
    suspicions: Iterable[Suspicion], route: str, states: Sequence[ReferenceState], seen: Mapping[Group, float]
) -> list[Suspicion]:
    """Return the suspicions that the references of a route can settle, each with its requested model.

    They are about the route, or about another one that asks the same model by name.

    Args:
        suspicions: of any routes.
        route: which.
        states: its references.
        seen: when its traffic asked last, by requested model and prompt version.
    """
    models = {one.requested_model for one in states}
    asked_at: dict[str, float] = dict.fromkeys(models, 0.0)
    for (model, _), at in seen.items():
        if model in models:
            asked_at[model] = max(asked_at[model], at)
    latest = max(sorted(models), key=lambda one: asked_at[one], default="")
    found = []
    for one in suspicions:
        named = one.requested_model
        if one.route == route and named is None:
            found.append(one._replace(requested_model=latest))
        elif named is not None and named in models and (one.route == route or named):
            found.append(one)
    return found


def next_round(
    states: Sequence[ReferenceState],
    asked: AskedToday,
    seen: Mapping[Group, float],
    pace: Pace,
    now: float,
    *,
    call_usd: float = 0.0,
) -> Round | None:
    """Return the references to ask on a route now; None if nothing is due.

    Args:
        states: its references.
        asked: what has been asked today, after `responded`.
        seen: when the traffic asked last, by requested model and prompt version.
        pace: what may be asked.
        now: Unix time in seconds.
        call_usd: what a call costs, about.
    """
    affordable = _AT_ONCE
    if pace.usd_per_day is not None and call_usd > 0:
        affordable = min(_AT_ONCE, int((pace.usd_per_day - asked.usd) / call_usd))
    elif pace.usd_per_day is not None and asked.usd >= pace.usd_per_day:
        affordable = 0
    able = [one for one in states if _is_asked(one, seen, now)]
    if affordable <= 0 or not able or pace.calls_per_day == 0:
        return None
    if asked.burst_left:
        chosen = _of_burst(able, asked)
        if chosen:
            return Round("suspicion", chosen[: min(affordable, asked.burst_left)])
    return _in_turn(able, asked, pace, now)


def _is_asked(state: ReferenceState, seen: Mapping[Group, float], now: float) -> bool:
    last_seen = max(state.taken_at, seen.get((state.requested_model, state.prompt_version), 0.0))
    return last_seen > now - DAY_S and state.asked_at <= now - _FAILED.pause_s(state.failed)


def _of_burst(able: Sequence[ReferenceState], asked: AskedToday) -> tuple[str, ...]:
    """Return references of the suspected model: first those not asked in this burst, with most to compare."""
    found = [
        one
        for one in able
        if one.requested_model == asked.burst_model and one.answers >= _COMPARABLE and not one.failed
    ]
    began = int(asked.burst_at)
    found.sort(key=lambda one: (one.asked_at if one.asked_at >= began else 0.0, -one.answers, one.id))
    return tuple(one.id for one in found)


def _in_turn(able: Sequence[ReferenceState], asked: AskedToday, pace: Pace, now: float) -> Round | None:
    young = [one for one in able if one.answers < FULL]
    left = pace.calls_per_day - asked.calls
    fillable = asked.spare > 0 or (left > 0 and asked.fills < _FILL_SHARE * pace.calls_per_day)
    if young and fillable:
        if now < asked.asked_at + _FILL_PAUSE_S:
            return None
        # Those that lack least first, so that there soon are some to ask in turn.
        chosen = min(_of_next_version(young), key=lambda one: (-one.answers, one.asked_at, one.id))
        return Round("fill", (chosen.id,))
    if left <= 0 or now < asked.asked_at + (DAY_S - now % DAY_S) / left:
        return None
    full = [one for one in able if one.answers >= FULL] or able
    chosen = min(_of_next_version(full), key=lambda one: (one.asked_at, one.id))
    return Round("round", (chosen.id,))


def _of_next_version(states: Iterable[ReferenceState]) -> list[ReferenceState]:
    """Return the references of the model and prompt version that was asked least recently."""
    groups: dict[Group, list[ReferenceState]] = defaultdict(list)
    for one in states:
        groups[one.requested_model, one.prompt_version].append(one)
    return min(groups.items(), key=lambda group: (max(one.asked_at for one in group[1]), group[0]))[1]


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
