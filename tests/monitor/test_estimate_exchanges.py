"""Rates over exchanges: coverage under dependence, and what an exchange says."""

from __future__ import annotations

from collections import Counter

import pytest

from evenkeel.core.verdict import Failure, QualityScore, Verdict
from evenkeel.monitor.estimate import ExchangeTally, bounded_mean, outcome_of, rollup_estimates
from tests.kit.records import altered
from tests.monitor.planted_verdicts import VERDICT

WORSE = altered(VERDICT, rating=1, quality=(QualityScore("faithfulness", 1, 3, 1),))
SAME = altered(VERDICT, rating=2, quality=(QualityScore("faithfulness", 1, 3, 3),))
UNSCORED = altered(VERDICT, rating=2, quality_failures=(Failure("faithfulness", 1, "timeout"),))


def tally_of(*verdicts: Verdict) -> ExchangeTally:
    tally = ExchangeTally()
    for verdict in verdicts:
        outcome = outcome_of(verdict)
        assert not isinstance(outcome, str)
        tally.add_trial(outcome)
    return tally


def words_of(*observations: str) -> Counter[str]:
    return Counter(word for observation in observations for word in observation.split(" "))


def test_an_exchange_says_the_shares_of_its_trials():
    """Four trials, one worse, one unscored: half shifted, a quarter to a half of them changed."""
    tally = tally_of(VERDICT, WORSE, UNSCORED, altered(VERDICT, control_rating=None))
    # Differences of the three pairs: 0, 1, 1, so their mean 2/3 lies at 5/6 of [−1, 1].
    assert tally.observation().split(" ") == ["c0.5", "l0.25", "h0.5", "q1.0", "w1.0", "b0.0", f"x{5 / 6!r}"]
    assert ExchangeTally().observation() == ""


def test_rollups_weigh_every_exchange_the_same():
    """Exchanges with four trials and with one count alike: (3/4 + 0) / 2."""
    words = words_of(tally_of(WORSE, WORSE, SAME, VERDICT).observation(), tally_of(VERDICT).observation())
    found = rollup_estimates(words, alpha=0.05, min_exchanges=2)
    assert found.exchanges == 2
    assert (found.content_delta.value, found.content_delta.n) == (0.375, 2)
    assert found.robustness.value == 1 - 0.25
    assert found.excess.value == pytest.approx(0.375)
    assert found.quality_delta is None, "only one exchange has shifted trials"
    assert found.noise_floor is None
    few = rollup_estimates(words, alpha=0.05, min_exchanges=3)
    assert (few.content_delta, few.robustness, few.excess) == (None, None, None)


def test_unknown_quality_widens_robustness_both_ways():
    """The value takes unscored shifts to be like the scored ones; the interval allows for all and none."""
    changed, unknown, same = (tally_of(trial).observation() for trial in (WORSE, UNSCORED, SAME))
    words = words_of(*[changed] * 10, *[unknown] * 20, *[same] * 10, *[tally_of(VERDICT).observation()] * 60)
    found = rollup_estimates(words, alpha=0.05, min_exchanges=1).robustness
    # 40 of 100 shifted; of the 20 scored half changed.
    assert found.value == pytest.approx(1 - 0.4 * 0.5)
    none, every = bounded_mean({1.0: 10, 0.0: 90}), bounded_mean({1.0: 30, 0.0: 70})
    assert found.upper == pytest.approx(1 - none.lower)
    assert found.lower == pytest.approx(1 - every.upper)
    assert rollup_estimates(words_of(*[unknown] * 50), alpha=0.05, min_exchanges=1).robustness is None
