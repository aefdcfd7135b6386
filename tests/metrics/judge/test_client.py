"""The judge against a scripted OpenAI-compatible endpoint, over HTTP on the loopback."""

import pytest

from evenkeel import metrics
from evenkeel.core.pair import Answer, Pair, ToolCall
from evenkeel.core.tiers import SCORING_WAITS
from evenkeel.metrics.judge import JudgeRater
from evenkeel.metrics.judge.prompts import COMPLETENESS, FAITHFULNESS
from evenkeel.metrics.judge.raters import JudgedQuality
from tests.llm.scripted import KEY, Canned, said
from tests.metrics.judge.scripted_judge import GOOD, PAIR, QUESTION, ask, error, rated, run


def test_a_judge_is_made_of_an_address_a_model_and_a_key():
    """The page about use from Python says so; the key is not shown."""
    judge = metrics.Judge(metrics.Endpoint(base_url="http://localhost:1/v1", model="m", api_key=KEY))
    assert judge.model == "m"
    assert KEY not in repr(judge)


@pytest.mark.parametrize("flex", [True, False])
@pytest.mark.parametrize("waits", [True, False])
def test_what_can_wait_is_asked_in_the_flex_tier_if_settings_say_so(*, flex, waits):
    """The scorer says whether a question can wait; the trivial one of checks never does."""

    async def scene(judge, server):
        SCORING_WAITS.set(waits)
        await judge.ask(QUESTION)
        await judge.check()
        return [request.get("service_tier") for request in server.asked]

    assert run([GOOD], scene, flex=flex) == ["flex" if flex and waits else None, None]


def test_the_request_asks_for_a_repeatable_structured_answer():
    """A strict schema, temperature 0, a fixed seed, the key as a bearer token, the question's messages."""
    _, scripted = ask([GOOD])
    request = scripted.asked[0]
    assert request["model"] == "scripted"
    assert request["temperature"] == 0
    assert isinstance(request["seed"], int)
    assert request["response_format"]["json_schema"]["schema"]["properties"]["rating"]["enum"] == [1, 2, 3]
    assert request["messages"][1]["content"] == QUESTION.messages[1].content
    assert scripted.keys == [f"bearer {KEY}"]


def test_check_tells_a_usable_judge_from_an_unusable_one():
    """A check is one request without retries: None, or the failure to show at the start of the process."""

    async def check(judge, scripted):
        return await judge.check(), len(scripted.asked)

    assert run([GOOD], check, max_retries=2) == (None, 1)
    failure, requests = run([error(401)], check, max_retries=2)
    assert (failure.metric, failure.reason, requests) == ("probe", "unauthorized", 1)
    failure, requests = run([error(500)], check, max_retries=2)
    assert (failure.reason, requests) == ("server_error", 1)


def test_tool_calls_and_context_reach_the_judge():
    """The judge sees what was called, and for quality the request; never the other answer."""
    answer = Answer("", (ToolCall("close", '{"id": 7}'),))

    async def scene(judge, scripted):
        await JudgeRater(judge).rate(Pair(answer, Answer("Nothing to close."), "secret context"))
        await JudgedQuality(judge, FAITHFULNESS).rate(answer, "close ticket 7")
        await JudgedQuality(judge, COMPLETENESS).rate(answer, "close ticket 7")
        return [request["messages"][1]["content"] for request in scripted.asked]

    similarity, *quality = run([GOOD], scene)
    assert "call close\n- id: 7" in similarity
    assert "Nothing to close." in similarity
    assert "secret context" not in similarity
    for text in quality:
        assert "close ticket 7" in text
        assert "call close\n- id: 7" in text
        assert "Nothing to close." not in text


# --- faults

RIGHT = rated(2)
PROSE = said('I looked closely. {"explanation": "because", "rating": 2}')
FAULTS = {
    "refuses": (said(None, refusal="No."), "refused"),
    "declines in prose": (said("I'm sorry, I can't rate this."), "refused"),
    "filtered": (said("", finish_reason="content_filter"), "refused"),
    "prose around it": (PROSE, "bad_schema"),
    "off the scale": (rated(5), "out_of_scale"),
    "empty": (said(""), "empty"),
    "out of tokens": (said('{"rating": 3}', finish_reason="length"), "truncated"),
    "no message": (Canned(body={"object": "chat.completion", "choices": []}), "bad_schema"),
    "500": (error(500), "server_error"),
    "401": (error(401), "unauthorized"),
}


def rate(script, **settings):
    async def scene(judge, scripted):
        return await JudgeRater(judge).rate(PAIR), len(scripted.asked)

    async def at_once(_):
        """Do not wait between attempts."""

    return run(script, scene, sleep=at_once, **settings)


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_a_failure_that_says_what_the_judge_did(name):
    """The judge is asked again after a fault of the endpoint and, with repairs, once for another form."""
    fault, reason = FAULTS[name]
    rating, requests = rate([fault], max_retries=1)
    assert (rating.outcome.metric, rating.outcome.reason) == ("similarity", reason)
    assert rating.outcome.detail
    assert rating.explanation == ""
    assert requests == (2 if name == "500" else 1)
    rating, _ = rate([fault, RIGHT], max_retries=1)
    assert (rating.outcome == 2) == (name == "500")
    unreadable = reason in {"empty", "bad_schema", "out_of_scale"}
    rating, requests = rate([fault, RIGHT], repairs=1)
    assert (rating.outcome == 2, requests) == (unreadable, 2 if unreadable else 1)
    rating, requests = rate([fault, fault, RIGHT], repairs=1)
    assert (rating.outcome.reason, requests) == (reason, 2 if unreadable else 1)


def test_a_repair_is_paid_for_and_shows_the_same_texts():
    """240 tokens for two calls; the second prompt is the first one with a word on the form at its end."""

    async def scene(judge, scripted):
        rating = await JudgeRater(judge).rate(PAIR)
        return rating.spent.tokens, [request["messages"][-1]["content"] for request in scripted.asked]

    tokens, (first, second) = run([PROSE, RIGHT], scene, repairs=1)
    assert tokens == 240
    assert second.startswith(first)
    assert second.endswith("a bare number (1, 2 or 3).")
