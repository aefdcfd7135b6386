from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from evenkeel.proxy.lanes import sampled, threshold

IDS = st.integers(0, 2**64 - 1)
RATES = st.floats(0, 1)


@given(IDS, RATES, RATES)
def test_samples_nest(request_id, one, other):
    """What a lower rate samples, a higher rate samples too."""
    low, high = sorted((one, other))
    assert sampled(request_id, threshold(low)) <= sampled(request_id, threshold(high))


@given(IDS)
def test_rates_zero_and_one_are_exact(request_id):
    """Nothing at 0, everything at 1."""
    assert not sampled(request_id, threshold(0.0))
    assert sampled(request_id, threshold(1.0))


def test_rate_is_met_even_by_ids_in_sequence():
    """10 % of 20,000 consecutive ids: 2,000 give or take five standard deviations (212)."""
    bound = threshold(0.1)
    assert abs(sum(sampled(number, bound) for number in range(20_000)) - 2_000) < 212
