"""A challenger behind the worker: simulated incumbent and candidate, simulated judge, real store."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from random import Random

import httpx2
import pytest

from evenkeel.core.budget import Budget
from evenkeel.core.challenge import CHALLENGERS, Challenge
from evenkeel.core.exchange import Exchange
from evenkeel.core.records import to_json
from evenkeel.llm.price import ModelPrice, Prices
from evenkeel.metrics.judge import Judge
from evenkeel.metrics.judge.preference import PreferenceJudge
from evenkeel.metrics.scoring import heuristic_scorer, judge_scorer
from evenkeel.release.challenge.figures import challenge_figures
from evenkeel.shadow.challenger import ChallengeJudges, Challenger, ChallengeReplays, candidate_view
from evenkeel.shadow.original import Reader
from evenkeel.shadow.perturbations import by_name
from evenkeel.shadow.planner import RoutePlan
from evenkeel.shadow.prompt import PromptView, api_of
from evenkeel.shadow.quoted_replays import QuotedReplays
from evenkeel.shadow.replay import Replayer, Target
from evenkeel.shadow.worker import Worker
from evenkeel.simulate import (
    INSTRUCTIONS,
    ModelState,
    Simulation,
    SimulationSettings,
    make_case,
    serving,
    summary_prompt,
)
from evenkeel.simulate.judge import JUDGE_MODEL
from evenkeel.stores.challenges import ChallengeStore
from evenkeel.stores.counters import Tally
from evenkeel.stores.sqlite.budget import SqliteCostTracker
from evenkeel.stores.sqlite.database import Database
from evenkeel.stores.sqlite.documents import SqliteDocuments
from evenkeel.stores.sqlite.queue import SqliteExchangeQueue
from evenkeel.stores.sqlite.verdicts import SqliteVerdictLog
from tests.llm.scripted import endpoint_of
from tests.shadow.trial_makers import trial_maker

JSON = (("content-type", "application/json"),)
KINDS = by_name(["general.whitespace", "general.punctuation", "general.spelling"])
CHALLENGE = Challenge(route="default", model="candidate", share=1.0, started_at=1000.0)


class Plane:
    """A worker with a challenger, and what it leaves."""

    def __init__(
        self, folder, upstream, *, challenge=CHALLENGE, judged=True, budget=None, rate=1.0, other=""
    ):
        self.database = Database(folder / "evenkeel.db")
        self.queue = SqliteExchangeQueue(self.database, lambda: 1000.0)
        self.log = SqliteVerdictLog(self.database)
        self.store = ChallengeStore(SqliteDocuments(self.database), kept_s=86_400.0)
        self.tally = Tally()
        self.upstream, self.judged, self.rate = upstream, judged, rate
        self.other = other or upstream
        own = {CHALLENGERS: budget} if budget else {}
        self.costs = SqliteCostTracker(self.database, Budget(), lambda: 1000.0, own)
        self.prices = Prices({"*": ModelPrice(1.0, 4.0)})
        if challenge is not None:
            self.store.start(challenge)

    async def work(self):
        replayer = Replayer(concurrency=4, timeout_s=60)
        async with Judge(endpoint_of(base_url=f"{self.upstream}/v1", model=JUDGE_MODEL, api_key="")) as judge:

            def target(exchange):
                return Target(f"{self.upstream}{exchange.path}", route=exchange.route)

            def elsewhere(exchange):
                return Target(f"{self.other}{exchange.path}", route=exchange.route)

            replays = QuotedReplays(replayer, self.prices, target, tally=self.tally)
            others = QuotedReplays(replayer, self.prices, elsewhere, tally=self.tally)
            scorer = judge_scorer(judge) if self.judged else heuristic_scorer()
            challenger = Challenger(
                self.store,
                ChallengeReplays(replays, lambda _: others, self.prices),
                ChallengeJudges(scorer, PreferenceJudge(judge) if self.judged else None),
                self.costs,
                sampling_rates={"default": self.rate},
                keeps_texts=True,
                tally=self.tally,
            )
            trials = trial_maker(
                self.log, scorer, replayer, self.costs, target,
                prices=self.prices, tally=self.tally, challenger=challenger,
            )  # fmt: skip
            plan = RoutePlan(KINDS, 1, "case_summary")
            try:
                await Worker(self.queue, Reader({"default": plan}), trials, tally=self.tally).drain()
            finally:
                await replayer.close()

    def pairs(self):
        return self.store.pairs(CHALLENGE.id)

    def outcomes(self):
        counted = self.tally.snapshot()["counters"]
        return {labels["outcome"]: value for name, labels, value in counted if name == "challenge_pairs"}


@pytest.fixture
def upstream():
    models = [
        ModelState("simulated-1", fragility=0.0, noise=0.0),
        ModelState("candidate", noise=0.5),
        ModelState(JUDGE_MODEL),
    ]
    with serving(Simulation(models, SimulationSettings(salt=b"challenger"), rng=Random(7))) as url:
        yield url


@pytest.fixture
def captured(upstream):
    """Put so many sampled exchanges of the incumbent into a plane's queue."""

    def capture(plane, count):
        for number in range(count):
            messages = [
                {"role": "system", "content": INSTRUCTIONS},
                {"role": "user", "content": summary_prompt(make_case(number))},
            ]
            body = json.dumps({"model": "simulated-1", "messages": messages}).encode()
            answer = httpx2.post(f"{upstream}/v1/chat/completions", content=body, headers=dict(JSON))
            plane.queue.put(
                [
                    Exchange(
                        f"{number:016x}", "default", 900.0 + number, 0.5, "POST", "/v1/chat/completions",
                        200, JSON, body, JSON, answer.content, client=f"client-{number % 2}",
                    )
                ]
            )  # fmt: skip

    return capture


def test_a_pair_holds_both_answers_their_places_and_their_prices(tmp_path, upstream, captured):
    """No text is in it; those of a pair that lost are kept beside it, until they are too old."""
    plane = Plane(tmp_path, upstream)
    captured(plane, 24)
    asyncio.run(plane.work())
    pairs = plane.pairs()
    assert len(pairs) == 24
    assert {pair.client for pair in pairs} == {"client-0", "client-1"}
    assert all(pair.again.dollars is not None and pair.candidate.dollars and pair.judged for pair in pairs)
    assert all(pair.control_rating == 3 and pair.control_preference is None for pair in pairs)
    places = [pair.preference for pair in pairs if pair.rating != 3]
    assert -1 in places
    assert 1 not in places
    reworded = [pair.rewording for pair in pairs if pair.rewording]
    assert 2 <= len(reworded) <= 16
    assert not any(made.incumbent_moved or made.incumbent_resend_moved for made in reworded)
    figures = challenge_figures(CHALLENGE, pairs)
    assert figures.worse.value > 0
    assert figures.again.worse == 0
    assert "case" not in "".join(map(to_json, pairs)).replace("case_summary", "")
    worse = {pair.exchange for pair in pairs if pair.preference == -1}
    texts = {kept.exchange: kept for kept in plane.store.texts(CHALLENGE.id)}
    assert worse <= texts.keys()
    kept = texts[worse.pop()]
    assert kept.served
    assert kept.candidate != kept.served
    assert "Simulated judge" in kept.reason
    plane.store.prune(now=10_000_000.0)
    assert plane.store.texts(CHALLENGE.id) == []
    assert len(plane.pairs()) == 24


def test_the_incumbents_verdicts_are_the_same_with_and_without_a_challenger(tmp_path, upstream, captured):
    logged = []
    for challenge in (None, CHALLENGE):
        folder = tmp_path / str(bool(challenge))
        folder.mkdir()
        plane = Plane(folder, upstream, challenge=challenge)
        captured(plane, 8)
        asyncio.run(plane.work())
        verdicts = [entry.verdict for entry in plane.log.entries_after(0, 1_000)]
        costs = {verdict.id: verdict.cost.tokens for verdict in verdicts}
        logged.append(
            (
                {
                    verdict.id: (verdict.rating, verdict.perturbation, verdict.severity)
                    for verdict in verdicts
                },
                costs,
            )
        )
    assert logged[0] == logged[1]


def test_its_share_of_the_budget_is_a_ceiling(tmp_path, upstream, captured):
    budget = Budget(tokens_per_day=40_000)
    plane = Plane(tmp_path, upstream, budget=budget)
    captured(plane, 20)
    asyncio.run(plane.work())
    spent = plane.costs.by_route_and_kind()
    assert 0 < spent[CHALLENGERS, "challenge"].tokens <= 40_000
    assert ("default", "challenge") not in spent
    assert 0 < len(plane.pairs()) < 20
    assert plane.outcomes()["budget"] + len(plane.pairs()) == 20
    # The route's own trials went on.
    assert len({entry.verdict.exchange_id for entry in plane.log.entries_after(0, 1_000)}) == 20


def test_only_the_stated_share_of_the_requests_is_asked(tmp_path, upstream, captured):
    plane = Plane(tmp_path, upstream, challenge=replace(CHALLENGE, share=0.1), rate=0.5)
    captured(plane, 30)
    asyncio.run(plane.work())
    assert 1 <= len(plane.pairs()) <= 15


def test_a_candidate_that_fails_is_a_counted_failure(tmp_path, upstream, captured):
    plane = Plane(tmp_path, upstream, other="http://127.0.0.1:9")
    captured(plane, 3)
    asyncio.run(plane.work())
    assert [pair.candidate.failure for pair in plane.pairs()] == ["connection"] * 3
    assert plane.outcomes() == {"failed": 3}


def test_another_system_prompt_replaces_the_requests_own(tmp_path, upstream, captured):
    edited = replace(CHALLENGE, model="", prompt="Answer in one word.")
    plane = Plane(tmp_path, upstream, challenge=edited, judged=False)
    captured(plane, 3)
    asyncio.run(plane.work())
    assert len(plane.store.pairs(edited.id)) == 3
    assert not any(pair.judged for pair in plane.store.pairs(edited.id))


@pytest.mark.parametrize(
    ("path", "body", "sent"),
    [
        (
            "/v1/chat/completions",
            {
                "model": "m",
                "messages": [
                    {"role": "developer", "content": "Old."},
                    {"role": "system", "content": "Looked up: four days."},
                    {"role": "user", "content": "How long?"},
                ],
            },
            ["New.", "Looked up: four days.", "How long?"],
        ),
        (
            "/v1/messages",
            {
                "model": "m",
                "max_tokens": 9,
                "system": "Old.",
                "messages": [{"role": "user", "content": "Hi"}],
            },
            ["New.", "Hi"],
        ),
        ("/v1/responses", {"model": "m", "instructions": "Old.", "input": "Hi"}, ["New.", "Hi"]),
    ],
)
def test_the_first_system_message_and_the_model_are_the_candidates(path, body, sent):
    view = PromptView.parse(json.dumps(body).encode(), api=api_of(path))
    asked = candidate_view(replace(CHALLENGE, prompt="New."), view)
    assert [segment.text for segment in asked.segments] == sent
    assert json.loads(asked.for_replay())["model"] == "candidate"


def test_a_request_without_a_system_prompt_cannot_have_another(tmp_path, upstream):
    plane = Plane(tmp_path, upstream, challenge=replace(CHALLENGE, model="", prompt="Be brief."))
    body = json.dumps({"model": "simulated-1", "messages": [{"role": "user", "content": "Hello there"}]})
    answer = httpx2.post(f"{upstream}/v1/chat/completions", content=body, headers=dict(JSON))
    plane.queue.put(
        [
            Exchange(
                "0" * 16, "default", 900.0, 0.5, "POST", "/v1/chat/completions", 200, JSON, body.encode(),
                JSON, answer.content,
            )
        ]
    )  # fmt: skip
    asyncio.run(plane.work())
    assert plane.outcomes() == {"no_system_prompt": 1}


def test_a_fault_of_the_challenger_fails_no_exchange(tmp_path, upstream, captured, monkeypatch, caplog):
    plane = Plane(tmp_path, upstream)
    captured(plane, 4)

    def broken(_pair):
        raise OSError("disk full")

    monkeypatch.setattr(plane.store, "add", broken)
    asyncio.run(plane.work())
    assert plane.outcomes() == {"error": 4}
    assert len({entry.verdict.exchange_id for entry in plane.log.entries_after(0, 1_000)}) == 4
    assert plane.queue.lag().waiting == 0
