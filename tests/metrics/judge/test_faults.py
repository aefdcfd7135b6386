"""What a judge's faults become: counted failures or retried successes, never a rating nobody gave."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from evenkeel.core.pair import Answer, Pair
from evenkeel.core.verdict import Failure
from evenkeel.metrics.judge import Judge, JudgeRater
from tests.llm.scripted import Canned, Scripted, said
from tests.metrics.judge.scripted_judge import error, rated, run

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
    "a fraction": (said('{"rating": 2.5}'), "out_of_scale"),
    "off the scale": (rated(5), "out_of_scale"),
    "empty": (said(""), "empty"),
    "broken off": (said('{"explanation": "both say that the VPN'), "bad_schema"),
    "out of tokens": (said('{"rating": 3}', finish_reason="length"), "truncated"),
    "no message": (Canned(body={"object": "chat.completion", "choices": []}), "bad_schema"),
    "500": (error(500), "server_error"),
    "401": (error(401), "unauthorized"),
}


def rate(script: list[Canned], **settings: Any) -> tuple[Rating, int]:
    async def scene(judge: Judge, scripted: Scripted) -> tuple[Rating, int]:
        return await JudgeRater(judge).rate(PAIR), len(scripted.asked)

    async def at_once(_: float) -> None:
        """Do not wait between attempts."""

    result: tuple[Rating, int] = run(script, scene, sleep=at_once, **settings)
    return result


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_a_failure_that_says_what_the_judge_did(name: str) -> None:
    """No rating; only a fault of the endpoint is asked about again, an odd reply stays what it is."""
    fault, reason = FAULTS[name]
    rating, requests = rate([fault], max_retries=1)
    assert isinstance(rating.outcome, Failure)
    assert (rating.outcome.metric, rating.outcome.reason) == ("similarity", reason)
    assert rating.outcome.detail
    assert rating.explanation == ""
    assert requests == (2 if name == "500" else 1)
    rating, _ = rate([fault, RIGHT], max_retries=1)
    assert isinstance(rating.outcome, Failure) == (name != "500")


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

    async def scene(judge: Judge, scripted: Scripted) -> tuple[int, list[str]]:
        rating = await JudgeRater(judge).rate(PAIR)
        return rating.tokens, [request["messages"][-1]["content"] for request in scripted.asked]

    tokens, (first, second) = run([PROSE, RIGHT], scene, repairs=1)
    assert tokens == 240
    assert second.startswith(first)
    assert second.endswith("a bare number (1, 2 or 3).")


@pytest.mark.parametrize("name", ["refuses", "out of tokens", "401"])
def test_a_repair_is_for_unreadable_replies_only(name: str) -> None:
    """A refusal, a cut reply and a fault of the endpoint are not asked for again."""
    rating, requests = rate([FAULTS[name][0], RIGHT], repairs=3)
    assert isinstance(rating.outcome, Failure)
    assert requests == 1
