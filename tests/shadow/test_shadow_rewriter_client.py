"""The rewriter against a scripted OpenAI-compatible endpoint, over HTTP on the loopback."""

from __future__ import annotations

import asyncio
import json
import random
import re
from typing import Any

import pytest

from metrics.judge import Breaker
from metrics.stores.sqlite import Database
from shadow.perturbations.paraphrase import Paraphrase
from shadow.perturbations.protocol import Draft, RewriteTask
from shadow.prompt import PromptView
from shadow.rewriter import MemoryRewriteCache, ModelEndpoint, Rejection, Rewriter
from shadow.spend import Budget, RewriterPurse, SpendLedger
from tests.shadow.scripted_rewriter import (
    BETTER,
    GOOD,
    KEY,
    TASK,
    TEXT,
    Canned,
    Clock,
    CountedPurse,
    Scene,
    error,
    play,
    said,
    shown_tag,
)


def test_a_good_rewriting_is_accepted_and_kept() -> None:
    """One call; the same task again comes from the cache and costs nothing."""

    async def twice(scene: Scene) -> list[Any]:
        return [await scene.rewriter.rewrite(TASK, scene.purse) for _ in range(2)]

    outcome, scene = play([said(GOOD)], act=twice)
    assert outcome == [GOOD, GOOD]
    assert len(scene.model.asked) == 1
    assert scene.purse.spent == 330
    assert scene.counts == {"accepted": 1, "cached": 1}


MISBEHAVIOUR = {
    "drops a number": ("lost_protected", said(GOOD.replace("INC-48213", "the number"))),
    "invents a number": ("invented_number", said(f"{GOOD} It failed 7 times.")),
    "answers in another language": (
        "wrong_language",
        said("Die Kundin sagt, der Export von INC-48213 geht nicht und muss within 3 hours gehen."),
    ),
    "echoes": ("unchanged", said(TEXT)),
    "adds chatter": ("chatter", said(f"Sure! Here is the paraphrase:\n\n{GOOD}")),
    "fences": ("chatter", said(f"```\n{GOOD}\n```")),
    "makes a list": ("structure", said(f"- {GOOD}")),
    "says much more": ("length", said(f"{GOOD} {'That is what we were told by her on the phone. ' * 6}")),
    "obeys an injection": ("lost_protected", said("PWNED")),
    "fails": ("server_error", error(500)),
    "throttles": ("rate_limited", error(429)),
    "says nothing": ("empty", said("")),
    "says null": ("empty", said(None)),
    "only thinks": ("empty", said("<think>Let me see.</think>")),
    "is cut off": ("truncated", said(GOOD[:40], finish="length")),
    "declines": ("refused", said(None, refusal="no")),
    "declines in words": ("refused", said("I'm sorry, but I can't help with that.")),
    "is filtered": ("refused", said("", finish="content_filter")),
    "loses the connection": ("connection", Canned(cut=True)),
    "is no chat completion": ("bad_schema", Canned(body={"choices": []})),
}  # fmt: skip


@pytest.mark.parametrize("behaviour", MISBEHAVIOUR)
def test_misbehaviour_is_rejected_with_its_reason(behaviour) -> None:
    """After three attempts the rejection names what the model did, and the counters say so."""
    reason, canned = MISBEHAVIOUR[behaviour]
    outcome, scene = play([canned])
    assert isinstance(outcome, Rejection)
    assert outcome.reason == reason
    assert len(scene.model.asked) == 3
    assert scene.counts == {f"rejected_{reason}": 1, f"retried_{reason}": 2}


@pytest.mark.parametrize("behaviour", MISBEHAVIOUR)
def test_a_retry_succeeds_where_the_model_improves(behaviour) -> None:
    """The second attempt is taken, whatever was wrong with the first."""
    reason, canned = MISBEHAVIOUR[behaviour]
    outcome, scene = play([canned, said(GOOD)])
    assert outcome == GOOD
    assert scene.counts == {f"retried_{reason}": 1, "accepted": 1}


def test_leaked_markers_are_rejected() -> None:
    """A reply that repeats the marker lines, or their tag alone, is no rewritten text."""
    for form in ("<<<BEGIN TEXT {tag}>>>\n{text}\n<<<END TEXT {tag}>>>", "{text} {tag}"):
        outcome, _ = play(lambda request, form=form: said(form.format(tag=shown_tag(request), text=GOOD)))
        assert outcome.reason == "chatter"


def test_a_silent_model_times_out_and_is_paid_for() -> None:
    """No answer in time is a timeout; as nobody knows what it cost, what was set aside is booked."""
    outcome, scene = play([Canned(hang=True)], timeout_s=0.05, attempts=1)
    assert outcome == Rejection("timeout", "No complete reply within 0.05 s.")
    assert scene.purse.spent > 0
    assert scene.purse.overrun == 0


def test_an_endpoint_that_is_not_there_costs_nothing() -> None:
    """Where no connection was made there is nothing to pay for."""

    async def act(scene: Scene) -> Any:
        endpoint = ModelEndpoint(base_url="http://127.0.0.1:1/v1", model="none", api_key="")
        async with Rewriter(endpoint, cache=MemoryRewriteCache(), attempts=1) as rewriter:
            return await rewriter.rewrite(TASK, scene.purse)

    outcome, scene = play([said(GOOD)], act=act)
    assert outcome.reason == "connection"
    assert scene.purse.spent == 0
    assert scene.purse.reservations == 1


def test_feedback_names_the_faults_and_shows_the_attempt() -> None:
    """The second request quotes the rejected text and says precisely what is wrong with it."""
    bad = GOOD.replace("3 hours", "4 hours")
    outcome, scene = play([said(bad), said(GOOD)])
    assert outcome == GOOD
    first, second = (request["messages"][-1]["content"] for request in scene.model.asked)
    assert bad not in first
    assert bad in second
    assert "These passages are missing or altered: «3 hours»." in second
    assert "These numerals are not in the original, or not so often: «4»." in second
    assert '"INC-48213"' in first


def test_a_cut_reply_gets_more_room() -> None:
    """After a reply that was cut off twice as many tokens are allowed."""
    _, scene = play([said("Our", finish="length"), said(GOOD)])
    first, second = (request["max_tokens"] for request in scene.model.asked)
    assert second == 2 * first


def test_the_stronger_model_is_asked_once_after_three_attempts() -> None:
    """It is told the last faults, and its text passes the same gate."""
    outcome, scene = play([said(TEXT)], [said(BETTER)])
    assert outcome == BETTER
    assert len(scene.model.asked) == 3
    assert [request["model"] for request in scene.stronger.asked] == ["strong"]
    assert "the original text again" in scene.stronger.asked[0]["messages"][-1]["content"]
    assert scene.counts == {"retried_unchanged": 2, "stronger": 1, "accepted": 1}


def test_the_last_reason_counts_if_the_stronger_model_fails_too() -> None:
    """Four calls and no valid text: the rejection is the stronger model's."""
    outcome, scene = play([said(TEXT)], [said("")])
    assert outcome.reason == "empty"
    assert scene.counts == {"retried_unchanged": 2, "stronger": 1, "rejected_empty": 1}


async def ask_in_turn(scene: Scene, times: int) -> list[Any]:
    return [await scene.rewriter.rewrite(TASK, scene.purse) for _ in range(times)]


def test_a_text_that_cannot_be_rewritten_is_not_tried_for_ever() -> None:
    """After the gate's last word a text rests for 50 uses, then for 100; troubles are tried again at once."""
    outcomes, scene = play([said(TEXT)], act=lambda scene: ask_in_turn(scene, 1 + 50))
    assert {one.reason for one in outcomes} == {"unchanged"}
    assert len(scene.model.asked) == 3
    assert scene.counts["rejected_unchanged"] == 51
    _, scene = play([said(TEXT)], act=lambda scene: ask_in_turn(scene, 1 + 50 + 1 + 100))
    assert len(scene.model.asked) == 6
    _, scene = play([said("")], act=lambda scene: ask_in_turn(scene, 2))
    assert len(scene.model.asked) == 6


def test_a_text_that_was_given_up_once_is_not_lost() -> None:
    """The next round asks with other seeds, and what it brings is kept."""
    bad = [said(TEXT)] * 3
    outcomes, scene = play([*bad, said(GOOD)], act=lambda scene: ask_in_turn(scene, 1 + 50 + 2))
    assert outcomes[-2:] == [GOOD, GOOD]
    assert len(scene.model.asked) == 4
    assert len({request["seed"] for request in scene.model.asked}) == 4
    assert scene.counts["cached"] == 1


@pytest.mark.parametrize(
    ("status", "reason"), [(401, "unauthorized"), (403, "unauthorized"), (404, "bad_request")]
)
def test_what_a_retry_cannot_cure_is_not_retried(status, reason) -> None:
    """A rejected key or a wrong address ends the task at once; the key is never quoted."""
    outcome, scene = play([error(status, f"bad key {KEY}")])
    assert outcome.reason == reason
    assert KEY not in outcome.detail
    assert len(scene.model.asked) == 1
    assert scene.purse.spent == 0


def test_parameters_that_are_rejected_are_left_out_and_stay_out() -> None:
    """Each complaint takes one parameter away, each call is paid for, and what worked is remembered."""
    refusals = [
        error(400, "max_tokens is not supported, use max_completion_tokens"),
        error(400, "temperature must be 1"),
        error(400, "unknown field seed"),
    ]

    async def two_texts(scene: Scene) -> None:
        await scene.rewriter.rewrite(TASK, scene.purse)
        await scene.rewriter.rewrite(RewriteTask("tone", TEXT, "casual"), scene.purse)

    _, scene = play([*refusals, said(GOOD)], act=two_texts)
    shapes = [set(request) - {"model", "messages"} for request in scene.model.asked]
    assert shapes[0] == {"max_tokens", "temperature", "seed"}
    assert shapes[3] == shapes[4] == {"max_completion_tokens"}
    assert scene.purse.reservations == 5
    assert scene.purse.spent == 660


def test_retry_after_is_honoured() -> None:
    """The next call waits as long as the endpoint asked."""
    outcome, scene = play([error(429, retry_after="7"), said(GOOD)])
    assert outcome == GOOD
    assert scene.clock.waited == [7.0]


def test_without_retry_after_the_pauses_grow() -> None:
    """Half a second, then a second; an answer starts over."""
    outcome, scene = play([error(503), error(500), said(GOOD)])
    assert outcome == GOOD
    assert scene.clock.waited == [0.5, 1.0]


def test_a_longer_pause_than_is_waited_for_fails_without_a_call() -> None:
    """An endpoint that wants a minute's rest is not asked again before, and nobody waits for it."""
    outcome, scene = play([error(429, retry_after="60")])
    assert outcome.reason == "rate_limited"
    assert len(scene.model.asked) == 1
    assert scene.clock.waited == []


def test_an_endpoint_that_keeps_failing_is_left_alone() -> None:
    """Once the breaker is open no call goes out and nothing is reserved."""

    async def act(scene: Scene) -> list[Any]:
        return [
            await scene.rewriter.rewrite(RewriteTask("paraphrase", f"{TEXT} Once more, please."), scene.purse)
            for _ in range(2)
        ]

    outcomes, scene = play([error(500)], act=act, breaker=Breaker(failures=2))
    assert [one.reason for one in outcomes] == ["circuit_open", "circuit_open"]
    assert len(scene.model.asked) == scene.purse.reservations == 2


def test_a_trial_that_told_nothing_is_given_back() -> None:
    """A trial call without money, or cancelled, leaves the next caller the chance to try the endpoint."""
    clock = Clock()

    async def act(scene: Scene) -> Any:
        first = await scene.rewriter.rewrite(TASK, scene.purse)
        clock.now += 31
        poor = await scene.rewriter.rewrite(TASK, CountedPurse(0))
        assert breaker.is_open
        cancelled = asyncio.create_task(scene.rewriter.rewrite(TASK, scene.purse))
        await scene.model.hanging.wait()
        for task in scene.rewriter._running.values():
            task.cancel()
        await asyncio.gather(cancelled, return_exceptions=True)
        return first, poor, await scene.rewriter.rewrite(TASK, scene.purse)

    breaker = Breaker(failures=1, open_s=30, clock=clock)
    (first, poor, last), scene = play(
        [error(500), Canned(hang=True), said(GOOD)], act=act, breaker=breaker, attempts=1
    )
    assert (first.reason, poor.reason, last) == ("server_error", "budget", GOOD)
    assert not breaker.is_open
    assert len(scene.model.asked) == 3


def test_tasks_alike_share_one_call() -> None:
    """Twenty callers at once cause one call; each gets its text, and one who leaves takes nothing along."""

    async def act(scene: Scene) -> list[Any]:
        waiting = [asyncio.create_task(scene.rewriter.rewrite(TASK, scene.purse)) for _ in range(20)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        return await asyncio.gather(*waiting, return_exceptions=True)

    outcomes, scene = play([said(GOOD)], act=act)
    assert isinstance(outcomes[0], asyncio.CancelledError)
    assert outcomes[1:] == [GOOD] * 19
    assert len(scene.model.asked) == 1
    assert scene.counts == {"accepted": 1, "shared": 19}


def test_an_empty_purse_does_not_speak_for_another() -> None:
    """Who shares a task with a caller without money still gets the text for his own."""

    async def act(scene: Scene) -> list[Any]:
        return await asyncio.gather(
            scene.rewriter.rewrite(TASK, CountedPurse(0)), scene.rewriter.rewrite(TASK, scene.purse)
        )

    outcomes, _ = play([said(GOOD)], act=act)
    assert outcomes[0].reason == "budget"
    assert outcomes[1] == GOOD


def test_without_money_nothing_is_called() -> None:
    """An empty purse is a rejection of its own, and no reason to ask the stronger model."""
    outcome, scene = play([said(GOOD)], [said(GOOD)], limit=100)
    assert outcome.reason == "budget"
    assert scene.model.asked == scene.stronger.asked == []
    assert scene.counts == {"rejected_budget": 1}


@pytest.mark.parametrize("limit", [4_000, 10_000, 60_000])
def test_the_budget_is_never_passed_by_more_than_one_call(limit) -> None:
    """Sixty different tasks at once, half of them failing the gate: what is spent stays in the budget."""

    def script(request: dict[str, Any]) -> Canned:
        text = re.search(r"Case (\w+) is", request["messages"][-1]["content"])
        assert text is not None
        worse = len(text[1]) % 2 == 0
        return said(f"Case {text[1]} is one where the printer upstairs does not work." if not worse else "")

    async def act(scene: Scene) -> list[Any]:
        names = ["x" * (2 + number % 17) + "abcdefgh"[number % 8] + "yz"[number % 2] for number in range(60)]
        tasks = [
            RewriteTask("paraphrase", f"Case {name} is that the printer upstairs is broken.")
            for name in names
        ]
        return await asyncio.gather(*(scene.rewriter.rewrite(task, scene.purse) for task in tasks))

    outcomes, scene = play(script, act=act, limit=limit, concurrency=16)
    assert scene.purse.spent <= limit + scene.purse.largest
    assert scene.purse.overrun == 0
    assert scene.purse.spent == 330 * len(scene.model.asked)
    assert scene.model.most_under_way > 1 or limit < 10_000
    if limit < 60_000:
        assert any(isinstance(one, Rejection) and one.reason == "budget" for one in outcomes)


def test_the_budget_holds_with_a_model_that_costs_more_than_was_set_aside() -> None:
    """A model that ignores the limit passes the budget by its last calls only, then nothing is called."""
    greedy = said(GOOD)
    greedy.body["usage"] = {"prompt_tokens": 300, "completion_tokens": 9_000, "total_tokens": 9_300}
    tasks = [RewriteTask("paraphrase", f"{TEXT} {'Please. ' * number}") for number in range(8)]

    async def act(scene: Scene) -> list[Any]:
        return [await scene.rewriter.rewrite(task, scene.purse) for task in tasks]

    outcomes, scene = play([greedy], act=act, limit=12_000)
    assert scene.purse.spent <= 12_000 + 9_300
    assert outcomes[-1].reason == "budget"


def test_spending_is_booked_in_the_ledger(tmp_path) -> None:
    """Tokens and dollars of every attempt stand in the route's account, under the rewriter."""
    database = Database(tmp_path / "store.db")
    ledger = SpendLedger(database, Budget(tokens_per_day=100_000), lambda: 0.0)

    async def act(scene: Scene) -> Any:
        return await scene.rewriter.rewrite(TASK, RewriterPurse(ledger, "support"))

    outcome, _ = play([said(TEXT), said(GOOD)], act=act, price=lambda _, prompt, completion: prompt * 1e-6)
    assert outcome == GOOD
    assert ledger.today("support").tokens == 660
    assert ledger.today("support").usd == pytest.approx(600e-6)
    database.close()


@pytest.mark.parametrize("verdict", [True, False, None])
def test_the_judge_of_meaning_has_the_last_word(verdict) -> None:
    """Asked only about texts that pass the gate: False rejects, None lets pass and is counted."""
    pairs: list[tuple[str, str]] = []

    async def equal_meaning(original: str, text: str) -> bool | None:
        pairs.append((original, text))
        return verdict

    outcome, scene = play([said(TEXT), said(GOOD)], equal_meaning=equal_meaning, attempts=2)
    assert pairs == [(TEXT, GOOD)]
    assert scene.counts["meaning_unknown"] == (verdict is None)
    assert outcome == (
        Rejection("meaning", "It does not mean the same as the original.") if verdict is False else GOOD
    )


def test_thoughts_in_front_of_a_reply_are_left_out() -> None:
    """What some servers pass on of a model's reasoning is no part of its reply."""
    assert play([said(f"<think>\nHm, 7 ways.\n</think>\n\n{GOOD}\n")])[0] == GOOD


def test_closing_ends_what_is_under_way() -> None:
    """A hanging call does not outlive the rewriter, and its reservation is released."""

    async def act(scene: Scene) -> Any:
        waiting = asyncio.create_task(scene.rewriter.rewrite(TASK, scene.purse))
        await scene.model.hanging.wait()
        await scene.rewriter.close()
        return (await asyncio.gather(waiting, return_exceptions=True))[0]

    outcome, scene = play([Canned(hang=True)], act=act)
    assert isinstance(outcome, asyncio.CancelledError)
    assert scene.purse.spent > 0


def test_an_endpoint_that_rejects_everything_is_a_bad_request() -> None:
    """After everything optional is left out the complaint stands; each call is paid for."""
    outcome, scene = play([error(400, "no")])
    assert outcome.reason == "bad_request"
    assert [sorted(set(request) - {"model", "messages"}) for request in scene.model.asked] == [
        ["max_tokens", "seed", "temperature"],
        ["max_completion_tokens", "seed", "temperature"],
        ["seed", "temperature"],
        [],
    ]
    assert scene.purse.reservations == 4


@pytest.mark.parametrize("content", [7, ["a", "b"]])
def test_a_message_that_is_no_text_is_rejected(content) -> None:
    """Whatever shape a server invents, it is a reason, not an error."""
    assert play([said(content)], attempts=1)[0].reason == "bad_schema"


def test_a_reply_that_is_not_json_is_rejected() -> None:
    """A page of a proxy in between is no completion."""
    page = Canned(body="<html>", headers={"content-type": "text/html"})
    outcome, scene = play([page], attempts=1)
    assert outcome.reason == "bad_schema"
    assert scene.purse.spent > 0


def test_without_usage_the_cost_is_estimated() -> None:
    """A server that reports no usage is booked by the length of what was sent and said."""
    silent = said(GOOD)
    del silent.body["usage"]
    _, scene = play([silent])
    sent = sum(len(message["content"].encode()) for message in scene.model.asked[0]["messages"])
    assert scene.purse.spent == sent // 4 + 1 + len(GOOD) // 4 + 1
    assert scene.purse.overrun == 0


def test_no_more_calls_are_under_way_than_allowed() -> None:
    """Ten tasks, two at a time."""

    async def act(scene: Scene) -> None:
        tasks = [RewriteTask("paraphrase", f"{TEXT} {'Thanks. ' * number}") for number in range(10)]
        await asyncio.gather(*(scene.rewriter.rewrite(task, scene.purse) for task in tasks))

    _, scene = play([said(GOOD)], act=act, concurrency=2)
    assert scene.model.most_under_way == 2


def test_a_draft_becomes_a_variant() -> None:
    """A kind asks, the model writes, the gate lets pass, and only the question differs in the body."""
    body = json.dumps(
        {"messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": TEXT}]}
    )
    view = PromptView.parse(body.encode())

    async def act(scene: Scene) -> Any:
        outcome = Paraphrase().apply(view, 1.0, random.Random(1))
        assert isinstance(outcome, Draft)
        return outcome.finish([await scene.rewriter.rewrite(task, scene.purse) for task in outcome.tasks])

    variant, _ = play([said(GOOD)], act=act)
    assert variant.body() == body.replace(TEXT, GOOD).encode()


def test_a_rewriter_connects_both_models_to_one_endpoint() -> None:
    """`connect` asks the first model, then the stronger one, with the key and without it in any repr."""

    async def act(scene: Scene) -> Any:
        async with Rewriter.connect(
            base_url=str(scene.rewriter._model._client.base_url),
            model="small",
            stronger_model="large",
            api_key=KEY,
            cache=MemoryRewriteCache(),
        ) as rewriter:
            assert KEY not in repr(rewriter._model)
            return await rewriter.rewrite(TASK, scene.purse)

    outcome, scene = play([said(TEXT), said(TEXT), said(TEXT), said(GOOD)], act=act)
    assert outcome == GOOD
    assert [request["model"] for request in scene.model.asked] == ["small"] * 3 + ["large"]
