"""Prediction-powered means against ppi-python, their coverage, and the strata that correct alerts."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from evenkeel.core.verdict import DECIDED_BY, HEURISTIC_RATING
from evenkeel.monitor.estimate.prediction_powered import (
    Rated,
    Sample,
    Stratum,
    Truth,
    best_trust,
    corrected_mean,
    prediction_powered_mean,
    prediction_powered_value,
    strata_of,
)
from tests.kit.records import altered
from tests.monitor.planted_verdicts import VERDICT

SHARE = 0.2
SAID_YES = Stratum("judge", 2, shifted=True)
SAID_NO = Stratum("judge", 3, shifted=False)
EQUAL = Stratum("heuristic", 3, shifted=False)

ITEMS = [
    # (predicted, said) of ten labelled, then twenty predictions alone.
    *[(1.0, 1.0)] * 3,
    *[(1.0, 0.0)] * 2,
    *[(0.0, 0.0)] * 4,
    (0.0, 1.0),
    *[(1.0, None)] * 8,
    *[(0.0, None)] * 12,
]


def samples(items, share=SHARE):
    return Counter(Sample(predicted, said, share) for predicted, said in items)


def test_the_value_is_that_of_the_reference_implementation():
    """Trust 0, ½ and 1, as ppi_mean_pointestimate gives them with all predictions as the unlabelled ones."""
    # With ppi-python in an environment of its own; y and f are the labelled ITEMS, every all predictions:
    # python -c "from ppi_py import ppi_mean_pointestimate as p; print([p(y, f, every, lam=l) for l in …])".
    for trust, expected in REFERENCE.items():
        assert prediction_powered_value(samples(ITEMS), trust) == pytest.approx(expected, abs=1e-12)


REFERENCE = {0.0: 0.4, 0.5: 0.36666666666666666, 1.0: 0.3333333333333333}


def test_the_trust_is_the_covariance_over_the_variance():
    """Hand-worked: covariance 1/9, variance 221/900, a third of the items labelled."""
    # Σ(y − .4)(f − .5) = 3 − 10 · .4 · .5 = 1, over nine; var f = 13/30 · 17/30; 1 + 10/30 = 4/3.
    assert best_trust(samples(ITEMS)) == pytest.approx(1 / 9 / (4 / 3 * 221 / 900))
    assert best_trust(samples([(1.0, 1.0), (1.0, None)])) == 0.0, "a constant judge tells nothing"


def test_nothing_labelled_is_no_estimate():
    """Predictions alone say nothing about people."""
    assert prediction_powered_mean(samples([(1.0, None)] * 50)) is None


def test_the_interval_covers_the_truth_with_a_judge_that_errs():
    """A judge that calls 15 % of everything wrong: the interval holds the truth, the judge's mean is off."""
    choice = random.Random("errors")
    missed = 0
    for _ in range(60):
        found = []
        for _ in range(1_500):
            truth = float(choice.random() < 0.1)
            judged = 1 - truth if choice.random() < 0.15 else truth
            found.append((judged, truth if choice.random() < SHARE else None))
        estimate = prediction_powered_mean(samples(found))
        assert 0 <= estimate.lower <= estimate.value <= estimate.upper <= 1
        missed += not estimate.lower <= 0.1 <= estimate.upper
    assert missed <= 3


def test_a_good_judge_narrows_the_interval():
    """The same labels say more beside predictions that are nearly right than beside random ones."""
    choice = random.Random("narrow")
    truths = [float(choice.random() < 0.3) for _ in range(8_000)]
    drawn = [choice.random() < SHARE for _ in truths]

    def width(error):
        judged = [1 - truth if choice.random() < error else truth for truth in truths]
        found = [
            (one, truth if known else None) for one, truth, known in zip(judged, truths, drawn, strict=True)
        ]
        estimate = prediction_powered_mean(samples(found))
        return estimate.upper - estimate.lower

    assert width(0.02) < 0.7 * width(0.5)


def test_strata_say_who_decided_what():
    """The judge, heuristics beside it (audited or not), heuristics alone, and an answer of the wrong form."""
    judged = altered(VERDICT, scorer="judge", rating=2, control_rating=3, details={DECIDED_BY: 2.0})
    assert strata_of(judged) == (SAID_YES, SAID_NO)
    audited = altered(judged, details={DECIDED_BY: 2.0, HEURISTIC_RATING: 3.0}, control_proven=3)
    assert strata_of(audited) == (EQUAL, EQUAL)
    proven = altered(judged, rating=3, details={DECIDED_BY: 0.0})
    assert strata_of(proven)[0] == EQUAL
    alone = altered(VERDICT, scorer="metrics", rating=None, unsure=True, similarity=0.2, control_rating=None)
    assert strata_of(alone) == (None, None)
    assert strata_of(altered(judged, invalid=("format",)))[0] == Stratum("form", 0, shifted=True)
    assert [Stratum.named(one.name) for one in (SAID_YES, EQUAL)] == [SAID_YES, EQUAL]


def test_without_labels_and_audits_the_rating_stands():
    """Nothing is known: what the rating says is expected, and there is nothing to be unsure about."""
    truth = Truth()
    assert [truth.expected(one) for one in (SAID_YES, SAID_NO, EQUAL)] == [1.0, 0.0, 0.0]
    assert truth.interval(SAID_YES, 0.05) == (1.0, 1.0, 1.0)


def test_labels_move_a_stratum_from_its_rating_towards_what_people_say():
    """Of sixteen labels four say shifted; the rating counts as four more: (4 + 4) / 20."""
    truth = Truth()
    for number in range(16):
        truth.label(SAID_YES.name).add(50.0, shifted=number < 4)
    assert truth.expected(SAID_YES) == pytest.approx(0.4)
    assert truth.expected(SAID_NO) == 0.0
    share = truth.interval(SAID_YES, 0.05)
    assert share.lower < 0.25 < share.value < share.upper
    assert Truth.from_json(truth.to_json()) == truth


def test_audits_put_equal_answers_under_the_judges_errors_until_people_replace_the_judge():
    """Of 36 audited equal pairs the judge shifts six: 6 / 40; 12 labels of its shifts leave a quarter."""
    truth = Truth()
    for number in range(36):
        truth.audit(EQUAL.name).add(20.0, shifted=number < 6)
    assert truth.expected(EQUAL) == pytest.approx(6 / 40)
    for _ in range(12):
        truth.label(SAID_YES.name).add(50.0, shifted=False)
    assert truth.expected(SAID_YES) == pytest.approx(4 / 16)
    assert truth.expected(EQUAL) == pytest.approx(6 / 40 / 4)
    # People who call equal answers the same change nothing: they count as far as the judge is replaced.
    truth.label(EQUAL.name).add(50.0, shifted=False)
    assert truth.expected(EQUAL) == pytest.approx(6 / 40 / 4)


def test_an_alert_takes_off_the_mean_error_and_still_sees_a_change():
    """36 labels of the judge, six shifts wrong: the error of 1/6 is taken off every verdict."""
    truth = Truth()
    for number in range(36):
        rated, moved = (SAID_YES, False) if number < 6 else (SAID_NO, False)
        truth.label(rated.name).add(50.0, shifted=moved)
    # Shrunk as the share is: 36 labels and four more that the judge is right.
    error = 6 / 36 * 36 / 40
    assert truth.increment(SAID_YES) == pytest.approx(1 - error)
    assert truth.increment(SAID_NO) == pytest.approx(-error)
    assert truth.increment(EQUAL) == 0.0
    assert truth.expected(SAID_YES) == pytest.approx(4 / 10), "a level counts shifts as they were so far"
    for number in range(40):
        truth.audit(EQUAL.name).add(20.0, shifted=number < 8)
    # Of the audited 8 / 44 by the judge, of which a tenth is left: 4 / 40.
    assert truth.increment(EQUAL) == pytest.approx(8 / 44 / 10)


def test_weights_that_differ_count_for_less():
    """Two observations of weight 1 and one of weight 2: (1 + 1 + 2)² / (1 + 1 + 4) = 8/3 of them."""
    truth = Truth()
    tally = truth.label(SAID_YES.name)
    for weight in (1.0, 1.0, 2.0):
        tally.add(weight, shifted=weight > 1)
    assert (tally.mean, tally.effective) == (0.5, pytest.approx(16 / 6))
    tally.add(2.0, shifted=True, times=-1)
    assert (tally.mean, tally.n) == (0.0, 2)


def test_a_judge_that_errs_alike_on_both_sides_leaves_nothing_above_noise():
    """Of the variants 12 % are called shifted, of the resends 1.5 %; the audits explain the difference."""
    truth = Truth()
    for number in range(200):
        truth.audit(EQUAL.name).add(20.0, shifted=number < 30)
    pairs = {
        Rated(SAID_YES, EQUAL): 120,
        Rated(SAID_NO, EQUAL): 680,
        Rated(EQUAL, EQUAL): 200,
    }
    plain = corrected_mean(pairs, Truth(), alpha=0.05)
    assert (plain.value, plain.n) == (pytest.approx(0.12), 1000)
    corrected = corrected_mean(pairs, truth, alpha=0.05)
    # 120 · (1 − q) − 680 · q with q = 30/204: 0.12 − 0.8 · 30/204.
    assert corrected.value == pytest.approx(0.12 - 0.8 * 30 / 204)
    assert corrected.lower < 0 < corrected.upper


def test_corrected_means_weigh_trials_as_others_do():
    """Of one trial of weight 1 that shifted and eight of weight 1/8 that did not, half shifted."""
    rated = {Rated(SAID_YES, None): 1, Rated(SAID_NO, None, 0.125): 8}
    found = corrected_mean(rated, Truth(), alpha=0.05)
    assert (found.value, found.n) == (0.5, 9)
