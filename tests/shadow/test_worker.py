"""The worker on a real store and a simulated upstream: every trial once, every loss counted, answers kept."""

import asyncio
import gzip
import json
import random
import sqlite3
from collections import Counter
from unittest.mock import Mock

import httpx2
import pytest

from evenkeel.core.budget import NOTHING, Budget, Spend
from evenkeel.core.records import to_json
from evenkeel.core.tiers import SCORING_WAITS
from evenkeel.core.verdict import BASELINE, JUDGED_TOGETHER
from evenkeel.llm.price import ASSUMED, Prices
from evenkeel.metrics.judge import Judge
from evenkeel.metrics.scoring import heuristic_scorer, judge_scorer
from evenkeel.release.goldens.candidates import golden_of, prompt_text
from evenkeel.release.goldens.files import golden_lines, read_goldens
from evenkeel.shadow.original import Reader, UnreadableExchange
from evenkeel.shadow.perturbations import by_name
from evenkeel.shadow.planner import SEVERITIES, CellNeed, Needs, RoutePlan
from evenkeel.shadow.replay import Replayer, Target
from evenkeel.shadow.worker import Archivist
from evenkeel.simulate import ModelState, Simulation, make_case, serving, summary_prompt
from evenkeel.simulate.judge import JUDGE_MODEL
from evenkeel.stores.archive import ExchangeArchive
from evenkeel.stores.counters import Tally
from evenkeel.stores.goldens import GoldenError, GoldenStore
from evenkeel.stores.sqlite.database import Database
from evenkeel.stores.sqlite.documents import SqliteDocuments
from tests.cases import cases
from tests.kit.records import altered
from tests.llm.scripted import endpoint_of
from tests.shadow.planes import JSON, Plane, captured
from tests.shadow.trial_makers import trial_maker
from tests.shadow.wild_exchanges import WildExchanges

KINDS = by_name(["general.whitespace", "general.punctuation", "general.casing", "general.spelling"])


@pytest.fixture
def simulation():
    return Simulation([ModelState("simulated-1", fragility=0.5)])


@pytest.fixture
def upstream(simulation):
    with serving(simulation) as url:
        yield url


class SimulatedPlane(Plane):
    """A worker whose replays go to a simulated model."""

    def __init__(self, folder, upstream):
        super().__init__(folder)
        self.upstream = upstream
        self.budget = Budget()
        self.prices = Prices()
        self.flex = False
        self.needs = Needs()
        self.scorer = heuristic_scorer()

    async def work(self, *, plan=None):
        replayer = Replayer(concurrency=4, timeout_s=240)
        worker = self.worker(
            {"default": plan or RoutePlan(KINDS, 4, "case_summary")},
            *(self.scorer, replayer, self.costs(self.budget)),
            lambda exchange: Target(f"{self.upstream}{exchange.path}", route=exchange.route, flex=self.flex),
            prices=self.prices,
            needs=lambda _route, _model: self.needs,
        )
        try:
            await worker.drain()
        finally:
            await replayer.close()

    def capture(self, number, *, model="simulated-1", **changes):
        """An exchange as the data plane would capture it."""
        request = {
            "model": model,
            "messages": [{"role": "user", "content": summary_prompt(make_case(number))}],
        }
        response = httpx2.post(f"{self.upstream}/v1/chat/completions", json=request)
        return captured(request, response.content, number, **changes)


@pytest.fixture
def plane(tmp_path, upstream):
    made = SimulatedPlane(tmp_path, upstream)
    yield made
    made.database.close()


def calls_of(simulation):
    """Return the number of calls that the model has got."""
    return simulation.calls[simulation.find(None).name]


def test_every_exchange_gets_its_baseline_and_its_trials(plane):
    """Each trial has a verdict, paired with the baseline of its exchange, and its evidence."""
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
            assert verdict.control.rating == baseline[verdict.exchange_id]
            assert verdict.control.worse is False
            assert verdict.unsure or verdict.rating in {1, 2, 3}
            assert verdict.severity in SEVERITIES
            assert (verdict.origin.task, verdict.model) == ("case_summary", "simulated-1")
            assert not verdict.quality
    assert len({verdict.exchange_id for verdict in verdicts}) == 6
    lag = plane.queue.lag()
    assert (lag.waiting, lag.leased, lag.dead) == (0, 0, 0)
    assert plane.tally.value("exchanges_scored", route="default") == 6
    spelling = next(verdict for verdict in verdicts if verdict.perturbation == "general.spelling")
    evidence = plane.log.evidence(spelling.id)
    assert evidence.prompt != evidence.variant
    assert evidence.reference.text
    assert evidence.candidate.model == "simulated-1"


def test_the_trials_of_an_exchange_are_judged_in_one_call(tmp_path):
    """Trials that are not identical get the ratings that each gets alone, for fewer tokens."""
    found = {}
    for most in (1, 6):
        with serving(Simulation([ModelState("simulated-1", fragility=0.5), ModelState(JUDGE_MODEL)])) as url:
            (tmp_path / f"{most}").mkdir()
            plane = SimulatedPlane(tmp_path / f"{most}", url)
            plane.queue.put([plane.capture(number) for number in range(3)])
            counts = Counter()

            async def judged(plane=plane, url=url, most=most, counts=counts):
                endpoint = endpoint_of(base_url=f"{url}/v1", model=JUDGE_MODEL, api_key="")
                async with Judge(endpoint) as judge:
                    count = lambda *what: counts.update([what])  # noqa: E731
                    plane.scorer = judge_scorer(judge, group=most, count=count)
                    await plane.work()

            asyncio.run(judged())
            verdicts = plane.verdicts()
            plane.database.close()
        found[most] = {verdict.id: (verdict.rating, verdict.control.rating) for verdict in verdicts}
        tokens = sum(verdict.cost.tokens for verdict in verdicts)
        if most == 1:
            alone = tokens
            assert not counts
        else:
            grouped = [verdict for verdict in verdicts if JUDGED_TOGETHER in verdict.scoring.details]
            assert set(counts) == {("group_calls", "rated"), ("group_pairs", "rated")}
            assert len(grouped) >= counts["group_pairs", "rated"] >= 2 * counts["group_calls", "rated"]
            assert tokens < alone
    assert found[1] == found[6]
    assert len(found[6]) == 15


KNOWN = Needs({name: CellNeed(40, 30) for name in (BASELINE, *(kind.name for kind in KINDS))})
"""Enough is known of the route's model for answers to wait."""


@pytest.mark.parametrize(
    ("needs", "refused", "tiers"),
    [
        (KNOWN, 0.0, {"flex": 5}),
        (KNOWN, 1.0, {"standard": 5}),
        (Needs(), 0.0, {"standard": 5}),  # a new model
        (KNOWN._replace(urgent=True), 0.0, {"standard": 5}),  # just after a change
    ],
)
def test_what_can_wait_goes_to_the_flex_tier_and_comes_back_where_it_has_no_room(
    plane, simulation, needs, refused, tiers, monkeypatch
):
    """A new model does not wait, nor does a route after a change; what is refused is asked again."""
    simulation.change("simulated-1", {"flex_refusals": refused})
    plane.flex, plane.needs = True, needs
    plane.queue.put([plane.capture(1)])
    scored, waits = plane.scorer.score_all, []

    async def score_all(*pairs, **more):
        waits.append(SCORING_WAITS.get())
        return await scored(*pairs, **more)

    monkeypatch.setattr(plane.scorer, "score_all", score_all)
    asyncio.run(plane.work())
    assert len(plane.verdicts()) == 5
    assert waits == [needs is KNOWN]  # whichever tier has answered the replay
    assert not any(verdict.failure for verdict in plane.verdicts())
    found = {tier: plane.tally.value("replays", route="default", tier=tier) for tier in ("flex", "standard")}
    assert {tier: count for tier, count in found.items() if count} == tiers
    assert plane.tally.value("flex_refusals", route="default", reason="unavailable") == 5 * refused


def test_a_redelivered_exchange_is_not_tried_again(plane, simulation):
    """Trials that a dead worker had logged are not made or counted again; the rest is made."""
    exchange = plane.capture(1)
    plane.queue.put([exchange])
    asyncio.run(plane.work())
    calls = calls_of(simulation)
    before = plane.verdicts()
    lost = before[-1]
    with plane.database.write() as connection:  # as if the worker had died before its last append
        connection.execute("DELETE FROM verdicts WHERE id = ?", (lost.id,))
        connection.execute("DELETE FROM evidence WHERE verdict_id = ?", (lost.id,))
    plane.queue.put([exchange])
    asyncio.run(plane.work())
    assert sorted(verdict.id for verdict in plane.verdicts()) == sorted(verdict.id for verdict in before)
    assert calls_of(simulation) == calls + 1


def test_a_change_gets_its_trials_from_the_reserve(plane):
    """The ordinary part of the budget is spent: only an exchange of a route that has changed is tried."""
    plane.budget = Budget(tokens_per_day=1_000_000, reserve=0.5)
    costs = plane.costs(plane.budget)
    costs.settle(NOTHING, "default", {"replay": Spend(500_000, 0.0)})
    plane.queue.put([plane.capture(1)])
    asyncio.run(plane.work())
    assert plane.tally.value("trials_skipped", reason="budget_reserve") == 5
    plane.needs = Needs({"general.casing": CellNeed(1_000, 30, evidence=0.7)})  # comes that far by chance
    plane.queue.put([plane.capture(3)])
    asyncio.run(plane.work())
    assert plane.tally.value("trials_skipped", reason="budget_reserve") == 10
    plane.needs = Needs(urgent=True)
    plane.queue.put([plane.capture(2)])
    asyncio.run(plane.work())
    assert len(plane.verdicts()) == 5
    assert costs.today().tokens > 500_000


def test_what_is_let_go_as_the_day_goes_is_not_spent_on_resends_alone(plane):
    """An exchange is begun when there is room for all of its trials, and then it is finished."""
    first = plane.capture(1)
    plane.queue.put([first])
    asyncio.run(plane.work())
    whole = plane.costs().today().tokens
    # Of 20 exchanges a day a quarter is free at once, at their cost; estimates are several times as much.
    plane.budget = Budget(tokens_per_day=20 * whole, spread=True)
    for number in range(20):
        plane.now = 86_400.0 + 2_000 * number
        plane.queue.put([altered(first, id=f"{100 + number:016x}")])
        asyncio.run(plane.work())
    made = Counter(verdict.exchange_id for verdict in plane.verdicts())
    assert set(made.values()) == {5}
    assert 3 < len(made) < 15
    assert plane.tally.value("trials_skipped", reason="budget_pace") == 5 * (20 - (len(made) - 1))


@pytest.mark.parametrize(("changes", "where", "reason"), cases(__file__)["never tried"])
def test_what_is_never_tried_is_counted_with_its_reason(plane, changes, where, reason):
    """Nothing vanishes: what cannot be read is a dead letter, what cannot be repeated leaves the queue."""
    changes = {name: value.encode() if name.endswith("body") else value for name, value in changes.items()}
    plane.queue.put([plane.capture(1, **changes)])
    asyncio.run(plane.work())
    assert plane.tally.value(where, reason=reason) == 1
    lag = plane.queue.lag()
    assert (lag.waiting, lag.leased, lag.dead) == (0, 0, where == "exchanges_dead")
    assert plane.verdicts() == []


def test_an_exchange_delivered_too_often_is_buried(plane):
    """An exchange that kills its workers does not do so forever."""
    plane.queue.put([plane.capture(1)])
    for _ in range(5):
        assert plane.queue.reserve(1, 60)
        plane.now += 61
    asyncio.run(plane.work())
    assert plane.tally.value("exchanges_dead", reason="too_many_attempts") == 1


def broken(*_arguments):
    """Fail as a fault of evenkeel or of another package would."""
    raise KeyError("planted")


@pytest.mark.parametrize(
    ("where", "failures"),
    [
        ("scoring", {"metrics: internal_error": 5}),
        ("replaying", {"replay: internal_error": 5}),
        ("perturbing", {None: 4}),
    ],
)
def test_an_exception_spoils_what_it_is_about_and_nothing_is_paid_twice(
    plane, simulation, monkeypatch, where, failures
):
    """Whatever was paid for is in the log, with its reason; the exchange is not delivered again."""
    exchange = plane.capture(1)
    calls = calls_of(simulation)
    if where == "scoring":
        monkeypatch.setattr("evenkeel.metrics.scoring.ignored", broken)
    elif where == "replaying":
        monkeypatch.setattr("evenkeel.shadow.replay.read_answer", broken)
    else:
        monkeypatch.setattr(type(KINDS[0]), "apply", broken)
    plane.queue.put([exchange])
    asyncio.run(plane.work())
    counted = Counter()
    for verdict in plane.verdicts():
        failure = verdict.failure
        counted[f"{failure.metric}: {failure.reason}" if failure else None] += 1
    assert counted == failures
    assert calls_of(simulation) - calls == sum(failures.values())
    assert plane.tally.value("trials_skipped", reason="internal_error") == (where == "perturbing")
    assert plane.tally.value("worker_errors", where="trial") >= 1
    assert plane.tally.value("exchanges_scored") == 1
    assert plane.queue.lag().waiting == plane.queue.lag().leased == 0


def test_an_exchange_on_which_the_reader_fails_is_buried_at_once(plane, monkeypatch):
    """Another delivery would end the same way, and nobody would know why."""
    plane.queue.put([plane.capture(1)])
    monkeypatch.setattr("evenkeel.shadow.original.traits_of", broken)
    asyncio.run(plane.work())
    assert [letter.reason for letter in plane.queue.dead_letters(9)] == ["internal_error"]
    assert plane.tally.value("exchanges_dead", reason="internal_error") == 1


@pytest.mark.parametrize(
    ("change", "reason"),
    [({"error_rate": 1.0}, "server_error"), ({"returned_name": "simulated-2"}, "model_changed")],
)
def test_a_replay_that_cannot_be_compared_is_a_counted_failure(plane, simulation, change, reason):
    """An error, or an answer of another model, gives a verdict without a rating, never a made-up number."""
    plane.queue.put([plane.capture(1)])
    simulation.change("simulated-1", change)
    asyncio.run(plane.work())
    verdicts = plane.verdicts()
    assert len(verdicts) == 5
    assert {(verdict.rating, verdict.failure.reason) for verdict in verdicts} == {(None, reason)}


def test_a_spent_budget_stops_replays_and_is_counted(plane, simulation):
    """No call is made; the exchange is counted as skipped, not lost."""
    exchange = plane.capture(1)
    calls = calls_of(simulation)
    plane.budget = Budget(tokens_per_day=10)
    plane.queue.put([exchange])
    asyncio.run(plane.work())
    assert calls_of(simulation) == calls
    assert plane.tally.value("exchanges_skipped", reason="budget") == 1
    assert plane.tally.value("trials_skipped", reason="budget") == 5


def test_a_round_that_is_cancelled_while_it_is_booked_gives_its_budget_back(plane):
    """An exchange over its processor time is cancelled just there, and its process goes on."""
    costs = plane.costs(Budget(tokens_per_day=100_000))
    costs.reserve, reserve = Mock(), costs.reserve
    plan = RoutePlan(KINDS, 4, "case_summary")
    original = Reader({"default": plan}).read(plane.capture(1))

    async def cancelled():
        replayer = Replayer(concurrency=4, timeout_s=240)
        maker = trial_maker(plane.log, plane.scorer, replayer, costs, lambda _: Target(plane.upstream))
        making = asyncio.create_task(maker.make(original))
        loop = asyncio.get_running_loop()

        def reserve_late(*args, **more):
            refused = reserve(*args, **more)
            loop.call_soon_threadsafe(making.cancel)
            return refused

        costs.reserve.side_effect = reserve_late
        await asyncio.gather(making, return_exceptions=True)
        await replayer.close()
        return making.cancelled()

    assert asyncio.run(cancelled())
    assert reserve(Spend(100_000, 0.0), "default") is None


def test_a_model_without_a_price_is_not_replayed_where_dollars_are_limited(plane, simulation, caplog):
    """Counted, and said in the log once."""
    plane.prices = Prices(required=True, assumed=ASSUMED)
    plane.queue.put([plane.capture(number, model="nobody-knows") for number in range(2)])
    calls = calls_of(simulation)
    asyncio.run(plane.work())
    assert calls_of(simulation) == calls
    assert plane.tally.value("trials_skipped", reason="unpriced") == 2 * 5
    assert caplog.text.count("nobody-knows has no known price") == 1


def test_a_prompt_without_input_skips_what_cannot_apply(plane):
    """A perturbation with nothing to act on is counted by reason; the baseline is still tried."""
    request = {"model": "simulated-1", "messages": [{"role": "system", "content": "Say hello."}]}
    plane.queue.put([plane.capture(1, request_body=json.dumps(request).encode())])
    asyncio.run(plane.work())
    assert [verdict.perturbation for verdict in plane.verdicts()] == [BASELINE]
    assert plane.tally.value("trials_skipped", reason="no_input") == 4


def test_a_kind_that_lacks_a_rewriter_takes_no_other_kinds_turn(plane):
    """A German prompt would have to be translated for it: counted, and the exchange gets all its trials."""
    text = "Seit gestern druckt der Drucker im Büro nichts mehr. Was können wir jetzt prüfen?"
    body = json.dumps({"model": "simulated-1", "messages": [{"role": "user", "content": text}]})
    plane.queue.put([plane.capture(number, request_body=body.encode()) for number in range(3)])
    kinds = (*by_name(["crosslingual.en_to_fr", "crosslingual.en_to_it"]), *KINDS[:2])
    asyncio.run(plane.work(plan=RoutePlan(kinds, 2, "case_summary")))
    assert sorted({verdict.perturbation for verdict in plane.verdicts()}) == [
        BASELINE, "general.punctuation", "general.whitespace"
    ]  # fmt: skip
    assert len(plane.verdicts()) == 3 * 3
    assert plane.tally.value("trials_skipped", reason="no_rewriter") > 0


# --- the archive

BODY = '{"model": "asked", "messages": [{"role": "user", "content": "Wie lange, bitte?"}]}'
EXCHANGE = captured(
    gzip.compress(BODY.encode(), mtime=0),
    {"model": "answered", "choices": [{"message": {"content": "Vier Tage."}, "finish_reason": "stop"}]},
    route="shop",
    path="/shop/v1/chat/completions?api-version=2",
    request_headers=(*JSON, ("content-encoding", "gzip")),
    received_at=12.5,
    task="chat",
    prompt_version="p7",
)


@pytest.fixture
def archive(tmp_path):
    return ExchangeArchive(SqliteDocuments(Database(tmp_path / "evenkeel.db")))


def keep(archive, exchange, prefix="/shop"):
    tally = Tally()
    original = Reader({"shop": RoutePlan((), 0, None)}).read(exchange)
    Archivist(archive, {"shop": prefix}, tally=tally).keep(original)
    return tally


def test_an_exchange_is_kept_decoded_and_without_its_prefix(archive):
    """The body as the client wrote it, the answer as it was read, and where it came from."""
    tally = keep(archive, EXCHANGE)
    kept = archive.find(EXCHANGE.id)
    assert kept.request == BODY
    assert (kept.path, kept.route, kept.received_at) == ("/v1/chat/completions?api-version=2", "shop", 12.5)
    assert (kept.answer.text, kept.model) == ("Vier Tage.", "answered")
    assert (kept.task, kept.prompt_version) == ("chat", "p7")
    assert tally.value("exchanges_archived", route="shop") == 1


@pytest.mark.parametrize("prefix", ["", "/sho", "/shop/v1/chat/completions?api-version=2", "/other"])
def test_only_a_whole_prefix_is_removed(archive, prefix):
    """The rest is always a path."""
    keep(archive, EXCHANGE, prefix)
    assert archive.find(EXCHANGE.id).path == EXCHANGE.path


def test_a_second_delivery_is_archived_once(archive):
    """A worker that takes over finds the exchange there."""
    keep(archive, EXCHANGE)
    again = keep(archive, altered(EXCHANGE, task="other"))
    assert archive.find(EXCHANGE.id).task == "chat"
    assert again.value("exchanges_archived") == 0


def test_a_store_in_trouble_is_counted_and_nothing_else():
    """Trials go on without the archive."""

    class Broken:
        def put(self, _exchange):
            raise sqlite3.OperationalError("disk I/O error")

    tally = keep(Broken(), EXCHANGE)
    assert tally.value("worker_errors", where="archive") == 1
    assert tally.value("exchanges_archived") == 0


def test_whatever_is_archived_can_be_approved_and_written(tmp_path):
    """Each odd exchange that could be read comes back, or is refused with a reason."""
    rng = random.Random(11)
    exchanges = [WildExchanges(rng).exchange(number) for number in range(120)]
    plan = RoutePlan((), 0, None)
    reader = Reader({exchange.route: plan for exchange in exchanges})
    database = Database(tmp_path / "evenkeel.db")
    archive, store = ExchangeArchive(SqliteDocuments(database)), GoldenStore(SqliteDocuments(database))
    tally = Tally()
    approved = refused = 0
    for exchange in exchanges:
        original = reader.read(exchange)
        if isinstance(original, UnreadableExchange):
            continue
        Archivist(archive, {exchange.route: "/"}, tally=tally).keep(original)
        kept = archive.find(exchange.id)
        assert kept.answer == original.answer
        assert isinstance(prompt_text(kept.request), str)
        try:
            golden = store.approve(golden_of(kept), by="ann", at=1.0)
        except GoldenError:
            refused += 1
            continue
        approved += 1
        stored = store.find(golden.id)
        assert to_json(stored) == to_json(golden)  # equal but for halves of surrogate pairs
        (line,) = golden_lines([stored])
        assert read_goldens([line], "f") == (stored,)
    assert tally.value("worker_errors") == 0
    assert approved > 25
    assert refused > 0  # answers that say nothing
