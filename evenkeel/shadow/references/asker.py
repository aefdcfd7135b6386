"""Asks reference prompts again, and notes how the new answers rank among the earlier ones."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from evenkeel.core.backoff import Backoff
from evenkeel.core.sightings import ReferenceAnswered, reference_answer_id
from evenkeel.core.text import named
from evenkeel.core.verdict import INTERNAL_ERROR, Failure
from evenkeel.shadow.references.pace import (
    Round,
    count_of_day,
    next_round,
    suspicions_about,
    with_burst,
    with_round,
)
from evenkeel.shadow.references.pooling import EVERY, pooled
from evenkeel.shadow.references.ranking import ranked
from evenkeel.stores.references import KeptAnswer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from evenkeel.core.pair import Answer
    from evenkeel.core.sightings import PooledComparison
    from evenkeel.shadow.references.caller import ReferenceCaller
    from evenkeel.shadow.references.pace import Asked, FoundChange, Pace, Suspicion
    from evenkeel.stores.counters import Tally
    from evenkeel.stores.references import AskedToday, Reference, ReferenceState, ReferenceStore
    from evenkeel.stores.verdict_log import VerdictLog


log = logging.getLogger("evenkeel")

# Latest verdicts of a route that are searched for the current prompts.
_LOOKED_AT: Final = 500
_LOOK_EVERY_S: Final = 300.0
# Pruning reads all references of all routes.
_PRUNE_EVERY_S: Final = 3_600.0
# A renamed model is looked at soon, since its references may have to move with it.
_RENAMED_EVERY_S: Final = 30.0
# Pause after a budget refused a call, in seconds.
_REFUSED_PAUSE_S: Final = 300.0
# Pauses of a route after failed calls.
_FAILED: Final = Backoff(30.0, 3_600.0)
# Failures in a row after which a reference is given up.
_MOST_FAILED: Final = 6
# Failures that are about the request, not about the endpoint.
_OF_ONE: Final = frozenset({"rejected"})
# Failures for which nothing was sent.
_NOT_NOW: Final = frozenset({"unpriced", "budget"})


class ModelRename(NamedTuple):
    """Change of the model name that a route's endpoint returns."""

    route: str
    model: str
    """New model name."""
    at: float
    """Unix time in seconds."""


@dataclass(frozen=True, slots=True)
class MonitorFindings:
    """Findings of the monitor in the last day."""

    suspected: tuple[Suspicion, ...] = ()
    """Suspected changes on any route."""
    found: tuple[FoundChange, ...] = ()
    renamed: tuple[ModelRename, ...] = ()


@dataclass(frozen=True, slots=True)
class AskerSettings:
    """Settings of one asker."""

    pace: Pace
    """Limits on the calls of a route."""
    routes: tuple[str, ...]
    """All routes; references of others are forgotten."""
    level: float
    """Evidence at which a change is found, as of `ReferenceTest`."""


@dataclass(slots=True)
class _Standing:
    """State of the calls of a route. It is kept in memory only, so a restart tries again."""

    paused_until: float = 0.0
    failures: int = 0
    """Calls that failed in a row."""
    call_usd: float = 0.0
    """Cost of the last call."""
    looked_at: float = 0.0
    seen: dict[str, float] = field(default_factory=dict)
    """Time at which the traffic last asked, by requested model."""

    def failed(self, now: float) -> None:
        """Wait longer after each failure."""
        self.failures += 1
        self.paused_until = now + _FAILED.pause_s(self.failures)


class ReferenceAsker:
    """Asks the references of some routes; `step` makes the due calls.

    Only one asker at a time may use a store.
    """

    def __init__(
        self,
        store: ReferenceStore,
        verdicts: VerdictLog,
        caller: ReferenceCaller,
        settings: AskerSettings,
        *,
        noticed: Callable[[], MonitorFindings],
        tally: Tally,
        clock: Callable[[], float],
    ) -> None:
        """Wire it.

        `noticed` returns the monitor's findings, and may block. The clock gives Unix time in seconds.
        """
        self._store = store
        self._verdicts = verdicts
        self._caller = caller
        self._pace = settings.pace
        self._standing = {route: _Standing() for route in settings.routes}
        self._known = settings.routes
        self._noticed = noticed
        self._level = settings.level
        self._tally = tally
        self._clock = clock
        self._pruned_at = 0.0
        self._renamed_at = 0.0
        # Answers since the last look at all references, by route and requested model.
        self._unlooked: Counter[tuple[str, str]] = Counter()

    async def step(self) -> int:
        """Ask the due references of every route. Return the number of calls made."""
        due = await asyncio.to_thread(self._due)
        made = await asyncio.gather(*(self._ask_round(asked, reference) for asked, reference in due))
        return sum(made)

    def _due(self) -> list[tuple[AskedToday, Round]]:
        """Return the due rounds, each with the day's count of calls. Blocks on storage."""
        now = self._clock()
        if now >= self._pruned_at + _PRUNE_EVERY_S:
            self._prune(now)
        if self._pace.calls_per_day == 0:
            return []
        states = self._store.states()
        noticed = self._noticed() if states else MonitorFindings()
        if self._renew(states, noticed, now):
            states = self._store.states()
        due = []
        for route, standing in self._standing.items():
            own = []
            for state in states:
                if state.route == route:
                    own.append(state)
            if not own or now < standing.paused_until:
                continue
            before = self._store.asked(route)
            seen = self._seen(route, standing, now)
            suspected = suspicions_about(noticed.suspected, route, own, seen)
            asked = with_burst(count_of_day(before, route, now), suspected, noticed.found, self._pace, now)
            if asked != before:
                self._store.put_asked(asked)
            round_due = next_round(own, asked, seen, self._pace, now, call_usd=standing.call_usd)
            if round_due is not None:
                due.append((asked, round_due))
        return due

    def _prune(self, now: float) -> None:
        """Delete references that are too old or can't be asked; all of them if nothing is to be asked."""
        self._pruned_at = now
        forgotten = self._store.prune(now, self._known) if self._pace.calls_per_day else self._store.drop()
        for state in self._store.states():
            if state.failed >= _MOST_FAILED:
                self._store.remove(state.id)
                forgotten += 1
        if forgotten:
            log.info("%d reference prompt(s) were forgotten", forgotten)

    def _seen(self, route: str, standing: _Standing, now: float) -> dict[str, float]:
        if now >= standing.looked_at + _LOOK_EVERY_S:
            standing.looked_at = now
            standing.seen = {}
            for verdict in self._verdicts.latest(_LOOKED_AT, route=route):
                model = verdict.origin.requested_model or ""
                standing.seen[model] = max(verdict.scored_at, standing.seen.get(model, 0.0))
        return standing.seen

    def _renew(self, states: Sequence[ReferenceState], noticed: MonitorFindings, now: float) -> bool:
        """Restart references whose answers are older than a change. Return whether there were any."""
        changed = False
        for change in noticed.found:
            for state in states:
                if (state.route, state.requested_model) != (change.route, change.requested_model):
                    continue
                if state.changed_at < int(change.at) and state.taken_at <= change.at:
                    self._store.update(state.id, partial(_after, change=change))
                    changed = True
        if noticed.renamed and now >= self._renamed_at + _RENAMED_EVERY_S:
            self._renamed_at = now
            for renamed in noticed.renamed:
                changed |= self._rename(renamed, now)
        return changed

    def _rename(self, renamed: ModelRename, now: float) -> bool:
        """Compare with answers of the new model only, where a reference has been answered by it."""
        references = self._store.of_route(renamed.route)
        switched = set()
        for reference in references:
            if any(answer.model == renamed.model for answer in reference.answers):
                switched.add(reference.requested_model)

        def renew(stale: Reference) -> Reference:
            return stale.renewed(lambda kept: kept.model == renamed.model, at=renamed.at, since=now)

        changed = False
        for reference in references:
            is_mixed = any(answer.model != renamed.model for answer in reference.answers)
            if reference.requested_model in switched and reference.changed_at < renamed.at and is_mixed:
                self._store.update(reference.id, renew)
                changed = True
        return changed

    async def _ask_round(self, asked: AskedToday, due: Round) -> int:
        """Make the calls of a round. Return the number of calls made."""
        found = map(self._store.find, due.references)
        references = await asyncio.to_thread(lambda: list(filter(None, found)))
        if not references:
            return 0
        # Noted before anything is sent, so that no stop can make it more than the settings allow.
        made = Round(due.asked, tuple(reference.id for reference in references))
        noted = with_round(asked, made, self._clock())
        await asyncio.to_thread(self._store.put_asked, noted)
        costs = await asyncio.gather(*(self._ask(reference, due.asked) for reference in references))
        spent = [cost for cost in costs if cost is not None]
        self._standing[asked.route].call_usd = max(spent, default=0.0)
        # A round that the budget did not allow at all counts for nothing.
        after = replace(noted, usd=noted.usd + sum(spent)) if spent else asked
        await asyncio.to_thread(self._store.put_asked, after)
        return len(spent)

    async def _ask(self, reference: Reference, why: Asked) -> float | None:
        """Ask a reference and store the result. Return its cost in US dollars; None if it was not asked."""
        try:
            reply = await self._caller.ask(reference)
            if isinstance(reply, str):
                self._tally.add("references_failed", route=reference.route, reason=reply)
                await asyncio.to_thread(self._store.remove, reference.id)
                return None
            outcome, spent = reply
            self._tally.add("spend_tokens", spent.tokens, route=reference.route)
            self._tally.add("spend_usd", spent.usd, route=reference.route)
            if isinstance(outcome, Failure):
                await asyncio.to_thread(self._note_failure, reference, outcome.reason)
                return None if outcome.reason in _NOT_NOW else spent.usd
            self._standing[reference.route].failures = 0
            await asyncio.to_thread(self._note, reference, outcome.answer, self._clock())
            self._tally.add("references_asked", route=reference.route, asked=why)
        except Exception:  # the boundary of a call: who was asked longest ago would be asked again and again
            log.exception("the answer to reference %s cannot be used", reference.id)
            self._tally.add("references_failed", route=reference.route, reason=INTERNAL_ERROR)
            await asyncio.to_thread(self._store.update, reference.id, partial(_failed, at=self._clock()))
            return 0.0
        return spent.usd

    def _note_failure(self, reference: Reference, reason: str) -> None:
        """Note why a reference was not answered, and when its route is asked next."""
        self._tally.add("references_failed", route=reference.route, reason=reason)
        now, standing = self._clock(), self._standing[reference.route]
        if reason in _NOT_NOW:
            standing.paused_until = now + _REFUSED_PAUSE_S
            return
        if reason not in _OF_ONE:
            standing.failed(now)
        self._store.update(reference.id, partial(_failed, at=now))
        self._verdicts.note(replace(_noted(reference, now), failure=reason))

    def _note(self, reference: Reference, answer: Answer, now: float) -> None:
        """Rank an answer and add it to the reference.

        If the reference was deleted meanwhile, nothing is stored.
        """
        ranking = ranked(
            [answer.answer for answer in reference.answers],
            answer,
            [answer.answer for answer in reference.before],
        )
        model = named(answer.model or reference.requested_model or "unknown")
        kept = KeptAnswer(answer, now, model, "asked")
        if self._store.update(reference.id, lambda reference: reference.answered(kept)) is None:
            return
        noted = replace(
            _noted(reference, now),
            model=model,
            **ranking._asdict(),
            system_fingerprint=named(answer.system_fingerprint or ""),
            pooled=self._look(reference.route, reference.requested_model),
        )
        self._verdicts.note(noted)

    def _look(self, route: str, model: str) -> PooledComparison | None:
        """Compare all references of a model at once, if that is due."""
        self._unlooked[route, model] += 1
        if self._unlooked[route, model] < EVERY:
            return None
        del self._unlooked[route, model]
        references = []
        for reference in self._store.of_route(route):
            if reference.requested_model == model:
                references.append(reference)
        return pooled(references, self._level)


def _failed(reference: Reference, *, at: float) -> Reference:
    return replace(reference, asked_at=at, failed=reference.failed + 1)


def _after(reference: Reference, *, change: FoundChange) -> Reference:
    return reference.renewed(lambda answer: answer.at > change.at, at=change.at, since=change.since)


def _noted(reference: Reference, at: float) -> ReferenceAnswered:
    """Return the log entry of a call, without its outcome."""
    return ReferenceAnswered(
        id=reference_answer_id(reference.id, at),
        at=at,
        route=reference.route,
        model=reference.requested_model,
        requested_model=reference.requested_model,
        reference=reference.id,
    )
