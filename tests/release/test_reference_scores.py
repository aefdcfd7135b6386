"""Answers to reference prompts before and after a silent change are scored once, within the budgets."""

import asyncio

import pytest

from evenkeel.core.budget import SCORING_BUDGET, Budget, Spend
from evenkeel.core.verdict import Failure, Judgement, QualityScore
from evenkeel.release.reference_scores import MOST, ReferenceScores
from evenkeel.stores.budget import SharedCostTracker
from evenkeel.stores.changes import ChangeStore, ScoredReference
from evenkeel.stores.references import ReferenceStore
from evenkeel.stores.sqlite.documents import SqliteDocuments
from tests.kit.records import altered
from tests.monitor.changes.test_examples import kept, reference
from tests.monitor.changes.test_silent_report import FOUND, NOON, REFERENCES, record


class Scorer:
    """A judge to whom every new answer is less complete; it fails on those that say so."""

    scorer = "judge"

    def __init__(self):
        self.pairs = []

    async def score(self, pair):
        self.pairs.append(pair)
        if pair.candidate.text == "fail":
            return Judgement("judge", None, failures=(Failure("similarity", 1, "timeout"),))
        qualities = (QualityScore("completeness", 1, 3, 2), QualityScore("tone", 1, 3, 3))
        spent, budget = Spend(40, 0.004), SCORING_BUDGET.get()
        if not budget.reserve(spent):
            return Judgement("judge", None, failures=(Failure("similarity", 1, "budget"),))
        budget.settle(spent, spent)
        return Judgement("judge", 2, quality=qualities, spent=spent)


@pytest.fixture
def stores(database, documents):
    return database, ChangeStore(documents), ReferenceStore(documents)


def scores(stores, records, budget=None):
    database, changes, references = stores
    costs = SharedCostTracker(SqliteDocuments(database), budget or Budget(), lambda: NOON)
    made = ReferenceScores(
        records=lambda: records,
        store=changes,
        references=references,
        scorer=Scorer(),
        costs=costs,
        tasks={"chat": "summarisation"},
        clock=lambda: NOON + 2000,
    )
    return made, costs


def fill(references, count, text="new"):
    for number in range(count):
        former = (kept("old", NOON - 700),)
        references.add(reference(f"r{number}", kept(text, NOON + 700), former=former))


def test_a_finding_is_scored_once_and_booked(stores):
    """Old answer against new one, with the prompt and the route's task; the spend is the judge's."""
    _, changes, references = stores
    fill(references, 2)
    made, costs = scores(stores, [record(FOUND)])
    assert asyncio.run(made.step()) == 1
    assert asyncio.run(made.step()) == 0
    pair, _ = made.scorer.pairs
    assert (pair.reference.text, pair.candidate.text, pair.task) == ("old", "new", "summarisation")
    assert pair.context == "user: How long is a day?"
    found = changes.scores()["c1"]
    assert found.results[0].qualities == {"completeness": "worse", "tone": "same"}
    assert [(tally.metric, tally.worse, tally.n) for tally in found.tallies] == [
        ("completeness", 2, 2),
        ("tone", 0, 2),
    ]
    assert sum(
        spent.usd for (_, kind), spent in costs.by_route_and_kind().items() if kind == "judge"
    ) == pytest.approx(0.008)


def test_references_that_moved_furthest_come_first_and_twelve_are_enough(stores):
    """REFERENCES names r1 and r2 as the furthest; those without an answer on both sides are left out."""
    _, changes, references = stores
    fill(references, MOST + 4)
    references.add(reference("only-old", kept("old", NOON - 700)))
    made, _ = scores(stores, [record(FOUND)])
    asyncio.run(made.step())
    scored = [result.reference for result in changes.scores()["c1"].results]
    assert scored[:3] == ["r1", "r2", "r0"]
    assert len(scored) == MOST


def test_what_was_found_long_ago_or_on_a_route_without_a_task_is_not_scored(stores):
    """Each change is scored within an hour."""
    fill(stores[2], 1)
    old = altered(FOUND, references=altered(REFERENCES, at=NOON - 5000))
    others = [record(old), record(FOUND, route="elsewhere")]
    made, _ = scores(stores, others)
    assert asyncio.run(made.step()) == 0


def test_a_spent_budget_and_a_judge_that_fails_are_reasons(stores):
    """Neither is a score."""
    fill(stores[2], 1)
    made, _ = scores(stores, [record(FOUND)], Budget(usd_per_day=0.001))
    asyncio.run(made.step())
    assert stores[1].scores()["c1"].results == (ScoredReference("r0", failure="budget"),)
    references = stores[2]
    references.drop()
    fill(references, 1, "fail")
    made, _ = scores(stores, [record(FOUND, name="c2")])
    asyncio.run(made.step())
    assert stores[1].scores()["c2"].results == (ScoredReference("r0", failure="timeout"),)
