"""The simulated model: the state an answer is in, what it says, and the closed form of what is planted."""

import random
from math import sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.simulate import Condition, PromptMessage, SimulatedModel, planted

MESSAGES = st.lists(
    st.builds(PromptMessage, st.sampled_from(["system", "user", "assistant", "tool"]), st.text(max_size=60)),
    max_size=4,
)


def share(count, total, expected):
    """Return whether a count is within four standard errors of its expectation."""
    return abs(count / total - expected) <= 4 * sqrt(expected * (1 - expected) / total)


@given(MESSAGES, st.floats(0, 1), st.floats(0, 1))
def test_without_noise_the_bytes_decide(messages, fragility, worse_share):
    """Equal prompts get equal answers, whatever the random generator says."""
    model = SimulatedModel(fragility, 0.0, worse_share)
    assert model.answer(messages, random.Random(1)) == model.answer(list(messages), random.Random(2))


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
        original = (PromptMessage("user", f"prompt {number}"),)
        variant = (PromptMessage("user", f"prmopt {number}"),)
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
        assert share(counts[arm], total, expected), arm
