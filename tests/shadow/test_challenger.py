"""A challenger behind the worker: simulated incumbent and candidate, simulated judge, real store."""

import asyncio
import json
from dataclasses import replace
from random import Random

import httpx2
import pytest

from evenkeel.core.budget import Budget
from evenkeel.core.challenge import CHALLENGERS, Challenge
from evenkeel.core.records import to_json
from evenkeel.llm.price import ModelPrice, Prices
from evenkeel.metrics.judge import Judge
from evenkeel.metrics.judge.raters import PreferenceJudge
from evenkeel.metrics.scoring import heuristic_scorer, judge_scorer
from evenkeel.release.challenge.figures import challenge_figures
from evenkeel.shadow.challenger import ChallengeJudges, Challenger, ChallengeReplays, candidate_view
from evenkeel.shadow.perturbations import by_name
from evenkeel.shadow.planner import RoutePlan
from evenkeel.shadow.prompt import PromptView, api_of
from evenkeel.shadow.quoted_replays import QuotedReplays
from evenkeel.shadow.replay import Replayer, Target
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
from evenkeel.stores.sqlite.documents import SqliteDocuments
from tests.cases import cases
from tests.llm.scripted import endpoint_of
from tests.shadow.planes import Plane, captured

CASES = cases(__file__)

KINDS = by_name(["general.whitespace", "general.punctuation", "general.spelling"])
CHALLENGE = Challenge(route="default", model="candidate", share=1.0, started_at=1000.0)


class ChallengedPlane(Plane):
    """A worker with a challenger, and what it leaves."""

    def __init__(
        self, folder, upstream, *, challenge=CHALLENGE, judged=True, budget=None, rate=1.0, other=""
    ):
        super().__init__(folder)
        self.store = ChallengeStore(SqliteDocuments(self.database), kept_s=86_400.0)
        self.upstream, self.judged, self.rate = upstream, judged, rate
        self.other = other or upstream
        self.cost_tracker = self.costs(own={CHALLENGERS: budget} if budget else {})
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
                self.cost_tracker,
                sampling_rates={"default": self.rate},
                keeps_texts=True,
                tally=self.tally,
            )
            plans = {"default": RoutePlan(KINDS, 1, "case_summary")}
            worker = self.worker(
                plans, scorer, replayer, self.cost_tracker, target, prices=self.prices, challenger=challenger
            )
            try:
                await worker.drain()
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


def capture(plane, count, system=INSTRUCTIONS):
    """Put so many sampled exchanges of the incumbent into a plane's queue."""
    lead = [{"role": "system", "content": system}] if system else []
    with httpx2.Client(base_url=plane.upstream) as incumbent:
        for number in range(count):
            messages = [*lead, {"role": "user", "content": summary_prompt(make_case(number))}]
            request = {"model": "simulated-1", "messages": messages}
            answer = incumbent.post("/v1/chat/completions", json=request).content
            client = f"client-{number % 2}"
            plane.queue.put([captured(request, answer, number, received_at=900.0 + number, client=client)])


def test_a_pair_holds_both_answers_their_places_and_their_prices(tmp_path, upstream):
    """The pair holds no text; texts of a pair that lost are kept beside it, until they are too old."""
    plane = ChallengedPlane(tmp_path, upstream)
    capture(plane, 16)
    asyncio.run(plane.work())
    pairs = plane.pairs()
    assert len(pairs) == 16
    assert {pair.client for pair in pairs} == {"client-0", "client-1"}
    assert all(pair.again.dollars is not None and pair.candidate.dollars and pair.judged for pair in pairs)
    assert all(pair.control_rating == 3 and pair.control_preference is None for pair in pairs)
    places = [pair.preference for pair in pairs if pair.rating != 3]
    assert -1 in places
    assert 1 not in places
    reworded = [pair.rewording for pair in pairs if pair.rewording]
    assert 2 <= len(reworded) <= 11
    assert not any(made.incumbent_moved or made.incumbent_resend_moved for made in reworded)
    figures = challenge_figures(CHALLENGE, pairs)
    assert figures.measures["worse"].value > 0
    assert figures.again_side.places.worse == 0
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
    assert len(plane.pairs()) == 16


def test_the_incumbents_verdicts_are_the_same_with_and_without_a_challenger(tmp_path, upstream):
    logged = []
    for challenge in (None, CHALLENGE):
        folder = tmp_path / str(bool(challenge))
        folder.mkdir()
        plane = ChallengedPlane(folder, upstream, challenge=challenge)
        capture(plane, 5)
        asyncio.run(plane.work())
        logged.append(
            {
                verdict.id: (verdict.rating, verdict.perturbation, verdict.severity, verdict.cost.tokens)
                for verdict in plane.verdicts()
            }
        )
    assert logged[0] == logged[1]


def test_its_share_of_the_budget_is_a_ceiling(tmp_path, upstream):
    budget = Budget(tokens_per_day=20_000)
    plane = ChallengedPlane(tmp_path, upstream, budget=budget)
    capture(plane, 10)
    asyncio.run(plane.work())
    spent = plane.cost_tracker.by_route_and_kind()
    assert 0 < spent[CHALLENGERS, "challenge"].tokens <= 20_000
    assert ("default", "challenge") not in spent
    assert 0 < len(plane.pairs()) < 10
    assert plane.outcomes()["budget"] + len(plane.pairs()) == 10
    # The route's own trials went on.
    assert len({verdict.exchange_id for verdict in plane.verdicts()}) == 10


def test_only_the_stated_share_of_the_requests_is_asked(tmp_path, upstream):
    plane = ChallengedPlane(tmp_path, upstream, challenge=replace(CHALLENGE, share=0.1), rate=0.5)
    capture(plane, 16)
    asyncio.run(plane.work())
    assert 1 <= len(plane.pairs()) <= 8


def test_a_candidate_that_fails_is_a_counted_failure(tmp_path, upstream):
    plane = ChallengedPlane(tmp_path, upstream, other="http://127.0.0.1:9")
    capture(plane, 3)
    asyncio.run(plane.work())
    assert [pair.candidate.failure for pair in plane.pairs()] == ["connection"] * 3
    assert plane.outcomes() == {"failed": 3}


def test_another_system_prompt_replaces_the_requests_own(tmp_path, upstream):
    edited = replace(CHALLENGE, model="", prompt="Answer in one word.")
    plane = ChallengedPlane(tmp_path, upstream, challenge=edited, judged=False)
    capture(plane, 3)
    asyncio.run(plane.work())
    assert len(plane.store.pairs(edited.id)) == 3
    assert not any(pair.judged for pair in plane.store.pairs(edited.id))


@pytest.mark.parametrize(("path", "body", "sent"), CASES["system messages"])
def test_the_first_system_message_and_the_model_are_the_candidates(path, body, sent):
    view = PromptView.parse(json.dumps(body).encode(), api=api_of(path))
    asked = candidate_view(replace(CHALLENGE, prompt="New."), view)
    assert [segment.text for segment in asked.segments] == sent
    assert json.loads(asked.for_replay())["model"] == "candidate"


def test_a_request_without_a_system_prompt_cannot_have_another(tmp_path, upstream):
    plane = ChallengedPlane(tmp_path, upstream, challenge=replace(CHALLENGE, model="", prompt="Be brief."))
    capture(plane, 1, system="")
    asyncio.run(plane.work())
    assert plane.outcomes() == {"no_system_prompt": 1}


def test_a_fault_of_the_challenger_fails_no_exchange(tmp_path, upstream, monkeypatch, caplog):
    plane = ChallengedPlane(tmp_path, upstream)
    capture(plane, 4)

    def broken(_pair):
        raise OSError("disk full")

    monkeypatch.setattr(plane.store, "add", broken)
    asyncio.run(plane.work())
    assert plane.outcomes() == {"error": 4}
    assert len({verdict.exchange_id for verdict in plane.verdicts()}) == 4
    assert plane.queue.lag().waiting == 0
