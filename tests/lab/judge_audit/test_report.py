import pytest

from evenkeel.core.verdict import Failure
from evenkeel.lab.judge_audit.attack import Move
from evenkeel.lab.judge_audit.judgements import AttackCondition, RatingSlot, RatingWithReason, Strategy
from evenkeel.lab.judge_audit.measures import ToneAnalyser, audit, tone_shift
from evenkeel.lab.judge_audit.ratings import Item, RatingScale
from tests.kit.records import altered

KNOWLEDGE, ZERO_SHOT = Strategy.KNOWLEDGE, Strategy.ZERO_SHOT
PLAIN, AGAIN, ATTACKED = AttackCondition.PLAIN, AttackCondition.AGAIN, AttackCondition.ATTACKED


def items(*ratings, metric="fluency"):
    return [Item(str(place), metric, RatingScale(1, 5), "", "", each) for place, each in enumerate(ratings)]


def said(ratings, strategy=KNOWLEDGE, condition=PLAIN, metric="fluency"):
    return {
        RatingSlot(str(place), metric, strategy, condition): Failure("audit", 1, rating)
        if isinstance(rating, str)
        else RatingWithReason(rating, "")
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


def test_decimals_make_a_metric_interval():
    """Distances count: 1 − observed / expected, each a mean of squared differences."""
    rated = items((1.0, 1.5), (2.0, 2.0), (4.0, 3.5))
    (metric,) = audit("people", rated, None, times=0).metrics
    # Observed: (0.25 + 0 + 0.25) / 3. Expected, over all 15 pairs: (6 · 39.5 − 14²) / 15 = 41 / 15.
    assert metric.level == "interval"
    assert metric.people.value == pytest.approx(1 - (1 / 6) / (41 / 15))
    whole = measured(items((1, 1), (2, 2)), said([1, 2]))
    assert whole.level == "ordinal"
    assert measured(items((1, 1), (2, 2)), said([1.5, 2])).level == "interval"


def test_intervals_over_clusters_are_wider_where_clusters_are_alike():
    """Forty items in four articles, each with ratings of its own: the sample is four, not forty."""
    rated = items(*[(1 + place % 4, 1 + place % 4 if place % 4 else 5) for place in range(40)])
    grouped = [altered(item, cluster=f"article {place % 4}") for place, item in enumerate(rated)]
    alone, clustered = (audit("people", each, None, times=200).metrics[0] for each in (rated, grouped))
    assert alone.people.value == clustered.people.value
    assert (alone.clusters, clustered.clusters) == (None, 4)
    width = [each.people.upper - each.people.lower for each in (alone, clustered)]
    assert width[1] > 2 * width[0]


LENGTH = ToneAnalyser("length", lambda text: len(text) / 10)


def test_tones_are_compared_on_the_same_items():
    """Means over the two items with both justifications: (.2 + .4)/2 and (.4 + .8)/2."""
    shift = tone_shift(LENGTH, [("aa", "aaaa"), None, ("aaaa", "a" * 8), ("aa", "")], [[0, 1, 2, 3]] * 5)
    assert (shift.n, shift.before, shift.after) == (2, pytest.approx(0.3), pytest.approx(0.6))
    assert (shift.lower, shift.upper) == (pytest.approx(0.3), pytest.approx(0.3))
    assert tone_shift(LENGTH, [None, ("", "a")]).reason == "no_justification"
