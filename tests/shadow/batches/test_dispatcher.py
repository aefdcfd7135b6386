"""Replays through batches, on both stores and with both providers: once each, whatever is lost on the way."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from evenkeel.core.budget import Spend
from evenkeel.core.verdict import BASELINE
from evenkeel.shadow.batches import BatchLimits
from evenkeel.shadow.batches import dispatcher as dispatching
from evenkeel.shadow.batches.apis import APIS, BatchCalls, BatchError
from evenkeel.shadow.original import Reader
from evenkeel.shadow.perturbations import by_name
from evenkeel.shadow.planner import Need, Needs, RoutePlan
from evenkeel.shadow.stages import TrialStages
from evenkeel.simulate import ModelState, Simulation, serving
from tests.shadow.batches.plane import KNOWN, NOON, Plane

HOUR = 3600.0


@pytest.fixture
def simulation():
    time = [NOON]
    made = Simulation([ModelState("simulated-1", fragility=0.5)], clock=lambda: time[0])
    made.time = time
    return made


@pytest.fixture(params=["openai", "anthropic"])
def plane(request, backend, simulation):
    with serving(simulation) as url:
        yield Plane(backend, simulation, url, request.param)


@pytest.fixture
def openai(backend, simulation):
    with serving(simulation) as url:
        yield Plane(backend, simulation, url)


class KilledError(Exception):
    """Stands for a process that is killed."""


def killed_at(monkeypatch, plane, name, *, after=True):
    """Kill the worker at a call of the provider, before it is made or after."""
    api = APIS[plane.api]
    real = getattr(api, name)

    async def call(*arguments):
        if after:
            await real(*arguments)
        raise KilledError

    with monkeypatch.context() as patch:
        patch.setattr(type(api), name, staticmethod(call))
        with pytest.raises(KilledError):
            plane.step()
    plane.begin()


def test_trials_that_can_wait_are_answered_through_a_batch(plane):
    """What the exchanges are like is told at once; all answers come with the batch, the control's as well."""
    plane.queue_up(1, 2, 3)
    assert (plane.queue.lag().waiting, plane.queue.lag().leased) == (0, 0)
    told = plane.verdicts(late=False)
    assert [(verdict.parked, verdict.reused, verdict.tokens) for verdict in told] == [(True, True, 0)] * 3
    assert plane.counted("replays", tier="standard") == 0
    assert plane.verdicts() == []
    plane.step(899)
    assert plane.store.batches() == []
    plane.desk.takes_s = 3 * HOUR
    plane.step(1)
    [batch] = plane.store.batches()
    assert (batch.state, batch.requests, len(batch.exchanges)) == ("running", 9, 3)
    plane.step(HOUR)
    assert plane.verdicts() == []
    plane.step(2 * HOUR)
    verdicts = plane.verdicts()
    assert len(verdicts) == 6
    assert {verdict.failure for verdict in verdicts} == {None}
    assert {verdict.baseline_rating for verdict in verdicts} == {3}
    assert {verdict.scored_at for verdict in verdicts} == {NOON + 900 + 3 * HOUR}
    assert {verdict.waited_s for verdict in verdicts} == {900 + 3 * HOUR}
    controls = plane.verdicts(late=False)[3:]
    assert [(one.parked, one.rating, one.waited_s) for one in controls] == [(False, 3, 900 + 3 * HOUR)] * 3
    assert {one.exchange_id for one in controls} == {one.exchange_id for one in told}
    assert plane.store.states() == plane.store.batches() == []
    assert plane.counted("replays", tier="batch") == 9
    assert plane.counted("batches", state="completed") == 1


def test_nothing_is_left_with_the_provider(plane):
    """Files and message batches are deleted once all is rated."""
    plane.queue_up(1)
    plane.step(900)
    assert plane.desk.files == {}
    if plane.api == "anthropic":
        assert plane.desk.batches == {}


def test_urgent_trials_never_wait(plane):
    """Those of a model that is new, and those after a change."""
    for number, needs in enumerate((KNOWN._replace(cells={}), KNOWN._replace(urgent=True))):
        plane.needs = needs
        plane.begin()
        plane.queue_up(number)
        assert plane.store.states() == []
    assert len(plane.verdicts()) == 4


def test_a_batch_is_sent_when_it_is_full(openai):
    """By its requests; exchanges are not torn apart."""
    openai.limits = BatchLimits(900.0, 8)
    openai.begin()
    openai.desk.takes_s = HOUR
    openai.queue_up(1, 2)
    openai.step()
    assert openai.store.batches() == []
    openai.queue_up(3)
    openai.step()
    [batch] = openai.store.batches()
    assert (batch.requests, len(batch.exchanges)) == (6, 2)
    assert len(openai.store.states()) == 3


def test_models_do_not_share_a_batch(openai):
    """A provider takes one model in a file."""
    openai.desk.takes_s = HOUR
    openai.queue.put([openai.capture(1), openai.capture(2, model="other")])
    openai.work()
    openai.step(900)
    assert sorted(batch.requests for batch in openai.store.batches()) == [3, 3]


@pytest.mark.parametrize("name", ["upload", "create"])
@pytest.mark.parametrize("after", [False, True])
def test_a_worker_killed_while_it_sends_sends_once(openai, monkeypatch, name, after):
    """What arrived is found again, what did not is sent, once no call of before can arrive any more."""
    openai.desk.takes_s = HOUR
    openai.queue_up(1, 2)
    openai.now += 900
    killed_at(monkeypatch, openai, name, after=after)
    openai.step()
    assert len(openai.desk.batches) == after
    openai.step(300)
    assert len(openai.desk.batches) == len(openai.desk.files) == 1
    openai.step(HOUR)
    assert len(openai.verdicts()) == 4


@pytest.mark.parametrize("after", [False, True])
def test_nobody_knows_what_became_of_a_message_batch_that_was_not_answered(plane, monkeypatch, after):
    """It bears no name: those of others in the workspace are not touched, and the trials are lost, booked."""
    if plane.api == "openai":
        return
    others = plane.desk.begin_messages(
        {"requests": [{"custom_id": f"theirs-{number}", "params": {}} for number in range(6)]}
    )
    plane.desk.takes_s = HOUR
    plane.queue_up(1, 2)
    booked = plane.costs.of_kind("replay")
    plane.now += 900
    killed_at(monkeypatch, plane, "create", after=after)
    asked = calls_of(monkeypatch)
    plane.step()
    plane.step(HOUR)
    assert asked == []
    assert others.id in plane.desk.batches
    assert failures(plane) == ["batch_lost"] * 4
    assert plane.costs.of_kind("replay") == booked
    assert plane.store.states() == plane.store.batches() == []


def calls_of(monkeypatch):
    """What is asked of the provider from now on."""
    asked, real = [], BatchCalls.send

    async def send(calls, method, path, **more):
        asked.append((method, path))
        return await real(calls, method, path, **more)

    monkeypatch.setattr(BatchCalls, "send", send)
    return asked


def test_a_batch_is_found_behind_those_of_others(openai, monkeypatch):
    """However many they are by then."""
    openai.desk.takes_s = HOUR
    openai.queue_up(1)
    openai.now += 900
    killed_at(monkeypatch, openai, "create")
    [ours] = openai.desk.batches
    [file] = openai.desk.files
    for _ in range(250):
        other = openai.desk.add_file("theirs.jsonl", openai.desk.files[file].content)
        openai.desk.begin(
            {"endpoint": "/v1/chat/completions", "completion_window": "24h", "input_file_id": other.id}
        )
    openai.step()
    [batch] = openai.store.batches()
    assert batch.name == ours


@pytest.mark.parametrize("step", ["upload", "create", "progress", "answers", "forget"])
def test_an_endpoint_that_goes_silent_at_any_step_is_asked_again(plane, monkeypatch, step):
    """What it may have done is not done twice."""
    plane.queue_up(1)
    real, broken = BatchCalls.send, [True]
    parts = {
        "upload": ("POST", "/files"),
        "create": ("POST", "/batches"),
        "progress": ("GET", "/batches/"),
        "forget": ("DELETE", "/"),
    }

    async def send(calls, method, path, **more):
        reply = await real(calls, method, path, **more)
        if broken[0] and step in parts and method == parts[step][0] and parts[step][1] in path:
            broken[0] = False
            raise BatchError("the endpoint answered 502", again=True)
        return reply

    lines = BatchCalls.lines

    async def cut(calls, path):
        async for line in lines(calls, path):
            yield line
            if broken[0] and step == "answers":
                broken[0] = False
                raise BatchError("the connection broke", again=True)

    monkeypatch.setattr(BatchCalls, "send", send)
    monkeypatch.setattr(BatchCalls, "lines", cut)
    plane.step(900)
    for _ in range(3):
        plane.step(400)
    if plane.api == "anthropic" and step == "create":
        assert failures(plane) == ["batch_lost"] * 2
        return
    assert not failures(plane)
    assert len(plane.verdicts()) == 2
    assert plane.desk.files == {}
    assert len(plane.desk.batches) == (plane.api == "openai")
    assert plane.store.batches() == []


def test_a_worker_killed_before_it_deletes_deletes(plane, monkeypatch):
    """All is rated by then, and no exchange is left to say where the batch is."""
    plane.queue_up(1)
    plane.now += 900
    killed_at(monkeypatch, plane, "forget", after=False)
    assert plane.store.states() == []
    plane.step()
    assert plane.desk.files == {}
    assert len(plane.desk.batches) == (plane.api == "openai")
    assert plane.store.batches() == []


def test_a_change_that_nobody_announces_meanwhile_is_in_both_sides(plane, simulation):
    """A trial is compared with the control of its own batch: not its wording is what moved."""
    plane.plan = RoutePlan(by_name(["general.whitespace"]), (0.3,), 1, "case_summary")
    plane.needs = Needs({name: Need(500, 30) for name in (BASELINE, "general.whitespace")})
    plane.begin()
    plane.queue_up(*range(12))
    simulation.change("simulated-1", {"closing_share": 1.0})
    plane.step(900)
    late = plane.verdicts()
    assert len(late) == 12
    assert all(verdict.similarity < 1 and verdict.baseline_similarity < 1 for verdict in late)


def test_two_workers_at_once_give_back_once(openai, monkeypatch):
    """As after a pause in which the lease went to another: what is booked is released by the first."""
    openai.queue_up(1)
    booked = openai.costs.of_kind("replay")
    real = openai.dispatcher._rate

    async def twice(parked, late):
        await real(parked, late)
        return openai.store.drop(parked.exchange.id) or True

    monkeypatch.setattr(openai.dispatcher, "_rate", twice)
    openai.step(900)
    assert openai.costs.of_kind("replay") == booked


def test_a_route_that_is_gone_stops_no_other(openai):
    """Its exchanges are given up, its batch is forgotten, and what is left with the provider is logged."""
    openai.desk.takes_s = HOUR
    openai.queue_up(1)
    openai.step(900)
    openai.routes = set()
    openai.begin()
    openai.worker._reader = Reader({})
    openai.step(60)
    assert openai.store.batches() == openai.store.states() == []
    assert openai.tally.value("exchanges_dead", reason="route_gone") == 1
    assert openai.tally.value("worker_errors", where="batch_files") == 1


@pytest.mark.parametrize("step", ["progress", "answers"])
def test_an_endpoint_in_trouble_for_days_does_not_keep_prompts_for_ever(plane, monkeypatch, step):
    """A day and two hours for the answers, two more days to fetch them."""
    plane.queue_up(1)

    async def refused(*_):
        raise BatchError("the endpoint answered 500", again=True)

    async def cut(*_):
        raise BatchError("the endpoint answered 500", again=True)
        yield

    monkeypatch.setattr(type(APIS[plane.api]), step, cut if step == "answers" else refused)
    plane.step(900)
    plane.step(25 * HOUR)
    assert plane.verdicts() == []
    plane.step(22 * HOUR)
    assert bool(plane.verdicts()) == (step == "progress")
    plane.step(2 * HOUR)
    assert failures(plane) == ["batch_lost"] * 2
    assert plane.store.states() == plane.store.batches() == []


def test_a_judge_in_trouble_for_days_does_not_keep_prompts_for_ever(plane):
    """After two days the trials have failed."""
    plane.queue_up(1)
    plane.held = True
    plane.step(900)
    plane.step(49 * HOUR)
    assert failures(plane) == ["batch_lost"] * 2


def test_answers_of_others_and_endless_lines_are_left_out(openai):
    """Of a file that an endpoint made up."""
    openai.queue_up(1)
    content = openai.desk.file

    def hostile(name):
        found = content(name)
        if found.name.endswith("output.jsonl"):
            theirs = b'{"custom_id": "theirs", "response": {"body": {}}}\n[]\n{"custom_id": 7}\nno json\n'
            found = replace(found, content=theirs + b"x" * (5 << 20) + b"\n" + found.content)
        return found

    openai.desk.file = hostile
    openai.step(900)
    assert len(openai.verdicts()) == 2
    assert not failures(openai)


def test_a_worker_that_fails_between_answer_and_verdict_goes_on(plane, monkeypatch):
    """A verdict that is in the log is not made again, and what is missing is."""
    plane.queue_up(1, 2)
    append, count = plane.log.append, [0]

    def counted(verdict, evidence):
        count[0] += 1
        if count[0] == 3:
            raise OSError("the disk is gone")
        return append(verdict, evidence)

    with monkeypatch.context() as patch:
        patch.setattr(plane.log, "append", counted)
        plane.step(900)
    plane.begin()
    assert 2 <= len(plane.verdicts()) < 4
    plane.step(1)
    assert len({verdict.id for verdict in plane.verdicts()}) == len(plane.verdicts()) == 4
    assert plane.store.states() == []


def test_an_exchange_delivered_again_is_parked_once(openai, monkeypatch):
    """A worker killed between parking and acknowledging booked and parked already."""
    exchange = openai.capture(1)
    openai.queue.put([exchange])
    with monkeypatch.context() as patch:
        patch.setattr(openai.queue, "acknowledge", lambda _ids: None)
        openai.work()
    booked = openai.costs.of_kind("replay")
    openai.queue.release([exchange.id])
    openai.work()
    assert openai.costs.of_kind("replay") == booked
    assert len(openai.store.states()) == 1


def test_what_an_exchange_is_like_is_told_though_the_worker_was_killed_before(openai, monkeypatch):
    """It is parked already when it is delivered again."""
    exchange = openai.capture(1)
    openai.queue.put([exchange])

    async def killed(*_):
        raise KilledError

    with monkeypatch.context() as patch:
        patch.setattr(TrialStages, "_tell", killed)
        openai.work()
    assert openai.verdicts(late=False) == []
    openai.queue.release([exchange.id])
    openai.work()
    assert [verdict.parked for verdict in openai.verdicts(late=False)] == [True]
    assert len(openai.store.states()) == 1


def test_a_control_that_waited_can_become_a_reference(plane):
    """Its exchange has no other."""
    kept = []
    plane.worker._stages._keep_reference = lambda original, control, _: kept.append((original, control))
    plane.queue_up(1)
    assert kept == []
    plane.step(900)
    [(original, control)] = kept
    assert (original.exchange.id, control.perturbation) == (f"{1:016x}", BASELINE)
    assert control.waited_s == 900


def test_what_a_batch_may_cost_is_booked_until_its_answers_prove_less(plane):
    """At the price of the tier: half of that of the same answers at once."""
    plane.queue_up(1)
    held = plane.costs.of_kind("replay")
    trials = plane.store.find(f"{1:016x}").trials
    assert trials[0].perturbation == BASELINE
    assert held.usd == pytest.approx(sum(trial.usd for trial in trials))
    plane.step(900)
    spent = Spend(0, 0.0)
    for verdict in (*plane.verdicts(), plane.verdicts(late=False)[1]):
        spent = spent.plus(Spend(verdict.tokens, verdict.cost_usd))
        evidence = plane.log.evidence(verdict.id).candidate
        usd = (evidence.prompt_tokens * 1e-6 + evidence.completion_tokens * 2e-6) / 2
        assert verdict.cost_usd == pytest.approx(usd)
    booked = plane.costs.of_kind("replay")
    assert (booked.tokens, booked.usd) == (spent.tokens, pytest.approx(spent.usd))


def test_what_a_batch_saves_is_counted(plane):
    """Two rewordings and the control at half of the price."""
    plane.queue_up(1)
    plane.step(900)
    late = [verdict.cost_usd for verdict in (*plane.verdicts(), *plane.verdicts(late=False))]
    assert plane.counted("batch_saved_usd") == pytest.approx(sum(late))


def test_a_budget_of_a_day_that_is_over_gets_nothing_back(openai):
    """The estimate stays on the day it was booked on, and the next one pays nothing."""
    openai.now += 11.5 * HOUR
    openai.queue_up(1)
    held = openai.costs.of_kind("replay")
    openai.step(HOUR)
    assert openai.costs.of_kind("replay") == Spend(0, 0.0)
    openai.now -= HOUR
    assert openai.costs.of_kind("replay") == held
    assert len(openai.verdicts()) == 2


def test_without_a_budget_nothing_is_parked(openai):
    """Nor is anything told of an exchange that has no trials; that it has none is counted."""
    openai.queue_up(1)
    taken = openai.costs.of_kind("replay")
    openai.costs.settle(Spend(0, 0.0), "default", {"replay": Spend(0, 1.0 - 1.2 * taken.usd)})
    openai.queue_up(2)
    assert [state.id for state in openai.store.states()] == [f"{1:016x}"]
    assert [verdict.exchange_id for verdict in openai.verdicts(late=False)] == [f"{1:016x}"]
    assert openai.counted("trials_skipped", reason="budget") == 3


def failures(plane):
    return sorted(verdict.failure.reason for verdict in plane.verdicts() if verdict.failure)


@pytest.mark.parametrize("ending", ["expired", "cancelled"])
def test_what_a_batch_ends_without_has_failed_and_costs_nothing(plane, ending):
    """The other half is rated."""
    plane.queue_up(1, 2)
    booked = plane.costs.of_kind("replay")
    if ending == "expired":
        plane.desk.expire = True
        plane.step(900)
    else:
        plane.desk.takes_s = HOUR
        plane.step(900)
        [batch] = plane.desk.batches.values()
        plane.desk.cancel(batch)
        plane.step(60)
    assert failures(plane) == [f"batch_{ending}"] * 2
    assert len(plane.verdicts()) == 4
    assert all(verdict.cost_usd == 0 for verdict in plane.verdicts() if verdict.failure)
    assert plane.costs.of_kind("replay").usd < booked.usd
    assert plane.store.batches() == []


def test_a_request_that_a_provider_leaves_out_stays_booked(plane):
    """Nobody knows what it cost."""
    plane.queue_up(1)
    _, first, _ = plane.store.find(f"{1:016x}").trials
    plane.desk.leave_out = {first.request_id}
    plane.step(900)
    assert failures(plane) == ["batch_lost"]
    lost = next(verdict for verdict in plane.verdicts() if verdict.failure)
    assert (lost.tokens, lost.cost_usd) == (first.tokens, pytest.approx(first.usd))


def test_a_request_that_the_provider_refuses_fails_alone(plane, simulation):
    """With what it said; the batch goes on."""
    plane.queue_up(1)
    simulation.change("simulated-1", {"error_rate": 1.0})
    plane.step(900)
    expected = "server_error" if plane.api == "openai" else "rejected"
    assert failures(plane) == [expected] * 2
    assert "on demand" in plane.verdicts()[0].failure.detail


def test_a_batch_that_fails_its_validation_fails_its_trials(openai):
    """With the reason that the provider gives."""
    openai.queue_up(1)
    openai.desk.refuse = {"code": "invalid_json_line", "message": "Line 1 is no JSON."}
    openai.step(900)
    openai.step(60)
    assert failures(openai) == ["batch_rejected"] * 2
    assert "Line 1 is no JSON" in openai.verdicts()[0].failure.detail
    assert openai.counted("batches", state="rejected") == 1


def test_a_provider_with_too_much_in_its_queue_is_asked_again(openai):
    """Later it may have less."""
    openai.queue_up(1)
    openai.desk.refuse = {"code": "token_limit_exceeded", "message": "Enqueued token limit reached."}
    openai.step(900)
    assert openai.counted("batches", state="put_off") == 1
    openai.step(600)
    assert len(openai.verdicts()) == 2
    assert not failures(openai)


def test_a_batch_that_never_comes_back_is_given_up_and_stays_booked(plane):
    """Two hours after the day that a provider takes at most."""
    plane.queue_up(1)
    booked = plane.costs.of_kind("replay")
    plane.desk.takes_s = 10**9
    plane.step(900)
    plane.step(25 * HOUR)
    assert plane.verdicts() == []
    plane.step(HOUR)
    assert failures(plane) == ["batch_lost"] * 2
    assert plane.counted("batches", state="lost") == 1
    plane.now = NOON
    assert plane.costs.of_kind("replay") == booked


def test_a_pair_of_two_models_is_a_counted_failure(plane, simulation):
    """What was replayed with another model than the original's says nothing about the prompt."""
    plane.queue_up(1)
    simulation.change("simulated-1", {"returned_name": "simulated-2"})
    plane.step(900)
    assert failures(plane) == ["model_changed"] * 2
    assert {verdict.model for verdict in plane.verdicts()} == {"simulated-1"}


def test_answers_wait_for_a_judge_in_trouble(plane):
    """With the provider, which keeps them for weeks."""
    plane.queue_up(1)
    plane.held = True
    plane.step(900)
    assert plane.verdicts() == []
    plane.held = False
    plane.step(60)
    assert len(plane.verdicts()) == 2


def test_an_endpoint_in_trouble_is_tried_again(plane, monkeypatch):
    """For a day; then the trials have failed, at no cost."""
    plane.queue_up(1)
    api = APIS[plane.api]

    async def refused(*_):
        raise BatchError("the endpoint answered 429", again=True, arrived=False)

    monkeypatch.setattr(type(api), "create", refused)
    plane.step(900)
    plane.step(HOUR)
    assert plane.verdicts() == []
    plane.step(24 * HOUR)
    assert failures(plane) == ["batch_rejected"] * 2
    assert {verdict.cost_usd for verdict in plane.verdicts()} == {0}


def test_a_route_that_goes_elsewhere_takes_its_key_along(plane):
    """Nothing about a batch is asked at another endpoint."""
    plane.desk.takes_s = HOUR
    plane.queue_up(1)
    plane.step(900)
    plane.url = "http://127.0.0.1:9"
    plane.step(HOUR)
    assert failures(plane) == ["batch_route_changed"] * 2


def test_a_route_that_takes_no_batches_any_more_gives_up_what_waits(plane):
    """Counted as failures that cost nothing."""
    plane.queue_up(1)
    plane.batches = False
    plane.step(900)
    assert failures(plane) == ["batch_route_changed"] * 2
    assert plane.store.states() == []


def test_what_was_learned_since_does_not_change_whose_trial_it_is(plane):
    """Model, prompt version, task and cluster are those of when it was planned."""
    exchange = replace(plane.capture(1), prompt_version="release-7")
    plane.queue.put([exchange])
    plane.work()
    [resend] = plane.verdicts(late=False)
    plane.step(900)
    for verdict in plane.verdicts():
        for name in ("model", "prompt_version", "task", "cluster", "exchange_weight", "settings"):
            assert getattr(verdict, name) == getattr(resend, name)


def test_the_credential_and_the_prompt_are_in_no_request_name(plane):
    """Names are letters and digits that follow from the trial, and tell nothing of it."""
    plane.queue_up(1)
    for trial in plane.store.find(f"{1:016x}").trials:
        assert len(trial.request_id) == 32
        int(trial.request_id, 16)
    assert "shadow-key-7" not in plane.backend.contents()


class _Flickering:
    """A lease in a store that goes away while a step is under way, and comes back."""

    def __init__(self):
        self.asked = 0

    def hold(self):
        self.asked += 1
        if self.asked == 2:
            raise OSError("the store is gone")
        return True

    def leave(self):
        raise OSError("the store is gone")


def test_a_step_ends_with_its_lease_and_the_next_one_begins(openai, monkeypatch, caplog):
    """A store that goes away stops nobody: not the step that follows, and not the end."""
    caplog.set_level("INFO", "evenkeel.worker")
    openai.queue_up(1)
    openai.now += 7200
    monkeypatch.setattr(dispatching, "_TICK_S", 0.001)
    openai.dispatcher._lease = _Flickering()
    steps, again = [], asyncio.Event()

    async def step():
        steps.append("begun")
        try:
            await asyncio.sleep(3600 if len(steps) == 1 else 0)
        finally:
            steps.append("ended")
            if len(steps) == 4:
                again.set()

    async def go():
        stop = asyncio.Event()
        monkeypatch.setattr(openai.dispatcher, "step", step)
        running = asyncio.create_task(openai.dispatcher.run(stop))
        await again.wait()
        stop.set()
        await running

    asyncio.run(go())
    assert steps[:4] == ["begun", "ended"] * 2
    assert openai.tally.value("worker_errors", where="batches") >= 1
    assert "1 exchange waits in batches, the oldest for 2 h; 0 batches under way" in caplog.text
