"""The likelihood ratio that suspicion is made of."""

from math import exp

import pytest

from evenkeel.core.suspicion import risen_log_ratio


@pytest.mark.parametrize(
    ("usual", "rise", "risen"),
    [(0.05, 0.1, 0.15), (0.1, 0.1, 0.2), (0.2, 0.1, 1 / 3), (0.5, 0.1, 2 / 3), (0.95, 0.1, 1.9 / 1.95)],
)
def test_a_risen_rate_is_higher_by_the_rise_or_has_twice_the_odds(usual, rise, risen):
    """The higher of both counts below even odds, so the rate stays below 1."""
    assert exp(risen_log_ratio(usual, rise, hit=True)) == pytest.approx(risen / usual)
    assert exp(risen_log_ratio(usual, rise, hit=False)) == pytest.approx((1 - risen) / (1 - usual))
