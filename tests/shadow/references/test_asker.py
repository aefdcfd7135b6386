"""Asking references: budgets, what is noted, failures, changes that begin them anew, one that is found."""

import json
import random

import pytest

from evenkeel.core.budget import Budget
from evenkeel.core.pair import Answer
from evenkeel.core.verdict import Failure
from evenkeel.llm.price import ModelPrice, Prices
from evenkeel.monitor.detect.references import ReferenceTest
from evenkeel.shadow.prompt import CHAT
from evenkeel.shadow.references.asker import ModelRename, MonitorFindings
from evenkeel.shadow.references.pace import FoundChange, Pace, Suspicion
from evenkeel.shadow.replay import Replay
from evenkeel.stores.references import KeptAnswer, Reference
from tests.kit.records import altered
from tests.shadow.references.askers import LEVEL, START, Asking
from tests.stores.examples import verdict

PRICES = Prices({"m": ModelPrice(1.0, 2.0)})


def reference(number, *, route="shop", model="m", version="p1", **changes):
    body = json.dumps({"model": model, "messages": [{"role": "user", "content": f"Question {number}?"}]})
    first = Answer(f"Answer {number}, as ever.", model="m-1", prompt_tokens=100, completion_tokens=50)
    given = Reference(
        id=f"x{number}",
        route=route,
        requested_model=model,
        prompt_version=version,
        path="/v1/chat/completions",
        request=body,
        taken_at=START,
        answers=(KeptAnswer(first, START, "m-1", "original"), KeptAnswer(first, START + 1, "m-1", "resend")),
    )
    return altered(given, **changes)


class Endpoint:
    """Stands for the replayer: answers at once, as scripted."""

    def __init__(self):
        self.asked = []
        self.answer = lambda said: f"Answer {said}, as ever."
        self.model = "m-1"
        self.failure = None

    async def send(self, target, body, *, api, budget, quote):
        if not budget.reserve(quote.estimate):
            return Failure("replay", 1, "budget", "The day is over.")
        assert (target.url, api) == ("http://model/v1/chat/completions", CHAT)
        said = json.loads(body)["messages"][0]["content"].removeprefix("Question ").rstrip("?")
        self.asked.append(said)
        if self.failure:
            return self.failure
        answer = Answer(self.answer(said), (), self.model, "fp", "stop", 100, 50)
        budget.settle(quote.estimate, quote.proven(answer))
        return Replay(answer, 0.5)


def asking_in(folder, **options):
    return Asking(folder, Endpoint(), PRICES, routes=("shop", "forms"), **options)


@pytest.fixture
def asking(tmp_path):
    return asking_in(tmp_path)


def test_a_call_is_made_noted_booked_and_kept(asking):
    """The call goes to the credential's target, as a replay; its answer joins the others."""
    asking.store.add(reference(7))
    assert asking.step() == 1
    (noted,) = asking.noted()
    assert asking.endpoint.asked == ["7"]
    assert (noted.route, noted.model, noted.requested_model) == ("shop", "m-1", "m")
    assert (noted.reference, noted.at) == ("x7", asking.now)
    assert (noted.compared, noted.below, noted.ties, noted.likeness, noted.own) == (3, 0, 3, 1.0, 1.0)
    assert (noted.system_fingerprint, noted.failure, noted.former) == ("fp", "", None)
    kept = asking.store.find("x7")
    assert [answer.source for answer in kept.answers] == ["original", "resend", "asked"]
    assert kept.asked_at == asking.now
    # 100 tokens at 1 and 50 at 2 dollars a million.
    assert asking.costs.by_route_and_kind() == {("shop", "reference"): (150, pytest.approx(0.0002))}
    assert asking.tally.value("references_asked", route="shop", asked="fill") == 1
    assert asking.tally.value("spend_tokens", route="shop") == 150
    today = asking.store.asked("shop")
    assert (today.calls, today.usd) == (1, pytest.approx(0.0002))


def test_the_limit_of_a_day_survives_a_restart(tmp_path):
    """Calls are noted in the store before they are made."""
    asking = asking_in(tmp_path, pace=Pace(4, 60, 0.5))
    for number in range(3):
        asking.store.add(reference(number, taken_at=START + 50_000))
    made = 0
    for _ in range(130):
        made += asking.step(600.0)
        asking.asker = asking.again()
    assert made == 4
    assert asking.step(9_000.0) == 1


def test_a_budget_that_refuses_makes_it_wait(tmp_path):
    """Nothing is sent or counted as asked; five minutes later it is tried again."""
    asking = asking_in(tmp_path, budget=Budget(tokens_per_day=1_630))
    asking.store.add(reference(1))
    assert asking.step() == 1
    assert [asking.step(10.0) for _ in range(3)] == [0, 0, 0]
    assert asking.tally.value("references_failed", route="shop", reason="budget") == 1
    assert asking.store.asked("shop").calls == 1
    assert asking.step(300.0) == 0
    assert asking.tally.value("references_failed", route="shop", reason="budget") == 2


def test_a_failure_is_noted_and_makes_the_route_wait(asking):
    """Half a minute, then a minute; the answers stay as they are, and other routes go on."""
    asking.store.add(reference(1))
    asking.endpoint.failure = Failure("replay", 1, "timeout")
    assert asking.step() == 1
    (noted,) = asking.noted()
    assert (noted.failure, noted.p_value) == ("timeout", None)
    assert asking.tally.value("references_failed", route="shop", reason="timeout") == 1
    kept = asking.store.find("x1")
    assert (len(kept.answers), kept.failed, kept.asked_at) == (2, 1, asking.now)
    asking.store.add(reference(2))
    asking.store.add(reference(3, route="forms"))
    assert asking.step(10.0) == 1
    assert asking.endpoint.asked == ["1", "3"]
    assert asking.costs.today().tokens == 2 * (2 * 100 + 256 + 3 * 50 + 1024)  # as estimated


def test_a_reference_that_always_fails_is_given_up(asking):
    """Six failures in a row, each after a longer wait, are enough."""
    asking.store.add(reference(1))
    asking.endpoint.failure = Failure("replay", 1, "rejected")
    for _ in range(60):
        asking.step(3_500.0)
        asking.log.append(verdict(1, id=f"{asking.now}", route="shop", requested_model="m",
                                  prompt_version="p1", scored_at=asking.now), None)  # fmt: skip
    assert len(asking.noted()) == 6
    assert asking.store.find("x1") is None


def test_an_exception_about_an_answer_counts_as_a_failed_call(asking, monkeypatch):
    """Else the same reference would be asked, and paid for, in place of all others."""
    monkeypatch.setattr("evenkeel.shadow.references.asker.ranked", lambda *_: 1 / 0)
    asking.store.add(reference(1))
    assert asking.step() == 1
    assert asking.tally.value("references_failed", route="shop", reason="internal_error") == 1
    kept = asking.store.find("x1")
    assert (kept.failed, kept.asked_at) == (1, asking.now)
    assert asking.costs.today().tokens == 150


def test_what_cannot_be_read_any_more_is_forgotten(asking):
    """Counted by the reason."""
    asking.store.add(reference(1, path="/v1/unknown"))
    assert asking.step() == 0
    assert asking.tally.value("references_failed", route="shop", reason="api_unsupported") == 1
    assert asking.store.states() == []


def test_a_reference_that_is_forgotten_meanwhile_is_not_noted(asking):
    """The answer is thrown away; the call is booked."""
    asking.store.add(reference(1))

    def forget(said):
        asking.store.drop("shop")
        return said

    asking.endpoint.answer = forget
    assert asking.step() == 1
    assert asking.noted() == []
    assert asking.costs.today().tokens == 150


def test_references_of_a_route_that_is_gone_are_forgotten(asking):
    """The first look forgets them; with no calls a day all references are forgotten."""
    asking.store.add(reference(1, route="gone"))
    asking.store.add(reference(2, route="forms"))
    asking.step()
    assert [state.id for state in asking.store.states()] == ["x2"]
    asking.pace = Pace(0, 60, 0.5)
    asking.asker = asking.again()
    asking.step()
    assert asking.store.states() == []


def test_a_suspicion_asks_at_once_until_the_change_is_found(asking):
    """Four at a time; after the finding the answers of before are former ones, and filling begins anew."""
    chance = random.Random(1)

    def usual(said):
        return f"Answer {said}, as {chance.choice(['ever', 'always', 'usual'])}."

    for number in range(12):
        first = tuple(KeptAnswer(Answer(usual(number)), START, "m-1", "original") for _ in range(2))
        asking.store.add(reference(number, answers=first))
    asking.endpoint.answer = usual
    for _ in range(24):
        asking.step(2.0)
    test = ReferenceTest(LEVEL)
    assert not any(test.add(sighting) for sighting in asking.noted())
    asking.endpoint.answer = lambda said: f"I cannot help with {said}; sorry! Ask {chance.random()}"
    changed_at = asking.now
    asking.noticed = MonitorFindings(suspected=(Suspicion("forms", "m", changed_at),))
    found = None
    while found is None:
        assert asking.step(2.0) == 4
        found = next((change for change in map(test.add, asking.noted()[-4:]) if change), None)
        assert len(asking.noted()) < 24 + 60
    by_suspicion = asking.tally.value("references_asked", asked="suspicion")
    assert by_suspicion == len(asking.noted()) - 24
    assert found.since > changed_at
    asking.noticed = MonitorFindings(
        asking.noticed.suspected, (FoundChange("shop", "m", found.at, found.since),)
    )
    asking.step(2.0)
    asked_since = {sighting.reference for sighting in asking.noted() if sighting.at > found.at}
    for kept in asking.store.of_route("shop"):
        assert kept.changed_at == found.at
        assert len(kept.before) == 4
        assert len(kept.answers) == (kept.id in asked_since)
    (last,) = asking.noted()[-1:]
    assert last.compared == 1
    assert asking.tally.value("references_asked", asked="fill") == 24 + 1
    assert last.former < 0.6


def test_a_suspicion_of_a_model_that_a_route_does_not_ask_costs_it_no_burst(asking):
    """The bursts of the day are kept for its own models."""
    asking.store.add(reference(1))
    asking.noticed = MonitorFindings(suspected=(Suspicion("forms", "another", asking.now),))
    asking.step()
    assert asking.store.asked("shop").bursts == 0
    asking.noticed = MonitorFindings(suspected=(Suspicion("forms", "m", asking.now),))
    asking.step()
    assert asking.store.asked("shop").bursts == 1


def test_a_stated_model_begins_anew_only_what_it_answers(asking):
    """Answers of the new name stay, those of the old one are former; another model's references stay."""
    asking.store.add(reference(1))
    asking.store.add(reference(2))
    asking.store.add(reference(3, model="other"))
    asking.endpoint.model = "m-2"
    asking.step(2.0)
    asked = asking.noted()[0].reference
    asking.noticed = MonitorFindings(
        renamed=(ModelRename("shop", "m-2", asking.now), ModelRename("shop", "m-9", asking.now))
    )
    asking.asker._standing["shop"].paused_until = asking.now + 1e9
    asking.step(40.0)
    for kept in asking.store.of_route("shop"):
        models = [answer.model for answer in kept.answers]
        if kept.requested_model == "other" and asked != "x3":
            assert models == ["m-1", "m-1"]
        elif kept.requested_model == asking.noted()[0].requested_model:
            assert models == (["m-2"] if kept.id == asked else [])
            assert len(kept.before) == 2
    asking.step(40.0)
    assert sum(len(kept.answers) for kept in asking.store.of_route("shop")) == 3
