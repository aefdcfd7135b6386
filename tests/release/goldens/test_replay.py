"""Goldens asked again in front of the simulated model: under the model and the prompt of today."""

import asyncio
import json
import time

import pytest

from evenkeel.core.budget import Budget
from evenkeel.core.pair import Answer
from evenkeel.llm.price import Prices
from evenkeel.metrics.scoring import heuristic_scorer
from evenkeel.release.gate.scoring import GateScoring
from evenkeel.release.goldens.replay import GoldenReplayer
from evenkeel.runtime.changes import golden_routes
from evenkeel.settings import load
from evenkeel.shadow.replay import Replayer
from evenkeel.simulate import ModelState, PromptMessage, SimulatedModel, Simulation, SimulationSettings
from evenkeel.stores.archive import ExchangeArchive
from evenkeel.stores.budget import SharedCostTracker
from evenkeel.stores.goldens import Golden, GoldenStore
from evenkeel.stores.sqlite.documents import SqliteDocuments
from evenkeel.stores.sqlite.verdicts import SqliteVerdictLog
from tests.kit.records import altered
from tests.kit.simulated_prompts import make_prompt
from tests.monitor.planted_verdicts import VERDICT
from tests.stores.examples import ARCHIVED

SEEN = altered(
    VERDICT, route="default", model="simulated-1", requested_model="simulated-1", prompt_version="p1"
)


def golden(number, **changes):
    """A golden whose approved answer is what a model without faults says."""
    messages = make_prompt("case_summary", number)
    said = SimulatedModel().answer(
        [PromptMessage(message["role"], message["content"]) for message in messages], None
    )
    made = Golden(
        id=f"g{number}",
        request=json.dumps({"model": "simulated-1", "messages": messages}),
        answer=Answer(said, model="simulated-1"),
        prompt_version="p1",
    )
    return altered(made, **changes)


@pytest.fixture
def simulation():
    return Simulation([ModelState("simulated-1")], SimulationSettings(deterministic=True))


class Noting(Replayer):
    """Sends requests, and notes their bodies."""

    def __init__(self, bodies):
        super().__init__(concurrency=4, timeout_s=240)
        self.bodies = bodies

    async def send(self, target, body, **more):
        self.bodies.append(json.loads(body))
        return await super().send(target, body, **more)


class Bench:
    """Stores, and what asks goldens of them."""

    def __init__(self, upstream, database, documents):
        self.store, self.archive = GoldenStore(documents), ExchangeArchive(documents)
        self.verdicts = SqliteVerdictLog(database)
        self.settings = load(None, {"data_dir": database.path.parent}, {"upstream": upstream})
        self.database, self.bodies = database, []

    def run(self, *, budget=Budget(), per_round=50):  # noqa: B008 - it is not changed
        async def ask():
            replayer = Noting(self.bodies)
            asking = GoldenReplayer(
                golden_routes(self.settings),
                self.store,
                self.archive,
                self.verdicts,
                replayer,
                GateScoring(heuristic_scorer()),
                SharedCostTracker(SqliteDocuments(self.database), budget, time.time),
                Prices(),
                most=per_round,
                clock=time.time,
            )
            try:
                return await asking.run("default", "c1")
            finally:
                await replayer.close()

        return asyncio.run(ask())


@pytest.fixture
def bench(upstream, database, documents):
    return Bench(upstream, database, documents)


def approve(bench, *numbers, **changes):
    for number in numbers:
        bench.store.approve(golden(number, **changes), by="ann", at=1.0)


def test_a_model_without_faults_answers_as_approved(bench):
    """Every golden is asked once; none breaches anything; scores are 1."""
    approve(bench, *range(6))
    run = bench.run()
    assert len(run.results) == 6
    assert {result.failure for result in run.results} == {""}
    assert not any(result.breaches["differs"] for result in run.results)
    assert {result.scores["similarity"] for result in run.results} == {1.0}
    assert (run.model, run.deciding) == ("simulated-1", ("differs",))


def test_the_model_of_todays_traffic_is_asked(bench, simulation):
    """The model that the golden was approved under is not asked."""
    simulation.change("simulated-2", {})
    approve(bench, 1)
    bench.verdicts.append(altered(SEEN, requested_model="simulated-2"), None)
    run = bench.run()
    assert run.model == "simulated-2"
    assert simulation.calls["simulated-2"] == 1


def test_the_prompt_of_today_takes_the_place_of_the_old_system_message(bench):
    """Goldens of an older prompt version are asked under the system message of the newest exchange."""
    old = [{"role": "system", "content": "Be brief."}, *make_prompt("case_summary", 3)]
    new = [{"role": "system", "content": "Answer in three sentences."}, *make_prompt("case_summary", 4)]
    approve(bench, 3, request=json.dumps({"model": "simulated-1", "messages": old}))
    bench.verdicts.append(altered(SEEN, prompt_version="p2"), None)
    bench.archive.put(
        altered(ARCHIVED, route="default", request=json.dumps({"messages": new}), prompt_version="p2")
    )
    approve(bench, 5, request=json.dumps({"model": "simulated-1", "messages": old}), prompt_version="p2")
    run = bench.run()
    assert run.model == "simulated-1"
    assert [result.failure for result in run.results] == ["", ""]
    systems = {body["messages"][0]["content"] for body in bench.bodies}
    assert systems == {"Answer in three sentences.", "Be brief."}


def test_a_spent_budget_and_a_round_that_is_limited(bench):
    """Nothing is asked beyond the budget, and the same goldens are taken each time."""
    approve(bench, *range(8))
    run = bench.run(budget=Budget(tokens_per_day=1))
    assert {result.failure for result in run.results} == {"budget"}
    first, second = bench.run(per_round=3), bench.run(per_round=3)
    assert len(first.results) == 3
    assert {result.golden for result in first.results} == {result.golden for result in second.results}
