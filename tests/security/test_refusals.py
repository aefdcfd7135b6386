"""A judge or rewriter that refuses one client's questions fails those and nobody else's."""

import asyncio
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.core.pair import Answer, Pair
from evenkeel.core.verdict import Failure
from evenkeel.llm.faults import asked_pause_s
from evenkeel.llm.limits import Breaker, Pauses
from evenkeel.metrics.judge import Judge, JudgeRater
from evenkeel.metrics.judge.prompts import SIMILARITY
from evenkeel.metrics.judge.reply import Ruling
from evenkeel.runtime.instruments import JudgeHealth
from evenkeel.shadow.replay import Replayer, Target
from tests.llm.scripted import Canned, Clock, endpoint_of, said, serving

LONG = 4_000
"""Characters of a question from which on the scripted judge refuses."""
GOOD = said(json.dumps({"explanation": "the same", "rating": 3}))


def question(number, chars=0):
    return SIMILARITY.fill(
        {"REFERENCE ANSWER": f"Number {number}.", "CANDIDATE ANSWER": f"No. {number}." + "x" * chars}
    )


def refusal(status=429, *headers, code=None, message="Rate limit reached, please slow down."):
    body = {"error": {"message": message, "type": "requests", "code": code, "param": None}}
    return Canned(status, body, headers=headers)


def by_length(canned):
    """Refuses what is long."""

    def script(request):
        chars = sum(len(message["content"]) for message in request["messages"])
        return canned if chars > LONG else GOOD

    return script


class Stage:
    """A judge with its health, by a clock that moves only while somebody waits for it."""

    def __init__(self, url, **settings):
        self.clock = Clock()
        self.breaker = Breaker(clock=self.clock)
        self.pauses = Pauses(clock=self.clock, sleep=self.clock.sleep)
        endpoint = endpoint_of(
            base_url=url,
            model="scripted",
            api_key="",
            timeout_s=240,
            breaker=self.breaker,
            pauses=self.pauses,
            sleep=self.clock.sleep,
        )
        self.judge = Judge(endpoint, **settings)
        self.health = JudgeHealth(self.judge, self.breaker, "KEY")

    @property
    def up(self):
        """The gauge."""
        ((_, _, up),) = self.health.snapshot()["gauges"]
        return int(up)

    async def asked(self, *questions):
        """Ask all at once; return the outcome of each."""
        replies = await asyncio.gather(*map(self.judge.ask, questions))
        return ["rated" if isinstance(reply.outcome, Ruling) else reply.outcome.reason for reply in replies]


def staged(script, scene, **settings):
    async def run():
        async with serving(script) as server:
            stage = Stage(server.url, **settings)
            async with stage.judge:
                return await scene(stage, server)

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("canned", "reason"),
    [
        (refusal(), "rate_limited"),
        (refusal(429, "retry-after: 86400"), "rate_limited"),
        (refusal(429, message="Request too large for m on tokens per min (TPM): Limit 9"), "too_long"),
        (refusal(429, "retry-after: 60", message="Limit 30000, Used 0, Requested 45000."), "too_long"),
        (refusal(413, code="request_too_large"), "too_long"),
        (refusal(400, code="context_length_exceeded"), "too_long"),
        (refusal(400, code="string_above_max_length"), "too_long"),
        (refusal(400, message="prompt is too long: 210000 tokens > 200000 maximum"), "too_long"),
        (refusal(400, code="content_filter"), "refused"),
        (refusal(403, message="Your input was flagged by moderation."), "refused"),
        (refusal(451), "refused"),
        (refusal(422), "bad_request"),
        (refusal(500), "server_error"),
        (refusal(503, "retry-after: 30"), "server_error"),
        (Canned(cut=True), "connection"),
    ],
    ids=lambda case: case if isinstance(case, str) else f"{case.status} {case.headers}",
)  # fmt: skip
def test_what_a_judge_refuses_of_one_client_fails_alone(canned, reason):
    """The short ones of eight long and eight short questions are rated; nobody waits; the judge is up."""

    async def scene(stage, server):
        questions = [question(n, LONG if n % 2 else 0) for n in range(16)]
        outcomes = await stage.asked(*questions)
        # Before any short one was answered there is only the canary to tell.
        outcomes += await stage.asked(*(question(n, LONG) for n in range(16, 24)))
        return outcomes, stage.up, stage.breaker.is_open, stage.clock.now - 1000, len(server.asked)

    outcomes, up, is_open, waited_s, requests = staged(by_length(canned), scene)
    assert [outcome for n, outcome in enumerate(outcomes[:16]) if n % 2 == 0] == ["rated"] * 8
    assert {outcome for n, outcome in enumerate(outcomes) if n % 2 or n >= 16} == {reason}
    assert (up, is_open) == (1, False)
    # Each long one waits for itself, half a second and a second, side by side; the clock adds that up.
    assert waited_s <= 16 * 1.5
    # Three attempts each and a canary for each at most; up to seven where parameters are left out.
    assert requests <= 8 + 16 * 8


@pytest.mark.parametrize("header", [(), ("retry-after: 1",), ("retry-after: 30",), ("retry-after: 86400",)])
def test_a_judge_that_refuses_all_is_down_after_five(header):
    """429 for everything: after five questions `judge_up` is 0, and a pause is a minute at most."""

    async def scene(stage, server):
        outcomes = await stage.asked(*(question(n) for n in range(5)))
        return outcomes, stage.up, stage.pauses.pause_left_s <= 60, len(server.asked)

    outcomes, up, bounded, requests = staged([refusal(429, *header)], scene)
    assert set(outcomes) <= {"rate_limited", "circuit_open"}
    assert (up, bounded) == (0, True)
    assert requests <= 5 * 3 + 3


def test_the_judge_comes_back_by_the_known_question():
    """An open breaker is tried with the known question: a hostile one in front does not keep it open."""
    down = [True]

    def script(request):
        return refusal(500) if down[0] else by_length(refusal(500))(request)

    async def scene(stage, server):
        for number in range(5):
            await stage.asked(question(number))
        before = stage.up
        down[0] = False
        stage.clock.now += 60
        return before, await stage.asked(question(6, LONG)), await stage.asked(question(7)), stage.up

    assert staged(script, scene) == (0, ["server_error"], ["rated"], 1)


def test_a_question_that_is_too_long_is_not_asked():
    """A failure "too_long" says how long it is; nothing is cut."""

    async def scene(stage, server):
        pair = Pair(Answer("x" * 6_000), Answer("y" * 6_000), "")
        rated = await JudgeRater(stage.judge).rate(pair)
        return rated.outcome, len(server.asked)

    outcome, requests = staged([GOOD], scene, longest_chars=10_000)
    assert isinstance(outcome, Failure)
    assert (outcome.reason, requests) == ("too_long", 0)
    assert "more than 10000" in outcome.detail


def test_long_questions_leave_places_for_short_ones():
    """Half of the places answer short ones while long questions hang."""

    def script(request):
        chars = sum(len(message["content"]) for message in request["messages"])
        return Canned(hang=True) if chars > 20_000 else GOOD

    async def scene(stage, server):
        hanging = [asyncio.create_task(stage.judge.ask(question(n, 20_000))) for n in range(8)]
        await server.hanging.wait()
        async with asyncio.timeout(120):
            outcomes = await stage.asked(*(question(n) for n in range(20, 30)))
        for call in hanging:
            call.cancel()
        await asyncio.gather(*hanging, return_exceptions=True)
        return outcomes

    assert staged(script, scene) == ["rated"] * 10


@given(
    st.dictionaries(
        st.sampled_from(["retry-after", "retry-after-ms", "date"]),
        st.one_of(
            st.text(max_size=40),
            st.sampled_from(
                ["86400", "-1", "nan", "NaN", "inf", "1e309", "9" * 5000, "0x10",
                 "Wed, 01 Jan 1000 00:00:00 GMT",
                 "Wed, 01 Jan 9999 23:59:59 GMT",
                 "Wed, 99 Jan 99999999999 00:00:00 GMT", "1_0", "٣"]
            ),
        ),
    )
)  # fmt: skip
def test_no_retry_after_silences_for_longer_than_a_minute(headers):
    """The pause is a number from 0 to 60 s, or none is asked for, whatever a server writes."""
    asked_s = asked_pause_s(headers)
    pauses = Pauses(clock=lambda: 0.0)
    if asked_s is not None:
        assert asked_s >= 0
        pauses.pause(asked_s)
    assert 0 <= pauses.pause_left_s <= 60


def test_one_routes_throttle_pauses_that_route_alone():
    """Replays of route A fail while it wants a pause, and those of route B go out."""
    clock = Clock()

    def script(request):
        chars = len(request["messages"][0]["content"])
        return refusal(429, "retry-after: 60") if chars > LONG and request["model"] == "a" else GOOD

    def body(model, chars):
        return json.dumps({"model": model, "messages": [{"role": "user", "content": "x" * chars}]}).encode()

    async def scene():
        async with serving(script) as server:
            replayer = Replayer(concurrency=1, timeout_s=240, clock=clock, sleep=clock.sleep, patience_s=10)
            url = f"{server.url}/chat/completions"
            sent = [("a", 5_000), ("a", 6_000), ("a", 50), ("b", 5_000), ("b", 6_000)]
            try:
                outcomes = [
                    await replayer.send(Target(url, route=model), body(model, size)) for model, size in sent
                ]
            finally:
                await replayer.close()
            return [outcome.reason if isinstance(outcome, Failure) else "answered" for outcome in outcomes]

    assert asyncio.run(scene()) == ["rate_limited", "rate_limited", "rate_limited", "answered", "answered"]
    assert clock.waited == []


def test_a_429_about_the_size_of_a_replay_is_its_own():
    """The replay is not sent again, nobody waits, and the reason quotes the upstream."""
    clock = Clock()
    canned = refusal(429, "retry-after: 60", message="Request too large for gpt-4o on tokens per min (TPM)")

    async def scene():
        async with serving([canned]) as server:
            replayer = Replayer(concurrency=1, timeout_s=240, clock=clock, sleep=clock.sleep)
            outcome = await replayer.send(Target(f"{server.url}/chat/completions"), b"{}")
            await replayer.close()
            return outcome, len(server.asked)

    outcome, requests = asyncio.run(scene())
    assert (outcome.reason, requests, clock.waited) == ("rejected", 1, [])
    assert "Request too large" in outcome.detail
