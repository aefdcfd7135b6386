"""Decisions on paired differences: intervals with a last look, and whether a candidate may switch in."""

import random
from collections import Counter

import pytest

from evenkeel.monitor.detect.decision import SwitchMeasure, anytime_mean, decide, paired_mean


def test_the_mean_has_the_ends_that_are_not_ruled_out():
    """Twenty of a hundred moved on the candidate's side only: 20 points, and a last look is sharper."""
    counts = {1.0: 20, 0.0: 80}
    early = paired_mean(counts, alpha=0.05, beta=0.05)
    late = paired_mean(counts, alpha=0.05, beta=0.05, complete=True)
    assert early.value == late.value == pytest.approx(0.2)
    assert early.lower < late.lower < 0.2 < late.upper < early.upper
    assert paired_mean({}, alpha=0.05, beta=0.05) is None


def test_what_nobody_rated_may_be_anything():
    """Identical answers need no judge, so ten pairs that it did not rate are not like the hundred others."""
    held = paired_mean({0.0: 100}, alpha=0.05, beta=0.05)
    open_ended = paired_mean({0.0: 100}, alpha=0.05, beta=0.05, unrated=10)
    assert open_ended.value == held.value == 0
    assert open_ended.n == 100
    assert open_ended.lower < -10 / 110 < held.lower
    assert held.upper < 10 / 110 < open_ended.upper
    assert paired_mean({}, alpha=0.05, beta=0.05, unrated=10) is None


@pytest.mark.parametrize(
    ("answers", "fragility", "answer", "because"),
    [
        ({0.0: 200}, {0.0: 200}, "may_switch", ()),
        ({1.0: 60, 0.0: 140}, {0.0: 200}, "must_not", ("answers",)),
        ({0.0: 200}, {2.0: 30, 0.0: 170}, "must_not", ("fragility",)),
        ({0.0: 10}, {0.0: 200}, "not_yet", ("answers",)),
        ({0.0: 200}, {}, "not_yet", ("fragility",)),
        ({-1.0: 60, 0.0: 140}, {0.0: 200}, "may_switch", ()),
    ],
)
def test_one_harm_forbids_it_and_a_pass_needs_them_all(answers, fragility, answer, because):
    """An improvement forbids nothing, and a measure without data is not known."""
    decision = decide(
        [
            SwitchMeasure("answers", paired_mean(answers, alpha=0.025, beta=0.05), 0.1),
            SwitchMeasure(
                "fragility", anytime_mean(fragility, low=-2.0, high=2.0, alpha=0.025, beta=0.05), 0.1
            ),
        ]
    )
    assert (decision.answer, decision.because) == (answer, because)


@pytest.mark.parametrize(("excess", "wrong"), [(0.0, "must_not"), (0.1, "may_switch")])
def test_errors_stay_below_their_rates_however_often_one_looks(excess, wrong):
    """Twenty seeded comparisons at noise of a tenth are looked at after every twentieth question."""
    mistaken = 0
    for seed in range(20):
        chance = random.Random(f"{excess}/{seed}")
        counts = Counter()
        for question in range(1, 121):
            moved, control = chance.random() < 0.1 + excess, chance.random() < 0.1
            counts[float(moved) - float(control)] += 1
            if question % 20 == 0:
                mean = paired_mean(counts, alpha=0.05, beta=0.05, complete=question == 120)
                made = decide([SwitchMeasure("answers", mean, 0.1)])
                if made.answer != "not_yet":
                    mistaken += made.answer == wrong
                    break
    assert mistaken <= 2
