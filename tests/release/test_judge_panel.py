"""The judge's panel: pairs taken from the traffic, rounds, and a judge that changes behind its name."""

import asyncio
from types import SimpleNamespace

import pytest

from evenkeel.core.budget import Budget, RouteBudget
from evenkeel.core.pair import Answer
from evenkeel.core.panel import MOST, YARDSTICK, PanelRated
from evenkeel.core.verdict import Evidence, Failure, Scoring
from evenkeel.release.judge_panel import JudgePanel
from evenkeel.stores.budget import SharedCostTracker
from evenkeel.stores.panels import PanelStore
from evenkeel.stores.sqlite.documents import SqliteDocuments
from evenkeel.stores.sqlite.verdicts import SqliteVerdictLog
from evenkeel.stores.verdict_log import LoggedNote
from tests.stores.examples import verdict

DAY_S = 86_400.0
JUDGE = "judge-1 similarity@1"


class Asking:
    """A panel over a store, its scripted judge, and the time of a test."""

    def __init__(self, database, documents):
        self.store = PanelStore(documents, kept_s=30 * DAY_S)
        self.log = SqliteVerdictLog(database)
        self.now = 100 * DAY_S
        self.rate = lambda number: 3 if number % 2 else 1
        self.asked = 0
        self.moved = {}
        costs = SharedCostTracker(SqliteDocuments(database), Budget(), lambda: self.now)
        self.panel = JudgePanel(
            store=self.store,
            verdicts=self.log,
            rater=self,
            budget=RouteBudget(costs, "", "judge"),
            model="judge-1",
            routes=("shop", "forms"),
            suspected=lambda: self.moved,
            clock=lambda: self.now,
        )

    async def rate_all(self, pairs):
        """Rate pairs as the script says."""
        self.asked += len(pairs)
        return [SimpleNamespace(outcome=self.rate(int(pair.candidate.text))) for pair in pairs]

    def judged(self, numbers, **changes):
        """Log trials that the judge has rated."""
        for number in numbers:
            given = {
                "id": f"v{number}",
                "route": "shop",
                "rating": 3 if number % 2 else 1,
                "scoring": Scoring("judge", "similarity@1", "judge-1"),
                **changes,
            }
            evidence = Evidence("p", "v", Answer("answer"), Answer(str(number)))
            self.log.append(verdict(number, **given), evidence)

    def step(self, seconds=0.0):
        self.now += seconds
        return asyncio.run(self.panel.step())

    def noted(self):
        entries = self.log.entries_after(0, 10_000)
        found = [entry.note for entry in entries if isinstance(entry, LoggedNote)]
        assert all(isinstance(sighting, PanelRated) for sighting in found)
        return found


@pytest.fixture
def asking(database, documents):
    return Asking(database, documents)


def test_sixty_pairs_get_a_yardstick_and_are_rated_again_every_day(asking):
    """Half of the pairs at most have one rating; each round is noted for the routes that the judge rates."""
    asking.judged(range(100))
    assert asking.step() == 0
    pairs = asking.store.pairs(JUDGE)
    assert [len(pair.ratings) for pair in pairs] == [YARDSTICK] * MOST
    assert sum(pair.ratings[0] == 3 for pair in pairs) == MOST // 2
    assert asking.asked == MOST * YARDSTICK
    assert asking.step(DAY_S / 2) == 0
    assert asking.step(DAY_S / 2) == 1
    (noted,) = asking.noted()
    assert (noted.route, noted.judge, len(noted.pairs)) == ("shop", JUDGE, MOST)
    assert (noted.is_as_before, noted.since) == (True, 100 * DAY_S)


def test_a_judge_swapped_behind_its_name_is_noticed(asking):
    """Also one that rates as many pairs lower as higher; from then on the new one is the yardstick."""
    asking.judged(range(100))
    asking.step()
    asking.rate = lambda number: 2
    assert asking.step(DAY_S) == 1
    assert asking.noted()[-1].shows_change
    asking.step(60.0)
    assert {pair.ratings for pair in asking.store.pairs(JUDGE)} == {(2,) * YARDSTICK}
    asking.step(DAY_S)
    assert asking.noted()[-1].is_as_before


def test_ratings_that_moved_are_looked_into_at_once(asking):
    """A suspicion is one round."""
    asking.judged(range(100))
    asking.step()
    asking.moved = {"shop": asking.now + 50.0}
    assert asking.step(60.0) == 1
    assert asking.step(3_600.0) == 0
    asking.moved = {"forms": asking.now}
    assert asking.step(60.0) == 0


def test_few_pairs_say_nothing_and_other_judges_have_none(asking):
    """Nor do trials that somebody else decided."""
    asking.judged(range(19))
    asking.judged(range(20, 60), scoring=Scoring("judge", "similarity@1", "judge-0"))
    asking.step()
    assert (asking.asked, len(asking.store.pairs(JUDGE))) == (0, 19)


def test_a_judge_that_is_down_is_asked_again_in_an_hour(asking):
    """A round without ratings is none."""
    asking.judged(range(100))
    asking.step()
    asking.rate = lambda number: Failure("similarity", 1, "timeout")
    assert asking.step(DAY_S) == 0
    assert asking.step(1_800.0) == 0
    asking.rate = lambda number: 3 if number % 2 else 1
    assert asking.step(1_800.0) == 1


def test_pairs_of_a_judge_that_was_replaced_are_forgotten(asking):
    """The wording is part of its name; whoever rated the answers before, they do for the new panel."""
    asking.judged(range(100))
    asking.step()
    asking.judged(range(200, 230), scoring=Scoring("judge", "similarity@2", "judge-1"))
    asking.step(400.0)
    assert asking.store.pairs(JUDGE) == []
    assert len(asking.store.pairs("judge-1 similarity@2")) == MOST
