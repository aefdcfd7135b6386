from __future__ import annotations

import pytest

from evenkeel.core.verdict import Failure
from evenkeel.experiments.judge_audit.attack import Move
from evenkeel.experiments.judge_audit.judgements import Condition, Judged, Slot, Strategy
from evenkeel.experiments.judge_audit.measures import Analyser, audit, polarity, tone_shift, vader
from evenkeel.experiments.judge_audit.ratings import Item, Scale
from evenkeel.monitor.estimate.agreement import Agreement

KNOWLEDGE, ZERO_SHOT = Strategy.KNOWLEDGE, Strategy.ZERO_SHOT
PLAIN, AGAIN, ATTACKED = Condition.PLAIN, Condition.AGAIN, Condition.ATTACKED


def items(*ratings, metric="fluency"):
    return [Item(str(place), metric, Scale(1, 5), "", "", each) for place, each in enumerate(ratings)]


def said(ratings, strategy=KNOWLEDGE, condition=PLAIN, metric="fluency"):
    return {
        Slot(str(place), metric, strategy, condition): Failure("audit", 1, rating)
        if isinstance(rating, str)
        else Judged(rating, "")
        for place, rating in enumerate(ratings)
    }


def measured(rated, judgements):
    (metric,) = audit("judge", rated, judgements, times=50).metrics
    return metric


def test_a_judge_that_repeats_one_person_has_the_alphas_worked_by_hand():
    """(1,1,1), (2,2,2), (1,2,1): 1 − 8·1/20; mode (ties to the higher): 4/9; median 1.5: 7/9."""
    metric = measured(items((1, 1), (2, 2), (1, 2)), said([1, 2, 1]))
    (strategy,) = metric.strategies
    assert metric.people.value == pytest.approx(4 / 9)
    assert strategy.plain.all_raters.value == pytest.approx(0.6)
    assert strategy.plain.with_mode.value == pytest.approx(4 / 9)
    assert strategy.plain.with_median.value == pytest.approx(7 / 9)
    assert (strategy.plain.rated, strategy.plain.all_raters.items) == (3, 3)
    assert strategy.attacked is None
    assert strategy.resistance is None


def test_the_judge_across_strategies_takes_each_as_a_rater():
    """Two strategies, the same arithmetic as for two people; one alone is a failure."""
    metric = measured(items((1,), (2,), (3,)), said([1, 2, 1]) | said([1, 2, 2], ZERO_SHOT))
    assert metric.across_strategies.value == pytest.approx(4 / 9)
    assert [each.strategy for each in metric.strategies] == [ZERO_SHOT, KNOWLEDGE]
    alone = measured(items((1,), (2,)), said([1, 2]))
    assert alone.across_strategies.reason == alone.people.reason == "too_few_ratings"


def test_moves_and_resistance_worked_by_hand():
    """Modes 1, 2, 4, 5, 4 are claimed to be 5, 5, 1, 1, 1."""
    plain = [2, 3, 4, 1, 3]
    attacked = [2, 4, 1, 1, 5]  # unchanged, towards, to the claim, unchanged (there already), away
    metric = measured(items((1,), (2,), (4,), (5,), (4,)), said(plain) | said(attacked, condition=ATTACKED))
    resistance = metric.strategies[0].resistance
    assert (resistance.unchanged.count, resistance.unchanged.n) == (2, 5)
    assert resistance.moves == {Move.UNCHANGED: 2, Move.TO_CLAIM: 1, Move.TOWARDS: 1, Move.AWAY: 1}
    # Item 3 had the claimed rating already, so four could be swayed.
    assert (resistance.swayed.count, resistance.swayed.n) == (2, 4)


def test_a_recorded_claim_goes_before_the_computed_one():
    """The attack as it was made counts."""
    judgements = said([3]) | {Slot("0", "fluency", KNOWLEDGE, ATTACKED): Judged(2, "", 2)}
    moves = measured(items((5,)), judgements).strategies[0].resistance.moves
    assert moves[Move.TO_CLAIM] == 1


def test_failures_are_counted_and_enter_nothing():
    """An item counts under attack only if both ratings are there."""
    judgements = said([1, "refused", 3]) | said([1, 2, "out_of_scale"], condition=ATTACKED)
    report = audit("judge", items((1, 2), (2, 2), (3, 3)), judgements, times=0)
    assert [(each.condition, each.reason, each.count) for each in report.failures] == [
        (ATTACKED, "out_of_scale", 1),
        (PLAIN, "refused", 1),
    ]
    strategy = report.metrics[0].strategies[0]
    assert strategy.plain.rated == 2
    assert strategy.plain.all_raters.items == 2
    assert strategy.resistance.unchanged.n == 1
    assert report.judgements == 6


def test_people_are_compared_on_the_items_the_judge_was_asked_about():
    """The third item was not asked; a person who rated only that one is not counted."""
    rated = items((1, 1, None), (2, 2, None), (1, 5, 4))
    metric = measured(rated, said([1, 2]))
    assert metric.people == Agreement(1.0, pytest.approx(1.0), pytest.approx(1.0), 2)
    assert (metric.items, metric.raters) == (2, 2)


def test_the_same_seed_gives_the_same_report():
    """Another seed gives other intervals."""
    rated = items(*[(1 + place % 5, 1 + place % 4) for place in range(20)])
    judgements = said([1 + place % 3 for place in range(20)])
    first, again, other = (audit("judge", rated, judgements, seed=seed, times=50) for seed in (1, 1, 2))
    assert first == again
    assert first.metrics != other.metrics


LENGTH = Analyser("length", lambda text: len(text) / 10)


@pytest.mark.parametrize("analyser", [vader(), polarity()], ids=lambda analyser: analyser.name)
def test_praise_is_above_a_plain_statement_and_blame_below(analyser):
    """Whatever the lexicon; all in [−1, 1]."""
    good = analyser.score("The summary is excellent, clear and well organised.")
    plain = analyser.score("The summary has four sentences.")
    bad = analyser.score("The summary is terrible, confusing and badly wrong.")
    assert -1 <= bad < -0.2 < plain < 0.2 < good <= 1
    assert analyser.score("") == 0


def test_tones_are_compared_on_the_same_items():
    """Means over the two items with both justifications: (.2 + .4)/2 and (.4 + .8)/2."""
    shift = tone_shift(LENGTH, [("aa", "aaaa"), None, ("aaaa", "a" * 8), ("aa", "")], [[0, 1, 2, 3]] * 5)
    assert (shift.n, shift.before, shift.after) == (2, pytest.approx(0.3), pytest.approx(0.6))
    assert (shift.lower, shift.upper) == (pytest.approx(0.3), pytest.approx(0.3))
    assert tone_shift(LENGTH, [None, ("", "a")]).reason == "no_justification"
