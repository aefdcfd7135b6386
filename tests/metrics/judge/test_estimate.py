"""Estimates of what a rating may cost, told before it is asked for."""

from evenkeel.core.budget import Spend
from evenkeel.core.pair import Answer, Pair
from evenkeel.metrics.judge import JudgedQuality, JudgeRater
from evenkeel.metrics.judge.prompts import FAITHFULNESS, SIMILARITY
from tests.llm.scripted import Canned
from tests.metrics.judge.scripted_judge import GOOD, judge_at, run


def offline(**settings):
    return judge_at("http://127.0.0.1:9/v1", **settings)


def price(_, prompt_tokens, completion_tokens, *_more):
    return prompt_tokens + 10 * completion_tokens


def test_an_estimate_is_rubric_texts_and_reply():
    """1,000 characters are 1,000 tokens at most, beside the rubric (3 characters a token) and the reply."""
    bare = SIMILARITY.fill({"REFERENCE ANSWER": "", "CANDIDATE ANSWER": ""})
    wording = sum(-(-len(message.content) // 3) + 16 for message in bare.messages)
    judge = offline(price=price)
    assert JudgeRater(judge).estimate(1000) == Spend(wording + 1000 + 300, wording + 1000 + 3000)


def test_a_reply_that_was_longer_is_learned_from():
    """Every estimate expects 5,000 tokens after a reply of that length, and less after short ones."""
    usage = {"prompt_tokens": 100, "completion_tokens": 5000, "total_tokens": 5100}

    async def scene(judge, _):
        rater, quality = JudgeRater(judge), JudgedQuality(judge, FAITHFULNESS)
        first = rater.estimate(0).tokens, quality.estimate(500).tokens
        seen = []
        for _n in range(3):
            await rater.rate(Pair(Answer("a"), Answer("b"), ""))
            rise = rater.estimate(0).tokens - first[0], quality.estimate(500).tokens - first[1]
            seen.append((rise[0] + 300, rise[1] + 300))
        return seen

    replies = [Canned(body=GOOD.body | {"usage": usage}), GOOD]
    assert run(replies, scene) == [(5000, 5000), (4950, 4950), (4900, 4900)]
