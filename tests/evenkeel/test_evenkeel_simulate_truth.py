"""The closed form against hand-worked numbers and against the model itself."""

from __future__ import annotations

import random
from math import sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.simulate import Condition, Message, SimulatedModel, planted

SHARES = st.floats(0, 1)


def test_by_hand():
    """With f = .2, η = .1 and q = .5, G = .72 and W = D = .14."""
    truth = planted(0.2, 0.1, 0.5)
    # 1 − (.5184 + .0196 + .0196); 2 × .14 × .86
    assert truth.perturbed_content_delta == pytest.approx(0.4424)
    assert truth.perturbed_quality_change == pytest.approx(0.2408)
    assert truth.perturbed_quality_delta == pytest.approx(0.2408 / 0.4424)
    assert truth.perturbed_robustness == pytest.approx(0.7592)
    # .8 × (1 − (.81 + .0025 + .0025)); .8 × 2 × .05 × .95
    assert truth.baseline_content_delta == pytest.approx(0.148)
    assert truth.baseline_quality_change == pytest.approx(0.076)
    assert truth.baseline_robustness == pytest.approx(0.924)
    assert truth.excess == pytest.approx(0.2944)










@given(SHARES, SHARES, SHARES)
def test_rates_are_rates(fragility, noise, worse_share):
    """Everything lies in [0, 1] and robustness is one minus the product of the two deltas."""
    truth = planted(fragility, noise, worse_share)
    slack = 1e-9
    for rate in (truth.baseline_content_delta, truth.perturbed_content_delta):
        assert -slack <= rate <= 1 + slack
    assert truth.perturbed_quality_change <= truth.perturbed_content_delta + slack
    assert truth.baseline_quality_change <= truth.baseline_content_delta + slack
    if truth.perturbed_quality_delta is not None:
        product = truth.perturbed_content_delta * truth.perturbed_quality_delta
        assert truth.perturbed_robustness == pytest.approx(1 - product)


@pytest.mark.parametrize("name", ["fragility", "noise", "worse_share"])
@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan")])
def test_out_of_range(name, value):
    """A share outside [0, 1] is refused by name."""
    shares = {"fragility": 0.1, "noise": 0.1, "worse_share": 0.1, name: value}
    with pytest.raises(ValueError, match=f"^{name}: must be between 0 and 1"):
        planted(**shares)


@pytest.mark.parametrize(
    ("fragility", "noise", "worse_share"),
    [(0.2, 0.1, 0.5), (0.0, 0.08, 0.7), (0.35, 0.0, 0.25), (0.5, 0.3, 1.0)],
)
def test_model_obeys_the_closed_form(fragility, noise, worse_share):
    """Pairs drawn from the model move as often as the closed form says, within four standard errors."""
    truth = planted(fragility, noise, worse_share)
    model, rng = SimulatedModel(fragility, noise, worse_share), random.Random(11)
    total = 8_000
    counts = dict.fromkeys(("baseline", "perturbed", "baseline quality", "perturbed quality"), 0)
    for number in range(total):
        original = (Message("user", f"prompt {number}"),)
        variant = (Message("user", f"prmopt {number}"),)
        reference = model.condition(original, rng)
        for arm, messages in (("baseline", original), ("perturbed", variant)):
            candidate = model.condition(messages, rng)
            counts[arm] += candidate is not reference
            counts[f"{arm} quality"] += (candidate is Condition.WORSE) != (reference is Condition.WORSE)
    for arm, expected in (
        ("baseline", truth.baseline_content_delta),
        ("perturbed", truth.perturbed_content_delta),
        ("baseline quality", truth.baseline_quality_change),
        ("perturbed quality", truth.perturbed_quality_change),
    ):
        error = sqrt(expected * (1 - expected) / total)
        assert abs(counts[arm] / total - expected) <= 4 * error, arm
