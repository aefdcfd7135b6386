"""A cell's counts, the estimates that follow from them, and the identity of robustness."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.core.verdict import Failure, QualityScore
from evenkeel.monitor.estimate import OUTCOMES, Counts, outcome_of, paired_excess, proportion
from tests.kit.records import altered
from tests.monitor.planted_verdicts import VERDICT

ALPHA = 0.05
LETTERS = {
    (outcome.rating, outcome.quality, outcome.difference): outcome.letter for outcome in OUTCOMES.values()
}


def counts_of(*outcomes):
    """Trials, so many, of a rating, a quality and a difference each."""
    counts = Counts()
    for times, *outcome in outcomes:
        letter = LETTERS[tuple(outcome)]
        counts.words[letter] = counts.words.get(letter, 0) + times
    return counts


def quality(reference, candidate):
    return QualityScore("faithfulness", 1, reference, candidate)


def test_counts_follow_the_two_stage_score():
    """Ratings, quality changes with their direction, pairs and failures each go to their place."""
    counts = Counts()
    for verdict in (
        VERDICT,  # same content, resend the same
        altered(VERDICT, rating=1, quality=(quality(3, 1),)),  # worse, resend the same
        altered(VERDICT, rating=2, control_rating=2, quality=(quality(1, 2),)),  # better, both
        altered(VERDICT, rating=2, quality=(quality(3, 1), quality(1, 3))),  # mixed
        altered(VERDICT, rating=2, control_rating=None, quality=(quality(2, 2),)),  # unchanged
        altered(VERDICT, control_rating=1),  # only the resend shifted
        altered(VERDICT, rating=None, failure=Failure("replay", 1, "timeout")),
        altered(VERDICT, rating=1),  # shifted, quality not scored
        altered(  # shifted, one metric unchanged and the other failed: unknown
            VERDICT,
            rating=1,
            quality=(quality(3, 3),),
            quality_failures=(Failure("completeness", 1, "rate_limited"),),
        ),
    ):
        counts.count(outcome_of(verdict), verdict)
    assert counts.ratings == {0: 0, 1: 3, 2: 3, 3: 2}
    assert counts.qualities == {"same": 1, "worse": 1, "better": 1, "mixed": 1, "unscored": 2}
    assert counts.pairs == {1: 4, -1: 1, 0: 2}
    assert counts.failures == {"timeout": 1, "quality_missing": 1, "quality_rate_limited": 1}
    assert msgspec.convert(msgspec.to_builtins(counts), Counts, strict=False) == counts


def test_counts_give_the_estimates_of_their_rates():
    """Each estimate is the rate of the right counts, with the right number of observations."""
    counts = counts_of(
        (10, 1, "worse", 1), (2, 2, "worse", 1), (4, 2, "better", 1), (4, 2, "mixed", 1), (10, 2, "same", 1),
        (10, 2, "same", 0), (60, 3, None, 0),
    )  # fmt: skip
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


def test_intervals_allow_for_what_nobody_rated():
    """Identical answers need no judge, so where it fails all answers may have moved, or none."""
    counts = counts_of((400, 3, None, 0))
    whole = counts.estimates(alpha=ALPHA, min_trials=1)
    counts.failures = {"no_text": 90, "model_changed": 90, "quality_timeout": 90}
    assert counts.estimates(alpha=ALPHA, min_trials=1) == whole
    counts.failures["refused"] = 100
    found = counts.estimates(alpha=ALPHA, min_trials=1)
    for estimate, name in ((found.content_delta, "content_delta"), (found.excess, "excess")):
        assert (estimate.value, estimate.n) == (0, 400)
        assert estimate.upper == pytest.approx(getattr(whole, name).upper + 0.2, abs=0.06)
    assert found.excess.lower < -0.2 < whole.excess.lower
    assert found.content_delta.lower == 0
    assert found.robustness.value == 1
    assert found.robustness.lower == pytest.approx(1 - found.content_delta.upper)


def scored(unshifted, worse, better, mixed, same, unscored=0):
    qualities = {"worse": worse, "better": better, "mixed": mixed, "same": same, "unscored": unscored}
    shifted = [(times, 2, quality, None) for quality, times in qualities.items()]
    return counts_of((unshifted, 3, None, None), *shifted)


scored_shifts = st.tuples(*[st.integers(0, 40)] * 5)


def test_unscored_shifts_widen_the_interval_of_robustness_and_do_not_raise_its_value():
    """Shifts without quality scores count as neither changed nor unchanged, and are not left out."""
    # 100 trials, 40 shifted, of which 20 scored and 10 of those changed.
    counts = scored(60, 10, 0, 0, 10, 20)
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
    cell = scored(unshifted, worse, better, mixed, same, unscored)
    robustness = cell.robustness(alpha=ALPHA, min_trials=1)
    if robustness is not None:
        assert 0 <= robustness.lower <= robustness.value + 1e-12
        assert robustness.value <= robustness.upper + 1e-12


def test_robustness_is_unknown_if_no_shift_could_be_scored():
    """A failing quality stage gives no robustness, rather than a perfect or a bad one."""
    assert scored(90, 0, 0, 0, 0, 10).robustness(alpha=ALPHA, min_trials=30) is None


def test_estimates_wait_for_the_minimum_of_their_own_observations():
    """Each estimate counts its own observations against the minimum."""
    counts = counts_of((29, 2, "same", 0), (1, 3, None, None))
    estimates = counts.estimates(alpha=ALPHA, min_trials=30)
    assert estimates.content_delta is not None
    assert estimates.robustness is not None
    assert estimates.quality_delta is None
    assert estimates.excess is None


def test_failure_reasons_of_a_cell_stay_bounded():
    """Reasons beyond 32 are counted together, so that a label cannot grow without limit."""
    counts = Counts()
    for number in (*range(40), 0):
        verdict = altered(VERDICT, rating=None, failure=Failure("replay", 1, f"reason_{number}"))
        counts.count(outcome_of(verdict), verdict)
    assert len(counts.failures) == 33
    assert counts.failures["other"] == 8
    assert counts.failures["reason_0"] == 2


def test_a_rating_off_the_scale_is_a_failure():
    """A rating other than 1, 2 or 3 enters no estimate and stops nothing."""
    counts = Counts()
    verdict = altered(VERDICT, rating=0)
    counts.count(outcome_of(verdict), verdict)
    assert counts.trials == 0
    assert counts.failures == {"rating_out_of_range": 1}


def test_without_a_judge_identical_answers_are_no_content_figure():
    """Nine identical and one different: counted alone, the nine would say that nothing ever shifts."""
    counts = Counts()
    same = altered(
        VERDICT,
        scorer="metrics",
        rating=3,
        quality=(),
        similarity=1.0,
        control_rating=3,
        control_similarity=1.0,
    )
    for verdict in [same] * 9 + [altered(same, rating=None, unsure=True, similarity=0.3)]:
        counts.count(outcome_of(verdict), verdict)
    estimates = counts.estimates(alpha=ALPHA, min_trials=1)
    assert (estimates.content_delta, estimates.robustness, estimates.excess) == (None, None, None)
    assert (estimates.unsure.value, estimates.loss.value) == (1.0, pytest.approx(0.07))


def test_unsure_and_invalid_trials_are_counted_beside_the_rated():
    """Two of four trials (same, unsure, unsure, invalid) have known content, and one of these shifted."""
    counts = Counts()
    near = altered(VERDICT, rating=None, unsure=True, similarity=0.8, quality=(), control_similarity=0.9)
    for verdict in (
        altered(VERDICT, rating=3, quality=(), similarity=1.0, control_rating=3),
        near,
        altered(near, similarity=0.2),
        altered(near, similarity=0.5, invalid=("format",)),
    ):
        counts.count(outcome_of(verdict), verdict)
    assert (counts.trials, counts.content_trials, counts.shifted) == (4, 2, 1)
    assert (counts.invalid, counts.qualities["worse"]) == ({"format": 1}, 1)
    # Against controls that did not shift, an unsure trial is in no pair.
    assert counts.pairs == {1: 1, -1: 0, 0: 1}
    assert counts.similarity.total == pytest.approx(2.5)
    assert (counts.similarity.n, counts.control_similarity.n) == (4, 3)
    estimates = counts.estimates(alpha=ALPHA, min_trials=1)
    assert (estimates.unsure.value, estimates.invalid.value) == (0.5, 0.25)
    assert (estimates.content_delta.value, estimates.content_delta.n) == (0.5, 2)
    assert msgspec.convert(msgspec.to_builtins(counts), Counts, strict=False) == counts
