"""What a judge's faults become: counted failures or retried successes, never a rating nobody gave."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from evenkeel.core.pair import Answer, Pair
from evenkeel.core.verdict import Failure
from evenkeel.llm.faults import asked_pause_s, pause_s
from evenkeel.metrics.judge import Judge, JudgeRater
from tests.metrics.scripted_judge import Canned, ScriptedJudge, error, judging, rated, run, said

if TYPE_CHECKING:
    from evenkeel.metrics.protocol import Rating

PAIR = Pair(Answer("The VPN is down."), Answer("The VPN does not work."), "")
RIGHT = rated(2)
PROSE = said('I looked closely. {"explanation": "because", "rating": 2}')
FAULTS = {
    "refuses": (said(None, refusal="No."), "refused"),
    "declines in prose": (said("I'm sorry, I can't rate this."), "refused"),
    "filtered": (said("", finish_reason="content_filter"), "refused"),
    "wrong schema": (said('{"verdict": "alike", "score": 3}'), "bad_schema"),
    "prose around it": (PROSE, "bad_schema"),
    "two objects": (said('{"rating": 3}{"rating": 2}'), "bad_schema"),
    "text for a number": (said('{"rating": "3"}'), "bad_schema"),
    "words for a number": (said('{"rating": "three"}'), "bad_schema"),
    "a fraction": (said('{"rating": 2.5}'), "out_of_scale"),
    "off the scale": (rated(5), "out_of_scale"),
    "empty": (said(""), "empty"),
    "broken off": (said('{"explanation": "both say that the VPN'), "bad_schema"),
    "out of tokens": (said('{"rating": 3}', finish_reason="length"), "truncated"),
    "no message": (Canned(body={"object": "chat.completion", "choices": []}), "bad_schema"),
    "no text": (
        Canned(body={"choices": [{"message": {"content": [3]}, "finish_reason": "stop"}]}),
        "bad_schema",
    ),
    "not JSON": (Canned(body=b"<html>", content_type="text/html"), "bad_schema"),
    "slow": (Canned(body=RIGHT.body, delay_s=3.0), "timeout"),
    "429": (error(429), "rate_limited"),
    "500": (error(500), "server_error"),
    "502": (error(502), "server_error"),
    "401": (error(401), "unauthorized"),
    "404": (error(404), "bad_request"),
    "cut": (Canned(cut=True), "connection"),
}
PASSING = {"slow", "429", "500", "502", "cut"}
"""Faults after which the same question is asked again."""


def rate(script: list[Canned], **settings: Any) -> tuple[Rating, int]:
    async def scene(judge: Judge, scripted: ScriptedJudge) -> tuple[Rating, int]:
        return await JudgeRater(judge).rate(PAIR), len(scripted.asked)

    async def at_once(_: float) -> None:
        """Do not wait between attempts."""

    result: tuple[Rating, int] = run(script, scene, sleep=at_once, **settings)
    return result


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_that_stays_is_a_failure(name: str) -> None:
    """A judge that always does this gives no rating, and the reason says what it did."""
    fault, reason = FAULTS[name]
    rating, requests = rate([fault], max_retries=1, timeout_s=0.2 if name == "slow" else 5.0)
    assert isinstance(rating.outcome, Failure)
    assert (rating.outcome.metric, rating.outcome.reason) == ("similarity", reason)
    assert rating.outcome.detail
    assert rating.explanation == ""
    assert requests == (2 if name in PASSING else 1)


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_that_passes_is_a_success_or_still_a_failure(name: str) -> None:
    """After a fault of the endpoint the second attempt counts; a judge's odd reply stays what it is."""
    fault, reason = FAULTS[name]
    rating, _ = rate([fault, RIGHT], max_retries=1, timeout_s=0.2 if name == "slow" else 5.0)
    if name in PASSING:
        assert (rating.outcome, rating.explanation) == (2, "because")
    else:
        assert isinstance(rating.outcome, Failure)
        assert rating.outcome.reason == reason


@pytest.mark.parametrize(
    "name",
    [name for name, (_, reason) in FAULTS.items() if reason in {"empty", "bad_schema", "out_of_scale"}],
)
def test_an_unreadable_reply_may_be_asked_for_again(name: str) -> None:
    """With one repair the judge is reminded of the form once; both calls are paid for, and only both."""
    fault, reason = FAULTS[name]
    rating, requests = rate([fault, RIGHT], repairs=1)
    assert (rating.outcome, requests) == (2, 2)
    rating, requests = rate([fault, fault, RIGHT], repairs=1)
    assert isinstance(rating.outcome, Failure)
    assert (rating.outcome.reason, requests) == (reason, 2)


def test_a_repair_is_paid_for_and_shows_the_same_texts() -> None:
    """240 tokens for two calls; the second prompt is the first one with a word on the form at its end."""

    async def scene(judge: Judge, scripted: ScriptedJudge) -> tuple[int, list[str]]:
        rating = await JudgeRater(judge).rate(PAIR)
        return rating.tokens, [request["messages"][-1]["content"] for request in scripted.asked]

    tokens, (first, second) = run([PROSE, RIGHT], scene, repairs=1)
    assert tokens == 240
    assert second.startswith(first)
    assert second.endswith("a bare number (1, 2 or 3).")


@pytest.mark.parametrize("name", ["refuses", "out of tokens", "401", "404"])
def test_a_repair_is_for_unreadable_replies_only(name: str) -> None:
    """A refusal, a cut reply and a fault of the endpoint are not asked for again."""
    rating, requests = rate([FAULTS[name][0], RIGHT], repairs=3)
    assert isinstance(rating.outcome, Failure)
    assert requests == 1


def test_a_dead_judge_is_a_failure() -> None:
    """Nobody listens at the address: "connection", after the retries."""
    waited: list[float] = []

    async def note(seconds: float) -> None:
        waited.append(seconds)

    async def scene() -> Rating:
        async with judging([RIGHT]) as (_, scripted):
            url = scripted.url
        async with Judge(base_url=url, model="m", api_key="", max_retries=2, sleep=note) as dead:
            return await JudgeRater(dead).rate(PAIR)

    rating = asyncio.run(scene())
    assert isinstance(rating.outcome, Failure)
    assert rating.outcome.reason == "connection"
    assert waited == [0.5, 1.0]


def test_a_server_may_say_that_repeating_is_of_no_use() -> None:
    """`x-should-retry: false` on a 429 (a used-up quota, say) ends the matter, and true on a 404 does not."""
    _, requests = rate([error(429, headers=("x-should-retry: false",))], max_retries=2)
    assert requests == 1
    rating, requests = rate([error(404, headers=("x-should-retry: true",)), RIGHT], max_retries=2)
    assert (rating.outcome, requests) == (2, 2)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after-ms": "250", "retry-after": "7"}, 0.25),
        ({"retry-after-ms": "?", "retry-after": "7"}, 7.0),
        ({"retry-after": "Wed, 01 Jan 2025 00:01:30 GMT", "date": "Wed, 01 Jan 2025 00:00:00 GMT"}, 90.0),
        ({"retry-after": "Wed, 01 Jan 2025 00:00:00 GMT", "date": "Wed, 01 Jan 2025 00:01:00 GMT"}, 0.0),
        ({"retry-after": "Wed, 01 Jan 2025 00:01:30 GMT"}, None),
    ],
)
def test_how_long_an_endpoint_asks_to_be_left_alone(headers: dict[str, str], seconds: float | None) -> None:
    """Milliseconds before seconds before a date, which is read by the server's own clock."""
    assert asked_pause_s(headers) == seconds


def test_pauses_double_and_stay_bounded() -> None:
    """Half a second, one, two, four, eight, eight."""
    assert [pause_s(attempt) for attempt in range(6)] == [0.5, 1, 2, 4, 8, 8]
    assert pause_s(1000) == 8
