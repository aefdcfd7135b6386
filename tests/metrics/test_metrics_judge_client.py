"""The judge against a scripted OpenAI-compatible endpoint, over HTTP on the loopback."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from evenkeel.core.pair import Answer, Pair, ToolCall
from evenkeel.core.verdict import Failure
from evenkeel.llm.limits import Breaker
from evenkeel.metrics.judge import Judge, JudgeRater
from evenkeel.metrics.judge.prompts import COMPLETENESS, FAITHFULNESS, SIMILARITY
from evenkeel.metrics.judge.raters import JudgedQuality
from evenkeel.metrics.judge.reply import Ruling
from evenkeel.metrics.scoring import judge_scorer
from tests.metrics.scripted_judge import (
    GOOD,
    KEY,
    QUESTION,
    Canned,
    ScriptedJudge,
    ask,
    error,
    judging,
    run,
    said,
)

if TYPE_CHECKING:
    from collections.abc import Callable


def test_a_ruling_comes_with_its_tokens_and_cost() -> None:
    """Rating, reason, 100 and 20 tokens, and their price at 1 and 2 dollars a thousand."""
    replies, _ = ask([GOOD], price=lambda model, i, o: (i + 2 * o) / 1000 if model == "scripted" else -1)
    assert replies[0].outcome == Ruling(3, "the same")
    assert (replies[0].prompt_tokens, replies[0].completion_tokens) == (100, 20)
    assert replies[0].cost_usd == pytest.approx(0.14)


def test_the_request_asks_for_a_repeatable_structured_answer() -> None:
    """A strict schema, temperature 0, a fixed seed, the key as a bearer token, the question's messages."""
    _, scripted = ask([GOOD])
    request = scripted.asked[0]
    assert request["model"] == "scripted"
    assert request["temperature"] == 0
    assert isinstance(request["seed"], int)
    assert request["response_format"]["json_schema"]["schema"]["properties"]["rating"]["enum"] == [1, 2, 3]
    assert request["messages"][1]["content"] == QUESTION.messages[1].content
    assert scripted.keys == [f"bearer {KEY}"]


@pytest.mark.parametrize(
    ("canned", "reason"),
    [
        (said("Sure, I would rate it highly."), "bad_schema"),
        (said('Of course! {"rating": 3, "explanation": "the same"} Anything else?'), "bad_schema"),
        (said('{"rating": 3} {"rating": 3}'), "bad_schema"),
        (said('{"rating": "3", "explanation": "the same"}'), "bad_schema"),
        (said('{"score": 3, "explanation": "the same"}'), "bad_schema"),
        (said('{"explanation": "the sa'), "bad_schema"),
        (said('{"explanation": "the same", "rating": 3}', finish_reason="length"), "truncated"),
        (said(None, finish_reason="length"), "truncated"),
        (said('{"rating": 7, "explanation": "great"}'), "out_of_scale"),
        (said(""), "empty"),
        (said(None), "empty"),
        (said(None, refusal="I can't help with that."), "refused"),
        (said("I'm sorry, I can't help with that."), "refused"),
        (said("", finish_reason="content_filter"), "refused"),
        (Canned(body={"object": "chat.completion", "choices": []}), "bad_schema"),
        (Canned(body={"unexpected": True}), "bad_schema"),
        (Canned(body=b"<html>gateway</html>", content_type="text/html"), "bad_schema"),
        (Canned(body=b'{"broken": '), "bad_schema"),
        (error(401), "unauthorized"),
        (error(403), "unauthorized"),
        (error(404, "no such model"), "bad_request"),
        (error(429), "rate_limited"),
        (error(500), "server_error"),
        (error(503), "server_error"),
        (Canned(cut=True), "connection"),
        (Canned(body={}, delay_s=3.0), "timeout"),
        (Canned(body=GOOD.body, drip_s=0.05), "timeout"),
    ],
)
def test_every_fault_is_a_failure_by_name(canned: Canned, reason: str) -> None:
    """No fault of the endpoint raises or becomes a number; the failure names prompt, version and reason."""
    replies, _ = ask([canned], timeout_s=0.3 if reason == "timeout" else 5.0)
    failure = replies[0].outcome
    assert isinstance(failure, Failure)
    assert (failure.metric, failure.version, failure.reason) == ("similarity", SIMILARITY.version, reason)
    assert failure.detail


def test_a_dead_endpoint_is_a_connection_failure() -> None:
    """Nobody listens any more: connection, without an exception."""

    async def dead() -> Any:
        async with judging([GOOD]) as (_, scripted):
            url = scripted.url
        async with Judge(base_url=url, model="m", api_key="", max_retries=0) as judge:
            return (await judge.ask(QUESTION)).outcome

    outcome = asyncio.run(dead())
    assert isinstance(outcome, Failure)
    assert outcome.reason == "connection"


def test_tokens_of_an_unreadable_reply_are_counted() -> None:
    """A reply without a rating has been paid for all the same."""
    replies, _ = ask([said("no rating")], price=lambda _model, i, o: float(i + o))
    assert (replies[0].prompt_tokens, replies[0].completion_tokens, replies[0].cost_usd) == (100, 20, 120.0)


def test_odd_usage_and_odd_text_do_not_matter() -> None:
    """Usage of another type counts as none; a lone surrogate in an answer can still be sent."""
    odd = Canned(body=GOOD.body | {"usage": {"prompt_tokens": "many", "completion_tokens": None}})

    async def scene(judge: Judge, _: ScriptedJudge) -> Any:
        return await JudgeRater(judge).rate(Pair(Answer("ok \ud800"), Answer("no"), ""))

    rating = run([odd], scene)
    assert (rating.outcome, rating.tokens, rating.cost_usd) == (3, 0, 0.0)


@pytest.mark.parametrize("status", [429, 500])
def test_a_passing_fault_is_retried(status: int) -> None:
    """Two faults and then an answer make one success, by the SDK's retries."""
    replies, scripted = ask([error(status), error(status), GOOD], max_retries=2)
    assert replies[0].outcome == Ruling(3, "the same")
    assert len(scripted.asked) == 3


def test_a_wrong_key_is_not_retried_and_not_shown() -> None:
    """One request, and neither the failure nor the judge's repr holds the key or the server's echo of it."""
    replies, scripted = ask([error(401, f"Incorrect API key provided: {KEY}")], max_retries=2)
    assert len(scripted.asked) == 1
    assert KEY not in repr(replies)
    replies, _ = ask([error(500, f"key {KEY} broke the server")])
    assert KEY not in repr(replies)
    assert KEY not in repr(Judge(base_url="http://127.0.0.1:9/v1", model="m", api_key=KEY))


def rejecting(rejects: dict[str, str]) -> Callable[[dict[str, Any]], Canned]:
    """An endpoint that answers 400 with a message if a request holds a rejected parameter or format."""

    def script(request: dict[str, Any]) -> Canned:
        present = set(request) | {request.get("response_format", {}).get("type")}
        return next((error(400, said) for what, said in rejects.items() if what in present), GOOD)

    return script


@pytest.mark.parametrize(
    ("rejects", "expected"),
    [
        (
            {"json_schema": "Invalid parameter: 'response_format' of type 'json_schema'"},
            {"json_object", "temperature", "seed"},
        ),
        ({"response_format": "response_format is not supported"}, {"temperature", "seed"}),
        ({"temperature": "Unsupported value: 'temperature' only supports 1"}, {"json_schema", "seed"}),
        ({"seed": "unknown field seed"}, {"json_schema", "temperature"}),
        (
            {"seed": "no seed", "temperature": "no temperature", "json_schema": "no json_schema"},
            {"json_object"},
        ),
        ({"json_schema": "bad request"}, {"json_object", "temperature", "seed"}),
        ({"seed": "bad request"}, set()),
    ],
)
def test_rejected_parameters_are_dropped_and_stay_dropped(
    rejects: dict[str, str], expected: set[str]
) -> None:
    """What a 400 names goes, an unnamed one costs format first; the second question knows at once."""

    async def twice(judge: Judge, scripted: ScriptedJudge) -> tuple[Any, int, dict[str, Any]]:
        await judge.ask(QUESTION)
        before = len(scripted.asked)
        outcome = (await judge.ask(QUESTION)).outcome
        return outcome, len(scripted.asked) - before, scripted.asked[-1]

    outcome, requests, last = run(rejecting(rejects), twice)
    assert outcome == Ruling(3, "the same")
    assert requests == 1
    kept = {"temperature", "seed"} & set(last)
    kept |= {last["response_format"]["type"]} if "response_format" in last else set()
    assert kept == expected


def test_a_request_that_is_wrong_in_itself_costs_nothing_later() -> None:
    """A 400 that no omission cures is "bad_request", and the next question starts with everything."""

    def script(request: dict[str, Any]) -> Canned:
        too_long = "does not work" in request["messages"][1]["content"]
        return error(400, "maximum context length exceeded") if too_long else GOOD

    async def two(judge: Judge, scripted: ScriptedJudge) -> tuple[Any, Any, dict[str, Any]]:
        first = (await judge.ask(QUESTION)).outcome
        second = (
            await judge.ask(SIMILARITY.fill({"REFERENCE ANSWER": "a", "CANDIDATE ANSWER": "b"}))
        ).outcome
        return first, second, scripted.asked[-1]

    first, second, last = run(script, two)
    assert isinstance(first, Failure)
    assert first.reason == "bad_request"
    assert "context length" in first.detail
    assert second == Ruling(3, "the same")
    assert last["response_format"]["type"] == "json_schema"


def test_a_failing_endpoint_is_left_alone_and_tried_again() -> None:
    """After two failures calls fail fast without a request; after the pause one goes out and closes it."""
    now = [0.0]
    breaker = Breaker(failures=2, open_s=30.0, clock=lambda: now[0])

    async def scene(judge: Judge, scripted: ScriptedJudge) -> list[Any]:
        seen: list[Any] = []
        for at in (0.0, 0.0, 1.0, 29.0, 30.0, 31.0):
            now[0] = at
            outcome = (await judge.ask(QUESTION)).outcome
            seen.append(
                (outcome.reason if isinstance(outcome, Failure) else outcome.rating, len(scripted.asked))
            )
        return seen

    assert run([error(500), error(500), GOOD], scene, breaker=breaker) == [
        ("server_error", 1),
        ("server_error", 2),
        ("circuit_open", 2),
        ("circuit_open", 2),
        (3, 3),
        (3, 4),
    ]


def test_unusable_replies_do_not_open_the_breaker() -> None:
    """An endpoint that answers is up, whatever it says."""
    replies, scripted = ask(
        [said("no"), said('{"rating": 9}'), error(400)], times=6, breaker=Breaker(failures=2)
    )
    assert len(scripted.asked) >= 6
    assert {reply.outcome.reason for reply in replies} == {"bad_schema", "out_of_scale", "bad_request"}


def test_concurrency_is_bounded() -> None:
    """Eight questions at once are three at a time on the wire."""

    async def flood(judge: Judge, scripted: ScriptedJudge) -> int:
        await asyncio.gather(*(judge.ask(QUESTION) for _ in range(8)))
        return scripted.most_under_way

    assert run(lambda _: Canned(body=GOOD.body, delay_s=0.02), flood, concurrency=3) == 3


def test_check_tells_a_usable_judge_from_an_unusable_one() -> None:
    """One request without retries: None, or the failure to show at the start of the process."""

    async def check(judge: Judge, scripted: ScriptedJudge) -> tuple[Failure | None, int]:
        return await judge.check(), len(scripted.asked)

    assert run([GOOD], check, max_retries=2) == (None, 1)
    failure, requests = run([error(401)], check, max_retries=2)
    assert failure is not None
    assert (failure.metric, failure.reason, requests) == ("probe", "unauthorized", 1)
    failure, requests = run([error(500)], check, max_retries=2)
    assert failure is not None
    assert (failure.reason, requests) == ("server_error", 1)


def test_a_cancelled_question_frees_its_place() -> None:
    """With one place, a question cancelled on the wire does not block the next."""

    async def scene(judge: Judge, _: ScriptedJudge) -> Any:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(judge.ask(QUESTION), 0.1)
        return (await judge.ask(QUESTION)).outcome

    assert run([Canned(body={}, delay_s=1.0), GOOD], scene, concurrency=1) == Ruling(3, "the same")


def by_prompt(similarity: str, quality: Callable[[str, str], str]) -> Callable[[dict[str, Any]], Canned]:
    """A judge that answers the similarity question with one text and quality questions by (name, prompt)."""

    def script(request: dict[str, Any]) -> Canned:
        text = request["messages"][1]["content"]
        if "CANDIDATE ANSWER" in text:
            return said(similarity)
        return said(quality("completeness" if "key information" in text else "faithfulness", text))

    return script


PAIR = Pair(Answer("The VPN is down."), Answer("The printer is jammed."), "Summarise: the VPN is down.")


def test_the_judge_scores_both_stages() -> None:
    """Rating 1, then both answers alone by both metrics; five calls of 120 tokens are booked."""

    def quality(metric: str, text: str) -> str:
        good = "The VPN is down.\n<<<END ANSWER" in text
        return json.dumps({"rating": 3 if good else {"faithfulness": 1, "completeness": 2}[metric]})

    async def scene(judge: Judge, scripted: ScriptedJudge) -> Any:
        return await judge_scorer(judge).score(PAIR), len(scripted.asked)

    judgement, calls = run(
        by_prompt('{"rating": 1, "explanation": "differ"}', quality), scene, price=lambda _m, i, o: i + o
    )
    assert (judgement.scorer, judgement.rating, judgement.explanation) == ("judge", 1, "differ")
    assert [(s.metric, s.reference, s.candidate) for s in judgement.quality] == [
        ("faithfulness", 3, 1),
        ("completeness", 3, 2),
    ]
    assert judgement.failures == ()
    assert (calls, judgement.tokens, judgement.cost_usd) == (5, 600, 600.0)


def test_a_quality_metric_that_fails_leaves_the_rating() -> None:
    """Completeness cannot be read: its failure is kept beside the rating and the other metric."""

    def quality(metric: str, _: str) -> str:
        return "no idea" if metric == "completeness" else '{"rating": 3}'

    async def scene(judge: Judge, _: ScriptedJudge) -> Any:
        return await judge_scorer(judge).score(PAIR)

    judgement = run(by_prompt('{"rating": 2}', quality), scene)
    assert judgement.rating == 2
    assert [score.metric for score in judgement.quality] == ["faithfulness"]
    assert [(failure.metric, failure.reason) for failure in judgement.failures] == [
        ("completeness", "bad_schema")
    ]
    assert judgement.tokens == 600


def test_a_judge_that_fails_gives_no_rating() -> None:
    """Metrics never step in for a judge: no rating, the reason, no quality."""

    async def scene(judge: Judge, _: ScriptedJudge) -> Any:
        return await judge_scorer(judge).score(PAIR)

    judgement = run([error(500)], scene)
    assert (judgement.scorer, judgement.rating, judgement.quality) == ("judge", None, ())
    assert [(failure.metric, failure.reason) for failure in judgement.failures] == [
        ("similarity", "server_error")
    ]


def test_equal_answers_are_never_sent_to_the_judge() -> None:
    """Equality after normalisation is a 3 free of charge, and still the judge's series."""

    async def scene(judge: Judge, scripted: ScriptedJudge) -> Any:
        pair = Pair(Answer("**The VPN is down.**"), Answer("the vpn is down"), "")
        return await judge_scorer(judge).score(pair), len(scripted.asked)

    judgement, calls = run([error(500)], scene)
    assert (judgement.scorer, judgement.rating, judgement.tokens, calls) == ("judge", 3, 0, 0)


def test_tool_calls_and_context_reach_the_judge() -> None:
    """The judge sees what was called, and for quality the request; never the other answer."""
    answer = Answer("", (ToolCall("close", '{"id": 7}'),))

    async def scene(judge: Judge, scripted: ScriptedJudge) -> list[str]:
        await JudgeRater(judge).rate(Pair(answer, Answer("Nothing to close."), "secret context"))
        await JudgedQuality(judge, FAITHFULNESS).rate(answer, "close ticket 7")
        await JudgedQuality(judge, COMPLETENESS).rate(answer, "close ticket 7")
        return [request["messages"][1]["content"] for request in scripted.asked]

    similarity, *quality = run([GOOD], scene)
    assert 'call close({"id": 7})' in similarity
    assert "Nothing to close." in similarity
    assert "secret context" not in similarity
    for text in quality:
        assert "close ticket 7" in text
        assert 'call close({"id": 7})' in text
        assert "Nothing to close." not in text
