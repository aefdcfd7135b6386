"""The endpoint behind the rewriter: parameters it rejects, pauses it asks for, replies that are none."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from evenkeel.llm.limits import Breaker
from evenkeel.shadow.perturbations.protocol import RewriteTask
from evenkeel.shadow.rewriter import MemoryRewriteCache, Rewriter
from tests.shadow.scripted_rewriter import (
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
)


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


def test_no_more_calls_are_under_way_than_allowed() -> None:
    """Ten tasks, two at a time."""

    async def act(scene: Scene) -> None:
        tasks = [RewriteTask("paraphrase", f"{TEXT} {'Thanks. ' * number}") for number in range(10)]
        await asyncio.gather(*(scene.rewriter.rewrite(task, scene.purse) for task in tasks))

    _, scene = play([said(GOOD)], act=act, concurrency=2)
    assert scene.model.most_under_way == 2


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
