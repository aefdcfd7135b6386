"""Scores answers to reference prompts of before and after a silent change: are they better or worse?"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from evenkeel.core.budget import RouteBudget, scoring_paid_by
from evenkeel.core.pair import Pair
from evenkeel.monitor.changes.examples import both_sides
from evenkeel.release.goldens.candidates import prompt_text
from evenkeel.stores.changes import AnswerScores, ScoredReference

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from evenkeel.core.budget import CostTracker
    from evenkeel.core.verdict import Judgement
    from evenkeel.metrics.scoring import TwoStageScorer
    from evenkeel.monitor.changes import ChangeRecord
    from evenkeel.monitor.changes.examples import BothSides
    from evenkeel.monitor.detect.references import ReferenceEvidence
    from evenkeel.stores.changes import ChangeStore, Move
    from evenkeel.stores.references import Reference, ReferenceStore

MOST: Final = 12
"""References of a change that are scored."""
# A change that was found earlier is not scored: the monitor may fold an old log from its start.
_STALE_S: Final = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceScores:
    """Scores each silent change once. Needs an event loop."""

    records: Callable[[], Sequence[ChangeRecord]]
    """The latest changes of all routes."""
    store: ChangeStore
    references: ReferenceStore
    scorer: TwoStageScorer
    costs: CostTracker
    """Tracks the daily budgets."""
    tasks: Mapping[str, str | None]
    """Task that the settings name, by route, for references that know none."""
    load: Callable[[], object] = lambda: None
    """Loads what scoring needs, in a thread, once there is a change."""
    clock: Callable[[], float]
    """Unix time in seconds."""

    async def step(self) -> int:
        """Score the changes that were found since the last step; returns how many there were."""
        records = await asyncio.to_thread(self._due)
        if records:
            await asyncio.to_thread(self.load)
        for record in records:
            assert record.silent is not None
            assert record.silent.references is not None
            sides = await asyncio.to_thread(self._sides, record.route, record.silent.references)
            results = [await self._score(reference, both) for reference, both in sides]
            scores = AnswerScores(
                record.id, record.route, self.clock(), self.scorer.scorer == "judge", tuple(results)
            )
            await asyncio.to_thread(self.store.put_scores, scores)
        return len(records)

    def _due(self) -> list[ChangeRecord]:
        now = self.clock()
        due = []
        for record in self.records():
            if record.route not in self.tasks or record.silent is None:
                continue
            if record.silent.references.at < now - _STALE_S:
                continue
            # Asked last: the first monitor that asks takes the work.
            if self.store.respond(f"{record.id}/scores", now):
                due.append(record)
        return due

    def _sides(self, route: str, evidence: ReferenceEvidence) -> list[tuple[Reference, BothSides]]:
        """References with an answer before and one since, those that moved furthest first."""
        moved = {}
        for rank, name in enumerate(evidence.references):
            moved[name] = rank
        kept = []
        for reference in self.references.of_route(route):
            if reference.requested_model == evidence.requested_model:
                kept.append(reference)
        kept.sort(key=lambda reference: (moved.get(reference.id, len(moved)), reference.id))
        sides = []
        for reference in kept:
            both = both_sides(reference, evidence)
            if both is not None:
                sides.append((reference, both))
        return sides[:MOST]

    async def _score(self, reference: Reference, both: BothSides) -> ScoredReference:
        before, after = both.before.answer, both.after.answer
        pair = Pair(
            before, after, prompt_text(reference.request), reference.task or self.tasks[reference.route]
        )
        with scoring_paid_by(RouteBudget(self.costs, reference.route, "judge", urgent=True)):
            judgement = await self.scorer.score(pair)
        return _scored(reference.id, judgement)


def _scored(reference: str, judgement: Judgement) -> ScoredReference:
    if judgement.rating is None and not judgement.unsure:
        return ScoredReference(reference, failure=judgement.failures[0].reason)
    qualities: dict[str, Move] = {}
    for score in judgement.quality:
        qualities[score.metric] = (score.direction or "changed") if score.changed else "same"
    return ScoredReference(reference, qualities)
