"""Estimates: hand-worked intervals, coverage at all times, and the identity of robustness."""

from __future__ import annotations

import random
from dataclasses import replace
from math import exp, log, sqrt

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenkeel.core.verdict import Failure, QualityScore
from evenkeel.monitor.estimate import Counts, excess, paired_excess, proportion
from evenkeel.monitor.estimate.excess import log_evidence as excess_evidence
from evenkeel.monitor.estimate.proportion import log_evidence as rate_evidence
from tests.monitor.planted_verdicts import VERDICT

ALPHA = 0.05


def quality(reference: int, candidate: int) -> QualityScore:
    return QualityScore("faithfulness", 1, reference, candidate)


def test_rate_intervals_agree_with_hand_worked_ones():
    """With one or two trials the confidence set can be solved by hand."""
    # One success: the mixture gives 1/2, so p is kept while (1/2)/p < 20, that is p > 1/40.
    one = proportion(1, 1, alpha=ALPHA)
    assert (one.value, one.upper, one.n) == (1.0, 1.0, 1)
    assert one.lower == pytest.approx(1 / 40, abs=1e-9)
    # Two successes: mixture (1/2 · 3/2)/(1 · 2) = 3/8, so p² > 3/160.
    two = proportion(2, 2, alpha=ALPHA)
    assert two.lower == pytest.approx(sqrt(3 / 160), abs=1e-9)
    # One of two: mixture (1/2 · 1/2)/2 = 1/8, so p(1 − p) > 1/160.
    half = proportion(1, 2, alpha=ALPHA)
    assert half.value == 0.5
    assert half.lower == pytest.approx((1 - sqrt(1 - 4 / 160)) / 2, abs=1e-9)
    assert half.upper == pytest.approx((1 + sqrt(1 - 4 / 160)) / 2, abs=1e-9)


def test_no_trials_give_no_estimate():
    """Nothing observed is None, never a number."""
    assert proportion(0, 0) is None
    assert paired_excess(0, 0, 0) is None


@given(st.integers(1, 5000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_rate_interval_holds_its_value_and_ends_where_the_evidence_reaches_the_limit(counts):
    """The ends are the rates whose e-value is 1/alpha, and the value lies between them."""
    successes, trials = counts
    estimate = proportion(successes, trials, alpha=ALPHA)
    assert 0 <= estimate.lower <= estimate.value <= estimate.upper <= 1
    for end in (estimate.lower, estimate.upper):
        if 0 < end < 1:
            assert rate_evidence(end, successes, trials) == pytest.approx(log(1 / ALPHA), abs=1e-5)


@given(st.integers(2, 400).flatmap(lambda n: st.tuples(st.integers(0, n - 1), st.just(n))))
def test_rate_interval_moves_up_with_successes(counts):
    """One more success among the same trials never lowers an end."""
    successes, trials = counts
    fewer, more = proportion(successes, trials), proportion(successes + 1, trials)
    assert fewer.lower <= more.lower + 1e-9
    assert fewer.upper <= more.upper + 1e-9


def test_rate_interval_of_a_million_trials_is_exact_and_narrow():
    """Large counts lose no precision and the interval shrinks like the square root of log n over n."""
    estimate = proportion(50_000, 1_000_000, alpha=ALPHA)
    assert 0.0008 < estimate.value - estimate.lower < 0.0011
    assert rate_evidence(estimate.upper, 50_000, 1_000_000) == pytest.approx(log(20), abs=1e-4)


@pytest.mark.parametrize("rate", [0.02, 0.1, 0.5])
def test_rate_interval_covers_the_truth_at_all_times_together(rate):
    """Over 500 looks the true rate is outside the interval at any time in at most 5 % of runs."""
    choice = random.Random(f"coverage {rate}")
    missed = 0
    for _ in range(400):
        successes = 0
        for trials in range(1, 501):
            successes += choice.random() < rate
            if rate_evidence(rate, successes, trials) >= log(1 / ALPHA):
                missed += 1
                break
    assert missed <= 0.05 * 400
    assert missed > 0, "an interval that never misses in 400 runs is too wide to be this one"


def test_excess_intervals_agree_with_hand_worked_ones():
    """With one pair the projected confidence set can be solved by hand."""
    # One pair that shifted only in the variant: the mixture gives 1/3. For p₊ − p₋ = x the
    # likeliest p₊ is (1 + x)/2, so x is kept while (1/3)/((1 + x)/2) < 20: x > 1/30 − 1.
    plus = paired_excess(1, 0, 0, alpha=ALPHA)
    assert (plus.value, plus.upper, plus.n) == (1.0, 1.0, 1)
    assert plus.lower == pytest.approx(1 / 30 - 1, abs=1e-9)
    # One pair without a difference: the likeliest p₀ is 1 − |x|, so 1 − |x| > 1/60.
    zero = paired_excess(0, 0, 1, alpha=ALPHA)
    assert zero.value == 0.0
    assert (zero.lower, zero.upper) == (pytest.approx(-59 / 60, abs=1e-9), pytest.approx(59 / 60, abs=1e-9))


pairs = st.tuples(st.integers(0, 60), st.integers(0, 60), st.integers(0, 200)).filter(any)


@given(pairs, st.floats(-0.98, 0.98))
def test_excess_profile_is_the_highest_likelihood_on_the_line(counts, difference):
    """No split of the probabilities with the same difference is likelier than the profile says."""
    plus, minus, zero = counts
    best = excess._profile(difference, *counts).value
    low = max(0.0, -difference)
    high = (1 - difference) / 2
    for step in range(201):
        p_minus = low + (high - low) * step / 200
        p_plus = min(1.0, p_minus + difference)
        p_zero = max(0.0, 1 - p_minus - p_plus)
        probabilities = ((plus, p_plus), (minus, p_minus), (zero, p_zero))
        if all(p > 0 for count, p in probabilities if count):
            likelihood = sum(count * log(p) for count, p in probabilities if count)
            assert likelihood <= best + 1e-7 * (1 + abs(best))


@given(pairs)
def test_excess_interval_holds_its_value_and_mirrors(counts):
    """The value lies inside, the ends carry evidence 1/alpha, and swapping the arms mirrors all."""
    plus, minus, zero = counts
    estimate = paired_excess(plus, minus, zero, alpha=ALPHA)
    mirrored = paired_excess(minus, plus, zero, alpha=ALPHA)
    assert -1 <= estimate.lower <= estimate.value <= estimate.upper <= 1
    assert estimate.value == pytest.approx((plus - minus) / (plus + minus + zero))
    assert mirrored.value == -estimate.value
    assert mirrored.lower == pytest.approx(-estimate.upper, abs=1e-8)
    assert mirrored.upper == pytest.approx(-estimate.lower, abs=1e-8)
    for end in (estimate.lower, estimate.upper):
        if -1 < end < 1:
            assert excess_evidence(end, plus, minus, zero) == pytest.approx(log(1 / ALPHA), abs=1e-4)


@pytest.mark.parametrize(("noise", "variant"), [(0.1, 0.1), (0.05, 0.35)])
def test_excess_interval_covers_the_truth_at_all_times_together(noise, variant):
    """Over 500 looks the true excess is outside the interval at any time in at most 5 % of runs."""
    choice = random.Random(f"excess {noise} {variant}")
    missed = 0
    for _ in range(200):
        tally = {1: 0, -1: 0, 0: 0}
        for _ in range(500):
            tally[(choice.random() < variant) - (choice.random() < noise)] += 1
            if excess_evidence(variant - noise, tally[1], tally[-1], tally[0]) >= log(1 / ALPHA):
                missed += 1
                break
    assert missed <= 0.05 * 200


def test_counts_follow_the_two_stage_score():
    """Ratings, quality changes with their direction, pairs and failures each go to their place."""
    counts = Counts()
    differences = [
        counts.add(VERDICT),  # same content, resend the same
        counts.add(replace(VERDICT, rating=1, quality=(quality(3, 1),))),  # worse, resend the same
        counts.add(replace(VERDICT, rating=2, baseline_rating=2, quality=(quality(1, 2),))),  # better, both
        counts.add(replace(VERDICT, rating=2, quality=(quality(3, 1), quality(1, 3)))),  # mixed
        counts.add(replace(VERDICT, rating=2, baseline_rating=None, quality=(quality(2, 2),))),  # unchanged
        counts.add(replace(VERDICT, baseline_rating=1)),  # only the resend shifted
        counts.add(replace(VERDICT, rating=None, failure=Failure("replay", 1, "timeout"))),
        counts.add(replace(VERDICT, rating=1)),  # shifted, quality not scored
        counts.add(  # shifted, one metric unchanged and the other failed: unknown
            replace(
                VERDICT,
                rating=1,
                quality=(quality(3, 3),),
                quality_failures=(Failure("completeness", 1, "rate_limited"),),
            )
        ),
    ]
    assert differences == [0, 1, 0, 1, None, -1, None, 1, 1]
    assert counts.rated == {"0": 0, "1": 3, "2": 3, "3": 2}
    assert (counts.worse, counts.better, counts.mixed, counts.same) == (1, 1, 1, 1)
    assert (counts.plus, counts.minus, counts.zero) == (4, 1, 2)
    assert counts.failures == {"timeout": 1, "quality_missing": 1, "quality_rate_limited": 1}
    assert Counts.from_json(counts.to_json()) == counts


def test_counts_give_the_estimates_of_their_rates():
    """Each estimate is the rate of the right counts, with the right number of observations."""
    counts = Counts(rated={"1": 10, "2": 30, "3": 60}, worse=12, better=4, mixed=4, same=20, plus=30, zero=70)
    estimates = counts.estimates(alpha=ALPHA, min_trials=1)
    assert estimates.content_delta == proportion(40, 100)
    assert estimates.quality_delta == proportion(20, 40)
    assert estimates.quality_worse == proportion(12, 40)
    assert estimates.quality_better == proportion(4, 40)
    assert estimates.excess == paired_excess(30, 0, 70)
    rate = proportion(20, 100)
    assert estimates.robustness.value == pytest.approx(0.8)
    assert estimates.robustness.lower == pytest.approx(1 - rate.upper)
    assert estimates.robustness.upper == pytest.approx(1 - rate.lower)
    assert estimates.robustness.n == 100


scored_shifts = st.tuples(*[st.integers(0, 40)] * 5)


@given(scored_shifts)
def test_robustness_is_one_minus_the_product_of_the_deltas(counts):
    """If every shift has quality scores, content delta x quality delta is the rate of changed shifts."""
    unshifted, worse, better, mixed, same = counts
    shifted = worse + better + mixed + same
    cell = Counts(
        rated={"1": 0, "2": shifted, "3": unshifted}, worse=worse, better=better, mixed=mixed, same=same
    )
    estimates = cell.estimates(alpha=ALPHA, min_trials=1)
    if not cell.trials:
        assert estimates.robustness is None
        return
    assert estimates.robustness.value == pytest.approx(1 - (worse + better + mixed) / cell.trials)
    if estimates.quality_delta and estimates.content_delta:
        product = estimates.content_delta.value * estimates.quality_delta.value
        assert estimates.robustness.value == pytest.approx(1 - product)


def test_unscored_shifts_widen_the_interval_of_robustness_and_do_not_raise_its_value():
    """Shifts without quality scores count as neither changed nor unchanged, and are not left out."""
    # 100 trials, 40 shifted, of which 20 scored and 10 of those changed.
    counts = Counts(rated={"1": 0, "2": 40, "3": 60}, worse=10, same=10)
    robustness = counts.robustness(alpha=ALPHA, min_trials=30)
    fewest, most = proportion(10, 100), proportion(30, 100)
    assert robustness.value == pytest.approx(1 - 0.4 * 0.5)
    assert robustness.lower == pytest.approx(1 - most.upper)
    assert robustness.upper == pytest.approx(1 - fewest.lower)
    assert robustness.n == 80


@given(scored_shifts, st.integers(0, 40))
def test_robustness_interval_always_holds_its_value(counts, unscored):
    """However many shifts lack their quality scores, lower <= value <= upper."""
    unshifted, worse, better, mixed, same = counts
    shifted = worse + better + mixed + same + unscored
    cell = Counts(
        rated={"1": shifted, "2": 0, "3": unshifted}, worse=worse, better=better, mixed=mixed, same=same
    )
    robustness = cell.robustness(alpha=ALPHA, min_trials=1)
    if robustness is not None:
        assert 0 <= robustness.lower <= robustness.value + 1e-12
        assert robustness.value <= robustness.upper + 1e-12


def test_robustness_is_unknown_if_no_shift_could_be_scored():
    """A failing quality stage gives no robustness, rather than a perfect or a bad one."""
    assert Counts(rated={"1": 10, "2": 0, "3": 90}).robustness(alpha=ALPHA, min_trials=30) is None


def test_estimates_wait_for_the_minimum_of_their_own_observations():
    """Each estimate counts its own observations against the minimum."""
    counts = Counts(rated={"1": 0, "2": 29, "3": 1}, same=29, zero=29)
    estimates = counts.estimates(alpha=ALPHA, min_trials=30)
    assert estimates.content_delta is not None
    assert estimates.robustness is not None
    assert estimates.quality_delta is None
    assert estimates.excess is None


def test_failure_reasons_of_a_cell_stay_bounded():
    """Reasons beyond 32 are counted together, so that a label cannot grow without limit."""
    counts = Counts()
    for number in range(40):
        counts.add(replace(VERDICT, rating=None, failure=Failure("replay", 1, f"reason_{number}")))
    counts.add(replace(VERDICT, rating=None, failure=Failure("replay", 1, "reason_0")))
    assert len(counts.failures) == 33
    assert counts.failures["other"] == 8
    assert counts.failures["reason_0"] == 2


def test_a_rating_off_the_scale_is_a_failure():
    """A rating other than 1, 2 or 3 enters no estimate and stops nothing."""
    counts = Counts()
    assert counts.add(replace(VERDICT, rating=0)) is None
    assert counts.trials == 0
    assert counts.failures == {"rating_out_of_range": 1}


@settings(max_examples=30)
@given(st.floats(0.001, 0.2))
def test_a_smaller_error_gives_a_wider_interval(alpha):
    """Intervals nest by their confidence."""
    wide, narrow = proportion(7, 50, alpha=alpha), proportion(7, 50, alpha=min(1.0, alpha * exp(1)))
    assert wide.lower < narrow.lower < narrow.upper < wide.upper


def test_unsure_and_invalid_trials_are_counted_beside_the_rated():
    """One unsure and near, one unsure and far, one invalid: of four, two shifts, two unsure, one invalid."""
    counts = Counts()
    near = replace(VERDICT, rating=None, unsure=True, similarity=0.8, quality=(), baseline_similarity=0.9)
    for verdict in (
        replace(VERDICT, rating=3, quality=(), similarity=1.0, baseline_rating=3),
        near,
        replace(near, similarity=0.2),
        replace(near, similarity=0.5, invalid=("format",)),
    ):
        counts.add(verdict)
    assert (counts.trials, counts.shifted, counts.unsure) == (4, 2, 2)
    assert (counts.invalid, counts.worse) == ({"format": 1}, 1)
    # Against controls that did not shift, only the two shifts count.
    assert (counts.plus, counts.minus, counts.zero) == (2, 0, 2)
    assert counts.similarity == pytest.approx(2.5)
    assert (counts.similarity_trials, counts.control_similarity_trials) == (4, 3)
    estimates = counts.estimates(alpha=ALPHA, min_trials=1)
    assert (estimates.unsure.value, estimates.invalid.value) == (0.5, 0.25)
    assert Counts.from_json(counts.to_json()) == counts


def test_shifts_against_the_free_answer_are_counted_on_their_own():
    """Of five trials four were compared: same, other, unsure but near, invalid; two of the four shifted."""
    counts = Counts()
    same = replace(VERDICT, rating=3, quality=(), free_rating=3, free_similarity=1.0)
    for verdict in (
        same,
        replace(same, free_rating=2, free_similarity=0.7),
        replace(same, free_rating=None, free_similarity=0.6),
        replace(
            same, rating=None, similarity=0.9, free_rating=None, free_similarity=0.9, invalid=("format",)
        ),
        replace(same, free_rating=None, free_similarity=None),
    ):
        counts.add(verdict)
    assert (counts.trials, counts.free_trials, counts.free_shifted) == (5, 4, 2)
    delta = counts.estimates(alpha=ALPHA, min_trials=4).free_delta
    assert (delta.value, delta.n) == (0.5, 4)
    assert counts.estimates(alpha=ALPHA, min_trials=5).free_delta is None
    assert counts.shifted == 1  # only the invalid one against the original
    old = {name: value for name, value in counts.to_json().items() if not name.startswith("free_")}
    assert Counts.from_json(old).free_trials == 0
