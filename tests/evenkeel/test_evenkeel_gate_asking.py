"""Asking both sides: what is tried again, what is given up, and in which order answers count."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from evenkeel.core.pair import Answer
from evenkeel.core.verdict import Failure
from evenkeel.experiments.gate.asking import Asker, BudgetUsedUpError, EndpointUnusableError, Ledger
from evenkeel.experiments.gate.run import Run, shuffled
from evenkeel.experiments.gate.scoring import Scoring
from evenkeel.experiments.gate.sides import Request, Task, Unasked
from evenkeel.experiments.kit.journal import Answers
from evenkeel.llm.price import ModelPrice, Prices
from evenkeel.metrics.scoring import heuristic_scorer
from evenkeel.monitor.detect.gate import Gate, GateRules
from evenkeel.shadow.replay import Replay, Target
from evenkeel.stores.goldens import Golden
from evenkeel.stores.sqlite.database import Database

GOOD = Replay(Answer("Yes.", prompt_tokens=1000, completion_tokens=100), 0.1)
DOWN = Failure("replay", 1, "connection", "refused")
LOCKED = Failure(
    "replay", 1, "unauthorized", "the upstream answered 401 to a replay; set a shadow credential"
)
ODD = Failure("replay", 1, "rejected", "the upstream answered 400 to the variant")


class Scripted:
    """A replayer that gives what it is told to, the last thing for ever."""

    def __init__(self, *outcomes):
        self.outcomes = list(outcomes)
        self.calls = 0

    async def send(self, target, body, *, api):
        self.calls += 1
        return self.outcomes.pop(0) if len(self.outcomes) > 1 else self.outcomes[0]


def request(text="Hi"):
    return Request(Target("http://models.example/v1"), text.encode(), "chat", "m", 7)


@pytest.fixture
def cache(tmp_path):
    database = Database(tmp_path / "answers")
    yield Answers(database)
    database.close()


def asker(replayer, cache, **more):
    prices = Prices({"m": ModelPrice(1.0, 10.0)})
    return Asker(replayer, cache, prices, ledger=more.pop("ledger", Ledger()), **more)


async def ask_until_given_up(one, side="candidate"):
    for number in range(100):
        await one.ask(side, request(str(number)), 0)


def test_an_answer_is_paid_once_and_then_remembered(cache):
    """1,000 prompt tokens at 1 and 100 completion tokens at 10 dollars a million are 0.2 cents."""
    replayer, ledger = Scripted(GOOD), Ledger()
    one = asker(replayer, cache, ledger=ledger)
    first = asyncio.run(one.ask("candidate", request(), 0))
    again = asyncio.run(asker(replayer, cache, ledger=ledger).ask("candidate", request(), 0))
    assert first == again == GOOD.answer
    assert (ledger.calls, ledger.remembered) == (1, 1)
    assert ledger.cost_usd == pytest.approx(0.002)


def test_a_fault_of_a_side_that_has_answered_is_tried_once_more(cache):
    """A passing fault costs a call, not a golden; one that says what is wrong with the request is final."""
    replayer, ledger = Scripted(GOOD, DOWN, GOOD, ODD), Ledger()
    one = asker(replayer, cache, ledger=ledger)

    async def three():
        return [await one.ask("candidate", request(str(number)), 0) for number in range(3)]

    assert asyncio.run(three()) == [GOOD.answer, GOOD.answer, ODD]
    assert (ledger.calls, ledger.failed) == (4, 1)


@pytest.mark.parametrize(
    ("script", "calls"),
    [((DOWN,), 3), ((LOCKED,), 1), ((ODD,), 3), ((GOOD, ODD), 11), ((GOOD, LOCKED), 11)],
)
def test_a_side_that_does_not_answer_is_given_up(cache, script, calls):
    """After three failures at first, one if the key is wrong, ten in a row later."""
    replayer = Scripted(*script)
    with pytest.raises(EndpointUnusableError) as caught:
        asyncio.run(ask_until_given_up(asker(replayer, cache)))
    assert replayer.calls == calls
    assert "shadow" not in str(caught.value)
    assert "http://models.example/v1" in str(caught.value)


def test_one_side_s_answers_say_nothing_about_the_other(cache):
    """A reference that answers does not make the gate patient with a candidate that never did."""
    one = asker(Scripted(GOOD, DOWN), cache)

    async def both():
        await one.ask("reference", request(), 0)
        await ask_until_given_up(one)

    with pytest.raises(EndpointUnusableError, match="the candidate at"):
        asyncio.run(both())


def test_no_call_is_made_beyond_the_budget(cache):
    """0.2 cents a call and a limit of 0.5: the fourth call is not made."""
    replayer = Scripted(GOOD)
    with pytest.raises(BudgetUsedUpError):
        asyncio.run(ask_until_given_up(asker(replayer, cache, most_usd=0.005)))
    assert replayer.calls == 3


class Backwards:
    """An asker whose later goldens answer first: each waits until the one behind it has been asked."""

    def __init__(self, count):
        self.asked = [asyncio.Event() for _ in range(count + 1)]
        self.most = Counter()
        self.under_way = 0

    async def ask(self, side, request, repeat):
        number = int(request.body)
        self.under_way += 1
        self.most["calls"] = max(self.most["calls"], self.under_way)
        self.asked[number].set()
        if number % 4 != 3 and number + 1 < len(self.asked) - 1:
            await self.asked[number + 1].wait()
        self.under_way -= 1
        return Answer("Approved." if side == "reference" or number >= 20 else "Bananas are yellow and sweet.")


def test_answers_count_in_the_order_of_the_goldens():
    """However fast they come, the first goldens decide, and what is under way is no more than asked for."""
    tasks = [
        Task(Golden(id=f"{n:03}", answer=Answer("Approved.")), "Q", {
            "candidate": request(str(n)), "reference": request(str(n)),
        })
        for n in range(60)
    ]  # fmt: skip

    async def course():
        scoring = Scoring(heuristic_scorer(), None)
        gate = Gate(GateRules(), scoring.measures(("content_shift",)), goldens=len(tasks))
        asker = Backwards(len(tasks))
        run = Run(gate, asker, scoring, ledger=Ledger(), concurrency=8)
        return await run.run(tasks), gate.report(), asker

    found, report, asker = asyncio.run(course())
    assert report.verdict == "regression"
    assert [fallen.golden.id for fallen in found.fallen] == [f"{n:03}" for n in range(report.asked)]
    assert report.asked < 12
    assert asker.most["calls"] <= 8


def test_the_order_follows_from_the_seed_and_not_from_the_file():
    """Shuffled the same however the goldens are given; another seed gives another order."""
    tasks = [Unasked(Golden(id=str(n), answer=Answer("A")), DOWN) for n in range(30)]
    ids = [task.golden.id for task in shuffled(tasks, 1)]
    assert ids == [task.golden.id for task in shuffled(tasks[::-1], 1)]
    assert ids != [task.golden.id for task in shuffled(tasks, 2)]
    assert sorted(ids) == sorted(task.golden.id for task in tasks)
