"""The pace of calls to a judge, by an injected clock: nothing here waits for real."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenkeel.core.verdict import Failure
from evenkeel.llm.limits import Breaker, Bucket, RateLimits
from evenkeel.metrics.judge.reply import Ruling
from tests.metrics.scripted_judge import GOOD, QUESTION, Canned, ScriptedJudge, error, run

if TYPE_CHECKING:
    from evenkeel.metrics.judge import Judge


class Time:
    """A clock that moves only when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.slept: list[float] = []

    def clock(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(round(seconds, 6))
        self.now += seconds

    def limits(self, **settings: Any) -> RateLimits:
        return RateLimits(clock=self.clock, sleep=self.sleep, **settings)


def test_a_tenth_may_go_at_once_and_the_rest_at_a_steady_pace() -> None:
    """Of 60 a minute six go at once; then (60 - 6 + 1) / 60 a second run in, one in 12/11 s."""
    time = Time()
    bucket = Bucket(60, time.clock)
    waits = []
    for _ in range(8):
        waits.append(round(bucket.wait_s(1), 6))
        bucket.take(1)
    assert waits == [0, 0, 0, 0, 0, 0, round(12 / 11, 6), round(24 / 11, 6)]


def test_a_few_a_minute_are_spread_over_it() -> None:
    """Of three a minute one goes at once and one each 20 seconds."""
    bucket = Bucket(3, Time().clock)
    for wait_s in (0, 20, 40):
        assert bucket.wait_s(1) == pytest.approx(wait_s)
        bucket.take(1)


@pytest.mark.parametrize("per_minute", [0, 0.5, -1, float("nan")])
def test_a_limit_that_lets_nothing_through_is_refused(per_minute: float) -> None:
    """Less than one a minute is a mistake in the settings, said at the start."""
    with pytest.raises(ValueError, match="at least 1"):
        RateLimits(requests_per_minute=per_minute)


@settings(max_examples=100, deadline=None)
@given(
    st.integers(1, 300),
    st.lists(st.tuples(st.integers(1, 40), st.floats(0, 30)), min_size=1, max_size=60),
)
def test_no_minute_holds_more_than_its_limit(per_minute: int, arrivals: list[tuple[int, float]]) -> None:
    """However calls arrive, those that went out within any 60 seconds are within the limit."""
    time = Time()
    bucket = Bucket(per_minute, time.clock)
    fits = max(1.0, per_minute / 10)
    went: list[tuple[float, int]] = []
    for wanted, pause_s in arrivals:
        amount = int(min(wanted, fits))
        went.append((time.now + bucket.wait_s(amount), amount))
        bucket.take(amount)
        time.now += pause_s
    for start, _ in went:
        within = sum(amount for at, amount in went if start <= at < start + 60 - 1e-6)
        assert within <= per_minute


def test_tokens_that_were_not_needed_are_given_back() -> None:
    """6,000 a minute, 600 at once: a call of 600 of which 400 were spent leaves 200 for the next."""
    time = Time()
    limits = time.limits(tokens_per_minute=6000)

    async def scene() -> list[float | None]:
        first = await limits.admit(600, 60)
        limits.count(0, 400 - 600)
        return [first, await limits.admit(200, 60), await limits.admit(1, 60)]

    first, second, third = asyncio.run(scene())
    assert (first, second) == (0, 0)
    assert third == pytest.approx(60 / 5401)


def test_who_would_wait_too_long_is_not_let_into_the_line() -> None:
    """At one a minute and a patience of 100 s there is room for the next call and one behind it."""
    limits = Time().limits(requests_per_minute=1, tokens_per_minute=10_000)
    assert [limits.line_up(10, 100) for _ in range(4)] == [True, True, False, False]
    limits.step_out(10)
    assert limits.line_up(10, 100)
    assert not limits.line_up(10, 119)
    assert limits.line_up(10, 120.001)


def test_the_line_is_as_long_as_its_tokens_too() -> None:
    """Of 6,000 tokens a minute, 600 are there and 5,401 come in a minute: 6,001 fit, and not one more."""
    limits = Time().limits(tokens_per_minute=6000)
    assert limits.line_up(5000, 60)
    assert limits.line_up(1001, 60.001)
    assert not limits.line_up(1, 60.001)


def test_a_call_cancelled_while_it_waits_frees_its_place() -> None:
    """The next one waits as if it had never come."""
    time = Time()

    async def never(_: float) -> None:
        await asyncio.Event().wait()

    limits = RateLimits(requests_per_minute=1, tokens_per_minute=10, clock=time.clock, sleep=never)

    async def scene() -> float | None:
        await limits.admit(1, 100)
        waiting = asyncio.create_task(limits.admit(1, 100))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        limits._sleep = time.sleep
        return await limits.admit(1, 100)

    assert asyncio.run(scene()) == pytest.approx(60)


def test_a_pause_that_begins_while_a_call_waits_is_kept() -> None:
    """Six seconds for its turn and four more of a pause of ten; a hundred are too many and free the turn."""
    time = Time()
    limits = time.limits(requests_per_minute=10)

    async def pause_for(seconds: float) -> float | None:
        async def sleep(wait_s: float) -> None:
            limits.pause(seconds)
            limits._sleep = time.sleep
            await time.sleep(wait_s)

        limits._sleep = sleep
        return await limits.admit(1, 60)

    async def scene() -> list[float | None]:
        await limits.admit(1, 60)
        kept = await pause_for(10)
        # Four seconds have passed since that turn, so the next one is two away.
        refused = await pause_for(100)
        time.now += 200
        return [kept, refused, limits._wait_s(1, 1)]

    assert asyncio.run(scene()) == [pytest.approx(10), None, 0]


def test_calls_held_up_do_not_go_out_in_a_heap() -> None:
    """At ten a minute, three calls that waited a minute for a slow fourth still go out six seconds apart."""
    time = Time()
    sent: list[float] = []

    def answer(_: dict[str, Any]) -> Canned:
        sent.append(time.now - 1000)
        if len(sent) == 1:
            time.now += 60
        return GOOD

    async def scene(judge: Judge, _: ScriptedJudge) -> None:
        await asyncio.gather(*(judge.ask(QUESTION) for _n in range(4)))

    run(answer, scene, limits=time.limits(requests_per_minute=10), concurrency=1)
    assert sent == pytest.approx([0, 60, 66, 72])


def test_a_judge_keeps_to_its_requests_a_minute() -> None:
    """At ten a minute one question goes at once, the second after six seconds, the third after twelve."""
    time = Time()

    async def scene(judge: Judge, _: ScriptedJudge) -> list[float]:
        at = []
        for _n in range(3):
            await judge.ask(QUESTION)
            at.append(time.now - 1000)
        return at

    assert run([GOOD], scene, limits=time.limits(requests_per_minute=10)) == pytest.approx([0, 6, 12])


def test_a_judge_keeps_to_its_tokens_a_minute() -> None:
    """What a reply really took (120 tokens here) decides how soon the next question may go."""
    time = Time()

    async def scene(judge: Judge, _: ScriptedJudge) -> list[float]:
        expected = judge._expected_tokens(QUESTION)
        at = []
        for _n in range(3):
            await judge.ask(QUESTION)
            at.append(time.now - 1000)
        return [expected, *at]

    expected, *at = run([GOOD], scene, limits=time.limits(tokens_per_minute=6000))
    # 600 fit in and 5,401 a minute run in. The first waits until there is what it may need, after which
    # nothing is left but what it did not need (600 at most fit in again); and so on.
    per_s = 5401 / 60
    first = (expected - 600) / per_s
    step = (expected - min(600, expected - 120)) / per_s
    assert at == pytest.approx([first, first + step, first + 2 * step])


def test_a_question_that_would_queue_for_too_long_is_not_asked() -> None:
    """The failure is "rate_limited" without a request, and the breaker hears nothing of it."""
    time = Time()
    breaker = Breaker(failures=1)

    async def scene(judge: Judge, scripted: ScriptedJudge) -> tuple[Any, int]:
        await judge.ask(QUESTION)
        return (await judge.ask(QUESTION)).outcome, len(scripted.asked)

    outcome, requests = run(
        [GOOD], scene, limits=time.limits(requests_per_minute=1, longest_wait_s=59), breaker=breaker
    )
    assert isinstance(outcome, Failure)
    assert (outcome.reason, requests, breaker.is_open) == ("rate_limited", 1, False)
    assert "59 s" in outcome.detail


def test_one_429_slows_all_callers() -> None:
    """While its Retry-After of 30 s lasts nobody asks; then its own repetition and the other go out."""
    time = Time()
    seen: list[float] = []
    script = [error(429, headers=("retry-after: 30",)), GOOD]

    def answer(_: dict[str, Any]) -> Canned:
        seen.append(time.now - 1000)
        return script[min(len(seen), 2) - 1]

    async def scene(judge: Judge, _: ScriptedJudge) -> list[Any]:
        replies = await asyncio.gather(*(judge.ask(QUESTION) for _n in range(3)))
        return [reply.outcome for reply in replies]

    outcomes = run(answer, scene, limits=time.limits(), max_retries=1, concurrency=1)
    assert outcomes == [Ruling(3, "the same")] * 3
    assert seen == [0, 30, 30, 30]


def test_a_pause_longer_than_the_patience_fails_without_asking() -> None:
    """Retry-After of 100 s against a patience of 60: the 429 itself, two refusals, and another try later."""
    time = Time()
    breaker = Breaker(failures=3, clock=time.clock)

    async def scene(judge: Judge, scripted: ScriptedJudge) -> tuple[list[str], int, Any, Any]:
        reasons = []
        for _n in range(3):
            outcome = (await judge.ask(QUESTION)).outcome
            assert isinstance(outcome, Failure)
            reasons.append(outcome.reason)
        asked, checked = len(scripted.asked), await judge.check()
        was_open = breaker.is_open
        time.now += 100
        return (
            reasons,
            asked,
            (checked.reason if checked else None, was_open),
            (await judge.ask(QUESTION)).outcome,
        )

    reasons, asked, paused, after = run(
        [error(429, headers=("retry-after: 100",)), GOOD],
        scene,
        limits=time.limits(),
        breaker=breaker,
        max_retries=2,
    )
    assert (reasons, asked) == (["rate_limited"] * 3, 1)
    # The breaker opens, so that exchanges are held instead of replayed for nothing; the check is silent too.
    assert paused == ("rate_limited", True)
    assert after == Ruling(3, "the same")


def test_an_endless_pause_ends_after_ten_minutes() -> None:
    """A Retry-After of a day does not switch the judge off for a day."""
    time = Time()
    limits = time.limits()
    limits.pause(86_400)
    assert limits.pause_left_s == 600


def test_a_429_without_a_word_makes_all_wait_a_little_longer_each_time() -> None:
    """Half a second, then one, then two, then the failure."""
    time = Time()

    async def scene(judge: Judge, scripted: ScriptedJudge) -> tuple[Any, int]:
        return (await judge.ask(QUESTION)).outcome, len(scripted.asked)

    outcome, requests = run([error(429, headers=())], scene, limits=time.limits(), max_retries=2)
    assert (outcome.reason, requests) == ("rate_limited", 3)
    assert time.slept == [0.5, 1.0]


def test_other_faults_delay_only_their_own_call() -> None:
    """After a 500 the same call waits half a second and a second; nobody else is held up."""
    time = Time()

    async def scene(judge: Judge, _: ScriptedJudge) -> Any:
        return (await judge.ask(QUESTION)).outcome

    limits = time.limits()
    outcome = run(
        [error(500, headers=()), error(500, headers=()), GOOD],
        scene,
        limits=limits,
        sleep=time.sleep,
        max_retries=2,
    )
    assert outcome == Ruling(3, "the same")
    assert time.slept == [0.5, 1.0]
    assert limits.pause_left_s == 0


def test_parameters_left_out_count_as_requests() -> None:
    """Two requests for one question, the second without what was rejected, take two places."""
    time = Time()

    async def scene(judge: Judge, scripted: ScriptedJudge) -> tuple[float, int]:
        await judge.ask(QUESTION)
        asked = len(scripted.asked)
        await judge.ask(QUESTION)
        return time.now - 1000, asked

    waited, asked = run([error(400, "no seed"), GOOD], scene, limits=time.limits(requests_per_minute=10))
    assert asked == 2
    assert waited == pytest.approx(12)
