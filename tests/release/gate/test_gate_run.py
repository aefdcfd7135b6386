"""Which goldens are asked in which order."""

import asyncio
from collections import Counter

import pytest

from evenkeel.core.pair import Answer
from evenkeel.core.verdict import Failure
from evenkeel.metrics.scoring import heuristic_scorer
from evenkeel.monitor.detect.gate import Gate, GateRules
from evenkeel.release.gate.run import GateOptions, Run
from evenkeel.release.gate.scoring import GateScoring
from evenkeel.release.gate.sides import SideTask, drawn
from evenkeel.release.kit.asking import AskedCall
from evenkeel.shadow.replay import Target
from evenkeel.stores.goldens import Golden

OPTIONS = GateOptions(goldens=(), source="", sides=(), rating=heuristic_scorer, concurrency=8)


def tasks_of(count):
    """So many goldens, to be asked of both sides."""

    def request(number, side):
        target = Target("http://models.example/v1")
        return drawn(AskedCall(side, target, str(number).encode(), b"", "m", 7), 0)

    sides = ("candidate", "reference")
    return [
        SideTask(
            Golden(id=f"{n:03}", answer=Answer("Approved.")), "Q", {side: request(n, side) for side in sides}
        )
        for n in range(count)
    ]


class Backwards:
    """An asker whose later goldens answer first: each waits until the one behind it has been asked."""

    def __init__(self, count):
        self.asked = [asyncio.Event() for _ in range(count + 1)]
        self.most = Counter()
        self.under_way = 0

    async def ask(self, call):
        number = int(call.body)
        self.under_way += 1
        self.most["calls"] = max(self.most["calls"], self.under_way)
        self.asked[number].set()
        if number % 4 != 3 and number + 1 < len(self.asked) - 1:
            await self.asked[number + 1].wait()
        self.under_way -= 1
        return Answer(
            "Approved." if call.payee == "reference" or number >= 20 else "Bananas are yellow and sweet."
        )


def test_answers_count_in_the_order_of_the_goldens():
    """However fast they come, the first goldens decide, and what is under way is no more than asked for."""
    tasks = tasks_of(60)

    async def course():
        scoring = GateScoring(heuristic_scorer())
        gate = Gate(GateRules(), scoring.measures(("differs",)), goldens=len(tasks))
        asker = Backwards(len(tasks))
        run = Run(OPTIONS, gate, asker, scoring)
        await run.run(tasks)
        return run, gate.report(), asker

    found, report, asker = asyncio.run(course())
    assert report.verdict == "regression"
    assert [fallen.golden.id for fallen in found.fallen] == [f"{n:03}" for n in range(report.asked)]
    assert report.asked < 12
    assert asker.most["calls"] <= 8


class Failing:
    """An asker whose one side fails at every tenth golden."""

    def __init__(self, side):
        self.side = side

    async def ask(self, call):
        if call.payee == self.side and int(call.body) % 10 == 0:
            return Failure("replay", 1, "timeout")
        return Answer("Approved.")


@pytest.mark.parametrize(("side", "verdict"), [("candidate", "undecided"), ("reference", "pass")])
def test_a_candidate_that_fails_where_the_reference_answers_is_not_passed(side, verdict):
    """Failing may hide wrong answers: 10 of 100 are as much as the margin. The reference may fail."""
    tasks = tasks_of(100)
    scoring = GateScoring(heuristic_scorer())
    gate = Gate(GateRules(), scoring.measures(("differs",)), goldens=len(tasks))
    asyncio.run(Run(OPTIONS, gate, Failing(side), scoring).run(tasks))
    assert gate.report().verdict == verdict
