"""Evidence: hand-worked, equal to the wealth of gamblers, and a fair game by exact enumeration."""

from math import isfinite, prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.monitor.detect import Bets, EDetector, bets_against

sides = st.sampled_from(["above", "below"])
lines = st.floats(0.02, 0.98)
some_scores = st.lists(st.floats(0, 1), max_size=40)


def test_a_weight_makes_bets_smaller():
    """A bet of a half makes 1.25 of a win of weight ½, and 0.875 of a loss of weight ¼."""
    detector = EDetector(Bets(0.0, -1.0, 1.0, (0.5,)))
    assert detector.update(1, 0.5) == 1.25  # (0 + 1) · 1.25
    assert detector.update(-1, 0.25) == 1.96875  # (1.25 + 1) · 0.875
    assert detector.update(1) == 4.453125  # (1.96875 + 1) · 1.5


@given(some_scores, lines, sides)
def test_evidence_is_the_mean_wealth_of_gamblers_that_start_at_each_trial(scores, line, side):
    """The recursion equals the sum over starting trials, averaged over the bets."""
    bets = bets_against(line, side, 0, 1)
    detector = EDetector(bets)
    for score in scores:
        detector.update(score)
    wealth = sum(
        prod(1 + stake * (score - line) for score in scores[start:])
        for stake in bets.stakes
        for start in range(len(scores))
    )
    assert detector.evidence == pytest.approx(wealth / len(bets.stakes), rel=1e-9)


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0.01, 1)), min_size=1, max_size=6), lines, sides)
def test_no_bet_gains_on_average_while_the_mean_is_harmless(distribution, line, side):
    """The expected factor is 1 at most for any distribution on [0, 1] with its mean on the harmless side."""
    total = sum(weight for _, weight in distribution)
    mean = sum(value * weight for value, weight in distribution) / total
    if side == "above":  # mixed with 0 until the mean is at most the line
        keep, rest = min(1.0, line / mean if mean else 1.0), 0.0
    else:  # mixed with 1 until it is at least the line
        keep, rest = min(1.0, (1 - line) / (1 - mean) if mean < 1 else 1.0), 1.0
    chances = [(value, keep * weight / total) for value, weight in distribution] + [(rest, 1 - keep)]
    bets = bets_against(line, side, 0, 1)
    for number in range(len(bets.stakes)):
        expected = sum(chance * bets.factors(value)[number] for value, chance in chances)
        assert expected <= 1 + 1e-9
    assert min(min(bets.factors(value)) for value, _ in chances) > 0


@given(st.floats(-0.9, 0.9), st.floats(0, 1))
def test_a_paired_difference_at_its_threshold_is_a_fair_game(threshold, spread):
    """The expected factor is one for any distribution on −1, 0 and 1 with its mean at the threshold."""
    # Any distribution on {−1, 0, 1} with mean t: p₋ = spread · (1 − |t|)/2 (+ |t| if t < 0).
    minus = spread * (1 - abs(threshold)) / 2 + max(0.0, -threshold)
    plus = minus + threshold
    bets = bets_against(threshold)
    outcomes = zip(bets.factors(0), bets.factors(1), bets.factors(-1), strict=True)
    for at_zero, at_plus, at_minus in outcomes:
        assert min(at_zero, at_plus, at_minus) > 0
        assert (1 - plus - minus) * at_zero + plus * at_plus + minus * at_minus == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("line", "side", "low", "high"),
    [(-1.0, "above", -1, 1), (1.0, "above", -1, 1), (0.0, "below", 0, 1), (1.0, "above", 0, 1)],
)
def test_a_line_at_the_end_of_the_range_is_refused(line, side, low, high):
    with pytest.raises(ValueError, match="must lie in"):
        bets_against(line, side, low, high)


@pytest.mark.parametrize("observation", [-0.01, 1.01, float("nan"), float("inf")])
def test_an_observation_that_cannot_be_is_refused_and_changes_nothing(observation):
    """Outside the range the bets promise nothing."""
    detector = EDetector(bets_against(0.5, "above", 0, 1))
    detector.update(1)
    before = list(detector.wealth)
    with pytest.raises(ValueError, match="must lie in"):
        detector.update(observation)
    assert detector.wealth == before


def test_long_stretches_stay_finite():
    """However long all trials end alike below an alarm, evidence neither overflows nor vanishes."""
    detector = EDetector(bets_against(0.1))
    for difference in (0, -1):
        for _ in range(30_000):
            detector.update(difference)
        assert all(isfinite(wealth) and wealth > 0 for wealth in detector.wealth)
        assert isfinite(detector.evidence)
