"""Asking models: what is remembered, what is tried again, what is given up, and what is not paid any more."""

import asyncio
import sqlite3

import pytest

from evenkeel.core.budget import Spend
from evenkeel.core.pair import Answer
from evenkeel.core.verdict import Failure
from evenkeel.lab.asking import unwritable
from evenkeel.llm.price import ModelPrice, Prices
from evenkeel.release.kit.asking import AskedCall, Asker, UnusableError, advised, call_key, work_through
from evenkeel.release.kit.cost import REWRITER, BudgetUsedUpError, CostEstimate, Costs, RewriterBudget
from evenkeel.release.kit.journal import Answers
from evenkeel.release.kit.service_watch import ServiceWatch, service_advice
from evenkeel.shadow.replay import Replay, Target

GOOD = Replay(Answer("Yes.", prompt_tokens=1000, completion_tokens=100), 0.1)
DOWN = Failure("replay", 1, "connection", "refused")
LOCKED = Failure("replay", 1, "unauthorized", "the upstream answered 401")
ODD = Failure("replay", 1, "rejected", "the upstream answered 400 to the variant")


class ScriptedReplayer:
    """A replayer that gives what it is told to, the last thing forever."""

    def __init__(self, *outcomes):
        self.outcomes = list(outcomes)
        self.calls = 0

    async def send(self, target, body, *, api):
        self.calls += 1
        return self.outcomes.pop(0) if len(self.outcomes) > 1 else self.outcomes[0]


def call(text="Hi", payee="one"):
    target = Target("http://models.example/v1")
    return AskedCall(payee, target, text.encode(), call_key([payee], text.encode()), "m", 7)


def end(given_up, failure):
    raise UnusableError(f"{given_up.payee}: {failure.reason}")


@pytest.fixture
def answers(database):
    return Answers(database)


def asker(replayer, answers, costs=None, give_up=end):
    prices = Prices({"m": ModelPrice(1.0, 10.0)})
    return Asker(replayer, answers, prices, costs or Costs(), patience=10, give_up=give_up)


async def ask_until_given_up(one, payee="one"):
    for number in range(100):
        await one.ask(call(str(number), payee))


def test_an_answer_is_paid_once_and_then_remembered(answers):
    """1,000 prompt tokens at 1 and 100 completion tokens at 10 dollars a million are 0.2 cents."""
    replayer, costs = ScriptedReplayer(GOOD), Costs()
    first = asyncio.run(asker(replayer, answers, costs).ask(call()))
    again = asyncio.run(asker(replayer, answers, costs).ask(call()))
    assert first == again == GOOD.answer
    account = costs.of("one")
    assert (account.calls, account.remembered, answers.count()) == (1, 1, 1)
    assert (account.tokens, account.prompt_tokens, account.completion_tokens) == (1100, 1000, 100)
    assert account.usd == account.remembered_usd == pytest.approx(0.002)


@pytest.mark.parametrize("reported", [None, 0])
def test_without_a_report_of_usage_a_call_costs_what_is_estimated(answers, reported):
    costs = Costs()
    answer = Answer("Yes.", prompt_tokens=reported, completion_tokens=reported)
    asyncio.run(asker(ScriptedReplayer(Replay(answer, 0.1)), answers, costs).ask(call()))
    account = costs.of("one")
    assert account.prompt_tokens == 7
    assert account.completion_tokens > 0
    assert account.usd > 0


def test_a_fault_of_a_model_that_has_answered_is_tried_once_more(answers):
    """A passing fault costs a call, not an answer; one that says what is wrong with the request is final."""
    replayer, costs = ScriptedReplayer(GOOD, DOWN, GOOD, ODD), Costs()
    one = asker(replayer, answers, costs)

    async def three():
        return [await one.ask(call(str(number))) for number in range(3)]

    assert asyncio.run(three()) == [GOOD.answer, GOOD.answer, ODD]
    assert (costs.total.calls, costs.total.failed) == (4, 1)


@pytest.mark.parametrize(
    ("script", "calls"),
    [((DOWN,), 3), ((LOCKED,), 1), ((ODD,), 3), ((GOOD, ODD), 11), ((GOOD, LOCKED), 11)],
)
def test_a_model_that_does_not_answer_is_given_up(answers, script, calls):
    """After three failures at first, one if the key is wrong, as many as it has patience for later."""
    replayer = ScriptedReplayer(*script)
    with pytest.raises(UnusableError):
        asyncio.run(ask_until_given_up(asker(replayer, answers)))
    assert replayer.calls == calls


def test_no_call_is_made_beyond_the_budget(answers):
    """0.2 cents a call and a limit of 0.5: the fourth call is not made."""
    replayer = ScriptedReplayer(GOOD)
    with pytest.raises(BudgetUsedUpError):
        asyncio.run(ask_until_given_up(asker(replayer, answers, Costs(0.005))))
    assert replayer.calls == 3


def test_the_rewriter_sets_aside_what_a_call_may_cost():
    """Money that is set aside counts against the limit until it is settled at its real cost."""
    costs = Costs(1.0)
    budget = RewriterBudget(costs)
    assert budget.reserve(Spend(10, 0.6))
    assert not budget.reserve(Spend(10, 0.6))
    budget.settle(Spend(10, 0.6), Spend(5, 0.1))
    assert budget.reserve(Spend(10, 0.6))
    assert (costs.of(REWRITER).calls, costs.usd) == (1, 0.1)


def test_an_estimate_says_how_sure_it_is():
    """Remembered answers and unknown prices are named; a ceiling is told from a rule of thumb."""
    assert (
        str(CostEstimate("3 calls", Spend(900, 0.5), 2))
        == "3 calls (2 remembered), at most 900 tokens, at most $0.50"
    )
    assert str(CostEstimate("3 calls", Spend(900, 0), ceiling=False)) == "3 calls, about 900 tokens, free"
    assert str(CostEstimate("3 calls", Spend(900, 0.5), unpriced=["a", "b"])) == (
        "3 calls, at most 900 tokens, at most $0.50, without a known price of a and b, whose calls no limit "
        "in dollars counts (--price a=IN/OUT gives it)"
    )


def test_work_is_done_a_few_at_a_time_and_the_first_error_ends_it():
    """The error comes out as it is, and nothing is begun after it."""
    under_way, most, begun = 0, 0, []

    async def work(number):
        nonlocal under_way, most
        begun.append(number)
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0)
        under_way -= 1
        if number == 20:
            raise BudgetUsedUpError

    asyncio.run(work_through(range(10), work, concurrency=3))
    assert (sorted(begun), most) == (list(range(10)), 3)
    with pytest.raises(BudgetUsedUpError):
        asyncio.run(work_through(range(100), work, concurrency=3))
    assert len(begun) < 40


def test_a_service_that_fails_ends_the_run():
    """At the third failure, or the tenth in a row of one that has worked, with the first of them."""
    judge = ServiceWatch("the judge j", "--judge-model", service_advice("--judge", "THE_KEY"), Costs())
    for _ in range(2):
        judge.failed("unauthorized", "The endpoint rejected the key.")
    with pytest.raises(UnusableError, match=r"the judge j rated nothing: .*THE_KEY.*--judge-key-env"):
        judge.failed("circuit_open", "left alone")
    for _ in range(2):
        judge.worked()
        for _ in range(9):
            judge.failed("connection", "refused")
    with pytest.raises(UnusableError, match="rated nothing in the last 10 calls: refused"):
        judge.failed("circuit_open", "left alone")


def test_advice_replaces_that_for_other_commands():
    """The advice of a replay after the semicolon is about `evenkeel up`."""
    said = advised(
        "unauthorized", "the upstream answered 401; set a shadow credential", variable="V", key_option="--k"
    )
    assert said == "the upstream answered 401; put its key into the variable V, or name another one with --k"
    assert advised("too_large", "the answer is too large.") == "the answer is too large"
    said = advised("rejected", "the upstream answered 402 to the variant (Insufficient Balance)")
    assert said.endswith("the account has no credit left: add some, or use another key")


def test_a_full_disk_is_named(tmp_path):
    """The message names the file and says how to go on."""
    told = str(unwritable(tmp_path / "j", sqlite3.OperationalError("database or disk is full")))
    assert str(tmp_path / "j") in told
    assert "make room" in told
    assert "same command again" in told
