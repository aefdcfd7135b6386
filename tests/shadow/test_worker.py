"""The worker on a real store and a simulated upstream: every trial once, every loss counted."""

from __future__ import annotations

import asyncio
import dataclasses
import json

import httpx2
import pytest

from evenkeel.core.budget import Budget
from evenkeel.core.exchange import Exchange
from evenkeel.core.verdict import BASELINE
from evenkeel.llm.price import Prices
from evenkeel.metrics.scoring import heuristic_scorer
from evenkeel.shadow.original import Reader
from evenkeel.shadow.perturbations import by_name
from evenkeel.shadow.planner import RoutePlan
from evenkeel.shadow.replay import Replayer, Target
from evenkeel.shadow.trials import TrialMaker
from evenkeel.shadow.worker import Worker, WorkerSettings
from evenkeel.simulate import ModelState, Simulation, make_case, serving, summary_prompt
from evenkeel.stores.counters import Tally
from evenkeel.stores.sqlite.budget import SqliteCostTracker
from evenkeel.stores.sqlite.database import Database
from evenkeel.stores.sqlite.queue import SqliteExchangeQueue
from evenkeel.stores.sqlite.verdicts import SqliteVerdictLog

KINDS = by_name(["general.whitespace", "general.punctuation", "general.casing", "general.spelling"])


@pytest.fixture
def simulation():
    return Simulation([ModelState("simulated-1", fragility=0.5)])


@pytest.fixture
def upstream(simulation):
    with serving(simulation) as url:
        yield url


class Plane:
    """A worker and everything around it."""

    def __init__(self, folder, upstream):
        self.database = Database(folder / "evenkeel.db")
        self.queue = SqliteExchangeQueue(self.database, lambda: self.now)
        self.log = SqliteVerdictLog(self.database)
        self.tally = Tally()
        self.now = 1000.0
        self.upstream = upstream
        self.budget = Budget()
        self.rewriter = None

    async def work(self, *, plan=None, settings=None):
        replayer = Replayer(concurrency=4, timeout_s=5)
        trials = TrialMaker(
            self.log,
            heuristic_scorer(),
            replayer,
            SqliteCostTracker(self.database, self.budget, lambda: self.now),
            Prices(),
            target=lambda exchange: Target(f"{self.upstream}{exchange.path}"),
            tally=self.tally,
            clock=lambda: self.now,
            rewriter=self.rewriter,
        )
        reader = Reader({"default": plan or RoutePlan(KINDS, (0.3,), 4, "case_summary")})
        worker = Worker(self.queue, self.log, reader, trials, tally=self.tally, settings=settings)
        try:
            await worker.drain()
        finally:
            await replayer.close()

    def capture(self, number, *, model="simulated-1", **changes):
        """An exchange as the data plane would capture it."""
        body = json.dumps(
            {"model": model, "messages": [{"role": "user", "content": summary_prompt(make_case(number))}]}
        ).encode()
        response = httpx2.post(f"{self.upstream}/v1/chat/completions", content=body)
        exchange = Exchange(
            id=f"{number:016x}",
            route="default",
            received_at=self.now,
            duration_s=0.1,
            method="POST",
            path="/v1/chat/completions",
            status=200,
            request_headers=(("content-type", "application/json"),),
            request_body=body,
            response_headers=(("content-type", "application/json"),),
            response_body=response.content,
        )
        return dataclasses.replace(exchange, **changes)

    def verdicts(self):
        return [logged.verdict for logged in self.log.read_after(0, 1000)]


@pytest.fixture
def plane(tmp_path, upstream):
    made = Plane(tmp_path, upstream)
    yield made
    made.database.close()


def test_every_exchange_gets_its_baseline_and_its_trials(plane):
    """One verdict a trial, each perturbed one paired with the baseline of its exchange."""
    plane.queue.put([plane.capture(number) for number in range(6)])
    asyncio.run(plane.work())
    verdicts = plane.verdicts()
    assert len(verdicts) == 6 * 5
    assert len({verdict.id for verdict in verdicts}) == 30
    baseline = {
        verdict.exchange_id: verdict.rating for verdict in verdicts if verdict.perturbation == BASELINE
    }
    assert set(baseline.values()) == {3}  # no noise is planted
    for verdict in verdicts:
        if verdict.perturbation != BASELINE:
            assert verdict.baseline_rating == baseline[verdict.exchange_id]
            assert verdict.unsure or verdict.rating in {1, 2, 3}
            assert (verdict.severity, verdict.task, verdict.model) == (0.3, "case_summary", "simulated-1")
            assert bool(verdict.quality) == verdict.shifted
    lag = plane.queue.lag()
    assert (lag.waiting, lag.leased, lag.dead) == (0, 0, 0)
    assert plane.tally.value("exchanges_scored", route="default") == 6


def test_evidence_shows_what_was_sent(plane):
    """Prompt, variant and both answers are kept for people."""
    plane.queue.put([plane.capture(1)])
    asyncio.run(plane.work())
    spelling = next(verdict for verdict in plane.verdicts() if verdict.perturbation == "general.spelling")
    evidence = plane.log.evidence(spelling.id)
    assert evidence.prompt != evidence.variant
    assert evidence.reference.text
    assert evidence.candidate.model == "simulated-1"


def test_a_redelivered_exchange_is_not_tried_again(plane, simulation):
    """What a dead worker had logged is neither made nor counted again; the rest is made."""
    exchange = plane.capture(1)
    plane.queue.put([exchange])
    asyncio.run(plane.work())
    calls = simulation.counts(simulation.find(None)).calls
    before = plane.verdicts()
    lost = before[-1]
    with plane.database.write() as connection:  # as if the worker had died before its last append
        connection.execute("DELETE FROM verdicts WHERE id = ?", (lost.id,))
        connection.execute("DELETE FROM evidence WHERE verdict_id = ?", (lost.id,))
    plane.queue.put([exchange])
    asyncio.run(plane.work())
    assert sorted(verdict.id for verdict in plane.verdicts()) == sorted(verdict.id for verdict in before)
    assert simulation.counts(simulation.find(None)).calls == calls + 1


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"request_body": b"not json"}, "not_json"),
        ({"request_body": b'{"messages": []}'}, "no_messages"),
        ({"response_body": b"<html>"}, "not_json"),
        ({"route": "gone"}, "route_gone"),
    ],
)
def test_what_cannot_be_read_is_buried_with_its_reason(plane, changes, reason):
    """Nothing vanishes: an unreadable exchange is a dead letter."""
    plane.queue.put([plane.capture(1, **changes)])
    asyncio.run(plane.work())
    assert plane.queue.lag().dead == 1
    assert plane.tally.value("exchanges_dead", reason=reason) == 1
    assert plane.verdicts() == []


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"path": "/v1/embeddings"}, "api_unsupported"),
        (
            {
                "path": "/v1/responses",
                "request_body": b'{"model":"m","input":"hi","previous_response_id":"resp_1"}',
            },
            "stateful",
        ),
    ],
)
def test_what_is_never_replayed_is_counted_as_skipped(plane, changes, reason):
    """Requests that a replay could not repeat leave the queue with a reason, and are no dead letters."""
    plane.queue.put([plane.capture(1, **changes)])
    asyncio.run(plane.work())
    assert plane.tally.value("exchanges_skipped", reason=reason) == 1
    lag = plane.queue.lag()
    assert (lag.waiting, lag.leased, lag.dead) == (0, 0, 0)


def test_an_exchange_delivered_too_often_is_buried(plane):
    """An exchange that kills its workers does not do so for ever."""
    plane.queue.put([plane.capture(1)])
    for _ in range(5):
        assert plane.queue.reserve(1, 60)
        plane.now += 61
    asyncio.run(plane.work(settings=WorkerSettings(attempts=5)))
    assert plane.tally.value("exchanges_dead", reason="too_many_attempts") == 1


def test_a_replay_that_fails_is_a_counted_failure(plane, simulation):
    """An upstream error gives a verdict without a rating, never a made-up number."""
    plane.queue.put([plane.capture(1)])
    simulation.change("simulated-1", {"error_rate": 1.0})
    asyncio.run(plane.work())
    verdicts = plane.verdicts()
    assert len(verdicts) == 5
    assert {(verdict.rating, verdict.failure.reason) for verdict in verdicts} == {(None, "server_error")}


def test_a_model_swapped_between_the_two_answers_is_not_a_shift(plane, simulation):
    """A pair of two models says nothing about the prompt."""
    plane.queue.put([plane.capture(1)])
    simulation.change("simulated-1", {"returned_name": "simulated-2"})
    asyncio.run(plane.work())
    assert {verdict.failure.reason for verdict in plane.verdicts()} == {"model_changed"}


def test_a_spent_budget_stops_replays_and_is_counted(plane, simulation):
    """Without budget no call is made; the exchange is counted as skipped, not lost."""
    exchange = plane.capture(1)
    calls = simulation.counts(simulation.find(None)).calls
    plane.budget = Budget(tokens_per_day=10)
    plane.queue.put([exchange])
    asyncio.run(plane.work())
    assert simulation.counts(simulation.find(None)).calls == calls
    assert plane.tally.value("exchanges_skipped", reason="budget") == 1
    assert plane.tally.value("trials_skipped", reason="budget") == 1  # without a baseline nothing follows


def test_the_budget_is_not_passed_by_calls_in_flight(plane):
    """Reservations count, so concurrent trials together stay within the budget."""
    exchange = plane.capture(1)
    usage = json.loads(exchange.response_body)["usage"]["total_tokens"]
    plane.budget = Budget(tokens_per_day=int(usage * 2.5))
    plane.queue.put([exchange, plane.capture(2)])
    asyncio.run(plane.work())
    spent = SqliteCostTracker(plane.database, plane.budget, lambda: plane.now).today().tokens
    assert 0 < spent <= usage * 2.8
    assert len(plane.verdicts()) == 2


def test_a_prompt_without_input_skips_what_cannot_apply(plane):
    """A perturbation with nothing to act on is counted by reason; the baseline is still tried."""
    body = json.dumps({"model": "simulated-1", "messages": [{"role": "system", "content": "Say hello."}]})
    plane.queue.put([plane.capture(1, request_body=body.encode())])
    asyncio.run(plane.work())
    assert [verdict.perturbation for verdict in plane.verdicts()] == [BASELINE]
    assert plane.tally.value("trials_skipped", reason="no_input") == 4


def test_a_kind_that_lacks_a_rewriter_takes_no_other_kinds_turn(plane):
    """A German prompt would have to be translated for it: counted, and the exchange gets all its trials."""
    text = "Seit gestern druckt der Drucker im Büro nichts mehr. Was können wir jetzt prüfen?"
    body = json.dumps({"model": "simulated-1", "messages": [{"role": "user", "content": text}]})
    plane.queue.put([plane.capture(number, request_body=body.encode()) for number in range(3)])
    kinds = (*by_name(["crosslingual.en_to_fr", "crosslingual.en_to_it"]), *KINDS[:2])
    asyncio.run(plane.work(plan=RoutePlan(kinds, (0.3,), 2, "case_summary")))
    assert sorted({verdict.perturbation for verdict in plane.verdicts()}) == [
        BASELINE, "general.punctuation", "general.whitespace"
    ]  # fmt: skip
    assert len(plane.verdicts()) == 3 * 3
    assert plane.tally.value("trials_skipped", reason="no_rewriter") > 0
