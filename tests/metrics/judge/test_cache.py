"""Rulings remembered by content."""

import sqlite3
from dataclasses import replace

from evenkeel.core.pair import Pair
from evenkeel.metrics.judge import JudgeRater
from evenkeel.metrics.judge.client import ruling_key
from evenkeel.metrics.judge.prompts import FAITHFULNESS, SIMILARITY
from evenkeel.metrics.judge.reply import Ruling
from tests.llm.scripted import MemoryCache, said
from tests.metrics.judge.scripted_judge import GOOD, PAIR, QUESTION, error, rated, run


def test_the_key_holds_everything_that_decides():
    """Endpoint, model, wording, version, texts, sides, scale and vote each change the key."""

    def filled(prompt=SIMILARITY, one="a", two="b"):
        return prompt.fill({"REFERENCE ANSWER": one, "CANDIDATE ANSWER": two})

    newer = replace(SIMILARITY, version=SIMILARITY.version + 1)
    longer = replace(SIMILARITY, steps=(1, 2, 3, 4))
    keys = [
        ruling_key("http://a/v1", "m", filled()),
        ruling_key("http://b/v1", "m", filled()),
        ruling_key("http://a/v1", "n", filled()),
        ruling_key("http://a/v1", "m", filled(FAITHFULNESS)),
        ruling_key("http://a/v1", "m", filled(newer)),
        ruling_key("http://a/v1", "m", filled(longer)),
        ruling_key("http://a/v1", "m", filled(one="c")),
        ruling_key("http://a/v1", "m", filled(one="b", two="a")),
        ruling_key("http://a/v1", "m", filled(), 1),
    ]
    assert len(set(keys)) == len(keys)
    assert keys[0] == ruling_key("http://a/v1", "m", filled())


def test_a_remembered_ruling_costs_nothing_and_says_so():
    """The second rating of the same pair makes no call; other pairs do."""

    async def scene(judge, scripted):
        rater = JudgeRater(judge)
        first, second = await rater.rate(PAIR), await rater.rate(PAIR)
        calls = len(scripted.asked)
        await rater.rate(Pair(PAIR.candidate, PAIR.reference, ""))
        return first, second, calls, len(scripted.asked), rater.prompt_version

    first, second, calls, all_calls, prompt_version = run(
        [GOOD], scene, cache=MemoryCache(), price=lambda _m, i, o, *_: i + o
    )
    assert (calls, all_calls) == (1, 2)
    assert (first.outcome, first.explanation) == (second.outcome, second.explanation) == (3, "the same")
    assert (first.spent, first.details) == ((120, 120.0), {})
    assert (second.spent, second.details) == ((0, 0.0), {"cached": 1.0})
    assert first.prompt_version == second.prompt_version == "similarity@4" == prompt_version


def test_only_rulings_are_remembered():
    """The judge is asked again after an unreadable reply and a fault; its ruling then stays."""

    async def scene(judge, scripted):
        replies = [await judge.ask(QUESTION) for _ in range(4)]
        return [reply.cached for reply in replies], replies[3].outcome, len(scripted.asked)

    cached, outcome, calls = run([said("hm"), error(500), rated(2), error(500)], scene, cache=MemoryCache())
    assert (cached, outcome, calls) == ([False, False, False, True], Ruling(2, "because"), 3)


def test_judging_afresh_neither_reads_nor_writes():
    """The endpoint is asked every time for the judge's own noise, and what it says is not kept."""
    cache = MemoryCache()

    async def scene(judge, scripted):
        rater = JudgeRater(judge)
        ratings = [
            await rater.rate(PAIR),
            await JudgeRater(judge, fresh=True).rate(PAIR),
            await JudgeRater(judge, fresh=True).rate(PAIR),
            await rater.rate(PAIR),
        ]
        return [rating.outcome for rating in ratings], len(scripted.asked)

    ratings, calls = run([rated(3), rated(1), rated(2)], scene, cache=cache)
    assert (ratings, calls) == ([3, 1, 2, 3], 3)
    assert len(cache) == 1


def test_a_broken_cache_does_not_stop_the_judge(caplog):
    """Reading and writing fail: said once, and the judge is simply asked."""

    class Broken:
        def get(self, key):
            raise sqlite3.OperationalError("disk I/O error")

        def put(self, key, body):
            raise sqlite3.OperationalError("database is locked")

    async def scene(judge, _):
        return [(await judge.ask(QUESTION)).outcome for _n in range(2)]

    assert run([GOOD], scene, cache=Broken()) == [Ruling(3, "the same")] * 2
    assert [record.message for record in caplog.records if record.name == "evenkeel.judge"] == [
        "the judge's cache fails (OperationalError: disk I/O error); judging goes on"
    ]
