from __future__ import annotations

import asyncio
from collections import Counter

from evenkeel.core.verdict import Failure
from evenkeel.lab.judge_audit.calls import (
    JudgeCall,
    ReplyCache,
    ask_all,
)
from evenkeel.llm.observer import ObservedMessage
from evenkeel.metrics.judge.prompts import Question
from evenkeel.metrics.judge.reply import Reply, Ruling


def asked(number, prompt="audit.knowledge"):
    return Question(
        prompt, 1, (ObservedMessage("user", f"question {number} of forty characters ......"),), (1, 2)
    )


def plan(count):
    return [JudgeCall(number, asked(number)) for number in range(count)]


class Script:
    """A judge that answers by a function of the question's number, and counts what it is asked."""

    model = "scripted"

    def __init__(self, answer):
        self.answer = answer
        self.asked = Counter()
        self.under_way = self.most = 0

    async def ask(self, question):
        number = int(question.messages[0].content.split()[1])
        self.asked[number] += 1
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        await asyncio.sleep(0)
        self.under_way -= 1
        return self.answer(number)


def good(number):
    return Reply(Ruling(1 + number % 2, f"because {number}"), 10, 5, 0.25)


def failed(reason):
    return Reply(Failure("audit.knowledge", 1, reason, "scripted"), 3, 1, 0.125)


def run(judge, calls, cache, **options):
    return asyncio.run(ask_all(judge, calls, cache, **options))


def test_what_the_judge_failed_at_is_remembered_and_what_the_endpoint_failed_at_is_not(tmp_path):
    """A refusal is an answer, and so is a reply without end; a timeout is worth another call."""
    final = ["refused", "empty", "bad_schema", "out_of_scale", "truncated"]
    reasons = [*final, "timeout", "rate_limited", "server_error"]
    path = tmp_path / "calls.jsonl"
    with ReplyCache(path) as cache:
        run(Script(lambda number: failed(reasons[number])), plan(8), cache)
    with ReplyCache(path) as cache:
        assert len(cache) == 5
        judge = Script(good)
        replies = run(judge, plan(8), cache)
    assert sorted(judge.asked) == [5, 6, 7]
    assert [replies[number] for number in range(5)] == [failed(reason) for reason in final]
    with ReplyCache(path) as cache:
        assert run(Script(failed), plan(8), cache) == replies
