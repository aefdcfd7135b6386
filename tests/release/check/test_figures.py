"""Figures of a check: points above noise, standings, sensitivity, comparisons and words."""

import asyncio
import json
import random
from dataclasses import replace

import pytest

from evenkeel.core.verdict import CONTRAST
from evenkeel.release.check.figures import (
    FIRST,
    SECOND,
    CheckTrial,
    category_figures,
    compare,
    fragile_words,
    sensitivity,
)
from evenkeel.release.check.report import as_json, standing_text
from evenkeel.release.check.rounds import RoundResult
from evenkeel.release.check.run import CheckRequest, ModelAt, run_check
from evenkeel.release.kit.cost import Costs


def trials(moved, control, *, arm=FIRST, **more):
    """Trials of one category, "x" for an answer that moved and "." for one that did not."""
    return [
        CheckTrial(
            round=place,
            arm=arm,
            category="general",
            kind="general.spelling",
            moved=mark == "x",
            control_moved=other == "x",
            **more,
        )
        for place, (mark, other) in enumerate(zip(moved, control, strict=True))
    ]


def figures(made, limit=0.10):
    """Figures of the only category of a check."""
    return category_figures("general", made, limit=limit, categories=1)


def test_points_are_the_share_of_moved_answers_less_that_of_the_resends():
    """Of ten rounds, six rewordings and one resend moved: 60 − 10 = 50 points."""
    found = figures(trials("xxxxxx....", "x........."))

    assert found.content_delta.value == pytest.approx(0.6)
    assert found.noise_floor.value == pytest.approx(0.1)
    assert found.points.value == pytest.approx(0.5)
    assert found.points.n == 10


def test_rounds_that_nobody_rated_are_not_within_a_limit():
    """A judge that fails is missed where answers differ: those it did not rate may all have moved."""
    held, lost = trials("." * 200, "." * 200), trials("." * 40, "." * 40)
    for trial in lost:
        held.append(replace(trial, round=200 + trial.round, moved=None, unrated=True))

    assert figures(held).standing == "unknown"
    assert figures(held).points.upper > 40 / 240
    assert figures(held).content_delta.upper > 40 / 240
    assert figures(held).content_delta.value == 0
    assert sensitivity(held[190:]).upper > 0.9
    other = trials("." * 240, "." * 240, arm=SECOND)
    assert compare("general", held, other, limit=0.1, categories=1).more_fragile == "unknown"
    assert compare("general", held[:200], other, limit=0.1, categories=1).more_fragile == "no"


def test_a_model_that_answers_differently_each_time_is_not_called_robust():
    """Where every resend moves, no rewording could move the answer any more often."""
    found = figures(trials("x" * 60, "x" * 60))

    assert found.standing == "unknown"
    assert found.is_blind
    assert "another answer nearly every time" in standing_text(found)
    assert not figures(trials("x" * 30 + "." * 170, "." * 30 + "x" * 170)).is_blind


def test_the_steadier_of_two_equally_fragile_models_is_not_more_fragile():
    """Rewordings move both each time; half of the first one's resends move too, which leaves them less."""
    noisy, steady = trials("x" * 200, "x." * 100), trials("x" * 200, "." * 200, arm=SECOND)

    found = compare("general", noisy, steady, limit=0.1, categories=1)

    assert found.more_fragile == "no"
    assert found.difference.value == 0
    assert -0.1 <= found.difference.lower <= found.difference.upper <= 0.1
    still, fragile = trials("." * 200, "." * 200), trials("x." * 100, "." * 200, arm=SECOND)
    assert compare("general", still, fragile, limit=0.1, categories=1).more_fragile == "second"
    assert compare("general", fragile, still, limit=0.1, categories=1).more_fragile == "first"


def test_standing_follows_the_interval_and_not_the_value():
    """Two moved answers of ten are 20 points and no evidence; sixty of sixty are."""
    few, many, none = trials("xx........", "." * 10), trials("x" * 60, "." * 60), trials("." * 200, "." * 200)

    assert figures(few).standing == "unknown"
    assert figures(few).more_rounds > 0
    assert figures(many).standing == "over"
    assert figures(none).standing == "within"


def test_nothing_rated_is_unmeasured_and_no_zero():
    """Trials that failed give no figure, and their reasons are counted."""
    failed = CheckTrial(round=0, arm=FIRST, category="general", kind="general.tone", failure="timeout")
    found = figures([failed, failed])
    assert found.standing == "unmeasured"
    assert found.points is None
    assert found.failures == {"timeout": 2}


def test_robustness_is_one_less_the_share_whose_quality_changed():
    """Of ten answers five moved and two of them changed in quality: .5 × .4 = .2, robustness .8."""
    moved = trials("xxxxx", ".....", quality_changed=False, control_quality_changed=False)[:3]
    worse = trials("xx", "..", quality_changed=True, control_quality_changed=False)
    still = trials(".....", ".....", quality_changed=False, control_quality_changed=False)

    found = figures([*moved, *worse, *still])

    assert found.content_delta.value == pytest.approx(0.5)
    assert found.quality_delta == pytest.approx(0.4)
    assert found.robustness == pytest.approx(0.8)
    assert found.control_robustness == pytest.approx(1.0)


def test_a_constant_answer_has_no_sensitivity():
    """Twenty contrasts that never moved the answer bound the sensitivity well below one half."""
    assert sensitivity(trials("." * 20, "." * 20)).upper < 0.5
    assert sensitivity(trials("x" * 20, "." * 20)).lower > 0.5
    assert sensitivity([]) is None


def test_words_are_ranked_by_how_often_their_change_moved_the_answer():
    """The word refund moved each of its trials, please none; a change of half the prompt says nothing."""
    made = [
        *trials("xxxx", "....", words=("refund",), touched=0.1),
        *trials("....", "....", words=("please",), touched=0.1),
        *trials("xxxx", "....", words=("refund", "please", "the"), touched=0.5),
    ]

    ranked = fragile_words(made)

    assert [(word.word, word.moved, word.trials) for word in ranked] == [("refund", 4, 4)]


PLANNED = CheckRequest(
    prompts={FIRST: [None]},
    models={FIRST: ModelAt("planted", "")},
    kinds=dict.fromkeys(("general", "positional", "format", "multilingual"), ()),
    judge=ModelAt("planted", ""),
    limit=0.1,
    rounds=300,
)
WORDS = ("please", "refund", "order", "today")


class SimulatedRounds:
    """Makes rounds with planted noise and planted points in one category, in place of `RoundMaker`."""

    def __init__(self, noise, points, seed):
        self.noise, self.points, self.chance, self.calls = noise, points, random.Random(seed), 0

    async def make(self, place, open_categories):
        """Make the trials of one round."""
        control = self.chance.random() < self.noise
        self.calls += 2 + len(open_categories)
        trials = []
        for category in open_categories:
            share = self.noise + (self.points if category == "general" else 0.0)
            if category != CONTRAST:
                outcome = {"moved": self.chance.random() < share, "control_moved": control}
                outcome |= {"words": (WORDS[place % len(WORDS)],), "touched": 0.1}
                trials.append(CheckTrial(round=place, arm=FIRST, category=category, kind=category, **outcome))
        return RoundResult(tuple(trials), {})


@pytest.mark.parametrize("noise", [0.05, 0.5])
def test_a_model_at_its_noise_is_hardly_ever_called_over_the_limit(noise):
    """None of eight checks of a model without planted fragility is over, and none names words."""
    short = replace(PLANNED, rounds=60)
    for seed in range(8):
        outcome = asyncio.run(run_check(short, SimulatedRounds(noise, 0.0, seed), Costs()))
        assert not outcome.is_over
        assert json.loads(as_json(outcome))["words"] == []


def test_planted_fragility_is_found_and_its_category_named():
    """Forty points in one category at five percent noise: over there and nowhere else, in few rounds."""
    outcome = asyncio.run(run_check(PLANNED, SimulatedRounds(0.05, 0.4, 1), Costs()))

    standings = {found.category: found.standing for found in outcome.arms[FIRST]}
    assert standings.pop("general") == "over"
    assert set(standings.values()) == {"within"}
    assert outcome.settled
    assert outcome.rounds < 300
    assert json.loads(as_json(outcome))["words"]


def test_the_last_planned_round_is_followed_by_an_exact_test():
    """Thirty points in 40 rounds: the interval that holds at any time leaves open what the test shows."""
    request = replace(PLANNED, rounds=40, kinds={"general": ()})
    outcome = asyncio.run(run_check(request, SimulatedRounds(0.05, 0.3, 3), Costs()))
    assert (outcome.rounds, outcome.stopped, outcome.arms[FIRST][0].standing) == (40, "", "over")
    assert figures(outcome.trials).standing == "unknown"


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("nothing_to_reorder", "not tried: the prompt has no documents or items to reorder"),
        (
            "rewriter_wrong_language",
            "not tried: the rewriter's text was missing or not accepted (wrong language)",
        ),
    ],
)
def test_a_category_that_was_not_tried_says_why_in_words(reason, words):
    """Words that name the rewriter where it failed, so that nobody looks for the fault in the prompt."""
    assert (
        standing_text(category_figures("general", [], limit=0.1, categories=1, not_applicable=reason))
        == words
    )
