"""Rounds of a judge's panel: stored pairs of answers that it rates again every day (`evenkeel.core.panel`).

Without it, a judge that was replaced behind its name looks the same as a model that changed. Pairs are taken
from the trials that the judge has rated, at most half of them with the highest rating. The first three
ratings of each pair are its yardstick. A round is due every day, and at once where answers or ratings moved.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from evenkeel.core.budget import scoring_paid_by
from evenkeel.core.pair import Pair
from evenkeel.core.panel import FEWEST, MOST, PANEL, YARDSTICK, PairRated, PanelRated
from evenkeel.core.verdict import stage_of
from evenkeel.stores.panels import PanelPair
from evenkeel.stores.verdict_log import readable_evidence

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from evenkeel.core.budget import CallBudget
    from evenkeel.core.verdict import Verdict
    from evenkeel.metrics.protocol import Rater
    from evenkeel.stores.panels import PanelDays, PanelStore
    from evenkeel.stores.verdict_log import VerdictLog

log = logging.getLogger("evenkeel")

_DAY_S: Final = 86_400.0
_HOUR_S: Final = 3_600.0
_LOOK_EVERY_S: Final = 300.0
# Pause between looks for pairs while no panel has enough.
_LOOK_SOON_S: Final = 15.0
# Latest verdicts of a route among which pairs are looked for.
_LOOKED_AT: Final = 500
# Fewest seconds between two rounds because of suspicions.
_SUSPECTED_EVERY_S: Final = 600.0
_HIGHEST: Final = 3
# Few at once: the judge also rates live trials meanwhile.
_AT_ONCE: Final = 4


@dataclass(slots=True, kw_only=True)
class JudgePanel:
    """Asks the panels of the judges that rate some routes; `step` makes the calls that are due."""

    store: PanelStore
    """Pairs and times of rounds."""
    verdicts: VerdictLog
    """Log that pairs come from, and where rounds are noted."""
    rater: Rater
    """The judge, without memory of what it said."""
    budget: CallBudget
    model: str
    """Name of the judge's model."""
    routes: Sequence[str]
    """Routes whose judge is watched here."""
    suspected: Callable[[], Mapping[str, float]]
    """Unix time in seconds at which answers or ratings of a route moved last, by route. May block."""
    clock: Callable[[], float]
    """Unix time in seconds."""
    _look_at: float = field(default=0.0, init=False)
    _watched: dict[str, list[str]] = field(default_factory=dict, init=False)
    """Routes whose latest trials a judge rated, by the judge's model and the version of its prompt."""

    async def step(self) -> int:
        """Take new pairs and make the rounds that are due. Return the number of rounds."""
        now = self.clock()
        # Reading five hundred verdicts of each route every second would cost more than the panel.
        if now >= self._look_at:
            await asyncio.to_thread(self._look, now)
            self._look_at = now + (_LOOK_EVERY_S if self._watched else _LOOK_SOON_S)
        rounds = 0
        for judge, routes in self._watched.items():
            pairs = await asyncio.to_thread(self.store.pairs, judge)
            if len(pairs) < FEWEST:
                self._look_at = min(self._look_at, now + _LOOK_SOON_S)
                continue
            await self._complete(pairs)
            rounds += await self._round(judge, routes, now)
        return rounds

    def _look(self, now: float) -> None:
        """Find the judge of each route, and fill the panels from the latest trials. Blocks on storage."""
        self._watched = {}
        judged: dict[str, list[Verdict]] = {}
        for route in self.routes:
            newest = self.verdicts.latest(_LOOKED_AT, route=route)
            rated = []
            for verdict in newest:
                if self._judged(verdict):
                    rated.append(verdict)
            if rated:
                # The newest verdict names the judge and its wording as they are now.
                judge = f"{rated[0].scoring.judge_model} {rated[0].scoring.rated_by}"
                self._watched.setdefault(judge, []).append(route)
                judged.setdefault(judge, []).extend(rated)
        if judged:
            self.store.prune(now, list(judged))
        for judge, verdicts in judged.items():
            self._fill(judge, verdicts)

    def _judged(self, verdict: Verdict) -> bool:
        """Return whether the judge gave a verdict its rating."""
        scoring = verdict.scoring
        asked = scoring.rated_by and scoring.judge_model == self.model
        return bool(asked) and verdict.rating is not None and stage_of(scoring.details) == "judge"

    def _fill(self, judge: str, verdicts: Sequence[Verdict]) -> None:
        """Take pairs for the free places of a panel: half with the highest rating, half below it."""
        pairs = self.store.pairs(judge)
        panel_ids = {pair.id for pair in pairs}
        free = MOST - len(pairs)
        taken: Counter[bool] = Counter(pair.ratings[:1] == (_HIGHEST,) for pair in pairs)
        for verdict in verdicts:
            highest = verdict.rating == _HIGHEST
            if free <= 0:
                return
            # Half of the places for the highest rating: a panel of 3s alone would not show a milder judge.
            if verdict.id in panel_ids or taken[highest] >= MOST // 2:
                continue
            evidence = readable_evidence(self.verdicts, verdict.id)
            if evidence is None or evidence.candidate is None:
                continue
            pair = PanelPair(
                id=verdict.id, judge=judge, taken_at=self.clock(), reference=evidence.reference,
                candidate=evidence.candidate,
            )  # fmt: skip
            self.store.put(pair)
            taken[highest] += 1
            free -= 1

    async def _complete(self, pairs: list[PanelPair]) -> None:
        """Rate new pairs until each has its yardstick. One that cannot be rated is tried again later."""
        for _ in range(YARDSTICK):
            rated = await self._rate([pair for pair in pairs if len(pair.ratings) < YARDSTICK])
            pairs = []
            for pair, rating in rated:
                complete = replace(pair, ratings=(*pair.ratings, rating))
                await asyncio.to_thread(self.store.put, complete)
                pairs.append(complete)

    async def _round(self, judge: str, routes: Sequence[str], now: float) -> int:
        """Make the round of a judge if it is due. Return the number of rounds."""
        days = await asyncio.to_thread(self.store.days, judge)
        if not days.rated_at:
            # The yardstick has just been taken.
            await asyncio.to_thread(self.store.put_days, replace(days, rated_at=now, same_at=now))
            return 0
        suspected_at = await asyncio.to_thread(self._doubted, routes, days, now)
        if suspected_at is None and now < days.rated_at + _DAY_S:
            return 0
        stored = await asyncio.to_thread(self.store.pairs, judge)
        # A pair without a full yardstick has nothing that a new rating could be compared with.
        pairs = [pair for pair in stored if len(pair.ratings) >= YARDSTICK]
        days = replace(days, rated_at=now, suspected_at=suspected_at or days.suspected_at)
        await asyncio.to_thread(self.store.put_days, days)
        compared = await self._rate(pairs)
        if len(compared) < FEWEST:
            # The judge or the budget is in trouble: again in an hour.
            await asyncio.to_thread(self.store.put_days, replace(days, rated_at=now - _DAY_S + _HOUR_S))
            return 0
        at = self.clock()
        rated = tuple(PairRated(pair.ratings, rating) for pair, rating in compared)
        # Every route has its own note: an incident looks at the judge of one route.
        for route in routes:
            note = PanelRated(f"{PANEL}{route}/{at!r}", at, route, judge, days.same_at, rated)
            await asyncio.to_thread(self.verdicts.note, note)
        if note.shows_change:
            log.warning("the judge %s rates the pairs of its panel otherwise than before", judge)
            # The changed judge is what later rounds are compared with: its rating begins a new yardstick.
            for pair, rating in compared:
                await asyncio.to_thread(self.store.put, replace(pair, ratings=(rating,)))
        elif note.is_as_before:
            await asyncio.to_thread(self.store.put_days, replace(days, same_at=at))
        return 1

    def _doubted(self, routes: Sequence[str], days: PanelDays, now: float) -> float | None:
        """Return the time of a suspicion that no round has looked into; None without any."""
        moved = self.suspected()
        latest = max((moved.get(route, 0.0) for route in routes), default=0.0)
        if latest <= max(days.suspected_at, days.same_at) or now < days.suspected_at + _SUSPECTED_EVERY_S:
            return None
        return latest

    async def _rate(self, pairs: Sequence[PanelPair]) -> list[tuple[PanelPair, int]]:
        """Return pairs with their ratings, without those that failed; stops where every call fails."""
        ratings: list[tuple[PanelPair, int]] = []
        with scoring_paid_by(self.budget):
            for first in range(0, len(pairs), _AT_ONCE):
                some = pairs[first : first + _AT_ONCE]
                rated = await self.rater.rate_all([Pair(pair.reference, pair.candidate, "") for pair in some])
                before = len(ratings)
                for pair, rating in zip(some, rated, strict=True):
                    if isinstance(rating.outcome, int):
                        ratings.append((pair, rating.outcome))
                # A judge that rates none of several pairs is down: the others would fail as well.
                if len(ratings) == before:
                    break
        return ratings
