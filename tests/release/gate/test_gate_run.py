"""Which goldens are asked in which order, and when a side that gives no answers ends the run."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from evenkeel.core.pair import Answer
from evenkeel.core.verdict import Failure
from evenkeel.metrics.scoring import heuristic_scorer
from evenkeel.monitor.detect.gate import Gate, GateRules
from evenkeel.release.gate.run import Run, give_up
from evenkeel.release.gate.scoring import GateScoring
from evenkeel.release.gate.sides import Side, SideTask, drawn
from evenkeel.release.kit.asking import AskedCall, UnusableError
from evenkeel.release.kit.cost import Costs
from evenkeel.shadow.replay import Target
from evenkeel.stores.goldens import Golden


def request(text="Hi", side="candidate"):
    return drawn(AskedCall(side, Target("http://models.example/v1"), text.encode(), b"", "m", 7), 0)


@pytest.mark.parametrize(
    ("name", "reason", "advice"),
    [
        ("candidate", "connection", "check --base-url, and that it is up"),
        (
            "reference",
            "unauthorized",
            "put its key into the variable KEY, or name another one with --reference",
        ),
    ],
)
def test_a_side_that_gives_no_answers_ends_the_run(name, reason, advice):
    """The message names side, endpoint and what to do; advice about replays of `up` is left out."""
    end = give_up([Side(name=name, key_variable="KEY")])
    failure = Failure("replay", 1, reason, "the upstream answered 401 to a replay; set a shadow credential")
    with pytest.raises(UnusableError) as caught:
        end(request(side=name), failure)
    assert f"the {name} at http://models.example/v1 gives no answers" in str(caught.value)
    assert advice in str(caught.value)
    assert "shadow" not in str(caught.value)


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
    tasks = [
        SideTask(Golden(id=f"{n:03}", answer=Answer("Approved.")), "Q", {
            "candidate": request(str(n)), "reference": request(str(n), "reference"),
        })
        for n in range(60)
    ]  # fmt: skip

    async def course():
        scoring = GateScoring(heuristic_scorer())
        gate = Gate(GateRules(), scoring.measures(("differs",)), goldens=len(tasks))
        asker = Backwards(len(tasks))
        run = Run(gate, asker, scoring, costs=Costs(), concurrency=8)
        return await run.run(tasks), gate.report(), asker

    found, report, asker = asyncio.run(course())
    assert report.verdict == "regression"
    assert [fallen.golden.id for fallen in found.fallen] == [f"{n:03}" for n in range(report.asked)]
    assert report.asked < 12
    assert asker.most["calls"] <= 8
