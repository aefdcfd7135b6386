"""Pace of reference prompts: which of them to call now. Nothing here makes a call.

New references are called first, one after another, until each has four answers. The other daily calls are
spread evenly over the rest of the day, so that nights are watched too; the reference called longest ago is
next. When a change is suspected, a burst calls four references at a time until the change is found or the
burst is used up. Models without traffic in the last day are not called. Prompt versions without traffic are:
only the same prompt tells a change of the model from a change of the prompt.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from evenkeel.core.backoff import Backoff
from evenkeel.stores.references import FULL, VECTORS, AskedToday

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from evenkeel.stores.references import ReferenceState

Asked = Literal["fill", "round", "suspicion"]
"""Reason for asking a reference: to complete its first answers, in its turn, or on suspicion of a change."""

DAY_S: Final = 86_400.0
BURST_CALLS: Final = 60
"""Calls of a burst, beyond the daily ones."""
# Share of the daily calls that may fill new references. The rest is spread over the day.
_FILL_SHARE: Final = 0.75
# Pause between two calls that fill new references, so that they do not run into the provider's rate limits.
_FILL_PAUSE_S: Final = 2.0
# A suspicion that comes back every hour must not cause a burst every hour.
BURSTS_A_DAY: Final = 3
_AT_ONCE: Final = 4
# Fewest earlier answers of a reference in a burst; with fewer, a new answer cannot be compared.
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
    """Requested model; None if unknown, which stands for the last one that the route's traffic requested."""
    at: float
    """Unix time in seconds."""


class FoundChange(NamedTuple):
    """Change of a model that the references of a route detected."""

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


def count_of_day(asked: AskedToday | None, route: str, now: float) -> AskedToday:
    """Return the day's count of calls. On a new day it starts from zero."""
    day = dt.datetime.fromtimestamp(now, dt.UTC).date().isoformat()
    if asked is None:
        return AskedToday(route, day)
    return (
        asked
        if asked.day == day
        else replace(asked, day=day, calls=0, fills=0, bursts=0, burst_calls=0, usd=0.0, spare=0)
    )


def with_burst(
    asked: AskedToday, suspicions: Iterable[Suspicion], changes: Iterable[FoundChange], pace: Pace, now: float
) -> AskedToday:
    """Start a burst if a change is suspected, and end it once the change is found.

    The unused calls of a burst refill the references with answers of the new model, so that the next change
    can be found. Pass the suspicions that `suspicions_about` returns.
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


def suspicions_about(
    suspicions: Iterable[Suspicion], route: str, states: Sequence[ReferenceState], seen: Mapping[str, float]
) -> list[Suspicion]:
    """Return the suspicions that calling a route's references can confirm, each with its requested model.

    A suspicion is about this route, or about another route with the same requested model. `seen` has the Unix
    time of the route's last traffic, by requested model.
    """
    models = {state.requested_model for state in states}
    latest = max(sorted(models), key=lambda model: seen.get(model, 0.0), default="")
    changes = []
    for suspicion in suspicions:
        named = suspicion.requested_model
        if suspicion.route == route and named is None:
            changes.append(suspicion._replace(requested_model=latest))
        # "" stands for requests that name no model, which says nothing about those of another route.
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

    `asked` is the day's count after `with_burst`; `seen` has the Unix time of the last traffic, by requested
    model; `call_usd` is the approximate cost of a call.
    """
    affordable = pace.calls_per_day
    if pace.usd_per_day is not None and call_usd > 0:
        affordable = int((pace.usd_per_day - asked.usd) / call_usd)
    elif pace.usd_per_day is not None and asked.usd >= pace.usd_per_day:
        affordable = 0
    able = []
    for state in states:
        if _is_asked(state, seen, now):
            able.append(state)
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
        # Embeddings have no verdicts that show the last traffic. Calls for them cost next to nothing.
        last_seen = now
    return last_seen > now - DAY_S and state.asked_at <= now - _FAILED.pause_s(state.failed)


def _of_burst(able: Sequence[ReferenceState], asked: AskedToday) -> tuple[str, ...]:
    """Return references of the suspected model: first those not called in this burst, with most answers."""
    references = []
    for state in able:
        if state.requested_model == asked.burst_model and state.answers >= _COMPARABLE and not state.failed:
            references.append(state)
    began = int(asked.burst_at)
    references.sort(
        key=lambda state: (state.asked_at if state.asked_at >= began else 0.0, -state.answers, state.id)
    )
    return tuple(state.id for state in references)


def _in_turn(
    able: Sequence[ReferenceState], asked: AskedToday, pace: Pace, now: float, affordable: int
) -> Round | None:
    young = []
    for state in able:
        if state.answers < FULL:
            young.append(state)
    left = min(pace.calls_per_day - asked.calls, affordable)
    fillable = asked.spare > 0 or (left > 0 and asked.fills < _FILL_SHARE * pace.calls_per_day)
    if young and fillable:
        if now < asked.asked_at + _FILL_PAUSE_S:
            return None
        # The reference that lacks fewest answers comes first, so that some are soon complete.
        chosen = min(young, key=lambda state: (-state.answers, state.asked_at, state.id))
        return Round("fill", (chosen.id,))
    if left <= 0 or now < asked.asked_at + (DAY_S - now % DAY_S) / left:
        return None
    full = [state for state in able if state.answers >= FULL] or able
    chosen = min(full, key=lambda state: (state.asked_at, state.id))
    return Round("round", (chosen.id,))


def with_round(asked: AskedToday, due: Round, now: float) -> AskedToday:
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
